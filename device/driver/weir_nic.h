// SPDX-License-Identifier: Apache-2.0
//
// The multiqueue NIC (nic/rtl/weir_nic.sv, nic/README.md): plain register accesses, no RTOS, no IP stack. One context
// at a time calls any of it, but for weir_nic_threshold().

#ifndef WEIR_NIC_H
#define WEIR_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "weir_nic_regs.h"

// Room before each frame for what software keeps of it, metadata included; in bytes, a multiple of 16.
#define WEIR_NIC_HEADROOM_BYTES 48U

// Classes of frames, bits of weir_nic_queue.classes.
enum weir_nic_class {
    WEIR_NIC_TCP = 1U << 0,
    WEIR_NIC_UDP = 1U << 1,
    WEIR_NIC_ARP = 1U << 2,
    WEIR_NIC_ICMP = 1U << 3, // ICMPv6, too
    WEIR_NIC_FRAGMENT = 1U << 4,
    WEIR_NIC_IP = 1U << 5,   // any other
    WEIR_NIC_OTHER = 1U << 6 // another EtherType, or a damaged header
};

// What a queue is set to. A frame goes to the queue of the lowest index that matches it; without one it is dropped.
struct weir_nic_queue {
    uint32_t classes;
    uint16_t port;        // destination, host byte order; 0: any
    uint32_t sender;      // as a number, first byte highest
    uint32_t sender_mask; // 0: any sender
    uint8_t priority;     // 0 to 15
    uint32_t base;        // of two buffers in packet memory, in bytes, a multiple of 16
    uint32_t buffer_bytes;
    // Moderation, in cycles; none of the three: each frame is announced at once.
    uint32_t packet_timer;
    uint32_t absolute_timer;
    uint32_t frames;
    bool periodic; // the absolute timer runs by itself
};

static inline volatile uint32_t *weir_nic_register(uintptr_t nic, uint32_t offset)
{
    return (volatile uint32_t *)(nic + offset);
}

static inline volatile uint32_t *weir_nic_queue_register(uintptr_t nic, uint32_t queue, uint32_t offset)
{
    return weir_nic_register(nic, WEIR_NIC_QUEUE(queue) + offset);
}

// Queues of a lower priority do not interrupt; 0: all do. Any context.
static inline void weir_nic_threshold(uintptr_t nic, uint32_t priority)
{
    *weir_nic_register(nic, WEIR_NIC_THRESHOLD) = priority;
}

// The queue of the highest priority that interrupts, whose interrupt is acknowledged; -1: none. *half and *frames: the
// buffer that it has handed over, and how many frames are in it.
static inline int32_t weir_nic_take(uintptr_t nic, uint32_t *half, uint32_t *frames)
{
    uint32_t next = *weir_nic_register(nic, WEIR_NIC_NEXT);
    if ((next & WEIR_NIC_NEXT_VALID_MASK) == 0U) {
        return -1;
    }
    uint32_t queue = next & WEIR_NIC_NEXT_QUEUE_MASK;
    *weir_nic_register(nic, WEIR_NIC_TAKE) = queue;
    uint32_t ready = *weir_nic_queue_register(nic, queue, WEIR_NIC_Q_READY);
    *half = (ready & WEIR_NIC_Q_READY_BUFFER_MASK) >> WEIR_NIC_Q_READY_BUFFER_SHIFT;
    *frames = (ready & WEIR_NIC_Q_READY_FRAMES_MASK) >> WEIR_NIC_Q_READY_FRAMES_SHIFT;
    return (int32_t)queue;
}

// The buffer that the queue has handed over is the NIC's again.
static inline void weir_nic_release(uintptr_t nic, uint32_t queue)
{
    *weir_nic_queue_register(nic, queue, WEIR_NIC_Q_RELEASE) = 0;
}

// Receiver on, for this station and broadcasts; all queues are off.
void weir_nic_start(uintptr_t nic, const uint8_t mac[6]);

// Sets a queue, in traffic; `base` and `buffer_bytes` count only when it was off. Waits for a frame under way.
void weir_nic_queue_open(uintptr_t nic, uint32_t queue, const struct weir_nic_queue *settings);

// Turns a queue off. What waits in it is gone; nothing is written into its buffers after this.
void weir_nic_queue_close(uintptr_t nic, uint32_t queue);

#endif
