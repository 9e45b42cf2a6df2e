// SPDX-License-Identifier: Apache-2.0
//
// The GEM under lwIP: rings, sending, and the order in which everything is turned on.

#include <string.h>

#include "board.h"
#include "gem.h"
#include "lwip/etharp.h"
#include "lwip/pbuf.h"
#include "weir_lwip.h"

#define MTU 1500

uint8_t gem_rx_data[GEM_BUFFERS][GEM_BUFFER_BYTES] __attribute__((aligned(ZYNQ_CACHE_LINE), section(".noinit")));
struct gem_descriptor gem_rx_ring[GEM_RX_RING] __attribute__((aligned(8), section(".dma")));
uint16_t gem_rx_buffer[GEM_RX_RING];
uint32_t gem_rx_taken;
uint32_t gem_rx_given;

static uint8_t tx_data[GEM_TX_RING][GEM_BUFFER_BYTES] __attribute__((aligned(ZYNQ_CACHE_LINE), section(".noinit")));
static struct gem_descriptor tx_ring[GEM_TX_RING] __attribute__((aligned(8), section(".dma")));
static uint32_t tx_given;

static const uint8_t mac[ETH_HWADDR_LEN] = {0x02, 0x57, 0x65, 0x69, 0x72, 0x01};

// With the core lock held, so one at a time. Copies, so that no pbuf waits for the wire.
static err_t tx_output(struct netif *netif, struct pbuf *p)
{
    (void)netif;
    uint32_t index = tx_given % GEM_TX_RING;
    if ((tx_ring[index].word[1] & GEM_TX_USED) == 0U) {
        return ERR_MEM; // the ring is full; waiting here would hold up the reception
    }
    (void)pbuf_copy_partial(p, tx_data[index], p->tot_len, 0);
    zynq_dcache_clean(tx_data[index], p->tot_len);
    tx_ring[index].word[1] = (index + 1U == GEM_TX_RING ? GEM_TX_WRAP : 0U) | GEM_TX_LAST | p->tot_len;
    tx_given++;
    zynq_barrier();
    GEM->control = GEM_CONTROL_RUN | GEM_CONTROL_SEND;
    return ERR_OK;
}

static void rings_init(void)
{
    for (uint32_t i = 0; i < GEM_RX_RING; i++) {
        gem_rx_ring[i].word[0] = GEM_RX_USED | (i + 1U == GEM_RX_RING ? GEM_RX_WRAP : 0U);
    }
    for (uint32_t i = 0; i < GEM_TX_RING; i++) {
        tx_ring[i].word[0] = (uint32_t)(uintptr_t)tx_data[i];
        tx_ring[i].word[1] = GEM_TX_USED | (i + 1U == GEM_TX_RING ? GEM_TX_WRAP : 0U);
    }
}

// Clocks, pins and PHY are the boot loader's; QEMU has none.
static void gem_init(void)
{
    GEM->control = 0;
    GEM->irq_disable = UINT32_MAX;
    GEM->irq_pending = GEM->irq_pending;
    // 100 Mbit/s, full duplex, frames of up to 1536 bytes, no frame check sequence in memory, MDC = clock / 96.
    GEM->config = UINT32_C(1) << 0 | UINT32_C(1) << 1 | UINT32_C(1) << 8 | UINT32_C(1) << 17 | UINT32_C(5) << 18;
    // Bursts of 16, whole packet memories, buffers of 1536 bytes; without a descriptor frames are discarded, not kept.
    GEM->dma_config = UINT32_C(0x10) | UINT32_C(3) << 8 | UINT32_C(1) << 10 | (GEM_BUFFER_BYTES / 64U) << 16 |
                      UINT32_C(1) << 24;
    GEM->rx_ring = (uint32_t)(uintptr_t)gem_rx_ring;
    GEM->tx_ring = (uint32_t)(uintptr_t)tx_ring;
    GEM->address_low = (uint32_t)(mac[0] | mac[1] << 8 | mac[2] << 16) | (uint32_t)mac[3] << 24;
    GEM->address_high = (uint32_t)(mac[4] | mac[5] << 8);
}

err_t board_netif_init(struct netif *netif)
{
    netif->name[0] = 'e';
    netif->name[1] = 'n';
    netif->mtu = MTU;
    netif->hwaddr_len = ETH_HWADDR_LEN;
    memcpy(netif->hwaddr, mac, ETH_HWADDR_LEN);
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
    netif->output = etharp_output;
    netif->linkoutput = tx_output;
    rings_init();
    gem_init();
    const struct weir_rx_config rx = {
        .buffers = GEM_BUFFERS,
        .ring = GEM_RX_RING,
        .capacity = 16,
        .batch = 32,
        .period = ZYNQ_TIMER_HZ / 1000, // 1 ms
        .share_percent = 20,
        .background_priority = 1,
        .system_priority = 1, // until there are sockets
        .system_capacity = 20,
        .system_period = ZYNQ_TIMER_HZ / 100, // 10 ms
    };
    if (weir_lwip_start(netif, &rx, configMAX_PRIORITIES - 1) != 0) {
        return ERR_MEM;
    }
    GEM->irq_enable = GEM_IRQ_RX | GEM_IRQ_RX_MISSED | GEM_IRQ_RX_OVERRUN;
    zynq_barrier();
    GEM->control = GEM_CONTROL_RUN;
    ZYNQ_GIC_ENABLE(ZYNQ_IRQ_GLOBAL_TIMER) = ZYNQ_GIC_BIT(ZYNQ_IRQ_GLOBAL_TIMER);
    ZYNQ_GIC_ENABLE(ZYNQ_IRQ_GEM0) = ZYNQ_GIC_BIT(ZYNQ_IRQ_GEM0);
    return ERR_OK;
}
