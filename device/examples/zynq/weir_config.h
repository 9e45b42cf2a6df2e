// SPDX-License-Identifier: Apache-2.0
//
// The receive library on the Zynq: FreeRTOS, the GEM, and the global timer as clock and poll timer.

#ifndef WEIR_CONFIG_H
#define WEIR_CONFIG_H

#include "gem.h"
#include "weir_freertos.h"
#include "zynq.h"

#define WEIR_BUFFERS GEM_BUFFERS
#define WEIR_FLOWS 16
#define WEIR_PRIORITIES configMAX_PRIORITIES

#define WEIR_PORT_TICKS_PER_US ((uint64_t)ZYNQ_TIMER_HZ / 1000000U)
#define WEIR_NETWORK_STACK_WORDS 1024

static inline uint64_t weir_port_now(void)
{
    return zynq_now();
}

static inline uint32_t weir_port_now_low(void)
{
    return ZYNQ_GLOBAL_LOW;
}

static inline void weir_port_poll_off(void)
{
    ZYNQ_GLOBAL_CONTROL = ZYNQ_GLOBAL_ON;
    ZYNQ_GLOBAL_STATUS = 1;
}

static inline void weir_port_poll_at(uint32_t time)
{
    uint64_t now = zynq_now();
    uint64_t at = now + (uint64_t)(int64_t)(int32_t)(time - (uint32_t)now);
    weir_port_poll_off(); // a comparator that is on may see a mixture of old and new halves
    ZYNQ_GLOBAL_COMPARE_LOW = (uint32_t)at;
    ZYNQ_GLOBAL_COMPARE_HIGH = (uint32_t)(at >> 32);
    ZYNQ_GLOBAL_CONTROL = ZYNQ_GLOBAL_ON | ZYNQ_GLOBAL_COMPARE_ON;
}

// The cache is write-back: it cannot be told to forget everything. Buffers are invalidated one by one below, where
// their last user frees them and where their next one begins.
static inline void weir_port_invalidate_all(void) {}

static inline uint8_t *weir_buffer_data(uint32_t buffer)
{
    return gem_rx_data[buffer];
}

// A CPU that reads ahead on speculation may have fetched lines while the GEM was writing.
static inline void weir_buffer_arrived(uint32_t buffer, uint32_t bytes)
{
    zynq_dcache_invalidate(gem_rx_data[buffer], bytes);
}

static inline void weir_buffer_leaves(uint32_t buffer)
{
    zynq_dcache_invalidate(gem_rx_data[buffer], GEM_BUFFER_BYTES);
}

#endif
