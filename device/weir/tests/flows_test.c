// SPDX-License-Identifier: Apache-2.0
//
// weir/flows.h against naive.h, in random order, and by example.

#include "weir/flows.h"

#include <string.h>

#include "check.h"
#include "frames.h"
#include "naive.h"

#define STEPS 20000U
#define RUNS 40U
#define MATCHES 40U

static uint16_t unused[WEIR_BUFFERS]; // buffers that do not wait
static uint32_t unused_count;
static uint16_t held[WEIR_BUFFERS];
static uint8_t held_of[WEIR_BUFFERS];
static uint32_t held_count;

static uint8_t flow_of(weir_match match, const uint32_t *frame)
{
    return weir_flow_of(match, weir_flow_find(match), frame);
}

static void start(void)
{
    weir_flows_init(1, 2);
    naive_start(1, 2);
    held_count = 0;
    unused_count = WEIR_BUFFERS;
    for (uint16_t i = 0; i < WEIR_BUFFERS; i++) {
        unused[i] = i;
    }
}

static weir_match some_match(uint32_t which)
{
    return weir_match_port(which % 2U ? 6 : 17, (uint16_t)(500U + which / 2U));
}

static bool usable(uint8_t flow)
{
    return flow >= WEIR_FLOWS || naive[flow].open;
}

static void put(uint8_t flow)
{
    uint16_t buffer = unused[--unused_count];
    weir_flow_put(flow, buffer);
    naive_was_put(flow, buffer);
}

static void take(uint8_t flow)
{
    CHECK((weir_flow(flow)->waiting == 0U) == (naive[flow].waiting == 0U));
    if (naive[flow].waiting != 0U) {
        uint16_t buffer = weir_flow_take(flow);
        naive_was_taken(flow, buffer);
        unused[unused_count++] = buffer;
    }
}

static void hold_next(void)
{
    uint8_t flow = naive_turn();
    CHECK(weir_flows_highest() == flow);
    if (flow == WEIR_NO_FLOW) {
        return;
    }
    uint16_t buffer = weir_flow_take(flow);
    naive_was_taken(flow, buffer);
    weir_flow(flow)->held++;
    naive[flow].held++;
    held[held_count] = buffer;
    held_of[held_count++] = flow;
}

static void free_some(struct check_random *random)
{
    if (held_count > 0U) {
        uint32_t i = check_below(random, held_count);
        weir_flow(held_of[i])->held--;
        naive[held_of[i]].held--;
        unused[unused_count++] = held[i];
        held[i] = held[--held_count];
        held_of[i] = held_of[held_count];
    }
}

static void step(struct check_random *random)
{
    uint8_t flow = (uint8_t)check_below(random, WEIR_FLOWS_ALL);
    uint8_t priority = (uint8_t)check_below(random, WEIR_PRIORITIES);
    switch (check_below(random, 12)) {
    case 0: {
        weir_match match = some_match(check_below(random, MATCHES));
        if (weir_flow_find(match) == WEIR_NO_FLOW) {
            (void)naive_add(match, priority);
        }
        break;
    }
    case 1:
        if (flow < WEIR_FLOWS && naive[flow].open) {
            naive_remove(flow); // with its packets, which go later
        }
        break;
    case 2:
        naive_set_priority(flow, check_once_in(random, 3) ? naive[flow].priority : priority);
        break;
    case 3:
        take(flow);
        break;
    case 4:
    case 5:
        hold_next();
        break;
    case 6:
        free_some(random);
        break;
    case 7:
        naive_check_victim(flow, weir_flows_victim(weir_flow(flow)));
        break;
    default:
        if (usable(flow) && unused_count > 0U) {
            put(flow);
        } else if (usable(flow)) {
            uint8_t victim = weir_flows_victim(weir_flow(flow));
            naive_check_victim(flow, victim);
            if (victim != WEIR_NO_FLOW) {
                take(victim);
                put(flow);
            }
        }
        break;
    }
}

static void random_steps_as_the_naive_model(void)
{
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        struct check_random random = {seed};
        start();
        for (uint32_t i = 0; i < STEPS; i++) {
            check_context("seed %llu, step %u", (unsigned long long)seed, i);
            step(&random);
            naive_check();
        }
    }
}

static void lookup_finds_exactly_what_is_there(void)
{
    start();
    static const uint32_t strides[] = {1, WEIR_FLOWS - 1, WEIR_FLOWS + 1}; // of the order in which they go
    for (uint32_t round = 0; round < 3U; round++) {
        for (uint32_t first = 0; first + WEIR_FLOWS <= MATCHES; first++) {
            for (uint32_t i = 0; i < WEIR_FLOWS; i++) {
                CHECK(naive_add(some_match(first + i), 3) != WEIR_NO_FLOW);
            }
            CHECK(naive_add(some_match(MATCHES), 3) == WEIR_NO_FLOW); // full
            for (uint32_t which = 0; which <= MATCHES; which++) {
                uint8_t flow = weir_flow_find(some_match(which));
                CHECK((flow != WEIR_NO_FLOW) == (which >= first && which < first + WEIR_FLOWS));
                CHECK(flow == WEIR_NO_FLOW || weir_flow(flow)->match == some_match(which));
            }
            for (uint32_t i = 0; i < WEIR_FLOWS; i++) {
                naive_remove(weir_flow_find(some_match(first + (i * strides[round] + 2U * round) % WEIR_FLOWS)));
                naive_check();
            }
            naive_check();
        }
    }
}

