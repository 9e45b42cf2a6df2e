// SPDX-License-Identifier: Apache-2.0
//
// What the library must do with every frame of a multiqueue NIC: a list of frames for each flow, and who has which
// buffer, those of naive.h in the flows' queues. Checks each step when it is done.

#ifndef MQ_MODEL_H
#define MQ_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "mq_sim.h"
#include "naive.h"
#include "weir/multiqueue.h"

#define MQ_MODEL_PASSES 64U

struct mq_model_flow {
    uint32_t frames[2U * MQ_SIM_UNITS_MAX]; // by their numbers, oldest first: in the NIC, waiting or parked
    uint32_t count;
    uint32_t left;   // of them in the buffer that software has
    uint16_t buffer; // which
    bool fresh;      // none of it has been begun
    bool parked;
    uint64_t until;
    struct weir_server server;        // as the library's, which is stepped alike
    uint64_t passed[MQ_MODEL_PASSES]; // when; a ring
    uint32_t passes;
};

struct mq_model {
    struct mq_model_flow flows[WEIR_MQ_QUEUES];
    uint16_t held[2U * WEIR_MQ_QUEUES]; // frames of each buffer
    uint32_t delivered;
    uint32_t discarded; // by turning a queue off
    uint32_t closed;    // queues turned off
    uint32_t parkings;
};
extern struct mq_model mq_model;

// Sets simulation, model and library up.
void mq_model_start(const struct weir_mq_config *config);

// From the simulation.
void mq_model_arrives(uint32_t queue, uint32_t serial);
void mq_model_taken(uint32_t queue, uint32_t half, uint32_t frames);
void mq_model_released(uint32_t queue, uint32_t half);
void mq_model_timer(void); // before weir_mq_timer()
void mq_model_interrupt_ends(int32_t priority);

// What a task does, and what an adapter to an IP stack does with it.
bool mq_model_next(struct weir_packet *packet); // asks again if a flow is parked instead
void mq_model_free(uint16_t frame);
uint8_t mq_model_add(weir_match match, uint8_t priority);
void mq_model_remove(uint8_t flow); // and turns its queue off
void mq_model_set_priority(uint8_t flow, uint8_t priority);
void mq_model_limit(uint8_t flow, enum weir_server_kind kind, uint16_t capacity, uint32_t period);

// Each frame is in one place, each buffer with whom it belongs. Any time but within interrupt and lock.
void mq_model_check(void);

// Frames that neither were delivered nor are gone.
uint32_t mq_model_waiting(void);

#endif
