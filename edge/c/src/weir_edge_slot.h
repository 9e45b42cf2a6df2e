// SPDX-License-Identifier: Apache-2.0
//
// What several files do to a task under way.

#ifndef WEIR_EDGE_SLOT_H
#define WEIR_EDGE_SLOT_H

#include "weir_edge/client.h"

// Whether there is something to be told of it.
static inline bool weir_edge_has_news(const struct weir_edge_slot *slot)
{
    return slot->cancel_attempt != 0U || slot->tell_accepted || slot->tell_given_up || slot->tell_node ||
           slot->state == WEIR_EDGE_SLOT_ENDED;
}

// Its last event is to be told.
static inline void weir_edge_end(struct weir_edge_slot *slot, enum weir_edge_event_kind ending)
{
    slot->state = WEIR_EDGE_SLOT_ENDED;
    slot->ending = ending;
    slot->tell_node = false;
}

// A node is to be told that all attempts up to this one are given up.
static inline void weir_edge_give_up(struct weir_edge_slot *slot, uint8_t node, uint8_t attempt)
{
    slot->cancel_node = node;
    slot->cancel_attempt = attempt;
}

#endif
