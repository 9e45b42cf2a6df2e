// SPDX-License-Identifier: Apache-2.0
//
// The receive path in random order: frames, interrupts at every place where one can come, the network task, sockets
// that read late, and flows that come and go. Each verdict and each step is checked by model.h.

#include <string.h>

#include "check.h"
#include "frames.h"
#include "model.h"
#include "sim.h"
#include "weir/port.h"

#define STEPS 8000U
#define RUNS 100U
#define PORTS 9U // more than there are flows

static struct check_random random_;
static uint32_t wire; // of 100: how busy it is
static uint16_t held[WEIR_BUFFERS];
static uint32_t held_count;

static struct frame some_frame(void)
{
    switch (check_below(&random_, 12)) {
    case 0: {
        struct frame frame = frame_random(&random_);
        frame_mutate(&frame, &random_);
        return frame;
    }
    case 1: {
        struct frame frame = {.length = 0};
        frame_ethernet(&frame, 0x0806);
        frame_bytes(&frame, 46, 0);
        return frame;
    }
    default: { // half of them to one port, as in a flood
        struct frame frame = frame_datagram(500U + check_below(&random_, check_once_in(&random_, 2) ? 1U : PORTS),
                                            (uint8_t)check_below(&random_, 3));
        if (check_once_in(&random_, 40)) {
            frame.bytes[14 + 3] = 60; // a total length that lies, of a frame that looks right at a glance
        }
        return frame;
    }
    }
}

static void world_goes_on(void)
{
    while (check_below(&random_, 100) < wire) {
        struct frame frame = some_frame();
        (void)sim_arrives(&frame);
    }
    sim.now += check_below(&random_, 3) * check_below(&random_, model.config.period);
    if (!check_once_in(&random_, 4)) {
        (void)sim_interrupts();
    }
}

static void point(void)
{
    world_goes_on();
    model_check();
}

static uint8_t some_flow(void)
{
    uint8_t flow = (uint8_t)check_below(&random_, WEIR_FLOWS_ALL);
    return flow >= WEIR_FLOWS || naive[flow].open ? flow : (uint8_t)WEIR_FLOW_BACKGROUND;
}

static void limit(uint8_t flow)
{
    enum weir_server_kind kind = (enum weir_server_kind)check_below(&random_, 3);
    uint16_t capacity = (uint16_t)(1U + check_below(&random_, WEIR_SPORADIC_MAX));
    weir_port_state state = weir_port_lock();
    struct weir_server server;
    CHECK(weir_server_init(&server, kind, capacity, 1U + check_below(&random_, 300)) == 0);
    weir_flow_set_server(flow, &server);
    weir_port_unlock(state);
}

static void free_one(void)
{
    uint32_t i = check_below(&random_, held_count);
    uint16_t buffer = held[i];
    held[i] = held[--held_count];
    model_free(buffer);
}

static void change_flows(void)
{
    uint8_t flow = some_flow();
    uint8_t sender[4] = {10, 0, 0, (uint8_t)check_below(&random_, 3)};
    weir_match match = weir_match_port(17, (uint16_t)(500U + check_below(&random_, PORTS)));
    switch (check_below(&random_, 6)) {
    case 0:
    case 1:
        if (weir_flow_find(match) == WEIR_NO_FLOW) {
            (void)model_add(match, (uint8_t)check_below(&random_, WEIR_PRIORITIES));
        }
        break;
    case 2:
        if (flow < WEIR_FLOWS && check_once_in(&random_, 2)) {
            model_remove(flow);
        }
        break;
    case 3:
        model_set_priority(flow, (uint8_t)check_below(&random_, WEIR_PRIORITIES));
        break;
    case 4:
        if (flow < WEIR_FLOWS) {
            model_only_from(flow, sender, check_once_in(&random_, 2) ? 4U : 0U);
        }
        break;
    default:
        limit(flow);
        break;
    }
}

static void step(void)
{
    struct weir_packet packet;
    switch (check_below(&random_, 10)) {
    case 0:
        change_flows();
        break;
    case 1:
    case 2:
        if (held_count > 0U) {
            free_one();
        }
        break;
    case 3:
    case 4:
    case 5:
        if (model_next(&packet)) {
            held[held_count++] = packet.buffer;
            if (!check_once_in(&random_, 5)) { // the protocol work is all: no socket waits for it
                held_count--;
                model_free(packet.buffer);
            }
        }
        break;
    default:
        world_goes_on();
        break;
    }
}

