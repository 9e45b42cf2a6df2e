// SPDX-License-Identifier: Apache-2.0
//
// Descriptor rings of the plain NIC, as plain memory: no registers, no RTOS, no IP stack.
//
// A descriptor belongs to the NIC while its OWN bit is set and to software otherwise. The receive ring hands empty
// buffers to the NIC and takes filled ones back, both in ring order. `struct plain_desc` must lie where neither side
// caches it (on the simulated device: in the uncached window), because two descriptors share a cache line.
//
// All functions take constant time, never block, and are not reentrant: one context (task or ISR) at a time uses a
// ring.

#ifndef PLAIN_RING_H
#define PLAIN_RING_H

#include <stdbool.h>
#include <stdint.h>

#define PLAIN_DESC_OWN (UINT32_C(1) << 31)
#define PLAIN_DESC_WRAP (UINT32_C(1) << 30)
#define PLAIN_DESC_LENGTH_MASK UINT32_C(0xffff)

// As the NIC reads and writes it; 8-byte aligned.
struct plain_desc {
    volatile uint32_t control; // OWN | WRAP | length: capacity on the way to the NIC, frame length on the way back
    volatile uint32_t address; // of the buffer, as the NIC sees it
};

// A ring of `count` descriptors; receive and transmit alike. Positions are free-running, an index is position % count.
struct plain_ring {
    struct plain_desc *desc;
    uint32_t count; // power of two, 2 to 256
    uint32_t given; // position of the next descriptor that software hands to the NIC
    uint32_t taken; // position of the next descriptor that software takes back; given - taken are with the NIC
};

// Clears all descriptors to "owned by software" and sets WRAP on the last one. `desc` is caller-owned and outlives
// the ring; `count` is a power of two.
void plain_ring_init(struct plain_ring *ring, struct plain_desc *desc, uint32_t count);

// Descriptors that could be handed to the NIC now.
static inline uint32_t plain_ring_room(const struct plain_ring *ring)
{
    return ring->count - (ring->given - ring->taken);
}

// Index that the next plain_ring_give() will use.
static inline uint32_t plain_ring_next(const struct plain_ring *ring)
{
    return ring->given & (ring->count - 1U);
}

// As plain_ring_give() and plain_ring_take(), for those who know that the ring has room, and that it is not empty; with
// the ring's `desc` and `count` as the compiler knows them: half the instructions in a receive interrupt.
static inline uint32_t plain_ring_give_room(struct plain_ring *ring, struct plain_desc *ring_desc, uint32_t count,
                                            uint32_t address, uint16_t length)
{
    uint32_t index = ring->given & (count - 1U);
    struct plain_desc *desc = &ring_desc[index];
    desc->address = address;
    // The address must be in memory before OWN is: both are volatile, and the bus keeps the order of stores.
    desc->control = PLAIN_DESC_OWN | (index + 1U == count ? PLAIN_DESC_WRAP : 0U) | length;
    ring->given++;
    return index;
}

static inline int32_t plain_ring_take_given(struct plain_ring *ring, const struct plain_desc *ring_desc, uint32_t count,
                                            uint32_t *length)
{
    uint32_t index = ring->taken & (count - 1U);
    uint32_t control = ring_desc[index].control;
    if ((control & PLAIN_DESC_OWN) != 0U) {
        return -1;
    }
    *length = control & PLAIN_DESC_LENGTH_MASK;
    ring->taken++;
    return (int32_t)index;
}

// Hands a buffer to the NIC: for receiving `length` is its capacity, for sending the frame's length. The buffer is
// the NIC's until plain_ring_take() returns its position. Returns false, and changes nothing, when the ring is full.
static inline bool plain_ring_give(struct plain_ring *ring, uint32_t address, uint16_t length)
{
    if (plain_ring_room(ring) == 0U) {
        return false;
    }
    (void)plain_ring_give_room(ring, ring->desc, ring->count, address, length);
    return true;
}

// Takes the oldest descriptor back if the NIC is done with it. Returns its index (the value that
// `given % count` had when it was handed over) and sets *length to the received length; -1 if there is none.
static inline int32_t plain_ring_take(struct plain_ring *ring, uint16_t *length)
{
    if (ring->given == ring->taken) {
        return -1;
    }
    uint32_t bytes;
    int32_t index = plain_ring_take_given(ring, ring->desc, ring->count, &bytes);
    if (index >= 0) {
        *length = (uint16_t)bytes;
    }
    return index;
}

#endif
