// SPDX-License-Identifier: Apache-2.0
//
// Every sequence of a task, from many states, with the receive interrupt at every point where it can come: one by one,
// at each point from one on, and with the network task in its wake. model.h checks each step.

#include "check.h"
#include "frames.h"
#include "model.h"
#include "sim.h"

#define LOW_PORT 501U
#define HIGH_PORT 502U
#define EQUAL_PORT 503U
#define NEW_PORT 504U
#define LOW 2
#define HIGH 5
#define IN_A_ROW 12U // points at which interrupts come, at most: who works on packets as they come is done then

static const struct weir_rx_config config = {.buffers = 13,
                                             .ring = 8,
                                             .refill = 4,
                                             .capacity = 3,
                                             .batch = 5,
                                             .period = 100,
                                             .background_priority = 1,
                                             .system_priority = 4};

// What comes at a point, and what the interrupt wakes.
static const unsigned arrivals[][2] = {
    {LOW_PORT}, {HIGH_PORT}, {NEW_PORT}, {LOW_PORT, HIGH_PORT}, {HIGH_PORT, LOW_PORT}, {EQUAL_PORT, EQUAL_PORT}};
#define ARRIVALS (sizeof arrivals / sizeof arrivals[0])
enum mode { ONCE, FROM_THEN_ON, WITH_NETWORK_TASK, MODES };

static uint8_t low, high, equal;
static uint16_t held[WEIR_BUFFERS];
static uint32_t held_count;
static uint32_t at_point; // counted from 1
static const unsigned *coming;
static enum mode mode;

static void arrives(unsigned port)
{
    struct frame frame = frame_datagram(port, 1);
    (void)sim_arrives(&frame);
}

static void work_all(void)
{
    struct weir_packet packet;
    while (model_next(&packet)) {
        model_check();
        model_free(packet.buffer);
        model_check();
    }
}

static void point(void)
{
    model_check();
    if (sim.points < at_point || sim.points >= at_point + (mode == FROM_THEN_ON ? IN_A_ROW : 1U)) {
        return;
    }
    for (uint32_t i = 0; i < 2U && coming[i] != 0U; i++) {
        arrives(coming[i]);
    }
    if (mode == FROM_THEN_ON) {
        sim.now += config.period; // and the limit's timer
    }
    (void)sim_interrupts();
    model_check();
    if (mode == WITH_NETWORK_TASK) {
        uint32_t points = sim.points;
        sim.point = NULL;
        work_all();
        sim.point = point;
        sim.points = points;
    }
}

static void hold(uint32_t count)
{
    struct weir_packet packet;
    for (; count > 0U && model_next(&packet); count--) {
        held[held_count++] = packet.buffer;
    }
}

static void free_last(void)
{
    if (held_count > 0U) {
        model_free(held[--held_count]);
    }
}

// So many packets with the sockets, of them freed since, waiting.
struct state {
    uint32_t held, freed, low, equal, high;
};

static void arrive_and_queue(unsigned port, uint32_t count)
{
    for (; count > 0U; count--) {
        arrives(port);
        sim.now += config.period;
        (void)sim_interrupts();
    }
}

static void set_up(const struct state *state)
{
    sim.now = 0;
    sim_start(&config);
    held_count = 0;
    low = model_add(weir_match_port(17, LOW_PORT), LOW);
    equal = model_add(weir_match_port(17, EQUAL_PORT), HIGH);
    high = model_add(weir_match_port(17, HIGH_PORT), HIGH);
    for (uint32_t i = 0; i < state->held; i++) {
        arrive_and_queue(i % 2U ? LOW_PORT : HIGH_PORT, 1);
        hold(1);
    }
    for (uint32_t i = 0; i < state->freed; i++) {
        free_last();
    }
    arrive_and_queue(LOW_PORT, state->low);
    arrive_and_queue(EQUAL_PORT, state->equal);
    arrive_and_queue(HIGH_PORT, state->high);
    sim.points = 0;
    sim.point = point;
}

static void do_next(void)
{
    hold(1);
}