static struct weir_rx_config some_config(void)
{
    struct weir_rx_config c = {.ring = (uint16_t)(1U + check_below(&random_, 16))};
    uint32_t least = (c.ring > WEIR_FLOWS_ALL ? c.ring : WEIR_FLOWS_ALL) + 1U;
    c.buffers = (uint16_t)(least + check_below(&random_, WEIR_BUFFERS - least + 1U));
    c.refill = check_once_in(&random_, 2) ? 0U : (uint16_t)check_below(&random_, c.ring);
    c.capacity = (uint16_t)(1U + check_below(&random_, c.ring));
    c.batch = check_once_in(&random_, 2) ? 0U
                                         : (uint16_t)(c.capacity + check_below(&random_, c.ring - c.capacity + 1U));
    c.period = 1U + check_below(&random_, 500);
    c.background_priority = (uint8_t)check_below(&random_, 3);
    c.system_priority = (uint8_t)check_below(&random_, WEIR_PRIORITIES);
    c.drop_background = check_once_in(&random_, 4);
    return c;
}

// When all is done, everything is as in the beginning: interrupts, and buffers in the ring.
static void check_recovery(void)
{
    struct weir_packet packet;
    sim.point = NULL;
    do {
        sim.now += model.config.period;
        (void)sim_interrupts();
        while (model_next(&packet)) {
            held[held_count++] = packet.buffer;
        }
        while (held_count > 0U) {
            free_one();
        }
    } while (sim.filled > 0U || !sim.interrupts_on);
    model_check();
    check_context("end: %u in the ring of %u, %u buffers, refill %u", sim.in_ring, sim.ring_size, sim.buffers,
                  model.config.refill);
    struct frame frame = {.length = 0};
    frame_ethernet(&frame, 0x0806);
    frame_bytes(&frame, 46, 0);
    CHECK(sim_arrives(&frame) && sim_interrupts() && model_next(&packet));
    model_free(packet.buffer);
    CHECK(packet.flow == WEIR_FLOW_ADDRESS);
    model_check();
}

static void run(uint64_t seed)
{
    random_.state = seed;
    held_count = 0;
    sim.now = (uint64_t)check_below(&random_, 3) * (UINT64_C(1) << 32) - check_below(&random_, 20000) % 10000U;
    struct weir_rx_config c = some_config();
    sim_start(&c);
    weir_flow(WEIR_FLOW_ADDRESS)->limited_by_server = false;
    sim.point = point;
    uint32_t batch = c.batch > c.capacity ? c.batch : c.capacity;
    for (uint32_t i = 0; i < STEPS; i++) {
        check_context("seed %llu, step %u", (unsigned long long)seed, i);
        if (i % 200U == 0U) {
            wire = check_below(&random_, 4) * 20U;
        }
        step();
        model_check();
    }
    for (uint64_t periods = 1; periods <= 6U; periods++) {
        CHECK(sim_most_taken_in(periods * c.period) <= batch * (periods + 1U));
    }
    limit(WEIR_FLOW_ADDRESS);
    weir_flow(WEIR_FLOW_ADDRESS)->limited_by_server = false;
    check_recovery();
}

static void random_schedules(void)
{
    uint64_t seen[7] = {0};
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        run(seed);
        seen[0] += model.queued;
        seen[1] += model.refused;
        seen[2] += model.short_circuited;
        seen[3] += model.limited;
        seen[4] += model.recycled;
        seen[5] += model.abandoned;
        seen[6] += model.delivered;
    }
    for (uint32_t i = 0; i < 7U; i++) {
        check_context("verdict %u: %llu", i, (unsigned long long)seen[i]);
        CHECK(seen[i] > RUNS);
    }
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"800,000 random steps: every verdict, the books, the limit, recovery", random_schedules},
    };
    CHECK(argc == 2);
    return check_run("weir_rx_random", tests, sizeof tests / sizeof tests[0], argv[1]);
}
