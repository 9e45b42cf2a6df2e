// SPDX-License-Identifier: Apache-2.0
//
// For the simulated board: sends back every frame that arrives for UDP port 5005, as it is.

#include <stdint.h>

#include "plain_nic.h"
#include "soc.h"
#include "weir_nic_regs.h"

#define OWN UINT32_C(0x80000000)
#define WRAP UINT32_C(0x40000000)
#define HALF_WORDS 1024U
#define META_WORDS 4U
#define MATCH (UINT32_C(5005) | UINT32_C(1) << 17) // UDP to this port
#define STATION_LO UINT32_C(0x00000002)            // 02:00:00:00:00:01
#define STATION_HI UINT32_C(0x0100)

static volatile uint32_t descriptor[2] __attribute__((aligned(8)));
static uint8_t frame[1536] __attribute__((aligned(4)));

__attribute__((naked, section(".init"))) void start(void)
{
    __asm volatile("la sp, 0x40100000\n"
                   "j main");
}

static volatile uint32_t *at(uint32_t address)
{
    return (volatile uint32_t *)(uintptr_t)address;
}

static volatile uint32_t *queue(uint32_t offset)
{
    return at(SOC_QUEUES + WEIR_NIC_QUEUE(0) + offset);
}

static void send(const volatile uint32_t *data, uint32_t length)
{
    volatile uint32_t *control = SOC_UNCACHED(&descriptor[0]);
    while ((*control & OWN) != 0U) {
    }
    for (uint32_t i = 0; i < (length + 3U) / 4U; i++) {
        ((volatile uint32_t *)frame)[i] = data[i];
    }
    descriptor[1] = (uint32_t)(uintptr_t)frame;
    descriptor[0] = OWN | WRAP | length;
    SOC_NIC->tx_kick = 1;
}

// The frames of the buffer that is handed over, read past the cache.
static void answer(void)
{
    uint32_t ready = *queue(WEIR_NIC_Q_READY);
    *at(SOC_QUEUES + WEIR_NIC_TAKE) = 0;
    uint32_t first = (ready & WEIR_NIC_Q_READY_BUFFER_MASK) != 0U ? HALF_WORDS : 0U;
    const volatile uint32_t *packet = SOC_UNCACHED(SOC_PACKET_RAM + 4U * first);
    uint32_t frames = (ready & WEIR_NIC_Q_READY_FRAMES_MASK) >> WEIR_NIC_Q_READY_FRAMES_SHIFT;
    for (uint32_t i = 0; i < frames; i++) {
        uint32_t length = packet[0] & 0xffffU;
        send(packet + META_WORDS, length);
        packet += META_WORDS + (length + 15U) / 16U * 4U;
    }
    *queue(WEIR_NIC_Q_RELEASE) = 1;
}

__attribute__((used)) int main(void)
{
    descriptor[0] = 0; // nobody has cleared .bss, and the boot program leaves its probe's words in RAM
    SOC_NIC->tx_ring = (uint32_t)(uintptr_t)descriptor;
    SOC_NIC->control = PLAIN_NIC_CONTROL_TX;
    *at(SOC_QUEUES + WEIR_NIC_MAC_LO) = STATION_LO;
    *at(SOC_QUEUES + WEIR_NIC_MAC_HI) = STATION_HI;
    *queue(WEIR_NIC_Q_MATCH) = MATCH;
    *queue(WEIR_NIC_Q_SIZE) = HALF_WORDS;
    *queue(WEIR_NIC_Q_CTRL) = 1;
    *at(SOC_QUEUES + WEIR_NIC_IRQ_ENABLE) = 1;
    *at(SOC_QUEUES + WEIR_NIC_CTRL) = WEIR_NIC_CTRL_ENABLE_MASK;
    soc_irq_mask_set(SOC_LINE_NIC);
    for (;;) {
        if ((soc_irq_pending() & SOC_LINE_NIC) != 0U) {
            answer();
        }
    }
}
