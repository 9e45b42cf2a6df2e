// SPDX-License-Identifier: Apache-2.0

#include "weir_freertos.h"

#include <errno.h>

#include "weir/rx.h"

volatile bool weir_freertos_idle;

static struct {
    void (*input)(const struct weir_packet *packet);
    TaskHandle_t task;
    TaskHandle_t booster;
    int32_t priority; // of the network task, as last set
    bool boosting;    // the booster has been notified
} network;

// In a critical section with the reason for it, so that no interrupt comes between the two. Where a yield is a trap,
// not a pended interrupt, it happens in here: FreeRTOS keeps the nesting count per task.
static void set_priority(int32_t priority)
{
    if (priority != network.priority) {
        network.priority = priority;
        vTaskPrioritySet(network.task, (UBaseType_t)priority);
    }
}

// Takes the next packet once the task runs at that packet's priority: one that is taken must be finished before any
// other, so that none is taken that the scheduler would not let be worked on.
static bool next(struct weir_packet *packet)
{
    taskENTER_CRITICAL();
    int32_t priority = weir_flows_priority();
    while (priority >= 0 && priority != network.priority) {
        set_priority(priority); // others may run here, and packets arrive
        priority = weir_flows_priority();
    }
    bool any = weir_rx_next(packet);
    weir_freertos_idle = !any;
    taskEXIT_CRITICAL();
    return any;
}

static void network_task(void *argument)
{
    (void)argument;
    for (;;) {
        struct weir_packet packet;
        if (next(&packet)) {
            network.input(&packet);
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
        if (priority > network.priority) {
            set_priority(priority);
        }
        network.boosting = false;
        taskEXIT_CRITICAL();
    }
}

bool weir_freertos_must_wake(int32_t priority)
{
    return priority >= 0 && (weir_freertos_idle || (priority > network.priority && !network.boosting));
}

void weir_freertos_wake(int32_t priority, BaseType_t *woken)
{
    if (priority < 0) {
        return;
    }
    if (weir_freertos_idle) {
        weir_freertos_idle = false;
        vTaskNotifyGiveFromISR(network.task, woken);
    }
    if (priority > network.priority && !network.boosting) {
        network.boosting = true;
        vTaskNotifyGiveFromISR(network.booster, woken);
    }
}

int weir_freertos_start(const struct weir_freertos_config *config)
{
    network.input = config->input;
    network.priority = 1;
    if (xTaskCreate(booster, "weir_boost", config->booster_stack_words, NULL, config->booster_priority,
                    &network.booster) != pdPASS) {
        return ENOMEM;
    }
    if (xTaskCreate(network_task, "weir_net", config->stack_words, NULL, (UBaseType_t)network.priority,
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
