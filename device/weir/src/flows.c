// SPDX-License-Identifier: Apache-2.0

#include "weir/flows.h"

#include <stddef.h>

#define flows weir_flow_table
#define FLOW_ALIGNED __attribute__((aligned(32)))

struct weir_flow weir_flow_table[WEIR_FLOWS_ALL] FLOW_ALIGNED;
struct weir_slot weir_slots[WEIR_BUFFERS];
uint8_t weir_flow_lists[WEIR_FLOW_LISTS];
struct weir_level weir_levels[WEIR_PRIORITIES];
uint32_t weir_levels_waiting;
int32_t weir_highest_waiting = -1;
struct weir_doomed weir_doomed;

static void flow_reset(uint8_t flow, weir_match match, uint8_t priority)
{
    flows[flow] = (struct weir_flow){.match = match, .priority = priority, .list_next = WEIR_NO_FLOW};
}

void weir_flows_init(uint8_t background_priority, uint8_t system_priority)
{
    for (uint32_t i = 0; i < WEIR_FLOW_LISTS; i++) {
        weir_flow_lists[i] = WEIR_NO_FLOW;
    }
    for (uint32_t i = 0; i < WEIR_FLOWS; i++) {
        flow_reset((uint8_t)i, WEIR_MATCH_REFUSED, 0);
    }
    flow_reset(WEIR_FLOW_BACKGROUND, WEIR_MATCH_BACKGROUND, background_priority);
    flow_reset(WEIR_FLOW_ADDRESS, WEIR_MATCH_ADDRESS, system_priority);
    flow_reset(WEIR_FLOW_CONTROL, WEIR_MATCH_CONTROL, system_priority);
    weir_levels_waiting = 0;
    weir_highest_waiting = -1;
}

uint8_t weir_flow_add(weir_match match, uint8_t priority)
{
    weir_doomed.match = WEIR_MATCH_REFUSED;
    for (uint8_t i = 0; i < WEIR_FLOWS; i++) {
        // A flow whose packets still wait or are with the stack keeps its place until they are gone.
        if (flows[i].match == WEIR_MATCH_REFUSED && flows[i].waiting == 0U && flows[i].held == 0U) {
            flow_reset(i, match, priority);
            flows[i].list_next = weir_flow_lists[weir_flow_list(match)];
            weir_flow_lists[weir_flow_list(match)] = i;
            return i;
        }
    }
    return WEIR_NO_FLOW;
}

void weir_flow_remove(uint8_t flow)
{
    weir_doomed.match = WEIR_MATCH_REFUSED;
    uint8_t *link = &weir_flow_lists[weir_flow_list(flows[flow].match)];
    while (*link != flow) {
        link = &flows[*link].list_next;
    }
    *link = flows[flow].list_next;
    flows[flow].match = WEIR_MATCH_REFUSED;
}

bool weir_flow_sent_by(const struct weir_flow *flow, const volatile uint32_t *frame)
{
    uint32_t words = flow->sender_words;
    uint32_t bytes;
    uint32_t offset = weir_sender(frame, &bytes);
    if (bytes != words * 4U) {
        return false;
    }
    const volatile uint32_t *at = &frame[offset / 4U];
    for (uint32_t i = 0; i < words; i++) {
        uint32_t low = WEIR_LITTLE_ENDIAN(at[i]); // the offset is even, but no multiple of 4: it straddles words
        uint32_t high = WEIR_LITTLE_ENDIAN(at[i + 1U]);
        if (WEIR_LITTLE_ENDIAN(low >> 16 | high << 16) != flow->sender[i]) {
            return false;
        }
    }
    return true;
}

static void level_join(uint8_t flow)
{
    uint32_t priority = flows[flow].priority;
    struct weir_level *level = &weir_levels[priority];
    if ((weir_levels_waiting >> priority & 1U) == 0U) {
        weir_levels_waiting |= UINT32_C(1) << priority;
        if ((int32_t)priority > weir_highest_waiting) {
            weir_highest_waiting = (int32_t)priority;
        }
        flows[flow].ring_next = flow;
        flows[flow].ring_prev = flow;
        level->turn = flow;
        level->longest = flow;
        return;
    }
    uint8_t next = level->turn; // last in turn: before the one whose turn it is
    uint8_t prev = flows[next].ring_prev;
    flows[flow].ring_next = next;
    flows[flow].ring_prev = prev;
    flows[prev].ring_next = flow;
    flows[next].ring_prev = flow;
}

static inline void level_note_longest(const struct weir_flow *f, uint8_t flow)
{
    struct weir_level *level = &weir_levels[f->priority];
    if (f->waiting > flows[level->longest].waiting) {
        level->longest = flow;
    }
}

static void level_leave(uint8_t flow)
{
    uint32_t priority = flows[flow].priority;
    struct weir_level *level = &weir_levels[priority];
    uint8_t next = flows[flow].ring_next;
    if (next == flow) {
        weir_levels_waiting &= ~(UINT32_C(1) << priority);
        weir_highest_waiting = weir_levels_waiting == 0U ? -1 : 31 - __builtin_clz(weir_levels_waiting);
        return;
    }
    uint8_t prev = flows[flow].ring_prev;
    flows[prev].ring_next = next;
    flows[next].ring_prev = prev;
    level->turn = level->turn == flow ? next : level->turn;
    level->longest = level->longest == flow ? next : level->longest;
}

void weir_flow_set_priority(uint8_t flow, uint8_t priority)
{
    weir_doomed.match = WEIR_MATCH_REFUSED;
    bool waits = flows[flow].waiting != 0U;
    if (waits) {
        level_leave(flow);
    }
    flows[flow].priority = priority;
    if (waits) {
        level_join(flow);
        level_note_longest(&flows[flow], flow);
    }
}

void weir_flow_set_server(uint8_t flow, const struct weir_server *server)
{
    weir_doomed.match = WEIR_MATCH_REFUSED;
    flows[flow].server = *server;
    flows[flow].limited_by_server = server->kind != WEIR_SERVER_NONE;
}

void weir_flow_set_sender(uint8_t flow, const uint32_t sender[4], uint8_t words)
{
    weir_doomed.match = WEIR_MATCH_REFUSED;
    for (uint32_t i = 0; i < words; i++) {
        flows[flow].sender[i] = sender[i];
    }
    flows[flow].sender_words = words;
}

void weir_flow_put(uint8_t flow, uint16_t buffer)
{
    weir_doomed.match = WEIR_MATCH_REFUSED;
    struct weir_flow *f = &flows[flow];
    if (f->waiting == 0U) {
        f->first = buffer;
        level_join(flow);
    } else {
        weir_slots[f->last].next = buffer;
    }
    f->last = buffer;
    f->waiting++;
    level_note_longest(f, flow);
}

uint16_t weir_flow_take(uint8_t flow)
{
    weir_doomed.match = WEIR_MATCH_REFUSED;
    struct weir_flow *f = &flows[flow];
    uint16_t buffer = f->first;
    f->first = weir_slots[buffer].next;
    f->waiting--;
    if (f->waiting == 0U) {
        level_leave(flow);
    }
    return buffer;
}

uint8_t weir_flows_highest(void)
{
    if (weir_highest_waiting < 0) {
        return WEIR_NO_FLOW;
    }
    struct weir_level *level = &weir_levels[weir_highest_waiting];
    uint8_t flow = level->turn;
    level->turn = flows[flow].ring_next;
    return flow;
}
