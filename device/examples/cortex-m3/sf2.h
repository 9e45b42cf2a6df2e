// SPDX-License-Identifier: Apache-2.0
//
// What the example uses of the SmartFusion2 (Microchip UG0331) and of the Cortex-M3 around its MAC. Another MCU has
// another UART and another timer, and the rest of this as it is.

#ifndef SF2_H
#define SF2_H

#include <stddef.h>
#include <stdint.h>

#define SF2_CPU_HZ 142000000
#define SF2_TIMER_HZ (SF2_CPU_HZ / 2)

#define SF2_REGISTER(address) (*(volatile uint32_t *)(address))

#define SF2_IRQ_EMAC 12U
#define SF2_IRQ_TIMER1 14U

// Interrupt controller: of the first 32 lines.
#define SF2_NVIC_ENABLE SF2_REGISTER(0xe000e100)
#define SF2_NVIC_DISABLE SF2_REGISTER(0xe000e180)
#define SF2_NVIC_PRIORITY(irq) (((volatile uint8_t *)0xe000e400)[irq])

struct sf2_timer {
    volatile const uint32_t value; // counts down
    volatile uint32_t load;
    volatile uint32_t load_next;
    volatile uint32_t control;
    volatile uint32_t pending; // write 1 to clear
    volatile const uint32_t interrupt;
};

#define SF2_TIMER1 ((struct sf2_timer *)0x40004000) // polls
#define SF2_TIMER2 ((struct sf2_timer *)0x40004018) // the time
#define SF2_TIMER_ON UINT32_C(1)
#define SF2_TIMER_ONCE UINT32_C(2)
#define SF2_TIMER_INTERRUPT UINT32_C(4)

#define SF2_UART_DATA SF2_REGISTER(0x40000000)
#define SF2_UART_STATUS SF2_REGISTER(0x40000014)

// Interrupts that call the library: all at one priority, so that none interrupts another, and at
// configMAX_SYSCALL_INTERRUPT_PRIORITY or a larger number, so that weir_port_lock() keeps them away.
#define SF2_RECEIVE_PRIORITY 0x80U

#endif
