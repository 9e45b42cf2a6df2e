// SPDX-License-Identifier: Apache-2.0
//
// The receive path over a NIC that has a queue for each flow, with two buffers each in a packet memory (thesis 7).
//
//   NIC's queue --handed over--> [interrupt] --> flow --> [network task, frame by frame] --> IP stack, sockets
//        ^                                                                                         |
//        +------------------------- released with the last frame of the buffer -------------------+
//
// The NIC has done the demultiplexing, so that the interrupt's work does not grow with the number of frames: it hangs
// each buffer that was handed over into its flow. What a flow may have beyond its limit stays in the NIC, which drops
// what does not fit into the queue: neither costs the CPU anything, nor does it take memory from another flow.
//
// Flow i has queue i. A frame's number is where it lies in packet memory, in units of WEIR_MQ_UNIT_BYTES.
//
// Besides weir/port.h, `weir_config.h` provides:
//
//   int32_t weir_mq_driver_take(uint32_t *half, uint32_t *frames);
//       The queue of the highest priority that has handed over a buffer, whose interrupt it acknowledges; -1 if there
//       is none. *half: which of its buffers, 0 or 1; *frames: how many are in it. The queue hands over the other one
//       after this one was released. ISR or lock.
//   void weir_mq_driver_release(uint32_t queue);
//       Gives the buffer that was handed over back to the NIC, also if it was not taken, also if the queue is off; if
//       there is none, nothing. Lock.
//   void weir_mq_driver_open(uint32_t queue);
//       Sets the queue to what its flow is like now, and turns it on if it is off. Lock.
//   void weir_mq_driver_close(uint32_t queue);
//       Turns the queue off; what it holds is gone, but for a buffer that was handed over. After it nothing is written
//       into its buffers. Lock.
//   uint32_t weir_mq_driver_first(uint32_t buffer);
//       Number of the first frame in buffer 2 * queue + half. The buffers have one size, so that
//       weir_mq_driver_buffer(frame) is their inverse for every frame in them.
//   uint32_t weir_mq_driver_length(uint32_t frame);
//       From the NIC's metadata, past any cache.
//   uint32_t weir_mq_driver_units(uint32_t length);
//       From one frame's number to the next one's.

#ifndef WEIR_MULTIQUEUE_H
#define WEIR_MULTIQUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/rx.h"

#define WEIR_MQ_QUEUES WEIR_FLOWS_ALL
#define WEIR_MQ_UNIT_BYTES 16U

struct weir_mq_config {
    uint8_t background_priority;
    uint8_t system_priority;
    uint16_t system_capacity; // packets per period of ARP, and of ICMP; 0: no limit
    uint32_t system_period;   // in ticks
};

// Empties the flow table and opens the NIC's queues of the three flows that are always there. Task context, once.
// Returns 0 or EINVAL.
int weir_mq_init(const struct weir_mq_config *config);

// Takes over what the NIC has handed over. Returns the highest priority of waiting packets, -1 if none waits. ISR or
// lock.
int32_t weir_mq_interrupt(void);

// The poll timer: goes on with flows whose limit allows it again. As above. ISR.
int32_t weir_mq_timer(void);

// Takes the packet to be worked on next: the highest; packet->buffer is the frame's number. False if none waits. With a
// length of 0 there is nothing to do but to ask again. Network task, with the lock.
bool weir_mq_next(struct weir_packet *packet);

// The IP stack is done with a frame. Any task, without the lock.
void weir_mq_free(uint16_t frame);

// A flow was added, or is not what it was: sets its queue, and a packet that waits for its limit is held against what
// the limit is now. Task context, with the lock.
void weir_mq_changed(uint8_t flow);

// Ends the queue of a flow that was removed, before another is added; what waits is gone. Task context, without the
// lock.
void weir_mq_close(uint8_t flow);

#endif
