// SPDX-License-Identifier: Apache-2.0
//
// Flows, and the queues of packets that wait in them, ordered by priority.
//
// A packet is a buffer's index. All functions: with the port's lock, or in the interrupt. Constant time, but for the
// lookup, which walks one list of flows.

#ifndef WEIR_FLOWS_H
#define WEIR_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/classify.h"
#include "weir/config.h"
#include "weir/server.h"

#define WEIR_NO_FLOW UINT8_MAX

// The flows that are always there.
#define WEIR_FLOW_BACKGROUND WEIR_FLOWS
#define WEIR_FLOW_ADDRESS (WEIR_FLOWS + 1)
#define WEIR_FLOW_CONTROL (WEIR_FLOWS + 2)
#define WEIR_FLOWS_ALL (WEIR_FLOWS + 3)

struct weir_flow {
    // What most packets need, in one cache line of 32 bytes.
    weir_match match;
    uint8_t list_next; // in the lookup's list
    uint8_t priority;
    uint8_t ring_next, ring_prev; // among the flows of this priority with waiting packets
    uint16_t first, last;         // waiting packets; undefined if there are none
    uint16_t waiting;             // their number
    uint16_t held;                // packets that the IP stack or the socket has and has not freed
    uint32_t limited;             // packets discarded by the server or for holding too many buffers
    uint32_t recycled;            // packets discarded for want of buffers
    uint8_t sender_words;         // length of the sender's address in words; 0: any sender
    bool limited_by_server;
    // The rest is for flows that ask for it.
    struct weir_server server;
    uint32_t sender[4]; // as in the frame
};

// Of each buffer.
struct weir_slot {
    uint16_t next; // the packet behind in its flow's queue, or the next free buffer
    uint16_t length;
    uint8_t flow;
};

// The waiting flows of one priority: a ring, so that they are served in turn.
struct weir_level {
    uint8_t turn;    // whose turn it is; valid if the level's bit in `weir_levels_waiting` is set
    uint8_t longest; // a flow with many waiting packets: the one that gives up a packet first
};

// Inside of this module; here for the functions that the receive interrupt needs inline.
extern struct weir_flow weir_flow_table[WEIR_FLOWS_ALL];
extern struct weir_slot weir_slots[WEIR_BUFFERS];
extern struct weir_level weir_levels[WEIR_PRIORITIES];
extern uint32_t weir_levels_waiting; // bit per priority
extern int32_t weir_highest_waiting; // of them; -1: none
extern uint8_t weir_flow_lists[WEIR_FLOW_LISTS];

// What is known of the frames of a flood, so that one look-up serves for many: frames of this match and sender are
// discarded, until a queue or a flow changes.
enum weir_doomed_sender { WEIR_DOOMED_ANYBODY = 0, WEIR_DOOMED_ONLY = 1, WEIR_DOOMED_EXCEPT = 2 };
struct weir_doomed {
    weir_match match; // WEIR_MATCH_REFUSED: nothing is known
    uint32_t sender;
    uint8_t who;  // enum weir_doomed_sender
    bool limited; // by the flow's server, until `until`; otherwise as long as buffers are scarce
    uint64_t until;
    struct weir_flow *flow;
};
extern struct weir_doomed weir_doomed;

static inline struct weir_flow *weir_flow(uint8_t flow)
{
    return &weir_flow_table[flow];
}

void weir_flows_init(uint8_t background_priority, uint8_t system_priority);

// Makes a flow without limit for packets that match. Returns it; WEIR_NO_FLOW if the table is full.
uint8_t weir_flow_add(weir_match match, uint8_t priority);

static inline uint32_t weir_flow_list(weir_match match)
{
    return (match >> 8) % WEIR_FLOW_LISTS; // the port's low byte is the upper one of the match
}

// The flow that matches, whoever sends; WEIR_NO_FLOW if there is none.
static inline uint8_t weir_flow_find(weir_match match)
{
    uint8_t flow = weir_flow_lists[weir_flow_list(match)];
    while (flow != WEIR_NO_FLOW && weir_flow_table[flow].match != match) {
        flow = weir_flow_table[flow].list_next;
    }
    return flow;
}

// Ends a flow. Its waiting packets must have been taken out, see weir_flow_take().
void weir_flow_remove(uint8_t flow);

void weir_flow_set_priority(uint8_t flow, uint8_t priority);

void weir_flow_set_server(uint8_t flow, const struct weir_server *server);

// Only packets from this address are the flow's: 1 word (IPv4) or 4 (IPv6), as in the frame; 0 words: any sender's.
void weir_flow_set_sender(uint8_t flow, const uint32_t sender[4], uint8_t words);

// Is the frame from the only sender that the flow has?
bool weir_flow_sent_by(const struct weir_flow *flow, const volatile uint32_t *frame);

// Where a frame belongs: to `flow`, which weir_flow_find() has found for its match, or if that is none or for others'
// packets only, elsewhere. `frame` is read for the sender's address only.
static inline uint8_t weir_flow_of(weir_match match, uint8_t flow, const volatile uint32_t *frame)
{
    if (flow == WEIR_NO_FLOW) {
        return match == WEIR_MATCH_ADDRESS   ? WEIR_FLOW_ADDRESS
               : match == WEIR_MATCH_CONTROL ? WEIR_FLOW_CONTROL
                                             : WEIR_FLOW_BACKGROUND;
    }
    bool any = weir_flow_table[flow].sender_words == 0U;
    return any || weir_flow_sent_by(&weir_flow_table[flow], frame) ? flow : WEIR_FLOW_BACKGROUND;
}

// Appends a packet to a flow's queue.
void weir_flow_put(uint8_t flow, uint16_t buffer);

// Takes a flow's oldest packet. There must be one.
uint16_t weir_flow_take(uint8_t flow);

// Which flow is served next: of the highest priority with waiting packets, in turn. WEIR_NO_FLOW if none waits.
uint8_t weir_flows_highest(void);

// Which flow gives up a packet so that one for `flow` can be kept: of the lowest priority with waiting packets, the one
// that has many of them; WEIR_NO_FLOW if the packet for `flow` is itself the one to go.
static inline uint8_t weir_flows_victim(const struct weir_flow *flow)
{
    uint32_t own = UINT32_C(1) << flow->priority;
    uint32_t below = weir_levels_waiting & (own - 1U);
    if (__builtin_expect(below != 0U, false)) {
        return weir_levels[__builtin_ctz(below)].longest;
    }
    if ((weir_levels_waiting & own) == 0U) {
        return WEIR_NO_FLOW;
    }
    // Equals share: whoever has more waiting gives way to who has less.
    uint8_t longest = weir_levels[flow->priority].longest;
    return weir_flow_table[longest].waiting > flow->waiting + 1U ? longest : WEIR_NO_FLOW;
}

// Highest priority with waiting packets; -1: none.
static inline int32_t weir_flows_priority(void)
{
    return weir_highest_waiting;
}

#endif
