// SPDX-License-Identifier: Apache-2.0
//
// Flows of lwIP's sockets: what an application sees of the library.
//
// A socket with a local port has a flow, from bind() (or the first send or connect() that picks a port) to close(),
// with the priority of the task that receives from it; until one has, of the task that bound it. A listening TCP
// socket's flow covers the connections that it accepts. Nothing needs to be called for that. The options below say
// more:
//
//   struct weir_so_flow flow = {.server = WEIR_SERVER_SPORADIC, .capacity = 2, .period_us = 1000};
//   if (lwip_setsockopt(fd, SOL_WEIR, WEIR_SO_FLOW, &flow, sizeof flow) != 0) { ... errno ... }
//
// Errors of setsockopt(), which then changes nothing:
//   EINVAL         unknown option length, server or family; capacity or period of 0, or too large; priority out of
//   range EADDRNOTAVAIL  the socket has no local port yet: bind() first ENOBUFS        the flow table is full
//   (WEIR_FLOWS): the socket's packets are background ENOPROTOOPT    no such option

#ifndef WEIR_SOCKETS_H
#define WEIR_SOCKETS_H

#include <stdint.h>

#include "weir/server.h"

#define SOL_WEIR 0x5745

#define WEIR_SO_FLOW 1          // struct weir_so_flow; get and set
#define WEIR_SO_FLOW_COUNTERS 2 // struct weir_so_flow_counters; get

struct weir_so_flow {
    uint8_t priority;  // 1 to WEIR_PRIORITIES - 1; 0: the receiving task's
    uint8_t server;    // enum weir_server_kind
    uint16_t capacity; // packets per period
    uint32_t period_us;
    uint8_t sender[16];   // only its packets are the flow's, others to the port are background; all 0: any
    uint8_t sender_bytes; // 0: any, 4: IPv4, 16: IPv6
    // For NICs with a queue per flow; ignored by others.
    uint32_t packet_timer_us;
    uint32_t absolute_timer_us;
    uint32_t queue_bytes;
};

struct weir_so_flow_counters {
    uint32_t limited;  // packets discarded by the flow's limit
    uint32_t recycled; // packets discarded for want of buffers
    uint16_t waiting;  // packets in the flow's queue
    uint16_t held;     // packets in the IP stack and the socket
};

#endif
