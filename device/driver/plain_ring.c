// SPDX-License-Identifier: Apache-2.0

#include "plain_ring.h"

void plain_ring_init(struct plain_ring *ring, struct plain_desc *desc, uint32_t count)
{
    ring->desc = desc;
    ring->count = count;
    ring->given = 0;
    ring->taken = 0;
    for (uint32_t i = 0; i < count; i++) {
        desc[i].control = (i + 1U == count) ? PLAIN_DESC_WRAP : 0U;
        desc[i].address = 0;
    }
}

bool plain_ring_give(struct plain_ring *ring, uint32_t address, uint16_t length)
{
    if (plain_ring_room(ring) == 0U) {
        return false;
    }
    uint32_t index = plain_ring_next(ring);
    uint32_t wrap = (index + 1U == ring->count) ? PLAIN_DESC_WRAP : 0U;
    ring->desc[index].address = address;
    // The address must be in memory before OWN is: both are volatile, and the bus keeps the order of stores.
    ring->desc[index].control = PLAIN_DESC_OWN | wrap | length;
    ring->given++;
    return true;
}

int32_t plain_ring_take(struct plain_ring *ring, uint16_t *length)
{
    if (ring->given == ring->taken) {
        return -1;
    }
    uint32_t index = ring->taken & (ring->count - 1U);
    uint32_t control = ring->desc[index].control;
    if ((control & PLAIN_DESC_OWN) != 0U) {
        return -1;
    }
    *length = (uint16_t)(control & PLAIN_DESC_LENGTH_MASK);
    ring->taken++;
    return (int32_t)index;
}
