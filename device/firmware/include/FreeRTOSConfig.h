// SPDX-License-Identifier: Apache-2.0
//
// FreeRTOS as a product would set it: no assertions, no statistics. WEIR_CPU_HZ and WEIR_TICK_HZ come from the build.

#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#define configMTIME_BASE_ADDRESS 0x93000008
#define configMTIMECMP_BASE_ADDRESS 0x93000000
#define configISR_STACK_SIZE_WORDS 512

#define configCPU_CLOCK_HZ WEIR_CPU_HZ
#define configTICK_RATE_HZ WEIR_TICK_HZ
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS

#define configUSE_PREEMPTION 1
#define configUSE_TIME_SLICING 1
#define configMAX_PRIORITIES 16
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 0
#define configMINIMAL_STACK_SIZE 256
#define configMAX_TASK_NAME_LEN 16
#define configIDLE_SHOULD_YIELD 1
#define configUSE_IDLE_HOOK 1
#define configUSE_TICK_HOOK 0
#define configUSE_TIMERS 0
#define configUSE_MUTEXES 1
#define configUSE_RECURSIVE_MUTEXES 1
#define configUSE_COUNTING_SEMAPHORES 1
#define configUSE_TASK_NOTIFICATIONS 1
#define configTASK_NOTIFICATION_ARRAY_ENTRIES 1
#define configNUM_THREAD_LOCAL_STORAGE_POINTERS 0
#define configENABLE_BACKWARD_COMPATIBILITY 1

#define configSUPPORT_DYNAMIC_ALLOCATION 1
#define configSUPPORT_STATIC_ALLOCATION 0
#define configTOTAL_HEAP_SIZE (192 * 1024)
#define configAPPLICATION_ALLOCATED_HEAP 1 // in a section that start-up does not clear

// The simulator watches every stack pointer; a check in software would only cost cycles.
#define configCHECK_FOR_STACK_OVERFLOW 0
#define configUSE_MALLOC_FAILED_HOOK 1
// For vTaskGetInfo() at start: where the stacks lie.
#define configUSE_TRACE_FACILITY 1

// The kernel has no assertions, as in a product; a user's own end the run.
#ifdef WEIR_USER_CODE
#include "scenario.h"
#define configASSERT(condition)                                                                                        \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            scenario_fail(FAILURE_ASSERT, __LINE__);                                                                   \
        }                                                                                                              \
    } while (0)
#endif

// Variant `codesign`: the NIC holds back what is no more urgent than the task that runs.
#ifndef __ASSEMBLER__
#include "weir_nic.h"
#include <stdbool.h>
#define WEIR_QUEUES_ADDRESS 0x94000000
extern bool weir_task_aware;
#define WEIR_RUNS_AT(task_priority)                                                                                    \
    do {                                                                                                               \
        if (weir_task_aware) {                                                                                         \
            weir_nic_threshold(WEIR_QUEUES_ADDRESS, (uint32_t)(task_priority) + 1U);                                   \
        }                                                                                                              \
    } while (0)
#define traceTASK_SWITCHED_IN() WEIR_RUNS_AT(pxCurrentTCB->uxPriority)
#define traceTASK_PRIORITY_SET(task, priority)                                                                         \
    do {                                                                                                               \
        if ((task) == pxCurrentTCB) {                                                                                  \
            WEIR_RUNS_AT(priority);                                                                                    \
        }                                                                                                              \
    } while (0)
#define traceTASK_PRIORITY_DISINHERIT(task, priority) traceTASK_PRIORITY_SET(task, priority)
#endif

#define INCLUDE_vTaskDelay 1
#define INCLUDE_vTaskDelete 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_xTaskDelayUntil 1
#define INCLUDE_vTaskPrioritySet 1
#define INCLUDE_uxTaskPriorityGet 1
#define INCLUDE_xTaskAbortDelay 1
#define INCLUDE_xTaskGetHandle 1
#define INCLUDE_xTaskGetIdleTaskHandle 1
#define INCLUDE_xTaskGetCurrentTaskHandle 1

#endif
