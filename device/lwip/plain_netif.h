// SPDX-License-Identifier: Apache-2.0
//
// What every receive path on the plain NIC has in common: buffers, descriptors, sending, and the netif around them.

#ifndef PLAIN_NETIF_H
#define PLAIN_NETIF_H

#include <stdint.h>

#include "lwip/netif.h"
#include "plain_ring.h"
#include "soc.h"

#define PLAIN_RX_BUFFERS_MAX 256
#define PLAIN_RX_RING 16
#define PLAIN_TX_RING 8
#define PLAIN_BUFFER_BYTES 1536 // the largest frame, 1518, in whole cache lines

// The pool of receive buffers, cached view.
extern uint8_t plain_rx_data[PLAIN_RX_BUFFERS_MAX][PLAIN_BUFFER_BYTES];

// The receive ring; empty after plain_netif_init(). Which buffer a descriptor holds: plain_rx_buffer[].
extern struct plain_ring plain_rx_ring;
extern struct plain_desc plain_rx_descriptors[PLAIN_RX_RING];
#define PLAIN_RX_DESCRIPTORS ((struct plain_desc *)SOC_UNCACHED(plain_rx_descriptors))
extern uint16_t plain_rx_buffer[PLAIN_RX_RING];

// Sets up netif and rings; the NIC stays off. Task context, once, with the core lock.
void plain_netif_init(struct netif *netif);

// Turns the NIC on. The ring should hold buffers by then.
void plain_netif_start(void);

#endif
