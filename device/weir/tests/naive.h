// SPDX-License-Identifier: Apache-2.0
//
// Flows and their queues as one would write them with no thought of speed, to hold weir/flows.h against.

#ifndef NAIVE_H
#define NAIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/flows.h"

struct naive_flow {
    bool open;
    weir_match match;
    uint8_t priority;
    size_t sender_length; // 0: any
    uint8_t sender[16];
    uint16_t packets[WEIR_BUFFERS]; // oldest first
    uint16_t waiting;
    uint16_t held;
};
extern struct naive_flow naive[WEIR_FLOWS_ALL];

void naive_start(uint8_t background_priority, uint8_t system_priority);

// The library's functions below, called with the same arguments; each checks the result.
uint8_t naive_add(weir_match match, uint8_t priority);
void naive_remove(uint8_t flow);
void naive_set_priority(uint8_t flow, uint8_t priority);
void naive_only_from(uint8_t flow, const uint8_t *sender, size_t length);

// What the library has done; the caller tells.
void naive_was_put(uint8_t flow, uint16_t buffer);
void naive_was_taken(uint8_t flow, uint16_t buffer); // it must have been the oldest

// Where a frame belongs.
uint8_t naive_flow_of(const uint8_t *frame, size_t length);
// Of the highest priority with waiting packets, the flow whose turn it is, which passes on; WEIR_NO_FLOW.
uint8_t naive_turn(void);
// Priorities with waiting packets; -1.
int32_t naive_highest(void);
int32_t naive_lowest(void);
uint32_t naive_waiting(void);
// May `victim` (or WEIR_NO_FLOW: itself) go for a packet of `flow`?
void naive_check_victim(uint8_t flow, uint8_t victim);

// The library's tables say the same.
void naive_check(void);

#endif
