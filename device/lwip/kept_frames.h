// SPDX-License-Identifier: Apache-2.0
//
// Frames that lwIP keeps while it waits for others: fragments of a datagram, and TCP segments that come before those
// that they follow. In a buffer of the multiqueue NIC they would hold up what they wait for, because a queue hands
// over its next buffer only when the last one was given back. So they are copied on their way in. Each flow has room of
// its own for them, so that what one sender makes the stack keep is no other flow's.

#ifndef KEPT_FRAMES_H
#define KEPT_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "lwip/pbuf.h"

// Frames that a flow may have lwIP keep, more than IP_REASS_MAX_PBUFS and TCP_OOSEQ_MAX_PBUFS: lwIP makes room for a
// new one only when it has seen it, and what it has put together waits in the socket.
#define KEPT_FRAMES_PER_FLOW 6U

// Would lwIP keep this Ethernet frame, `length` bytes at `frame`? Reads nothing behind it. With lwIP's core lock.
bool kept_frames_waits(const uint8_t *frame, uint32_t length);

// A copy of `p`, which is one piece and of no more than KEPT_FRAMES_BYTES, in the room of `flow`; NULL if that is full:
// for TCP a lost segment, which comes again. Whoever gets the copy frees it; `p` stays the caller's. `place` is where
// it is, for kept_frames_freed(). With lwIP's core lock.
struct pbuf *kept_frames_copy(const struct pbuf *p, uint8_t flow, uint32_t *place);
#define KEPT_FRAMES_BYTES 1518U

// Copies that there are; simulators find it by this name.
extern uint32_t kept_frames_count;

// Called when a copy's place is free again. Any task. The port's to define.
void kept_frames_freed(uint32_t place);

#endif
