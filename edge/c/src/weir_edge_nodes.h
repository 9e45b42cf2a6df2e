// SPDX-License-Identifier: Apache-2.0
//
// Which nodes are known, and which of them is the nearest. A node is named by its place in the client.

#ifndef WEIR_EDGE_NODES_H
#define WEIR_EDGE_NODES_H

#include "weir_edge/client.h"

#define WEIR_EDGE_NOBODY WEIR_EDGE_NODES

// How often one that is not close is asked whether it is still there, and how often one of these makes room for another
// that a node names.
#define WEIR_EDGE_EXCHANGE_PERIOD_NS UINT64_C(2000000000)

bool weir_edge_same_address(const struct weir_edge_address *a, const struct weir_edge_address *b);

bool weir_edge_valid_address(const struct weir_edge_address *address);

// The node at an address; WEIR_EDGE_NOBODY if it is not known.
uint8_t weir_edge_find_node(const struct weir_edge_client *client, const struct weir_edge_address *address);

// Adds a node if it is new, and there is room; if there is none, it takes the place of one that is not close, if that
// was not done within the last exchange period.
void weir_edge_learn(struct weir_edge_client *client, uint64_t now_ns, const struct weir_edge_address *address);

// The nearest node that answers and is none of `except`, a bit each; WEIR_EDGE_NOBODY if there is none.
uint8_t weir_edge_nearest(const struct weir_edge_client *client, uint64_t now_ns, uint32_t except);

// Whether a node is one of those that are measured often: the closest ones, or all if there are no more than these.
bool weir_edge_is_near(const struct weir_edge_client *client, uint64_t now_ns, uint8_t node);

// A hello was sent to it, or a task was not answered.
void weir_edge_left_unanswered(struct weir_edge_node *node);

#endif
