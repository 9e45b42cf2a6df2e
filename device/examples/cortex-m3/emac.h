// SPDX-License-Identifier: Apache-2.0
//
// Driver of the SmartFusion2's Ethernet MAC (Microchip UG0331, Ethernet MAC) as weir/driver.h asks for it: an example
// of a MAC whose descriptors are a chain, which counts what it has received, and which stops when it finds no
// descriptor.

#ifndef EMAC_H
#define EMAC_H

#include <stdbool.h>
#include <stdint.h>

#include "sf2.h"

#define EMAC_BUFFERS 20
#define EMAC_RX_RING 16 // powers of two
#define EMAC_TX_RING 2
#define EMAC_BUFFER_BYTES 1536U

struct emac_registers {
    volatile uint32_t config1;
    volatile uint32_t config2;
    volatile uint32_t gaps;
    volatile uint32_t half_duplex;
    volatile uint32_t frame_bytes_max;
    volatile uint32_t unused_14[11];
    volatile uint32_t address_high; // the first four bytes of our MAC address
    volatile uint32_t address_low;
    volatile uint32_t fifo_config[6];
    volatile uint32_t unused_60[72];
    volatile uint32_t tx_control;
    volatile uint32_t tx_descriptor;
    volatile uint32_t tx_status;
    volatile uint32_t rx_control;
    volatile uint32_t rx_descriptor;
    volatile uint32_t rx_status; // writing a frame's bit counts one frame less, writing the others clears them
    volatile uint32_t irq_mask;
    volatile uint32_t irq;
};

_Static_assert(offsetof(struct emac_registers, tx_control) == 0x180, "as in UG0331");

#define EMAC ((struct emac_registers *)0x40041000)

#define EMAC_CONFIG1_RUN UINT32_C(5) // send, receive
#define EMAC_DMA_ON UINT32_C(1)
#define EMAC_STATUS_FRAME UINT32_C(1)
#define EMAC_TX_UNDERRUN UINT32_C(2) // it has sent all it found
#define EMAC_RX_OVERFLOW UINT32_C(4) // it has found no descriptor and stopped
#define EMAC_IRQ_TX_UNDERRUN EMAC_TX_UNDERRUN
#define EMAC_IRQ_RX (EMAC_STATUS_FRAME << 4)
#define EMAC_IRQ_RX_OVERFLOW (EMAC_RX_OVERFLOW << 4)

#define EMAC_EMPTY (UINT32_C(1) << 31) // receiving: the MAC's; sending: software's
#define EMAC_LENGTH UINT32_C(0xfff)

struct emac_descriptor {
    volatile uint32_t address;
    volatile uint32_t size; // EMPTY, length
    volatile uint32_t next; // its address
};

extern uint8_t emac_rx_data[EMAC_BUFFERS][EMAC_BUFFER_BYTES];
extern struct emac_descriptor emac_rx_ring[EMAC_RX_RING];
extern uint8_t emac_rx_buffer[EMAC_RX_RING]; // which buffer a descriptor holds
extern uint32_t emac_rx_taken;               // free-running positions
extern uint32_t emac_rx_given;

void emac_rx_restart(void);

static inline int32_t weir_driver_take(uint32_t *length)
{
    uint32_t index = emac_rx_taken % EMAC_RX_RING;
    uint32_t size = emac_rx_ring[index].size;
    if ((size & EMAC_EMPTY) != 0U) {
        return -1;
    }
    *length = size & EMAC_LENGTH; // where it counts the frame check sequence: library and lwIP go by the headers
    emac_rx_taken++;
    EMAC->rx_status = EMAC_STATUS_FRAME; // the interrupt line is high until all are counted
    return emac_rx_buffer[index];
}

static inline void weir_driver_give(uint32_t buffer)
{
    uint32_t index = emac_rx_given % EMAC_RX_RING;
    emac_rx_given++;
    emac_rx_buffer[index] = (uint8_t)buffer;
    emac_rx_ring[index].address = (uint32_t)(uintptr_t)emac_rx_data[buffer];
    __asm volatile("dmb" ::: "memory"); // EMPTY last, after all that was done with the buffer
    emac_rx_ring[index].size = EMAC_EMPTY;
}

static inline const volatile uint32_t *weir_driver_header(uint32_t buffer)
{
    return (const volatile uint32_t *)(const volatile void *)emac_rx_data[buffer]; // no data cache
}

static inline void weir_driver_interrupt(bool on)
{
    if (on) {
        SF2_NVIC_ENABLE = UINT32_C(1) << SF2_IRQ_EMAC;
    } else {
        SF2_NVIC_DISABLE = UINT32_C(1) << SF2_IRQ_EMAC;
        __asm volatile("dsb\n\tisb" ::: "memory"); // not one more after this
    }
}

// Frames ask until they are taken, so there is nothing to clear but the stop.
static inline void weir_driver_acknowledge(void)
{
    if ((EMAC->rx_status & EMAC_RX_OVERFLOW) != 0U) {
        emac_rx_restart();
    }
}

#endif
