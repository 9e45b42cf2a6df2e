// SPDX-License-Identifier: Apache-2.0

#include "message.h"

#include <errno.h>

#include "FreeRTOS.h"
#include "task.h"

#include "scenario.h"
#include "soc.h"

// A handful of tasks: a short list is faster than anything cleverer, and only jobs that ask for it pay.
static struct {
    TaskHandle_t task;
    struct message *message;
} messages[SCENARIO_TASKS_MAX];
static uint32_t message_count;

void message_attach(struct message *message)
{
    taskENTER_CRITICAL();
    messages[message_count].task = xTaskGetCurrentTaskHandle();
    messages[message_count].message = message;
    message_count++;
    taskEXIT_CRITICAL();
}

static struct message *message_current(void)
{
    TaskHandle_t task = xTaskGetCurrentTaskHandle();
    for (uint32_t i = 0; i < message_count; i++) {
        if (messages[i].task == task) {
            return messages[i].message;
        }
    }
    return NULL;
}

const uint8_t *weir_job_message(size_t *length)
{
    const struct message *message = message_current();
    *length = (message == NULL) ? 0U : message->length;
    return (message == NULL) ? NULL : message->data;
}

int weir_job_reply(const void *data, size_t length)
{
    const struct message *message = message_current();
    if (message == NULL) {
        errno = ENOTCONN;
        return -1;
    }
    ssize_t sent;
    if (message->peer.sin_family == AF_INET) {
        sent = lwip_sendto(message->socket, data, length, 0, (const struct sockaddr *)&message->peer,
                           sizeof message->peer);
    } else {
        sent = lwip_send(message->socket, data, length, 0);
    }
    return (sent == (ssize_t)length) ? 0 : -1;
}

uint64_t weir_cycles(void)
{
    return soc_mtime();
}
