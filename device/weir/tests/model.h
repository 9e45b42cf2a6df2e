// SPDX-License-Identifier: Apache-2.0
//
// What the receive library must do with every packet: follows it by its events (WEIR_ON_...), and checks each verdict
// when it is given. The queues are those of naive.h.

#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "naive.h"
#include "weir/rx.h"

enum model_place { MODEL_IDLE, MODEL_ARRIVING, MODEL_WAITING, MODEL_HELD };

struct model {
    struct weir_rx_config config;
    uint8_t place[WEIR_BUFFERS]; // enum model_place; idle: in the ring or free
    uint8_t flow[WEIR_BUFFERS];  // of those that wait or are held
    uint16_t held;
    int32_t shared;
    int32_t arriving; // the buffer whose frame the library looks at; -1: none
    uint8_t victim;   // the flow that gave way to it
    bool gave_clean;  // a buffer went into the ring for it
    uint32_t queued, refused, short_circuited, limited, recycled, abandoned, discarded, delivered;
};
extern struct model model;

void model_start(const struct weir_rx_config *config); // before weir_rx_init()

// From the simulation.
void model_arrives(uint32_t buffer);
void model_interrupt_step(void); // the frame before this must have found its place
void model_interrupt_ends(int32_t priority);

// What a task does, followed by a check. At each point (struct sim) an interrupt can come in between.
bool model_next(struct weir_packet *packet);
void model_free(uint16_t buffer);
uint8_t model_add(weir_match match, uint8_t priority);
void model_remove(uint8_t flow); // and drains it
void model_set_priority(uint8_t flow, uint8_t priority);
void model_only_from(uint8_t flow, const uint8_t *sender, size_t length);

// Buffers: each in one place, and the library's books add up to the pool. Any time but within the interrupt and the
// lock.
void model_check(void);
struct weir_rx_status model_status(void);

#endif
