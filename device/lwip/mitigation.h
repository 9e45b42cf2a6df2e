// SPDX-License-Identifier: Apache-2.0
//
// When does a driver stop receiving? The rules of thesis 5.2 (`burst`, `hysteresis`, `budget`, `queue`), the overall
// limit that the papers compare with (`capped`, thesis 5.5.4), and Linux's polling (`napi`). None of them knows whom a
// packet is for. Settings: weir_scenario.mitigation.

#ifndef MITIGATION_H
#define MITIGATION_H

#include <stdbool.h>
#include <stdint.h>

#include "FreeRTOS.h"
#include "scenario.h"
#include "task.h"

// Before the driver's first packet. Task context, once.
void mitigation_init(TaskHandle_t driver);

// Receive interrupt, and that of the timer that ends a slice or period. ISR context.
void mitigation_isr(BaseType_t *woken);
void mitigation_timer_isr(BaseType_t *woken);

// May the driver take a packet now? Driver task.
bool mitigation_may_receive(void);

// The driver has worked on a packet for so many cycles. Driver task.
void mitigation_received(uint32_t cycles);

// The driver has nothing that it could or may take; it waits for a notification after this. May block. Driver task.
void mitigation_rest(void);

// Is it this task whose earliness counts?
bool mitigation_watches(const struct scenario_task *task);
// Its first release, in cycles; then each of its jobs. Task context.
void mitigation_releases_begin(uint64_t first);
void mitigation_job_started(void);
void mitigation_job_ended(void);

#endif
