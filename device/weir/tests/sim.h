// SPDX-License-Identifier: Apache-2.0
//
// A NIC with a ring of descriptors, a clock with a timer and a lock, for the receive library on the host. Checks that
// the library keeps to what weir/driver.h and weir/port.h say.

#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "frames.h"
#include "weir/rx.h"

struct sim {
    // Settings; for tests.
    uint64_t now;
    uint32_t ticks_per_frame; // that the library's interrupt takes
    const struct frame *late; // arrives once, when the library's interrupt has just found no more
    void (*point)(void);      // called where an interrupt can come in a task; see sim_interrupts()
    void (*locked)(void);     // called once, as soon as the lock is taken: for a model of what happens behind it
    // What has happened.
    uint32_t points;  // calls of `point`, or of what would be
    uint32_t arrived; // frames in RAM
    uint32_t missed;  // no descriptor
    uint32_t invalidations;
    // State.
    uint32_t ring_size;
    uint32_t buffers;
    uint16_t ring[WEIR_BUFFERS]; // oldest first
    uint32_t in_ring;
    uint32_t filled; // of them
    bool in_interrupt;
    uint32_t lock_depth;
    bool interrupts_on;
    bool pending;
    bool timer_on;
    uint32_t timer_at;
};
extern struct sim sim;

// Sets the simulation and the library up.
void sim_start(const struct weir_rx_config *config);

// A frame from the wire. Returns whether there was a descriptor.
bool sim_arrives(const struct frame *frame);

// Runs the interrupts that ask for service, if nothing keeps them away. Returns whether there was one.
bool sim_interrupts(void);

// The poll timer asks for service.
bool sim_timer_is_due(void);

// The frame in a buffer.
const uint8_t *sim_frame(uint32_t buffer, uint32_t *length);
bool sim_is_in_ring(uint32_t buffer);

// Frames taken off the ring in any window of `window` ticks, at most.
uint32_t sim_most_taken_in(uint64_t window);

#endif
