// SPDX-License-Identifier: Apache-2.0
//
// Zynq-7000: memory attributes, interrupt controller, tick, UART.

#include "board.h"

#include "FreeRTOS.h"
#include "task.h"

#include "weir_lwip.h"
#include "zynq.h"

void mmu_fill(void);
void board_tick_start(void);
void vApplicationIRQHandler(uint32_t acknowledged);

// First-level table: 4096 sections of 1 MiB, mapped to themselves.
uint32_t mmu_table[4096] __attribute__((aligned(16384)));

#define SECTION UINT32_C(0xc02)         // read and write, domain 0
#define SECTION_NORMAL UINT32_C(0x4004) // inner write-back; outer (the L2 cache, which is off) not cached
#define SECTION_DEVICE UINT32_C(0x0004) // in order, not cached
#define SECTION_NO_CODE UINT32_C(0x10)

extern uint8_t __dma_start[]; // one section, by the linker script

void mmu_fill(void)
{
    uint32_t dma = (uint32_t)(uintptr_t)__dma_start >> 20;
    for (uint32_t i = 0; i < 4096U; i++) {
        bool ram = i < 0x400U && i != dma; // DDR is the first GiB
        mmu_table[i] = i << 20 | SECTION | (ram ? SECTION_NORMAL : SECTION_DEVICE | SECTION_NO_CODE);
    }
}

// One priority for all that calls the library, FreeRTOS's tick below it (portmacro.h: larger is less urgent).
#define RECEIVE_PRIORITY (configMAX_API_CALL_INTERRUPT_PRIORITY + 1U)

static void priority_set(uint32_t irq, uint32_t priority)
{
    ((volatile uint8_t *)0xf8f01400)[irq] = (uint8_t)(priority << portPRIORITY_SHIFT);
}

static void gic_init(void)
{
    ZYNQ_GIC_CONTROL = 0;
    for (uint32_t irq = 0; irq < 96U; irq += 32U) {
        ZYNQ_GIC_DISABLE(irq) = UINT32_MAX;
    }
    priority_set(ZYNQ_IRQ_GLOBAL_TIMER, RECEIVE_PRIORITY);
    priority_set(ZYNQ_IRQ_GEM0, RECEIVE_PRIORITY);
    priority_set(ZYNQ_IRQ_PRIVATE_TIMER, portLOWEST_USABLE_INTERRUPT_PRIORITY);
    ((volatile uint8_t *)0xf8f01800)[ZYNQ_IRQ_GEM0] = 1; // to CPU 0
    ZYNQ_GIC_PRIORITY_MASK = 0xff;
    ZYNQ_GIC_CONTROL = 1;
    ZYNQ_GIC_CPU_CONTROL = 1;
}

void board_init(void)
{
    ZYNQ_UART_CONTROL = 0x14; // send, receive; the speed is the boot loader's
    gic_init();
    ZYNQ_GLOBAL_CONTROL = ZYNQ_GLOBAL_ON;
}

void board_print(const char *text)
{
    for (; *text != '\0'; text++) {
        while ((ZYNQ_UART_STATUS & 0x10U) != 0U) { // full
        }
        ZYNQ_UART_FIFO = (uint32_t)*text;
    }
}

uint32_t board_random(void)
{
    static uint32_t state;
    state ^= ZYNQ_GLOBAL_LOW | 1U;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

void board_tick_start(void)
{
    ZYNQ_PRIVATE_LOAD = ZYNQ_TIMER_HZ / configTICK_RATE_HZ - 1U;
    ZYNQ_PRIVATE_CONTROL = 7; // on, again and again, with interrupt
    ZYNQ_GIC_ENABLE(ZYNQ_IRQ_PRIVATE_TIMER) = ZYNQ_GIC_BIT(ZYNQ_IRQ_PRIVATE_TIMER);
}

// What FreeRTOS's interrupt entry calls. No floating-point registers are saved: nothing in here has any.
void vApplicationIRQHandler(uint32_t acknowledged)
{
    BaseType_t woken = pdFALSE;
    switch (acknowledged & 0x3ffU) {
    case ZYNQ_IRQ_GEM0:
        weir_lwip_interrupt(false, &woken);
        break;
    case ZYNQ_IRQ_GLOBAL_TIMER:
        weir_port_poll_off();
        weir_lwip_interrupt(true, &woken);
        break;
    case ZYNQ_IRQ_PRIVATE_TIMER:
        FreeRTOS_Tick_Handler();
        break;
    default:
        break;
    }
    portYIELD_FROM_ISR(woken);
}
