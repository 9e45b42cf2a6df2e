// SPDX-License-Identifier: Apache-2.0
//
// Releases of periodic tasks whose period is no multiple of the tick: by the timer's second compare register, as a
// product would use a hardware timer.

#ifndef RELEASES_H
#define RELEASES_H

#include <stdint.h>

#include "FreeRTOS.h"
#include "task.h"

// Has `task` notified every `period_us`. Before releases_start(); task context.
void releases_add(TaskHandle_t task, uint32_t period_us);

// First release of all of them at `start` (in cycles of mtime). Task context.
void releases_start(uint64_t start);

// ISR context. Its work is bounded by SCENARIO_TASKS_MAX.
void releases_isr(BaseType_t *woken);

#endif
