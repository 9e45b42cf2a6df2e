// SPDX-License-Identifier: Apache-2.0

#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include "zynq.h"

#define configINTERRUPT_CONTROLLER_BASE_ADDRESS 0xf8f01000
#define configINTERRUPT_CONTROLLER_CPU_INTERFACE_OFFSET (-0xf00)
// QEMU's has 256, which is why configASSERT, with which FreeRTOS compares them, is not defined here.
#define configUNIQUE_INTERRUPT_PRIORITIES 32
// Interrupts with this priority or a larger number may call FreeRTOS, and are what weir_port_lock() keeps away.
#define configMAX_API_CALL_INTERRUPT_PRIORITY 18
void board_tick_start(void);
#define configSETUP_TICK_INTERRUPT() board_tick_start()
#define configCLEAR_TICK_INTERRUPT() (ZYNQ_PRIVATE_STATUS = 1)

#define configTICK_RATE_HZ 1000
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS

#define configUSE_PREEMPTION 1
#define configUSE_TIME_SLICING 1
#define configMAX_PRIORITIES 10
#define configMINIMAL_STACK_SIZE 256
#define configMAX_TASK_NAME_LEN 12
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configUSE_TIMERS 0
#define configUSE_MUTEXES 1
#define configUSE_RECURSIVE_MUTEXES 1
#define configUSE_COUNTING_SEMAPHORES 1
#define configUSE_TASK_NOTIFICATIONS 1
#define configENABLE_BACKWARD_COMPATIBILITY 1

#define configSUPPORT_DYNAMIC_ALLOCATION 1
#define configTOTAL_HEAP_SIZE (256 * 1024)
#define configUSE_MALLOC_FAILED_HOOK 1
#define configCHECK_FOR_STACK_OVERFLOW 2

#define INCLUDE_vTaskDelay 1
#define INCLUDE_vTaskDelete 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_vTaskPrioritySet 1
#define INCLUDE_uxTaskPriorityGet 1
#define INCLUDE_xTaskAbortDelay 1
#define INCLUDE_xTaskGetCurrentTaskHandle 1

#define APP_STACK_WORDS 1024

#endif
