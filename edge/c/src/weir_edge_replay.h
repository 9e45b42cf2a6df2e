// SPDX-License-Identifier: Apache-2.0
//
// Which sequence numbers of a sender were seen.

#ifndef WEIR_EDGE_REPLAY_H
#define WEIR_EDGE_REPLAY_H

#include "weir_edge/client.h"

// Notes a number; false if it was there before, or is too old to tell: the last 1,024 are known. Numbers begin at 1. An
// empty window is all 0.
bool weir_edge_replay_accept(struct weir_edge_window *window, uint64_t number);

#endif
