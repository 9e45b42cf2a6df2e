// SPDX-License-Identifier: Apache-2.0
//
// What the simulated device runs while the compiler learns which branches of the model are taken (soc/Makefile): code
// of all kinds, spread over more than the instruction cache holds, data over more than the data cache holds, and a
// timer interrupt now and then. It never ends. Its results do not matter, only that it resembles real firmware.

#include <stdint.h>

#define TIMER ((volatile uint32_t *)0x93000000)
#define TICK_CYCLES 5000
#define WORDS 4096

struct node {
    struct node *next;
    uint32_t value;
};

static uint32_t data[WORDS];
static uint8_t bytes[2 * WORDS];
static struct node nodes[64];
static volatile uint32_t ticks;

void __attribute__((naked, section(".init"))) _start(void)
{
    __asm__("la sp, stack_top\n j run");
}

static void __attribute__((interrupt, aligned(4))) tick(void)
{
    ticks++;
    TIMER[0] = TIMER[2] + TICK_CYCLES;
}

// Stands for the many functions of a network stack: calls, tests, field accesses, little arithmetic.
#define FUNCTION(n)                                                                                                    \
    static uint32_t __attribute__((noinline)) function##n(uint32_t x, struct node *node)                               \
    {                                                                                                                  \
        uint32_t *word = &data[(x + (n)*97) % WORDS];                                                                  \
        switch (((x >> 3) + (n)) & 7) {                                                                                \
        case 0:                                                                                                        \
            *word += x;                                                                                                \
            break;                                                                                                     \
        case 1:                                                                                                        \
            return *word ^ node->value;                                                                                \
        case 2:                                                                                                        \
            node->value = *word << ((n) % 7);                                                                          \
            break;                                                                                                     \
        case 3:                                                                                                        \
            x = *word > x ? *word - x : x * 5;                                                                         \
            break;                                                                                                     \
        case 4:                                                                                                        \
            bytes[x % (2 * WORDS)] = (uint8_t)x;                                                                       \
            break;                                                                                                     \
        case 5:                                                                                                        \
            *(volatile uint16_t *)&bytes[2 * (x % WORDS)] = (uint16_t)(x * (n));                                       \
            break;                                                                                                     \
        case 6:                                                                                                        \
            x += (uint32_t)((int32_t)*word >> 3) + (x & 1 ? ticks : node->value);                                      \
            break;                                                                                                     \
        default:                                                                                                       \
            x = x % 7 == 0 ? x / 3 : x + node->next->value;                                                            \
            break;                                                                                                     \
        }                                                                                                              \
        for (uint32_t i = x & 3; i != 0; i--) {                                                                        \
            x = x << 1 ^ bytes[(x + i) % (2 * WORDS)];                                                                 \
        }                                                                                                              \
        return x + (n);                                                                                                \
    }

#define FUNCTIONS(use)                                                                                                 \
    use(1) use(2) use(3) use(4) use(5) use(6) use(7) use(8) use(9) use(10) use(11) use(12) use(13) use(14) use(15)     \
        use(16) use(17) use(18) use(19) use(20) use(21) use(22) use(23) use(24)

FUNCTIONS(FUNCTION)

static uint32_t checksum(const uint8_t *from, uint32_t count)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i + 1 < count; i += 2) {
        sum += (uint32_t)from[i] << 8 | from[i + 1];
    }
    return (sum & 0xffff) + (sum >> 16);
}

static void copy(uint32_t *to, const uint32_t *from, uint32_t words)
{
    while (words-- != 0) {
        *to++ = *from++;
    }
}

void __attribute__((used)) run(void)
{
    for (uint32_t i = 0; i < 64; i++) {
        nodes[i] = (struct node){&nodes[(i * 29 + 1) % 64], i};
    }
    TIMER[0] = TIMER[2] + TICK_CYCLES;
    TIMER[1] = 0;
    __asm__ volatile("csrw mtvec, %0\n csrw mie, %1\n csrsi mstatus, 8" : : "r"(tick), "r"(1 << 7));
    struct node *node = nodes;
    for (uint32_t x = 1, round = 0;; round++) {
        node = node->next;
#define CALL(n) x = function##n(x, node);
        FUNCTIONS(CALL)
        if (round % 16 == 0) {
            copy(&data[x % 1024], &data[2048 + x % 1024], 64);
            x += checksum(&bytes[x % WORDS], 128);
        }
        if (round % 8 == 0) {
            __asm__ volatile("csrci mstatus, 8" : : : "memory");
            node->value ^= x;
            __asm__ volatile("csrsi mstatus, 8" : : : "memory");
        }
    }
}
