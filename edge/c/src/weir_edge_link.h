// SPDX-License-Identifier: Apache-2.0
//
// What the live link takes, and how much it varies, as edge/src/core/link.rs measures it: every datagram carries its
// sender's clock. The receiver's clock less that is the delay plus the clocks' offset. The offset is unknown and need
// not be known: who says by when a result must leave *in the node's clock* adds it again.

#ifndef WEIR_EDGE_LINK_H
#define WEIR_EDGE_LINK_H

#include "weir_edge/client.h"

// A datagram came that was sent at this time of its sender's clock.
void weir_edge_link_came(struct weir_edge_link *link, uint64_t now_ns, uint64_t sent_at_ns);

// An answer came to what was sent at this time of our clock.
void weir_edge_link_answered(struct weir_edge_link *link, uint64_t now_ns, uint64_t asked_at_ns);

// The shortest and the longest of the last round trips; false if there was none, and then they mean nothing.
bool weir_edge_link_round_trip(const struct weir_edge_link *link, uint64_t now_ns, uint64_t *min_ns, uint64_t *max_ns);

// By when, in the sender's clock, something must leave there to be here at `due_ns`; 0 if nothing was measured.
// `share_permille` is 1 to 1,000.
uint64_t weir_edge_link_leave_by(const struct weir_edge_link *link, uint64_t now_ns, uint64_t due_ns,
                                 uint16_t share_permille, uint16_t uncertainty_permille);

#endif
