// SPDX-License-Identifier: Apache-2.0
//
// What the software needs to know of the simulated device (soc/weir_soc.py).

#ifndef SOC_H
#define SOC_H

#include <stdint.h>

#include "plain_nic.h"

#define SOC_NIC ((struct plain_nic_registers *)0x91000000)
#define SOC_QUEUES 0x94000000 // registers of the multiqueue NIC
#define SOC_PACKET_RAM UINT32_C(0x50000000)
#define SOC_PACKET_RAM_BYTES (UINT32_C(256) << 10)
#define SOC_QUEUE_BYTES 16384U // of packet RAM for each queue, two buffers
#define SOC_TRACE ((volatile uint32_t *)0x92000000)
#define SOC_MTIMECMP 0x93000000
#define SOC_MTIME 0x93000008
#define SOC_RELEASE_COMPARE ((volatile uint32_t *)0x93000010)
#define SOC_POLL_COMPARE ((volatile uint32_t *)0x93000018)

// External interrupt lines, bits of the VexRiscv registers below.
#define SOC_LINE_NIC (UINT32_C(1) << 0)
#define SOC_LINE_RELEASE (UINT32_C(1) << 1)
#define SOC_LINE_POLL (UINT32_C(1) << 2)

// The uncached view of an object in RAM or packet RAM.
#define SOC_UNCACHED(pointer) ((void *)((uintptr_t)(pointer) | UINT32_C(0x80000000)))

#define SOC_CACHE_LINE 32

static inline void soc_irq_mask_set(uint32_t lines) // VexRiscv's external interrupt mask
{
    __asm volatile("csrw 0xbc0, %0" ::"r"(lines));
}

extern void weir_short_trap(void); // boot.S

static inline void soc_trap_set(void (*entry)(void))
{
    __asm volatile("csrw mtvec, %0" ::"r"(entry));
}

static inline uint32_t soc_irq_pending(void) // masked lines that are high
{
    uint32_t lines;
    __asm volatile("csrr %0, 0xfc0" : "=r"(lines));
    return lines;
}

// Drops every line of the data cache (VexRiscv has no narrower form), 131 cycles. Caches are write-through, so
// nothing is lost. DMA does not do it: whoever hands a buffer to the NIC must.
static inline void soc_dcache_invalidate(void)
{
    __asm volatile(".word 0x500f" ::: "memory");
}

static inline uint64_t soc_mtime(void)
{
    const volatile uint32_t *mtime = (const volatile uint32_t *)SOC_MTIME;
    uint32_t high;
    uint32_t low;
    do {
        high = mtime[1];
        low = mtime[0];
    } while (high != mtime[1]);
    return ((uint64_t)high << 32) | low;
}

// The poll line goes high when the low half of the time is `time`, less than 2^31 cycles away; at once if that is past.
static inline void soc_poll_at(uint32_t time)
{
    uint64_t now = soc_mtime();
    uint64_t at = now + (uint64_t)(int64_t)(int32_t)(time - (uint32_t)now);
    SOC_POLL_COMPARE[1] = UINT32_MAX; // off, so that no mixture of old and new halves lies in the past
    SOC_POLL_COMPARE[0] = (uint32_t)at;
    SOC_POLL_COMPARE[1] = (uint32_t)(at >> 32);
}

static inline void soc_poll_off(void)
{
    SOC_POLL_COMPARE[1] = UINT32_MAX;
}

#endif
