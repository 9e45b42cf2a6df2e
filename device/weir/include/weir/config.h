// SPDX-License-Identifier: Apache-2.0
//
// Sizes, and where the port and the driver come from. A product writes one header, `weir_config.h`, found by the
// include path, that
//
//   - defines the sizes below where the defaults do not suit, and
//   - includes the headers that provide the functions of weir/port.h and weir/driver.h, inline where speed matters.

#ifndef WEIR_CONFIG_DEFAULTS_H
#define WEIR_CONFIG_DEFAULTS_H

#include "weir_config.h"

// Packet buffers in the pool, at most; how many there are is said at weir_rx_init(). 16-bit indices: up to 65534.
#ifndef WEIR_BUFFERS
#define WEIR_BUFFERS 64
#endif

// Flows that sockets can have at a time, besides the background and the system flow. Up to 253.
#ifndef WEIR_FLOWS
#define WEIR_FLOWS 16
#endif

// Lists in which flows are looked up by port, a power of two. 1: one list, best for one or two sockets; more: a hash
// table, whose cost does not grow with the number of sockets (docs/receive-library.md, "How it decides").
#ifndef WEIR_FLOW_LISTS
#define WEIR_FLOW_LISTS 1
#endif

// Priorities 0 to WEIR_PRIORITIES - 1, larger is more urgent: those of the RTOS. Up to 32.
#ifndef WEIR_PRIORITIES
#define WEIR_PRIORITIES 32
#endif

// Largest capacity of a sporadic server: it remembers every packet of a period, in 4 bytes each.
#ifndef WEIR_SPORADIC_MAX
#define WEIR_SPORADIC_MAX 4
#endif

// Buffers that a flow can always have in the IP stack and its socket; what is left of the pool is shared.
#ifndef WEIR_FLOW_RESERVE
#define WEIR_FLOW_RESERVE 2
#endif

// Called on what happens to a buffer's packet, in the context where it happens; for tracing. Default: nothing.
#ifndef WEIR_ON_QUEUED
#define WEIR_ON_QUEUED(buffer) ((void)(buffer))
#endif
#ifndef WEIR_ON_DROPPED
#define WEIR_ON_DROPPED(buffer, why) ((void)(buffer), (void)(why))
#endif
#ifndef WEIR_ON_DISCARDED // its turn came, but its flow held too many
#define WEIR_ON_DISCARDED(buffer) ((void)(buffer))
#endif
#ifndef WEIR_ON_ABANDONED // it waited in the flow of a socket that was closed
#define WEIR_ON_ABANDONED(buffer) ((void)(buffer))
#endif
#ifndef WEIR_ON_CLOSED // multiqueue NIC: the flow's queue was turned off, and what waited in it is gone
#define WEIR_ON_CLOSED(flow) ((void)(flow))
#endif
// What an adapter to an IP stack calls when a flow is new or has another priority, sender or limit, with the lock; and
// when it was removed, without.
#ifndef WEIR_FLOW_CHANGED
#define WEIR_FLOW_CHANGED(flow) ((void)(flow))
#endif
#ifndef WEIR_FLOW_REMOVED
#define WEIR_FLOW_REMOVED(flow) weir_rx_drain(flow)
#endif
#ifndef WEIR_ON_GIVEN
#define WEIR_ON_GIVEN(buffer) ((void)(buffer))
#endif
#ifndef WEIR_ON_POLLING
#define WEIR_ON_POLLING(on) ((void)(on))
#endif

#endif
