// SPDX-License-Identifier: Apache-2.0

#include "naive.h"

#include <string.h>

#include "check.h"
#include "dissector.h"

struct naive_flow naive[WEIR_FLOWS_ALL];

// The flows with waiting packets, whose turn it is first.
static struct {
    uint8_t flow[WEIR_FLOWS_ALL];
    uint32_t count;
} turns[WEIR_PRIORITIES];

void naive_start(uint8_t background_priority, uint8_t system_priority)
{
    memset(naive, 0, sizeof naive);
    memset(turns, 0, sizeof turns);
    naive[WEIR_FLOW_BACKGROUND].priority = background_priority;
    naive[WEIR_FLOW_ADDRESS].priority = system_priority;
    naive[WEIR_FLOW_CONTROL].priority = system_priority;
}

static void join(uint8_t flow)
{
    uint8_t priority = naive[flow].priority;
    turns[priority].flow[turns[priority].count++] = flow;
}

static void leave(uint8_t flow)
{
    uint8_t priority = naive[flow].priority;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < turns[priority].count; i++) {
        turns[priority].flow[kept] = turns[priority].flow[i];
        kept += turns[priority].flow[i] != flow ? 1U : 0U;
    }
    CHECK(kept + 1U == turns[priority].count);
    turns[priority].count = kept;
}

static uint8_t find(weir_match match)
{
    for (uint8_t flow = 0; flow < WEIR_FLOWS; flow++) {
        if (naive[flow].open && naive[flow].match == match) {
            return flow;
        }
    }
    return WEIR_NO_FLOW;
}

uint8_t naive_add(weir_match match, uint8_t priority)
{
    bool room = false;
    for (uint8_t flow = 0; flow < WEIR_FLOWS; flow++) {
        room = room || (!naive[flow].open && naive[flow].waiting == 0U && naive[flow].held == 0U);
    }
    CHECK(find(match) == WEIR_NO_FLOW);
    uint8_t flow = weir_flow_add(match, priority);
    CHECK((flow != WEIR_NO_FLOW) == room);
    if (room) {
        CHECK(flow < WEIR_FLOWS && !naive[flow].open && naive[flow].waiting == 0U && naive[flow].held == 0U);
        naive[flow] = (struct naive_flow){.open = true, .match = match, .priority = priority};
    }
    return flow;
}

void naive_remove(uint8_t flow)
{
    CHECK(naive[flow].open);
    weir_flow_remove(flow);
    naive[flow].open = false;
}

void naive_set_priority(uint8_t flow, uint8_t priority)
{
    weir_flow_set_priority(flow, priority);
    if (naive[flow].waiting != 0U) {
        leave(flow);
    }
    naive[flow].priority = priority;
    if (naive[flow].waiting != 0U) {
        join(flow);
    }
}

void naive_only_from(uint8_t flow, const uint8_t *sender, size_t length)
{
    uint32_t words[4] = {0};
    memcpy(words, sender, length);
    weir_flow_set_sender(flow, words, (uint8_t)(length / 4U));
    naive_set_priority(flow, naive[flow].priority); // who changes a flow says so in this way
    naive[flow].sender_length = length;
    memcpy(naive[flow].sender, sender, length);
}

void naive_was_put(uint8_t flow, uint16_t buffer)
{
    CHECK(flow < WEIR_FLOWS_ALL && naive[flow].waiting < WEIR_BUFFERS);
    if (naive[flow].waiting == 0U) {
        join(flow);
    }
    naive[flow].packets[naive[flow].waiting++] = buffer;
}

void naive_was_taken(uint8_t flow, uint16_t buffer)
{
    CHECK(flow < WEIR_FLOWS_ALL && naive[flow].waiting > 0U && naive[flow].packets[0] == buffer);
    naive[flow].waiting--;
    memmove(naive[flow].packets, naive[flow].packets + 1, naive[flow].waiting * sizeof naive[flow].packets[0]);
    if (naive[flow].waiting == 0U) {
        leave(flow);
    }
}

