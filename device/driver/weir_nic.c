// SPDX-License-Identifier: Apache-2.0

#include "weir_nic.h"

#define WORD 4U

// Queues are turned on and off between frames: no more than one frame of the largest size.
static void wait_for_the_queue(uintptr_t nic)
{
    while ((*weir_nic_register(nic, WEIR_NIC_CTRL) & WEIR_NIC_CTRL_BUSY_MASK) != 0U) {
    }
}

void weir_nic_start(uintptr_t nic, const uint8_t mac[6])
{
    *weir_nic_register(nic, WEIR_NIC_MAC_LO) = (uint32_t)mac[0] | (uint32_t)mac[1] << 8 | (uint32_t)mac[2] << 16 |
                                               (uint32_t)mac[3] << 24;
    *weir_nic_register(nic, WEIR_NIC_MAC_HI) = (uint32_t)mac[4] | (uint32_t)mac[5] << 8;
    *weir_nic_register(nic, WEIR_NIC_HEADROOM) = WEIR_NIC_HEADROOM_BYTES / WORD;
    *weir_nic_register(nic, WEIR_NIC_THRESHOLD) = 0;
    *weir_nic_register(nic, WEIR_NIC_IRQ_ENABLE) = 1;
    *weir_nic_register(nic, WEIR_NIC_CTRL) = WEIR_NIC_CTRL_ENABLE_MASK;
}

void weir_nic_queue_open(uintptr_t nic, uint32_t queue, const struct weir_nic_queue *settings)
{
    const struct {
        uint32_t offset, value;
    } words[] = {
        {WEIR_NIC_Q_MATCH, settings->classes << WEIR_NIC_Q_MATCH_CLASSES_SHIFT | settings->port},
        {WEIR_NIC_Q_SENDER, settings->sender},
        {WEIR_NIC_Q_MASK, settings->sender_mask},
        {WEIR_NIC_Q_PRIORITY, settings->priority},
        {WEIR_NIC_Q_BASE, settings->base / WORD},
        {WEIR_NIC_Q_SIZE, settings->buffer_bytes / WORD},
        {WEIR_NIC_Q_PACKET_TIMER, settings->packet_timer},
        {WEIR_NIC_Q_ABSOLUTE_TIMER, settings->absolute_timer},
        {WEIR_NIC_Q_MODE, settings->periodic ? 1U : 0U},
        {WEIR_NIC_Q_OFFSET, 0},
        {WEIR_NIC_Q_FRAMES, settings->frames},
        {WEIR_NIC_Q_CREDITS, 0},
        {WEIR_NIC_Q_INTERVAL, 0},
        {WEIR_NIC_Q_CTRL, 1}, // last: the others are in force from then on
    };
    wait_for_the_queue(nic);
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        *weir_nic_queue_register(nic, queue, words[i].offset) = words[i].value;
    }
}

void weir_nic_queue_close(uintptr_t nic, uint32_t queue)
{
    wait_for_the_queue(nic);
    *weir_nic_queue_register(nic, queue, WEIR_NIC_Q_CTRL) = 0;
    wait_for_the_queue(nic);
}
