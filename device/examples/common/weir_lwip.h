// SPDX-License-Identifier: Apache-2.0
//
// From the library's network task into lwIP: what a product has in place of tcpip_input(). The same for every MAC;
// `weir_config.h` says besides where a buffer lies:
//
//   uint8_t *weir_buffer_data(uint32_t buffer);
//       The buffer's first byte, as the CPU reads it.
//
//   void weir_buffer_arrived(uint32_t buffer, uint32_t bytes);
//       Task context, before anything but the header is read: with a data cache, forgets what it holds of the frame.
//
//   void weir_buffer_leaves(uint32_t buffer);
//       Task context, after the last use and before the NIC can have the buffer: with a write-back cache, forgets what
//       the IP stack has written into the buffer, or a later write-back would destroy the next one.

#ifndef WEIR_LWIP_H
#define WEIR_LWIP_H

#include "lwip/netif.h"
#include "weir/rx.h"
#include "weir_freertos.h"

// Sets up the library and starts its two tasks; `booster_priority` is above all flows. Before: the MAC is off, its
// receive ring is initialised, and no socket is open. Afterwards: the ring is full, and the MAC can be turned on. Task
// context, once. Returns 0 or errno.
int weir_lwip_start(struct netif *netif, const struct weir_rx_config *rx, uint8_t booster_priority);

// The whole receive interrupt (`timer` false) or that of the poll timer. Both at the same interrupt priority, and at
// one from which FreeRTOS may be called. ISR context.
static inline void weir_lwip_interrupt(bool timer, BaseType_t *woken)
{
    weir_freertos_wake(weir_rx_interrupt(timer), woken);
}

#endif