uint8_t naive_flow_of(const uint8_t *frame, size_t length)
{
    struct dissected d = dissect(frame, length, WEIR_HEADER_BYTES);
    if (d.kind == DISSECTED_ADDRESS || d.kind == DISSECTED_CONTROL) {
        return d.kind == DISSECTED_ADDRESS ? WEIR_FLOW_ADDRESS : WEIR_FLOW_CONTROL;
    }
    if (d.kind != DISSECTED_PORT) {
        return WEIR_FLOW_BACKGROUND;
    }
    uint8_t flow = find(weir_match_port(d.protocol, d.port));
    if (flow == WEIR_NO_FLOW) {
        return WEIR_FLOW_BACKGROUND;
    }
    bool alike = naive[flow].sender_length == d.sender_length &&
                 memcmp(naive[flow].sender, frame + d.sender, d.sender_length) == 0;
    return naive[flow].sender_length == 0U || alike ? flow : WEIR_FLOW_BACKGROUND;
}

int32_t naive_highest(void)
{
    int32_t priority = WEIR_PRIORITIES - 1;
    while (priority >= 0 && turns[priority].count == 0U) {
        priority--;
    }
    return priority;
}

int32_t naive_lowest(void)
{
    for (int32_t priority = 0; priority < WEIR_PRIORITIES; priority++) {
        if (turns[priority].count != 0U) {
            return priority;
        }
    }
    return -1;
}

uint8_t naive_turn(void)
{
    int32_t priority = naive_highest();
    if (priority < 0) {
        return WEIR_NO_FLOW;
    }
    uint8_t flow = turns[priority].flow[0];
    uint32_t others = turns[priority].count - 1U;
    memmove(turns[priority].flow, turns[priority].flow + 1, others);
    turns[priority].flow[others] = flow;
    return flow;
}

uint32_t naive_waiting(void)
{
    uint32_t waiting = 0;
    for (uint32_t flow = 0; flow < WEIR_FLOWS_ALL; flow++) {
        waiting += naive[flow].waiting;
    }
    return waiting;
}

void naive_check_victim(uint8_t flow, uint8_t victim)
{
    int32_t lowest = naive_lowest();
    if (victim == WEIR_NO_FLOW) {
        CHECK(lowest < 0 || lowest >= naive[flow].priority);
        return;
    }
    CHECK(victim < WEIR_FLOWS_ALL && naive[victim].waiting > 0U);
    CHECK(naive[victim].priority == lowest && lowest <= naive[flow].priority);
    if (lowest == naive[flow].priority) { // equals share: never from one that has less
        CHECK(naive[victim].waiting > naive[flow].waiting + 1U);
    }
}

void naive_check(void)
{
    CHECK(weir_flows_priority() == naive_highest());
    for (uint8_t flow = 0; flow < WEIR_FLOWS_ALL; flow++) {
        const struct weir_flow *f = weir_flow(flow);
        CHECK(f->priority == naive[flow].priority || (flow < WEIR_FLOWS && !naive[flow].open));
        CHECK(f->waiting == naive[flow].waiting);
        CHECK(f->held == naive[flow].held);
        uint16_t buffer = f->first;
        for (uint32_t i = 0; i < f->waiting; i++) {
            CHECK(buffer == naive[flow].packets[i]);
            CHECK(i + 1U < f->waiting || buffer == f->last);
            buffer = weir_slots[buffer].next;
        }
        CHECK(flow >= WEIR_FLOWS || !naive[flow].open || weir_flow_find(naive[flow].match) == flow);
    }
    for (uint32_t priority = 0; priority < WEIR_PRIORITIES; priority++) {
        CHECK((weir_levels_waiting >> priority & 1U) == (turns[priority].count != 0U ? 1U : 0U));
        uint8_t flow = weir_levels[priority].turn;
        bool longest = turns[priority].count == 0U;
        for (uint32_t i = 0; i < turns[priority].count; i++) {
            CHECK(flow == turns[priority].flow[i]);
            CHECK(weir_flow(weir_flow(flow)->ring_next)->ring_prev == flow);
            longest = longest || weir_levels[priority].longest == flow;
            flow = weir_flow(flow)->ring_next;
        }
        CHECK(turns[priority].count == 0U || flow == weir_levels[priority].turn);
        CHECK(longest);
    }
}
