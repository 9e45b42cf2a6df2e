// SPDX-License-Identifier: Apache-2.0
//
// Reads vectors.txt, which the Rust side writes (edge/tests/c_vectors.rs).

#ifndef VECTORS_H
#define VECTORS_H

#include "weir_edge_message.h"

// A line's fields, one after the other. Each ends the test if the field is not there or not what is asked for.
struct vector {
    char *name; // the first
    char *rest;
};

// Calls `take` with each line but comments.
void vectors_each(void (*take)(struct vector *line));

uint64_t vector_number(struct vector *line);
// Into `out` of `max` bytes; returns how many.
size_t vector_bytes(struct vector *line, uint8_t *out, size_t max);
struct weir_edge_address vector_address(struct vector *line);

// With the key of the file.
struct weir_edge_seal vectors_seal(void);

#endif
