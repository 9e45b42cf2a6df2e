// SPDX-License-Identifier: Apache-2.0
//
// What the examples' application needs of a board.

#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

#include "lwip/err.h"
#include "lwip/netif.h"

// Before the scheduler starts; interrupts of the NIC and the poll timer stay off.
void board_init(void);

void board_print(const char *text);

uint32_t board_random(void);

// lwIP's netif init function: starts MAC, library and interrupts. Task context, once, with the core lock.
err_t board_netif_init(struct netif *netif);

#endif