// Only its sender's packets are a flow's; any other byte of the address makes it background.
static void senders(void)
{
    for (int version = 4; version <= 6; version += 2) {
        for (int tags = 0; tags <= 2; tags++) {
            start();
            struct frame frame = {.length = 0};
            frame_ethernet(&frame, version == 4 ? 0x0800 : 0x86dd);
            for (int i = 0; i < tags; i++) {
                frame_tag(&frame, 0x8100);
            }
            size_t at = frame.length + (version == 4 ? 12U : 8U);
            size_t length = version == 4 ? 4 : 16;
            if (version == 4) {
                frame_ipv4(&frame, 17, 0, 0, 8);
            } else {
                frame_ipv6(&frame, 17, 8);
            }
            frame_udp(&frame, 500, 0);
            uint8_t flow = naive_add(some_match(0), 3);
            uint32_t words[FRAME_BYTES_MAX / 4] = {0};
            memcpy(words, frame.bytes, frame.length);
            CHECK(flow_of(some_match(0), words) == flow); // any sender
            naive_only_from(flow, frame.bytes + at, length);
            CHECK(flow_of(some_match(0), words) == flow);
            CHECK(naive_flow_of(frame.bytes, frame.length) == flow);
            for (size_t bit = 0; bit < frame.length * 8U; bit++) {
                struct frame other = frame;
                other.bytes[bit / 8U] = (uint8_t)(other.bytes[bit / 8U] ^ 1U << bit % 8U);
                bool address = bit / 8U >= at && bit / 8U < at + length;
                memcpy(words, other.bytes, other.length);
                if (address || bit / 8U < 12U || bit / 8U >= at + 2U * length) {
                    CHECK(flow_of(some_match(0), words) == (address ? WEIR_FLOW_BACKGROUND : flow));
                }
            }
            uint8_t none[16] = {0}; // of the other family
            naive_only_from(flow, none, version == 4 ? 16 : 4);
            memcpy(words, frame.bytes, frame.length);
            CHECK(flow_of(some_match(0), words) == WEIR_FLOW_BACKGROUND);
        }
    }
}

static void no_flow_is_background_or_the_systems(void)
{
    start();
    CHECK(flow_of(WEIR_MATCH_ADDRESS, NULL) == WEIR_FLOW_ADDRESS);
    CHECK(flow_of(WEIR_MATCH_CONTROL, NULL) == WEIR_FLOW_CONTROL);
    CHECK(flow_of(WEIR_MATCH_BACKGROUND, NULL) == WEIR_FLOW_BACKGROUND);
    CHECK(flow_of(some_match(0), NULL) == WEIR_FLOW_BACKGROUND);
}

// A flood in one flow: the others of its priority have room for their share, also when it came from another priority.
static void equals_share(void)
{
    for (int moved = 0; moved <= 1; moved++) {
        start();
        uint8_t flood = naive_add(some_match(0), moved ? 5 : 3);
        uint8_t quiet = naive_add(some_match(1), 3);
        uint8_t late = naive_add(some_match(2), 3);
        put(quiet);
        while (unused_count > 0U) {
            put(flood);
        }
        if (moved) {
            naive_set_priority(flood, 3);
        }
        while (naive[late].waiting < WEIR_BUFFERS / 3U) { // with every packet of the flood that tries, too
            CHECK(weir_flows_victim(weir_flow(flood)) == WEIR_NO_FLOW);
            CHECK(weir_flows_victim(weir_flow(late)) == flood);
            take(flood);
            put(late);
        }
        CHECK(weir_flows_victim(weir_flow(quiet)) == flood);
        naive_check();
    }
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"800,000 random steps: same order, turns, tables as the naive model", random_steps_as_the_naive_model},
        {"look-up finds exactly what is there; a full table refuses", lookup_finds_exactly_what_is_there},
        {"a flow with a sender takes its packets only, IPv4 and IPv6, with tags", senders},
        {"what belongs to no flow is background or the system's", no_flow_is_background_or_the_systems},
        {"a flood in one flow leaves its equals their share", equals_share},
    };
    CHECK(argc == 2);
    return check_run(WEIR_FLOW_LISTS == 1 ? "weir_flows (list)" : "weir_flows (hash)", tests,
                     sizeof tests / sizeof tests[0], argv[1]);
}
