// SPDX-License-Identifier: Apache-2.0
//
// A NIC with a queue of two buffers for each flow, for weir/multiqueue.h on the host, after nic/rtl/weir_nic.sv: one
// buffer of a queue is software's at most, and stays so when the queue is turned off; the other one is filled. Checks
// that the library keeps to what weir/multiqueue.h says. Clock, lock and timer are those of sim.h.

#ifndef MQ_SIM_H
#define MQ_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/multiqueue.h"

#define MQ_SIM_UNITS_MAX 32U     // of a buffer
#define MQ_SIM_HEADROOM_UNITS 2U // before each frame
#define MQ_SIM_FRAMES_MAX (2U * MQ_SIM_UNITS_MAX * WEIR_MQ_QUEUES)

struct mq_sim_buffer {
    uint32_t frames, units; // that it is filled with
};

struct mq_sim_queue {
    // Settings; for tests.
    uint32_t asked_units; // of one buffer, from when the queue is turned on next
    bool moderated;       // hands over what does not fit, or when told to; otherwise each frame
    // What has happened.
    uint32_t dropped;   // neither buffer had room
    uint32_t discarded; // was in the filled buffer when the queue was turned off
    uint32_t released;  // buffers
    // State.
    bool open;
    uint8_t priority;
    uint32_t units; // of one buffer
    struct mq_sim_buffer buffers[2];
    uint8_t filled; // the buffer that is the NIC's in any case
    bool due;       // to be handed over
    bool ready;     // the other one is software's
    bool taken;     // and software knows
};

struct mq_sim {
    void (*meanwhile)(void); // called in the driver's functions: the NIC does not wait for software
    uint32_t arrived;        // frames of queues that are open; numbered by it from 1 on
    struct mq_sim_queue queues[WEIR_MQ_QUEUES];
};
extern struct mq_sim mq_sim;

// All queues off, time as it is.
void mq_sim_start(void);

// A frame from the wire. Returns its number, 0 if it is dropped.
uint32_t mq_sim_arrives(uint32_t queue, uint32_t length);

// The queue's timer is due.
void mq_sim_expires(uint32_t queue);

// Runs the interrupts that ask for service: timer, then NIC. Returns whether there was one.
bool mq_sim_interrupts(void);

// Which frame it is, by its number from the wire, that lies in a buffer that software has; 0: none begins there.
uint32_t mq_sim_serial(uint32_t frame, uint32_t *length);

#endif
