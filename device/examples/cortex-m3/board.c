// SPDX-License-Identifier: Apache-2.0
//
// Cortex-M3: vectors, start-up, time, UART.

#include "board.h"

#include "FreeRTOS.h"
#include "task.h"

#include "sf2.h"
#include "weir/port.h"

extern uint32_t __data_load[], __data_start[], __data_end[], __bss_start[], __bss_end[], __stack_top[];

int main(void);
void reset(void);
void emac_interrupt(void);
void emac_timer_interrupt(void);
void vPortSVCHandler(void);
void xPortPendSVHandler(void);
void xPortSysTickHandler(void);
void vApplicationTickHook(void);

static void stop(void)
{
    for (;;) {
    }
}

typedef void (*vector)(void);

__attribute__((section(".vectors"), used)) static const vector vectors[16 + 32] = {
    (vector)__stack_top,
    reset,
    [2 ... 10] = stop, // NMI, faults
    [11] = vPortSVCHandler,
    [12 ... 13] = stop,
    [14] = xPortPendSVHandler,
    [15] = xPortSysTickHandler,
    [16 ... 15 + SF2_IRQ_EMAC] = stop,
    [16 + SF2_IRQ_EMAC] = emac_interrupt,
    [17 + SF2_IRQ_EMAC... 15 + SF2_IRQ_TIMER1] = stop,
    [16 + SF2_IRQ_TIMER1] = emac_timer_interrupt,
    [17 + SF2_IRQ_TIMER1... 16 + 31] = stop,
};

void reset(void)
{
    const uint32_t *from = __data_load;
    for (uint32_t *to = __data_start; to < __data_end; to++) {
        *to = *from++;
    }
    for (uint32_t *to = __bss_start; to < __bss_end; to++) {
        *to = 0;
    }
    (void)main();
    stop();
}

void board_init(void)
{
    SF2_TIMER2->load = UINT32_MAX;
    SF2_TIMER2->control = SF2_TIMER_ON;
}

// The timer has 32 bits, which last for a minute: each look at it counts its turns, and the tick sees to it that there
// are enough of them.
uint64_t weir_port_now(void)
{
    static uint32_t last;
    static uint32_t turns;
    UBaseType_t mask = portSET_INTERRUPT_MASK_FROM_ISR();
    uint32_t now = weir_port_now_low();
    turns += now < last ? 1U : 0U;
    last = now;
    uint64_t time = (uint64_t)turns << 32 | now;
    portCLEAR_INTERRUPT_MASK_FROM_ISR(mask);
    return time;
}

void vApplicationTickHook(void)
{
    (void)weir_port_now();
}

void board_print(const char *text)
{
    for (; *text != '\0'; text++) {
        while ((SF2_UART_STATUS & 0x20U) == 0U) { // not empty
        }
        SF2_UART_DATA = (uint32_t)*text;
    }
}

uint32_t board_random(void)
{
    static uint32_t state;
    state ^= weir_port_now_low() | 1U;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}
