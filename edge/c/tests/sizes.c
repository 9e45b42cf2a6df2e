// SPDX-License-Identifier: Apache-2.0
//
// Not run: its symbols have the sizes that `make sizes` prints.

#include "weir_edge/client.h"

extern struct weir_edge_client size_of_client;
struct weir_edge_client size_of_client;
extern struct weir_edge_node size_of_node;
struct weir_edge_node size_of_node;
extern struct weir_edge_slot size_of_slot;
struct weir_edge_slot size_of_slot;
extern struct weir_edge_event size_of_event;
struct weir_edge_event size_of_event;
