// SPDX-License-Identifier: Apache-2.0
//
// Variant `driver`: the library between the plain NIC and lwIP.

#ifndef WEIR_NETIF_H
#define WEIR_NETIF_H

#include <stdbool.h>

#include "FreeRTOS.h"
#include "lwip/netif.h"
#include "task.h"

// lwIP's netif init function: sets the interface and the library up and starts its tasks. Task context, once.
err_t weir_netif_init(struct netif *netif);

// Is the library the receive path of this run? Any context.
bool weir_netif_active(void);

// Receive interrupt and poll timer. True if a task is to be woken, or other interrupts wait, so that the RTOS's own
// trap handler is needed, which calls weir_netif_wake(). ISR context.
bool weir_netif_interrupt(uint32_t lines);
void weir_netif_wake(BaseType_t *woken);

#endif
