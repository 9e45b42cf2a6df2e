// SPDX-License-Identifier: Apache-2.0
//
// The receive library on a Cortex-M3 with 64 KiB of RAM.

#ifndef WEIR_CONFIG_H
#define WEIR_CONFIG_H

#include "emac.h"
#include "sf2.h"
#include "weir_freertos.h"

#define WEIR_BUFFERS EMAC_BUFFERS
#define WEIR_FLOWS 8
#define WEIR_PRIORITIES configMAX_PRIORITIES

#define WEIR_PORT_TICKS_PER_US ((uint64_t)SF2_TIMER_HZ / 1000000U)
#define WEIR_NETWORK_STACK_WORDS 256

uint64_t weir_port_now(void); // board.c

static inline uint32_t weir_port_now_low(void)
{
    return ~SF2_TIMER2->value;
}

static inline void weir_port_poll_off(void)
{
    SF2_TIMER1->control = 0;
    SF2_TIMER1->pending = 1;
}

static inline void weir_port_poll_at(uint32_t time)
{
    int32_t left = (int32_t)(time - weir_port_now_low());
    weir_port_poll_off();
    SF2_TIMER1->load = left > 0 ? (uint32_t)left : 1U;
    SF2_TIMER1->control = SF2_TIMER_ON | SF2_TIMER_ONCE | SF2_TIMER_INTERRUPT;
}

// No data cache.
static inline void weir_port_invalidate_all(void) {}

static inline uint8_t *weir_buffer_data(uint32_t buffer)
{
    return emac_rx_data[buffer];
}

static inline void weir_buffer_arrived(uint32_t buffer, uint32_t bytes)
{
    (void)buffer;
    (void)bytes;
}

static inline void weir_buffer_leaves(uint32_t buffer)
{
    (void)buffer;
}

#endif
