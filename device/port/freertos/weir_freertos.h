// SPDX-License-Identifier: Apache-2.0
//
// The library on FreeRTOS: the network task, and how its priority follows its packets.
//
// FreeRTOS has no way to change a task's priority from an interrupt. So two tasks share the work:
//
//   network task   does the protocol work, one packet at a time, and lowers itself to each packet's priority before it
//                  begins; when nothing waits it blocks at the priority of its last packet.
//   booster        above all flows; the interrupt wakes it when a packet waits that is more urgent than what the
//                  network task runs at, and all it does is raise the network task, and with it whoever holds what
//                  that waits for.
//
// FreeRTOSConfig.h needs INCLUDE_xTaskAbortDelay, besides vTaskPrioritySet and uxTaskPriorityGet.
//
// A steady stream of one priority needs no change of priority and no booster. Price of both: docs/receive-library.md.

#ifndef WEIR_FREERTOS_H
#define WEIR_FREERTOS_H

#include <stdbool.h>
#include <stdint.h>

#include "FreeRTOS.h"
#include "task.h"

// What weir/port.h asks for.
typedef uint32_t weir_port_state;

static inline weir_port_state weir_port_lock(void)
{
    taskENTER_CRITICAL();
    return 0;
}

static inline void weir_port_unlock(weir_port_state state)
{
    (void)state;
    taskEXIT_CRITICAL();
}

struct weir_packet;

struct weir_freertos_config {
    // Takes the next packet, in a critical section: weir_rx_next(), or weir_mq_next().
    bool (*next)(struct weir_packet *packet);
    // Does the protocol work for one packet. Network task, without any lock. Where it waits, the wait may end before
    // its time (xTaskAbortDelay()): take mutexes again until they are taken.
    void (*input)(const struct weir_packet *packet);
    uint16_t stack_words; // of the network task
    uint16_t booster_stack_words;
    uint8_t booster_priority; // above all flows
};

// Starts both tasks. Task context, once, after weir_rx_init() and before the NIC is on. Returns 0 or ENOMEM.
int weir_freertos_start(const struct weir_freertos_config *config);

TaskHandle_t weir_freertos_network_task(void);
TaskHandle_t weir_freertos_booster(void);

// The network task's state, for the function below.
struct weir_freertos_state {
    int32_t priority; // as last set
    bool idle;        // it waits for a notification that has not been given
    bool boosting;    // the booster has been notified
};
extern volatile struct weir_freertos_state weir_freertos_state;

// With what weir_rx_interrupt() returned: is there anybody to be woken? ISR context.
static inline bool weir_freertos_must_wake(int32_t priority)
{
    bool boost = priority > weir_freertos_state.priority && !weir_freertos_state.boosting;
    return priority >= 0 && (weir_freertos_state.idle || boost);
}

// Wakes whom it takes; then as after every FreeRTOS ...FromISR(). ISR context.
void weir_freertos_wake(int32_t priority, BaseType_t *woken);

#endif
