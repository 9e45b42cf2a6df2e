// SPDX-License-Identifier: Apache-2.0

#include "weir_freertos.h"

#include <errno.h>

#include "weir/rx.h"

volatile struct weir_freertos_state weir_freertos_state;

static struct {
    bool (*next)(struct weir_packet *packet);
    void (*input)(const struct weir_packet *packet);
    TaskHandle_t task;
    TaskHandle_t booster;
} network;

// In a critical section with the reason for it, so that no interrupt comes between the two. Where a yield is a trap,
// not a pended interrupt, it happens in here: FreeRTOS keeps the nesting count per task.
static void set_priority(int32_t priority)
{
    if (priority != weir_freertos_state.priority) {
        weir_freertos_state.priority = priority;
        vTaskPrioritySet(network.task, (UBaseType_t)priority);
    }
}

// Takes the next packet once the task runs at that packet's priority: one that is taken must be finished before any
// other, so that none is taken that the scheduler would not let be worked on.
static bool next(struct weir_packet *packet)
{
    taskENTER_CRITICAL();
    int32_t priority = weir_flows_priority();
    while (priority >= 0 && priority != weir_freertos_state.priority) {
        set_priority(priority); // others may run here, and packets arrive
        priority = weir_flows_priority();
    }
    bool any = network.next(packet);
    weir_freertos_state.idle = !any;
    taskEXIT_CRITICAL();
    return any;
}

static void network_task(void *argument)
{
    (void)argument;
    for (;;) {
        struct weir_packet packet;
        if (next(&packet)) {
            if (packet.length != 0U) {
                network.input(&packet);
            }
        } else {
            (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        }
    }
}

static void booster(void *argument)
{
    (void)argument;
    for (;;) {
        (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        taskENTER_CRITICAL();
        int32_t priority = weir_flows_priority();
        if (priority > weir_freertos_state.priority) {
            set_priority(priority);
            // If it waits for a lock, the lock's holder has inherited the priority that it had. Waking it makes it ask
            // again.
            (void)xTaskAbortDelay(network.task);
        }
        weir_freertos_state.boosting = false;
        taskEXIT_CRITICAL();
    }
}

void weir_freertos_wake(int32_t priority, BaseType_t *woken)
{
    if (priority < 0) {
        return;
    }
    if (weir_freertos_state.idle) {
        weir_freertos_state.idle = false;
        vTaskNotifyGiveFromISR(network.task, woken);
    }
    if (priority > weir_freertos_state.priority && !weir_freertos_state.boosting) {
        weir_freertos_state.boosting = true;
        vTaskNotifyGiveFromISR(network.booster, woken);
    }
}

int weir_freertos_start(const struct weir_freertos_config *config)
{
    network.next = config->next;
    network.input = config->input;
    weir_freertos_state.priority = 1;
    if (xTaskCreate(booster, "weir_boost", config->booster_stack_words, NULL, config->booster_priority,
                    &network.booster) != pdPASS) {
        return ENOMEM;
    }
    if (xTaskCreate(network_task, "weir_net", config->stack_words, NULL, (UBaseType_t)weir_freertos_state.priority,
                    &network.task) != pdPASS) {
        return ENOMEM;
    }
    return 0;
}

TaskHandle_t weir_freertos_network_task(void)
{
    return network.task;
}

TaskHandle_t weir_freertos_booster(void)
{
    return network.booster;
}
