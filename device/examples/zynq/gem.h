// SPDX-License-Identifier: Apache-2.0
//
// Driver of the Cadence GEM (Xilinx UG585, chapter 16 and appendix B.18) as weir/driver.h asks for it.
//
// Receive descriptor, two words:
//
//           31                              2    1      0
//     word0 | address of the buffer, bits 31:2 | wrap | used |     used: 1: software's, 0: the GEM's
//     word1 | ... | bit 15 end, bit 14 start of frame | 12:0 bytes |     written by the GEM before it sets `used`
//
// Sending has the address in word0, and used, wrap, last and the length in word1.

#ifndef GEM_H
#define GEM_H

#include <stdbool.h>
#include <stdint.h>

#include "zynq.h"

#define GEM_BUFFERS 256
#define GEM_RX_RING 128        // a power of two
#define GEM_TX_RING 16         // a power of two
#define GEM_BUFFER_BYTES 1536U // the largest frame, 1518, in whole cache lines, and in the GEM's unit of 64 bytes

struct gem_registers {
    volatile uint32_t control;
    volatile uint32_t config;
    volatile uint32_t status;
    volatile uint32_t unused_0c;
    volatile uint32_t dma_config;
    volatile uint32_t tx_status;
    volatile uint32_t rx_ring;
    volatile uint32_t tx_ring;
    volatile uint32_t rx_status;
    volatile uint32_t irq_pending; // write 1 to clear
    volatile uint32_t irq_enable;
    volatile uint32_t irq_disable;
    volatile uint32_t irq_mask;
    volatile uint32_t phy;
    volatile uint32_t unused_38[20];
    volatile uint32_t address_low; // of our MAC address; it counts from when the high half is written
    volatile uint32_t address_high;
};

#define GEM ((struct gem_registers *)0xe000b000)

#define GEM_CONTROL_RUN UINT32_C(0x0c) // receive, send
#define GEM_CONTROL_SEND UINT32_C(0x200)

#define GEM_IRQ_RX UINT32_C(0x002)
#define GEM_IRQ_RX_MISSED UINT32_C(0x004) // `used` was set in the descriptor for the next frame
#define GEM_IRQ_RX_OVERRUN UINT32_C(0x400)

#define GEM_RX_USED UINT32_C(1)
#define GEM_RX_WRAP UINT32_C(2)
#define GEM_RX_LENGTH UINT32_C(0x1fff)
#define GEM_TX_USED (UINT32_C(1) << 31)
#define GEM_TX_WRAP (UINT32_C(1) << 30)
#define GEM_TX_LAST (UINT32_C(1) << 15)

struct gem_descriptor {
    volatile uint32_t word[2];
};

extern uint8_t gem_rx_data[GEM_BUFFERS][GEM_BUFFER_BYTES];
extern struct gem_descriptor gem_rx_ring[GEM_RX_RING]; // in device memory: uncached, accesses in order
extern uint16_t gem_rx_buffer[GEM_RX_RING];            // which buffer a descriptor holds
extern uint32_t gem_rx_taken;                          // free-running positions
extern uint32_t gem_rx_given;

static inline int32_t weir_driver_take(uint32_t *length)
{
    uint32_t index = gem_rx_taken % GEM_RX_RING;
    if ((gem_rx_ring[index].word[0] & GEM_RX_USED) == 0U) {
        return -1;
    }
    __asm volatile("dmb" ::: "memory"); // nothing of the frame is read before `used`
    *length = gem_rx_ring[index].word[1] & GEM_RX_LENGTH;
    gem_rx_taken++;
    return gem_rx_buffer[index];
}

static inline void weir_driver_give(uint32_t buffer)
{
    uint32_t index = gem_rx_given % GEM_RX_RING;
    gem_rx_given++;
    gem_rx_buffer[index] = (uint16_t)buffer;
    gem_rx_ring[index].word[1] = 0;
    __asm volatile("dmb" ::: "memory"); // and all that was done with the buffer is done
    gem_rx_ring[index].word[0] = (uint32_t)(uintptr_t)gem_rx_data[buffer] |
                                 (index + 1U == GEM_RX_RING ? GEM_RX_WRAP : 0U);
}

// Header first: two to five cache lines. The rest is for the network task, if it ever comes to that.
static inline const volatile uint32_t *weir_driver_header(uint32_t buffer)
{
    zynq_dcache_invalidate(gem_rx_data[buffer], 160);
    return (const volatile uint32_t *)(const volatile void *)gem_rx_data[buffer];
}

// At the interrupt controller, not in the GEM: what the GEM signals in the meantime stays pending there, so that
// turning the interrupt on again loses nothing.
static inline void weir_driver_interrupt(bool on)
{
    if (on) {
        ZYNQ_GIC_ENABLE(ZYNQ_IRQ_GEM0) = ZYNQ_GIC_BIT(ZYNQ_IRQ_GEM0);
    } else {
        ZYNQ_GIC_DISABLE(ZYNQ_IRQ_GEM0) = ZYNQ_GIC_BIT(ZYNQ_IRQ_GEM0);
    }
}

static inline void weir_driver_acknowledge(void)
{
    uint32_t pending = GEM->irq_pending;
    GEM->irq_pending = pending;
    if ((pending & GEM_IRQ_RX_MISSED) != 0U) {
        // It may have stopped at a used descriptor. If that is still used, it says so again, after we have served some.
        GEM->control = GEM_CONTROL_RUN;
    }
    zynq_barrier(); // cleared before the ring is looked at
}

#endif
