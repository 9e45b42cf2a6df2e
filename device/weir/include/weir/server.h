// SPDX-License-Identifier: Apache-2.0
//
// Aperiodic servers as rate limits: each packet is a request of unit cost (thesis 5.4.5, 2.1.2).
//
//   deferrable: `capacity` packets per period, full again at each period's begin. In any time t it passes at most
//               capacity * (ceil(t / period) + 1).
//   sporadic:   what a packet takes comes back one period after that packet (POSIX.1-2017, 2.8.4 SCHED_SPORADIC). In
//               any time t it passes at most capacity * ceil(t / period).

#ifndef WEIR_SERVER_H
#define WEIR_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/config.h"

enum weir_server_kind { WEIR_SERVER_NONE = 0, WEIR_SERVER_DEFERRABLE = 1, WEIR_SERVER_SPORADIC = 2 };

struct weir_server {
    uint64_t start;    // deferrable: begin of the current period; sporadic: when the last packet passed
    uint32_t period;   // in ticks of weir_port_now()
    uint16_t capacity; // packets per period
    uint16_t left;     // of the capacity
    uint8_t kind;      // enum weir_server_kind
    uint8_t oldest;    // sporadic: of passed[]
    // Sporadic: when the packets that have not come back passed, a ring. The low half of the time: those older than a
    // period are gone before it wraps.
    uint32_t passed[WEIR_SPORADIC_MAX];
};

// Longest period, in ticks.
#define WEIR_SERVER_PERIOD_MAX UINT32_C(0x7fffffff)

// Sets the server up, full. Returns 0, or EINVAL and changes nothing: an unknown kind; for kinds other than none, a
// capacity or period of 0, a period above WEIR_SERVER_PERIOD_MAX, a sporadic capacity above WEIR_SPORADIC_MAX.
int weir_server_init(struct weir_server *server, enum weir_server_kind kind, uint16_t capacity, uint64_t period);

// May a packet pass at `now`? Takes it from the capacity if so. `now` never goes back. ISR or lock; constant time but
// for WEIR_SPORADIC_MAX.
bool weir_server_admit(struct weir_server *server, uint64_t now);

// After a refusal: when the next packet can pass.
uint64_t weir_server_next(const struct weir_server *server);

#endif
