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
