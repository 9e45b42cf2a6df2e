// SPDX-License-Identifier: Apache-2.0
//
// What the example uses of the Zynq-7000 (Xilinx UG585, appendix B) around its CPU and MAC.

#ifndef ZYNQ_H
#define ZYNQ_H

#include <stdint.h>

// Clock of global and private timer: half the CPU's. QEMU's run at 100 MHz; a board at 667 MHz has 333333333.
#ifndef ZYNQ_TIMER_HZ
#define ZYNQ_TIMER_HZ 100000000
#endif

#define ZYNQ_REGISTER(address) (*(volatile uint32_t *)(address))

// Interrupt numbers.
#define ZYNQ_IRQ_GLOBAL_TIMER 27U
#define ZYNQ_IRQ_PRIVATE_TIMER 29U
#define ZYNQ_IRQ_GEM0 54U

// Interrupt controller, as wired to CPU 0.
#define ZYNQ_GIC_CPU_CONTROL ZYNQ_REGISTER(0xf8f00100)
#define ZYNQ_GIC_PRIORITY_MASK ZYNQ_REGISTER(0xf8f00104)
#define ZYNQ_GIC_CONTROL ZYNQ_REGISTER(0xf8f01000)
#define ZYNQ_GIC_ENABLE(irq) ZYNQ_REGISTER(0xf8f01100 + 4U * ((irq) / 32U))
#define ZYNQ_GIC_DISABLE(irq) ZYNQ_REGISTER(0xf8f01180 + 4U * ((irq) / 32U))
#define ZYNQ_GIC_BIT(irq) (UINT32_C(1) << (irq) % 32U)

// Global timer: 64 bits, with a comparator that fires when the counter has reached it or is beyond.
#define ZYNQ_GLOBAL_LOW ZYNQ_REGISTER(0xf8f00200)
#define ZYNQ_GLOBAL_HIGH ZYNQ_REGISTER(0xf8f00204)
#define ZYNQ_GLOBAL_CONTROL ZYNQ_REGISTER(0xf8f00208)
#define ZYNQ_GLOBAL_STATUS ZYNQ_REGISTER(0xf8f0020c)
#define ZYNQ_GLOBAL_COMPARE_LOW ZYNQ_REGISTER(0xf8f00210)
#define ZYNQ_GLOBAL_COMPARE_HIGH ZYNQ_REGISTER(0xf8f00214)
#define ZYNQ_GLOBAL_ON UINT32_C(1)
#define ZYNQ_GLOBAL_COMPARE_ON UINT32_C(6) // comparator and its interrupt

// Private timer: the tick.
#define ZYNQ_PRIVATE_LOAD ZYNQ_REGISTER(0xf8f00600)
#define ZYNQ_PRIVATE_CONTROL ZYNQ_REGISTER(0xf8f00608)
#define ZYNQ_PRIVATE_STATUS ZYNQ_REGISTER(0xf8f0060c)

// UART 0.
#define ZYNQ_UART_CONTROL ZYNQ_REGISTER(0xe0000000)
#define ZYNQ_UART_STATUS ZYNQ_REGISTER(0xe000002c)
#define ZYNQ_UART_FIFO ZYNQ_REGISTER(0xe0000030)

#define ZYNQ_CACHE_LINE 32U

static inline void zynq_barrier(void)
{
    __asm volatile("dsb" ::: "memory");
}

// Makes the data cache forget what it holds of these bytes, even if it was written to.
static inline void zynq_dcache_invalidate(const volatile void *start, uint32_t bytes)
{
    uintptr_t end = (uintptr_t)start + bytes;
    for (uintptr_t at = (uintptr_t)start & ~(uintptr_t)(ZYNQ_CACHE_LINE - 1U); at < end; at += ZYNQ_CACHE_LINE) {
        __asm volatile("mcr p15, 0, %0, c7, c6, 1" ::"r"(at) : "memory"); // DCIMVAC
    }
    zynq_barrier();
}

// Writes what the data cache holds of these bytes to memory.
static inline void zynq_dcache_clean(const volatile void *start, uint32_t bytes)
{
    uintptr_t end = (uintptr_t)start + bytes;
    for (uintptr_t at = (uintptr_t)start & ~(uintptr_t)(ZYNQ_CACHE_LINE - 1U); at < end; at += ZYNQ_CACHE_LINE) {
        __asm volatile("mcr p15, 0, %0, c7, c10, 1" ::"r"(at) : "memory"); // DCCMVAC
    }
    zynq_barrier();
}

static inline uint64_t zynq_now(void)
{
    uint32_t high;
    uint32_t low;
    do {
        high = ZYNQ_GLOBAL_HIGH;
        low = ZYNQ_GLOBAL_LOW;
    } while (high != ZYNQ_GLOBAL_HIGH);
    return ((uint64_t)high << 32) | low;
}

#endif