static void do_free_all(void) // some of them without a refill, some with
{
    while (held_count > 0U) {
        free_last();
    }
}

static void do_remove_low(void)
{
    model_remove(low);
}

static void do_remove_high(void)
{
    model_remove(high);
}

static void do_raise(void)
{
    model_set_priority(low, HIGH + 1);
}

static void do_lower(void)
{
    model_set_priority(high, LOW - 1);
}

static void do_equal(void)
{
    model_set_priority(low, HIGH);
}

static void do_add(void)
{
    (void)model_add(weir_match_port(17, NEW_PORT), HIGH);
}

static void do_replace(void)
{
    model_remove(low);
    (void)model_add(weir_match_port(17, LOW_PORT), HIGH);
}

static void do_only_from(void)
{
    static const uint8_t sender[4] = {10, 0, 0, 2};
    model_only_from(high, sender, 4);
}

static void do_work(void)
{
    work_all();
}

static void finish(void)
{
    sim.point = NULL;
    model_check();
    do {
        sim.now += config.period;
        (void)sim_interrupts();
        work_all();
        while (held_count > 0U) {
            free_last();
            model_check();
        }
    } while (sim.filled > 0U || !sim.interrupts_on);
    CHECK(sim.in_ring > 0U);
    uint32_t before = model.delivered;
    arrives(HIGH_PORT);
    (void)sim_interrupts();
    work_all();
    CHECK(model.delivered == before + 1U);
}

static uint64_t runs;

static void at_every_point(const struct state *state, void (*sequence)(void))
{
    for (uint32_t which = 0; which < ARRIVALS; which++) {
        coming = arrivals[which];
        for (at_point = 1; at_point == 1U || sim.points + 1U >= at_point; at_point++) {
            set_up(state);
            sequence();
            uint32_t points = sim.points;
            finish();
            sim.points = points;
            runs++;
        }
    }
}

static void from_all_states(void (*sequence)(void), enum mode as)
{
    mode = as;
    for (uint32_t held_then = 0; held_then <= 9U; held_then += 3U) {
        for (uint32_t freed = 0; freed <= held_then && freed <= 3U; freed += 3U) {
            for (uint32_t waiting = 0; waiting <= 8U; waiting += 4U) {
                for (uint32_t others = 0; others <= 2U; others++) {
                    struct state state = {held_then, freed, waiting, others == 1U ? 2U : 0U, others == 2U ? 3U : 0U};
                    check_context("%u held of which %u freed, %u low, %u equal, %u high wait; mode %d, point %u",
                                  state.held, state.freed, state.low, state.equal, state.high, (int)mode, at_point);
                    at_every_point(&state, sequence);
                }
            }
        }
    }
}

#define SEQUENCE(name)                                                                                                 \
    static void test_##name(void)                                                                                      \
    {                                                                                                                  \
        for (int as = ONCE; as < MODES; as++) {                                                                        \
            from_all_states(do_##name, (enum mode)as);                                                                 \
        }                                                                                                              \
        CHECK(runs > 1000U);                                                                                           \
    }
SEQUENCE(next)
SEQUENCE(free_all)
SEQUENCE(remove_low)
SEQUENCE(remove_high)
SEQUENCE(raise)
SEQUENCE(lower)
SEQUENCE(equal)
SEQUENCE(add)
SEQUENCE(replace)
SEQUENCE(only_from)
SEQUENCE(work)

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"take the next packet", test_next},
        {"free all that are held", test_free_all},
        {"remove and drain a low flow", test_remove_low},
        {"remove and drain a high flow", test_remove_high},
        {"raise a flow's priority", test_raise},
        {"lower a flow's priority", test_lower},
        {"make a flow's priority equal to others'", test_equal},
        {"add a flow", test_add},
        {"remove a flow and add one for the same port", test_replace},
        {"bind a flow to a sender", test_only_from},
        {"work on all that wait", test_work},
    };
    CHECK(argc == 2);
    return check_run("weir_preemption", tests, sizeof tests / sizeof tests[0], argv[1]);
}
