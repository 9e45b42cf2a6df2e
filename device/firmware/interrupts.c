// SPDX-License-Identifier: Apache-2.0
//
// What FreeRTOS's trap handler calls: interrupts other than the tick, and exceptions.

#include "FreeRTOS.h"
#include "task.h"

#include "mitigation.h"
#include "multiqueue_netif.h"
#include "releases.h"
#include "scenario.h"
#include "soc.h"
#include "stock_netif.h"
#include "trace.h"
#include "weir_netif.h"

void freertos_risc_v_application_interrupt_handler(void);
void freertos_risc_v_application_exception_handler(uint32_t mcause);

void freertos_risc_v_application_interrupt_handler(void)
{
    uint32_t lines = soc_irq_pending();
    BaseType_t woken = pdFALSE;
    if (weir_scenario.variant == SCENARIO_STOCK) {
        if ((lines & SOC_LINE_NIC) != 0U) {
            stock_netif_isr(&woken);
        }
    } else if (scenario_has_queues()) {
        if ((lines & SOC_LINE_POLL) != 0U) {
            multiqueue_netif_timer_isr(&woken);
        }
        if ((lines & SOC_LINE_NIC) != 0U) {
            multiqueue_netif_isr(&woken);
        }
    } else if (weir_netif_active()) {
        if ((lines & (SOC_LINE_NIC | SOC_LINE_POLL)) != 0U) { // not done on the short way in
            (void)weir_netif_interrupt(lines);
        }
        weir_netif_wake(&woken);
    } else {
        if ((lines & SOC_LINE_POLL) != 0U) {
            mitigation_timer_isr(&woken);
        }
        if ((lines & SOC_LINE_NIC) != 0U) {
            mitigation_isr(&woken);
        }
    }
    if ((lines & SOC_LINE_RELEASE) != 0U) {
        releases_isr(&woken);
    }
    portYIELD_FROM_ISR(woken);
}

void freertos_risc_v_application_exception_handler(uint32_t mcause)
{
    uint32_t mepc;
    uint32_t mtval;
    __asm volatile("csrr %0, mepc" : "=r"(mepc));
    __asm volatile("csrr %0, mtval" : "=r"(mtval));
    weir_status.fault[0] = mcause;
    weir_status.fault[1] = mepc;
    weir_status.fault[2] = mtval;
    scenario_fail(FAILURE_EXCEPTION, mepc);
}

_Noreturn void scenario_fail(enum failure failure, uint32_t detail)
{
    weir_status.failure = failure;
    weir_status.failure_detail = detail;
    trace_always(TRACE_FAILED, failure);
    for (;;) {
        portDISABLE_INTERRUPTS();
    }
}
