// SPDX-License-Identifier: Apache-2.0
//
// The multiqueue NIC under lwIP. Variant `codesign`: with the library, the network task at the priority of each packet,
// and queues that do not interrupt a task of higher priority. Variant `nic`: the NIC alone, with the stock path above
// it, driver task and `tcpip_thread`.

#ifndef MULTIQUEUE_NETIF_H
#define MULTIQUEUE_NETIF_H

#include <stdint.h>

#include "FreeRTOS.h"
#include "lwip/netif.h"
#include "task.h"

// lwIP's netif init function. Task context, once.
err_t multiqueue_netif_init(struct netif *netif);

// The NIC's interrupt, and the poll timer's. ISR context.
void multiqueue_netif_isr(BaseType_t *woken);
void multiqueue_netif_timer_isr(BaseType_t *woken);

// Driver task, with the library its network task.
TaskHandle_t multiqueue_netif_task(void);

#endif
