// SPDX-License-Identifier: Apache-2.0
//
// Registers of the plain NIC (nic/rtl/nic_plain.sv, nic/README.md).

#ifndef PLAIN_NIC_H
#define PLAIN_NIC_H

#include <stdint.h>

struct plain_nic_registers {
    volatile uint32_t id;
    volatile uint32_t control;
    volatile uint32_t irq_enable;
    volatile uint32_t irq_pending; // write 1 to clear
    volatile uint32_t rx_ring;     // byte address, 8-aligned
    volatile uint32_t rx_index;
    volatile uint32_t tx_ring;
    volatile uint32_t tx_index;
    volatile uint32_t tx_kick;
    volatile uint32_t rx_frames;
    volatile uint32_t rx_no_descriptor;
    volatile uint32_t rx_fifo_full;
    volatile uint32_t rx_bad;
    volatile uint32_t tx_frames;
    volatile uint32_t bus_errors;
    volatile uint32_t irq_count;
};

#define PLAIN_NIC_CONTROL_RX UINT32_C(1)
#define PLAIN_NIC_CONTROL_TX UINT32_C(2)
#define PLAIN_NIC_IRQ_RX UINT32_C(1)
#define PLAIN_NIC_IRQ_RX_MISSED UINT32_C(2)
#define PLAIN_NIC_IRQ_TX UINT32_C(4)

#endif
