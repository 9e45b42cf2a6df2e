// SPDX-License-Identifier: Apache-2.0

#include "weir_edge_replay.h"

#define BITS (UINT64_C(32) * WEIR_EDGE_WINDOW_WORDS)

bool weir_edge_replay_accept(struct weir_edge_window *window, uint64_t number)
{
    if (number == 0U || (number < window->highest && window->highest - number >= BITS)) {
        return false;
    }
    if (number > window->highest) {
        uint64_t steps = number - window->highest;
        for (uint64_t i = 0; i < (steps < BITS ? steps : BITS); i++) {
            uint64_t gone = number - i;
            window->seen[gone / 32U % WEIR_EDGE_WINDOW_WORDS] &= ~(UINT32_C(1) << gone % 32U);
        }
        window->highest = number;
    }
    uint32_t *word = &window->seen[number / 32U % WEIR_EDGE_WINDOW_WORDS];
    uint32_t bit = UINT32_C(1) << number % 32U;
    bool fresh = (*word & bit) == 0U;
    *word |= bit;
    return fresh;
}
