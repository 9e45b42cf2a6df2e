// SPDX-License-Identifier: Apache-2.0
//
// Events at the trace port: one store each, which nothing waits for. The kinds are known to host/src/soc/events.rs.

#ifndef TRACE_H
#define TRACE_H

#include <stdint.h>

#include "scenario.h"
#include "soc.h"

enum trace_kind {
    TRACE_READY = 0,     // everything is set up; value: the tick of the first releases
    TRACE_FAILED = 1,    // the firmware gives up; value: an enum failure
    TRACE_JOB_START = 2, // value: task
    TRACE_JOB_END = 3,   // value: task
    // Where it says receive buffer: with the multiqueue NIC the number of the frame, its place in packet RAM / 16.
    TRACE_RX_DRIVER = 4, // value: receive buffer; the driver took it from the ring
    TRACE_RX_STACK = 5,  // value: receive buffer; the IP stack begins with it
    TRACE_RX_DONE = 6,   // value: receive buffer; the IP stack has returned
    TRACE_RX_FREED = 7,  // value: receive buffer; it is free again
    TRACE_RX_GIVEN = 8,  // value: receive buffer; it is in the ring
    TRACE_RX_QUEUED = 9, // value: receive buffer; the eager half took it from the ring into a flow's queue
    // value: receive buffer + 65536 * enum weir_drop; its packet was discarded and the buffer is in the ring again
    TRACE_RX_DROPPED = 10,
    // value: first of SOC_QUEUE_BYTES / 16 frame numbers; a queue of the NIC was turned off, and what waited in it is
    // gone
    TRACE_RX_CLOSED = 12,
    // value: receive buffer + 65536 * place of its frame's copy, which is receive buffer TRACE_RX_KEPT + place from
    // here
    TRACE_RX_COPIED = 13,
    TRACE_POLLING = 11, // value: 1: the overall limit has turned the receive interrupt off; 0: on again
};

// With the multiqueue NIC: number of frames that have a place in packet RAM.
#define TRACE_RX_KEPT (SOC_PACKET_RAM_BYTES / 16U)

// Events that a run cannot do without.
static inline void trace_always(enum trace_kind kind, uint32_t value)
{
    SOC_TRACE[kind] = value;
}

// The active method: events that the measurement is made of; a scenario can switch them off to see what they cost.
static inline void trace(enum trace_kind kind, uint32_t value)
{
    if (weir_scenario.trace != 0U) {
        SOC_TRACE[kind] = value;
    }
}

#endif
