// SPDX-License-Identifier: Apache-2.0
//
// The receive path: a closed pool of buffers between a ring of descriptors, flow queues and the IP stack.
//
//            +-------- recycled ---------+
//            v                           |
//     +--> ring --NIC--> [eager] --> flow queues --> [deferred] --> IP stack, sockets --+
//     |                                                                                 |
//     +------------------------ [free], invalidating several at once -------------------+
//
// The eager half runs in the receive interrupt, touches headers only, and is bounded by the overall limit. The
// deferred half runs in the network task, at the priority of its packet. Thesis 5.4.

#ifndef WEIR_RX_H
#define WEIR_RX_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/flows.h"

struct weir_rx_config {
    uint16_t buffers; // in the pool: more than `ring` and than there are flows (WEIR_FLOWS_ALL), up to WEIR_BUFFERS
    uint16_t ring;    // descriptors
    uint16_t refill;  // with fewer empty buffers than this in the ring, packets are recycled; 0: half the ring
    // Overall limit: `capacity` packets by interrupts per `period`; when they are spent the interrupt stays off and a
    // timer polls once per period for up to `batch` packets, until a period begins with fewer than `capacity`.
    uint16_t capacity;
    uint16_t batch; // at least `capacity`, at most `ring`; 0: `capacity`
    // A poll is followed by so long a pause that polls take no more than this share of the CPU, whatever the frames
    // cost; 0: no such limit.
    uint8_t share_percent;
    uint32_t period; // in ticks of weir_port_now(), below 2^31
    uint8_t background_priority;
    // What the IP stack gets for itself: one flow for ARP and ICMPv6, one for ICMP and IGMP, each with this limit.
    // 0 packets: none. Their priority: see weir_flow_set_priority().
    uint8_t system_priority;
    uint16_t system_capacity; // packets per period, of a deferrable server
    uint32_t system_period;   // in ticks
    bool drop_background;     // discard what belongs to no flow at once
};

enum weir_drop {
    WEIR_DROP_SHORT_CIRCUIT = 0, // buffers are scarce and nothing waits that matters less: path (a)
    WEIR_DROP_LIMITED = 1,       // the flow's limit: path (b)
    WEIR_DROP_RECYCLED = 2,      // waited, and gave way to a packet that matters more: path (c)
    WEIR_DROP_REFUSED = 3,       // malformed, or background that is dropped at once
};

struct weir_packet {
    uint16_t buffer;
    uint16_t length; // 0: it was discarded
    uint8_t flow;
    uint8_t priority;
};

// Where the pool's buffers are.
struct weir_rx_books {
    uint16_t with_nic; // empty, in the ring
    uint16_t waiting;  // in flow queues
    uint16_t held;     // with the IP stack or sockets
    uint16_t clean;    // free; the cache holds nothing of them
    uint16_t dirty;    // free
};

struct weir_rx_status {
    struct weir_rx_books books;
    uint32_t refused; // packets
    bool polling;
};

// Sets the pool up and fills the ring; the NIC may be off. Task context, once. Returns 0 or EINVAL.
int weir_rx_init(const struct weir_rx_config *config);

// The receive interrupt, or that of the poll timer. Returns the highest priority of waiting packets, -1 if none waits:
// the caller sees to it that the network task runs, with that priority at least. ISR context.
int32_t weir_rx_interrupt(bool timer);

// Takes the packet to be worked on next: the highest. False if none waits. If its flow holds too many buffers already,
// it is discarded and its length is 0: there is nothing to do but to ask again. Network task, with the lock.
bool weir_rx_next(struct weir_packet *packet);

// The IP stack is done with a buffer; gives freed buffers back to the ring when there are enough of them or it needs
// them. Any task, without the lock.
void weir_rx_free(uint16_t buffer);

// Discards the packets that wait in a flow that was removed. Task context, without the lock.
void weir_rx_drain(uint8_t flow);

// The books add up to the pool. Task context.
struct weir_rx_status weir_rx_status(void);

#endif
