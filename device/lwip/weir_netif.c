// SPDX-License-Identifier: Apache-2.0

#include "weir_netif.h"

#include "lwip/pbuf.h"
#include "lwip/tcpip.h"
#include "lwip_guard.h"
#include "netif/ethernet.h"
#include "plain_netif.h"
#include "scenario.h"
#include "semphr.h"
#include "soc.h"
#include "trace.h"
#include "weir/rx.h"
#include "weir_freertos.h"

static struct pbuf_custom pbufs[WEIR_BUFFERS];
static struct netif *weir_netif;
static int32_t wake_priority = -1;

bool weir_netif_active(void)
{
    return weir_netif != NULL;
}

// lwIP frees a received frame: any task.
static void pbuf_freed(struct pbuf *p)
{
    uint16_t buffer = (uint16_t)((struct pbuf_custom *)p - pbufs);
    trace(TRACE_RX_FREED, buffer);
    weir_rx_free(buffer);
}

// One packet's protocol work: in the network task, with the core lock for no longer than that.
static void input(const struct weir_packet *packet)
{
    uint16_t buffer = packet->buffer;
    pbufs[buffer].custom_free_function = pbuf_freed;
    struct pbuf *p = pbuf_alloced_custom(PBUF_RAW, packet->length, PBUF_REF, &pbufs[buffer], plain_rx_data[buffer],
                                         PLAIN_BUFFER_BYTES);
    while (xSemaphoreTakeRecursive(lock_tcpip_core.mut, portMAX_DELAY) != pdTRUE) {
        // The booster has raised this task: ask again, so that the holder inherits that.
    }
    trace(TRACE_RX_STACK, buffer);
    if (!lwip_guard_passes(p->payload, p->len) || ethernet_input(p, weir_netif) != ERR_OK) {
        pbuf_free(p);
    }
    trace(TRACE_RX_DONE, buffer);
    sys_mutex_unlock(&lock_tcpip_core); // a received frame opens and closes no sockets: no need to compare
}

// Not inline: VexRiscv executes the instruction speculatively, also behind a branch that goes elsewhere.
static __attribute__((noinline)) void invalidate_eagerly(void)
{
    soc_dcache_invalidate();
}

bool weir_netif_interrupt(uint32_t lines)
{
    if (weir_scenario.eager_invalidation != 0U) {
        invalidate_eagerly();
    }
    wake_priority = weir_rx_interrupt((lines & SOC_LINE_POLL) != 0U);
    return weir_freertos_must_wake(wake_priority) || (lines & SOC_LINE_RELEASE) != 0U;
}

void weir_netif_wake(BaseType_t *woken)
{
    weir_freertos_wake(wake_priority, woken);
    wake_priority = -1;
}

err_t weir_netif_init(struct netif *netif)
{
    weir_netif = netif;
    plain_netif_init(netif);
    uint32_t cycles_per_us = weir_scenario.cycles_per_us;
    bool limited = weir_scenario.limit_capacity != 0U;
    const struct weir_rx_config rx = {
        .buffers = (uint16_t)weir_scenario.rx_buffers,
        .ring = PLAIN_RX_RING,
        .refill = 10,
        .capacity = (uint16_t)(limited ? weir_scenario.limit_capacity : FIRMWARE_LIMIT_CAPACITY),
        .batch = (uint16_t)(limited ? weir_scenario.limit_capacity : FIRMWARE_LIMIT_BATCH),
        .period = limited ? weir_scenario.limit_period_us * cycles_per_us : FIRMWARE_LIMIT_PERIOD_CYCLES,
        .share_percent = FIRMWARE_LIMIT_SHARE_PERCENT,
        .background_priority = FIRMWARE_BACKGROUND_PRIORITY,
        .system_priority = FIRMWARE_BACKGROUND_PRIORITY, // until there are sockets
        .system_capacity = FIRMWARE_SYSTEM_CAPACITY,
        .system_period = FIRMWARE_SYSTEM_PERIOD_US * cycles_per_us,
    };
    const struct weir_freertos_config tasks = {.next = weir_rx_next,
                                               .input = input,
                                               .stack_words = 1024,
                                               .booster_stack_words = 128,
                                               .booster_priority = configMAX_PRIORITIES - 1};
    if (weir_rx_init(&rx) != 0) {
        scenario_fail(FAILURE_SCENARIO, 0);
    }
    if (weir_freertos_start(&tasks) != 0) {
        scenario_fail(FAILURE_NO_MEMORY, 0);
    }
    plain_netif_start();
    return ERR_OK;
}
