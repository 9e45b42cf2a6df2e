// SPDX-License-Identifier: Apache-2.0
//
// The firmware of the simulated device: starts lwIP and the scenario's tasks.

#include <stdbool.h>

#include "FreeRTOS.h"
#include "task.h"

#include "lwip/netif.h"
#include "lwip/tcpip.h"
#include "multiqueue_netif.h"
#include "scenario.h"
#include "soc.h"
#include "stock_netif.h"
#include "tasks.h"
#include "trace.h"
#include "weir_freertos.h"
#include "weir_netif.h"

__attribute__((section(".data.weir_scenario"))) struct scenario weir_scenario = {0};
struct scenario_status weir_status;

// Application memory for FreeRTOS, outside .bss.
uint8_t ucHeap[configTOTAL_HEAP_SIZE] __attribute__((section(".noinit"), aligned(32)));

static struct netif netif;
static uint32_t random_state;

uint32_t weir_random(void) // xorshift32; lwIP wants unpredictable-looking ports and sequence numbers, no secrets
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

void vApplicationIdleHook(void);
void vApplicationMallocFailedHook(void);
int main(void);

void vApplicationIdleHook(void)
{
    __asm volatile("wfi");
}

void vApplicationMallocFailedHook(void)
{
    scenario_fail(FAILURE_NO_MEMORY, 0);
}

int scenario_tcpip_priority(void)
{
    if (!scenario_has_library()) {
        return (int)weir_scenario.net_priority;
    }
    uint32_t priority = 1;
    for (uint32_t i = 0; i < weir_scenario.task_count; i++) {
        const struct scenario_task *task = &weir_scenario.tasks[i];
        bool receives = task->kind == SCENARIO_UDP || task->kind == SCENARIO_TCP;
        priority = receives && task->priority > priority ? task->priority : priority;
    }
    return (int)priority;
}

static void tcpip_ready(void *argument)
{
    xTaskNotifyGive((TaskHandle_t)argument);
}

static void thread_register(uint32_t slot, TaskHandle_t task)
{
    TaskStatus_t status;
    vTaskGetInfo(task, &status, pdFALSE, eReady);
    weir_status.threads[slot].handle = (uint32_t)(uintptr_t)task;
    weir_status.threads[slot].stack = (uint32_t)(uintptr_t)status.pxStackBase;
}

// Runs once, above all other tasks.
static void start(void *argument)
{
    (void)argument;
    tcpip_init(tcpip_ready, xTaskGetCurrentTaskHandle());
    (void)ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    ip4_addr_t address = {.addr = weir_scenario.address};
    ip4_addr_t netmask = {.addr = weir_scenario.netmask};
    ip4_addr_t gateway = {.addr = 0};
    LOCK_TCPIP_CORE();
    bool driver = weir_scenario.variant == SCENARIO_DRIVER;
    netif_init_fn init = scenario_has_queues() ? multiqueue_netif_init : driver ? weir_netif_init : stock_netif_init;
    (void)netif_add(&netif, &address, &netmask, &gateway, NULL, init, tcpip_input);
    netif_set_default(&netif);
    netif_set_up(&netif);
    UNLOCK_TCPIP_CORE();
    tasks_create();
    thread_register(SCENARIO_TASKS_MAX, scenario_has_queues() ? multiqueue_netif_task()
                                        : driver              ? weir_freertos_network_task()
                                                              : stock_netif_task());
    thread_register(SCENARIO_TASKS_MAX + 1, xTaskGetHandle(TCPIP_THREAD_NAME));
    thread_register(SCENARIO_TASKS_MAX + 2, xTaskGetIdleTaskHandle());
    if (weir_scenario.variant == SCENARIO_CLASSES) {
        thread_register(SCENARIO_TASKS_MAX + 3, stock_netif_class_task(1));
        thread_register(SCENARIO_TASKS_MAX + 4, stock_netif_class_task(0));
    }
    if (scenario_has_library()) {
        thread_register(SCENARIO_TASKS_MAX + 3, weir_freertos_booster());
    }
    if (driver) {
        soc_trap_set(weir_short_trap);
    }
    soc_irq_mask_set(SOC_LINE_NIC | SOC_LINE_RELEASE | SOC_LINE_POLL);
    trace_always(TRACE_READY, tasks_release());
    vTaskDelete(NULL);
}

int main(void)
{
    if (weir_scenario.magic != SCENARIO_MAGIC) {
        scenario_fail(FAILURE_SCENARIO, weir_scenario.magic);
    }
    random_state = weir_scenario.seed | 1U;
    if (xTaskCreate(start, "start", 1024, NULL, configMAX_PRIORITIES - 1, NULL) != pdPASS) {
        scenario_fail(FAILURE_NO_MEMORY, 0);
    }
    vTaskStartScheduler();
    scenario_fail(FAILURE_NO_MEMORY, 0);
}
