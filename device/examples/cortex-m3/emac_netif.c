// SPDX-License-Identifier: Apache-2.0
//
// The MAC under lwIP: rings, sending, and the order in which everything is turned on.

#include <string.h>

#include "board.h"
#include "emac.h"
#include "lwip/etharp.h"
#include "lwip/pbuf.h"
#include "weir_lwip.h"

#define MTU 1500

uint8_t emac_rx_data[EMAC_BUFFERS][EMAC_BUFFER_BYTES] __attribute__((aligned(4), section(".noinit")));
struct emac_descriptor emac_rx_ring[EMAC_RX_RING];
uint8_t emac_rx_buffer[EMAC_RX_RING];
uint32_t emac_rx_taken;
uint32_t emac_rx_given;

static uint8_t tx_data[EMAC_TX_RING][EMAC_BUFFER_BYTES] __attribute__((aligned(4), section(".noinit")));
static struct emac_descriptor tx_ring[EMAC_TX_RING];
static uint32_t tx_given;
static uint32_t tx_sent;

static const uint8_t mac[ETH_HWADDR_LEN] = {0x02, 0x57, 0x65, 0x69, 0x72, 0x02};

void emac_interrupt(void);
void emac_timer_interrupt(void);

// The MAC has stopped at a descriptor that was not empty, and begins where it is told to: at the first that is.
void emac_rx_restart(void)
{
    uint32_t at = emac_rx_taken;
    while (at != emac_rx_given && (emac_rx_ring[at % EMAC_RX_RING].size & EMAC_EMPTY) == 0U) {
        at++;
    }
    EMAC->rx_status = EMAC_RX_OVERFLOW;
    EMAC->rx_descriptor = (uint32_t)(uintptr_t)&emac_rx_ring[at % EMAC_RX_RING];
    EMAC->rx_control = EMAC_DMA_ON;
}

// Likewise for sending. In the interrupt, or with that kept away.
static void tx_restart(void)
{
    while (tx_sent != tx_given && (tx_ring[tx_sent % EMAC_TX_RING].size & EMAC_EMPTY) != 0U) {
        tx_sent++;
    }
    EMAC->tx_status = EMAC_TX_UNDERRUN;
    if (tx_sent != tx_given && (EMAC->tx_control & EMAC_DMA_ON) == 0U) {
        EMAC->tx_descriptor = (uint32_t)(uintptr_t)&tx_ring[tx_sent % EMAC_TX_RING];
        EMAC->tx_control = EMAC_DMA_ON;
    }
}

// With the core lock held, so one at a time. Copies, so that no pbuf waits for the wire.
static err_t tx_output(struct netif *netif, struct pbuf *p)
{
    (void)netif;
    uint32_t index = tx_given % EMAC_TX_RING;
    if ((tx_ring[index].size & EMAC_EMPTY) == 0U) {
        return ERR_MEM; // the ring is full; waiting here would hold up the reception
    }
    (void)pbuf_copy_partial(p, tx_data[index], p->tot_len, 0);
    taskENTER_CRITICAL();
    tx_ring[index].size = p->tot_len;
    tx_given++;
    __asm volatile("dmb" ::: "memory");
    tx_restart();
    taskEXIT_CRITICAL();
    return ERR_OK;
}

void emac_interrupt(void)
{
    BaseType_t woken = pdFALSE;
    if ((EMAC->tx_status & EMAC_TX_UNDERRUN) != 0U) {
        tx_restart();
    }
    weir_lwip_interrupt(false, &woken);
    portYIELD_FROM_ISR(woken);
}

void emac_timer_interrupt(void)
{
    BaseType_t woken = pdFALSE;
    weir_port_poll_off();
    weir_lwip_interrupt(true, &woken);
    portYIELD_FROM_ISR(woken);
}

static void rings_init(void)
{
    for (uint32_t i = 0; i < EMAC_RX_RING; i++) {
        emac_rx_ring[i].next = (uint32_t)(uintptr_t)&emac_rx_ring[(i + 1U) % EMAC_RX_RING];
    }
    for (uint32_t i = 0; i < EMAC_TX_RING; i++) {
        tx_ring[i].address = (uint32_t)(uintptr_t)tx_data[i];
        tx_ring[i].size = EMAC_EMPTY;
        tx_ring[i].next = (uint32_t)(uintptr_t)&tx_ring[(i + 1U) % EMAC_TX_RING];
    }
}

// Clocks, pins and PHY are the system builder's; QEMU has none.
static void emac_init(void)
{
    EMAC->config1 = 0;      // out of reset
    EMAC->config2 = 0x7115; // 100 Mbit/s, full duplex, padding and frame check sequence when sending
    EMAC->frame_bytes_max = EMAC_BUFFER_BYTES;
    EMAC->fifo_config[0] = 0x1f00; // all parts of the FIFO on
    EMAC->address_high = (uint32_t)mac[0] << 24 | (uint32_t)(mac[1] << 16 | mac[2] << 8 | mac[3]);
    EMAC->address_low = (uint32_t)mac[4] << 24 | (uint32_t)(mac[5] << 16);
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
    emac_init();
    const struct weir_rx_config rx = {
        .buffers = EMAC_BUFFERS,
        .ring = EMAC_RX_RING,
        // Of 20 buffers sockets hold 5 at most (the sink's mailbox and one more), 5 can be free and not yet back in the
        // ring, and 2 urgent ones wait: the ring keeps 8, so that no urgent packet finds fewer than these 6.
        .refill = 6,
        .capacity = 4,
        .batch = 8,
        .period = SF2_TIMER_HZ / 1000, // 1 ms
        .share_percent = 20,
        .background_priority = 1,
        .system_priority = 1, // until there are sockets
        .system_capacity = 20,
        .system_period = SF2_TIMER_HZ / 100, // 10 ms
    };
    if (weir_lwip_start(netif, &rx, configMAX_PRIORITIES - 1) != 0) {
        return ERR_MEM;
    }
    EMAC->rx_descriptor = (uint32_t)(uintptr_t)&emac_rx_ring[0];
    EMAC->config1 = EMAC_CONFIG1_RUN;
    EMAC->rx_control = EMAC_DMA_ON;
    EMAC->irq_mask = EMAC_IRQ_RX | EMAC_IRQ_RX_OVERFLOW | EMAC_IRQ_TX_UNDERRUN;
    SF2_NVIC_PRIORITY(SF2_IRQ_EMAC) = SF2_RECEIVE_PRIORITY;
    SF2_NVIC_PRIORITY(SF2_IRQ_TIMER1) = SF2_RECEIVE_PRIORITY;
    SF2_NVIC_ENABLE = UINT32_C(1) << SF2_IRQ_EMAC | UINT32_C(1) << SF2_IRQ_TIMER1;
    return ERR_OK;
}
