// SPDX-License-Identifier: Apache-2.0
//
// The board's boot program: starts SDRAM, tries it, and takes an image over the serial line as litex_term sends it:
//
//   litex_term --kernel image.bin --kernel-adr 0x40000000 DEVICE
//
// A frame is: length of the payload, CRC of command and payload (two bytes, high one first), command, payload. A load's
// payload is an address and what goes there, a jump's the address; addresses are four bytes, high one first.

#include <stdbool.h>
#include <stdint.h>

#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/sdram_phy.h>

#define UART_RX UINT32_C(2)     // of the UART's events
#define ANSWER_CYCLES 20000000U // that litex_term has to answer, half a second
#define PROBE_WORDS 16384U      // of SDRAM are written and read back

enum command { ABORT = 0, LOAD = 1, JUMP = 2 };

__attribute__((naked, section(".text.start"))) void start(void)
{
    __asm volatile("la sp, boot_stack_top\n"
                   "j boot");
}

static void put(char c)
{
    while (uart_txfull_read() != 0U) {
    }
    uart_rxtx_write((uint8_t)c);
}

static void print(const char *text)
{
    while (*text != '\0') {
        put(*text++);
    }
}

static uint32_t cycles(void)
{
    return *(const volatile uint32_t *)0x93000008; // low half of mtime, soc/parts.py
}

// Waits for `limit` cycles; -1: nothing came.
static int get_within(uint32_t limit)
{
    uint32_t begin = cycles();
    while (uart_rxempty_read() != 0U) {
        if (cycles() - begin > limit) {
            return -1;
        }
    }
    uint32_t byte = uart_rxtx_read();
    uart_ev_pending_write(UART_RX);
    return (int)byte;
}

static uint8_t get(void)
{
    int byte;
    do {
        byte = get_within(UINT32_MAX);
    } while (byte < 0);
    return (uint8_t)byte;
}

static uint16_t crc16(uint16_t crc, uint8_t byte)
{
    uint32_t value = crc ^ (uint32_t)byte << 8;
    for (uint32_t bit = 0; bit < 8U; bit++) {
        value = (value & 0x8000U) != 0U ? (value << 1) ^ 0x1021U : value << 1;
    }
    return (uint16_t)value;
}

static bool in_ram(uint32_t address, uint32_t size)
{
    return address >= MAIN_RAM_BASE && address - MAIN_RAM_BASE <= MAIN_RAM_SIZE - size;
}

static char load(const uint8_t *payload, uint32_t length)
{
    uint32_t address = 0;
    for (uint32_t i = 0; i < 4U; i++) {
        address = address << 8 | payload[i];
    }
    if (!in_ram(address, length - 4U)) {
        return 'E';
    }
    for (uint32_t i = 4; i < length; i++) {
        ((volatile uint8_t *)address)[i - 4U] = payload[i];
    }
    return 'K';
}

__attribute__((noreturn)) static void jump(uint32_t address)
{
    // What was loaded is in RAM, because the data cache writes through; both caches may hold what was there before.
    __asm volatile("fence.i\n"
                   ".word 0x500f\n"
                   "jr %0" ::"r"(address)
                   : "memory");
    __builtin_unreachable();
}

// Takes frames until one says where to go on; returns if the sender gives up.
static void receive(void)
{
    uint8_t payload[256];
    for (;;) {
        uint8_t length = get();
        uint16_t sent = (uint16_t)(get() << 8);
        sent |= get();
        uint8_t command = get();
        uint16_t crc = crc16(0, command);
        for (uint32_t i = 0; i < length; i++) {
            payload[i] = get();
            crc = crc16(crc, payload[i]);
        }
        if (crc != sent) {
            put('C');
        } else if (command == ABORT) {
            put('K');
            return;
        } else if (command == LOAD && length >= 4U) {
            put(load(payload, length));
        } else if (command == JUMP && length == 4U) {
            uint32_t address = 0;
            for (uint32_t i = 0; i < 4U; i++) {
                address = address << 8 | payload[i];
            }
            if (in_ram(address, 4)) {
                put('K');
                jump(address);
            }
            put('E');
        } else {
            put('U');
        }
    }
}

// Asks for an image; true: somebody answers.
static bool answered(void)
{
    static const char answer[] = "z6IHG7cYDID6o\n";
    print("sL5DdSMmkekro\n");
    for (uint32_t i = 0; answer[i] != '\0'; i++) {
        if (get_within(ANSWER_CYCLES) != answer[i]) {
            return false;
        }
    }
    return true;
}

// Each word from its address, then each read back, all through the uncached window; the cache in front of SDRAM is an
// eighth of what is written. 0: all well, else the first address that is not.
static uint32_t probe(void)
{
    volatile uint32_t *ram = (volatile uint32_t *)(MAIN_RAM_BASE | 0x80000000U);
    for (uint32_t i = 0; i < PROBE_WORDS; i++) {
        ram[i] = i * 2654435761U;
    }
    for (uint32_t i = 0; i < PROBE_WORDS; i++) {
        if (ram[i] != i * 2654435761U) {
            return (uint32_t)(uintptr_t)&ram[i];
        }
    }
    return 0;
}

static void start_sdram(void)
{
    sdram_dfii_control_write(DFII_CONTROL_CKE | DFII_CONTROL_ODT | DFII_CONTROL_RESET_N);
    init_sequence();
    sdram_dfii_control_write(DFII_CONTROL_SEL);
}

__attribute__((noreturn, used)) static void boot(void)
{
    start_sdram();
    print("\nWeir: boot program\n");
    if (probe() != 0U) {
        print("SDRAM: what is read is not what was written\n");
    }
    for (;;) {
        if (answered()) {
            receive();
        }
    }
}
