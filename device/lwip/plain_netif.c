// SPDX-License-Identifier: Apache-2.0

#include "plain_netif.h"

#include <string.h>

#include "lwip/etharp.h"
#include "lwip/pbuf.h"
#include "scenario.h"

#define ALIGNED __attribute__((aligned(SOC_CACHE_LINE)))
#define NOINIT __attribute__((section(".noinit")))
#define MTU 1500

uint8_t plain_rx_data[PLAIN_RX_BUFFERS_MAX][PLAIN_BUFFER_BYTES] ALIGNED NOINIT;
struct plain_ring plain_rx_ring;
uint16_t plain_rx_buffer[PLAIN_RX_RING];

static uint8_t tx_data[PLAIN_TX_RING][PLAIN_BUFFER_BYTES] ALIGNED NOINIT;
struct plain_desc plain_rx_descriptors[PLAIN_RX_RING] ALIGNED NOINIT;
static struct plain_desc tx_descriptors[PLAIN_TX_RING] ALIGNED NOINIT;
static struct plain_ring tx_ring;

// With the core lock held, so one at a time.
static err_t tx_output(struct netif *netif, struct pbuf *p)
{
    (void)netif;
    uint16_t length;
    while (plain_ring_take(&tx_ring, &length) >= 0) {
    }
    if (plain_ring_room(&tx_ring) == 0U) {
        return ERR_MEM; // TCP sends it again; waiting here would hold up the reception
    }
    uint8_t *frame = tx_data[plain_ring_next(&tx_ring)];
    (void)pbuf_copy_partial(p, frame, p->tot_len, 0);
    (void)plain_ring_give(&tx_ring, (uint32_t)(uintptr_t)frame, p->tot_len);
    SOC_NIC->tx_kick = 1;
    return ERR_OK;
}

void plain_netif_init(struct netif *netif)
{
    netif->name[0] = 'e';
    netif->name[1] = 'n';
    netif->mtu = MTU;
    netif->hwaddr_len = ETH_HWADDR_LEN;
    memcpy(netif->hwaddr, weir_scenario.mac, ETH_HWADDR_LEN);
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
    netif->output = etharp_output;
    netif->linkoutput = tx_output;
    plain_ring_init(&plain_rx_ring, PLAIN_RX_DESCRIPTORS, PLAIN_RX_RING);
    plain_ring_init(&tx_ring, SOC_UNCACHED(tx_descriptors), PLAIN_TX_RING);
}

void plain_netif_start(void)
{
    SOC_NIC->rx_ring = (uint32_t)(uintptr_t)plain_rx_descriptors;
    SOC_NIC->tx_ring = (uint32_t)(uintptr_t)tx_descriptors;
    SOC_NIC->irq_pending = UINT32_MAX;
    SOC_NIC->irq_enable = PLAIN_NIC_IRQ_RX;
    SOC_NIC->control = PLAIN_NIC_CONTROL_RX | PLAIN_NIC_CONTROL_TX;
}
