// SPDX-License-Identifier: Apache-2.0
//
// Variant `stock`: the plain NIC under lwIP as its users run it.
//
//   ISR --notification--> driver task --mailbox--> tcpip_thread --mailbox--> socket
//
// The variants that are held against the library share its pool and ring: with the rules of mitigation.h, and
// `classes`, with a thread for each class of urgency that senders mark (as in Zephyr).
//
// Zero copy: frames lie in buffers of a closed pool, are wrapped in custom pbufs, and go back to the ring when lwIP or
// the application frees them.

#ifndef STOCK_NETIF_H
#define STOCK_NETIF_H

#include "FreeRTOS.h"
#include "lwip/netif.h"
#include "task.h"

// lwIP's netif init function: sets the interface up and starts the driver task at weir_scenario.net_priority with
// weir_scenario.rx_buffers buffers. Task context, once. netif->state is not used.
err_t stock_netif_init(struct netif *netif);

// Receive interrupt. ISR context; one notification, whatever has arrived.
void stock_netif_isr(BaseType_t *woken);

// The driver task, for those who watch; and the threads of variant `classes`, low and high.
TaskHandle_t stock_netif_task(void);
TaskHandle_t stock_netif_class_task(uint32_t class);

#endif
