// SPDX-License-Identifier: Apache-2.0
//
// What is in a client. Only its own files look into it.

#ifndef WEIR_EDGE_STATE_H
#define WEIR_EDGE_STATE_H

#include "weir_edge/client.h"

// The sequence numbers of one sender that were seen: the anti-replay window of RFC 4303, section 3.4.3.
#define WEIR_EDGE_WINDOW_WORDS 32U
struct weir_edge_window {
    uint64_t highest;
    uint32_t seen[WEIR_EDGE_WINDOW_WORDS];
};

// One kind of measurement of a link: a ring, `next` is the oldest when it is full.
struct weir_edge_samples {
    uint64_t at_ns[WEIR_EDGE_SAMPLES];
    int64_t value_ns[WEIR_EDGE_SAMPLES];
    uint8_t next, count;
};

struct weir_edge_link {
    struct weir_edge_samples one_way;     // our clock less the sender's
    struct weir_edge_samples round_trips; // not negative
};

struct weir_edge_node {
    struct weir_edge_address address; // version 0: nobody
    uint8_t unanswered;               // hellos, and tasks given up, since it last answered
    uint64_t session, token;          // token 0: it never answered
    uint64_t next_hello_ns;
    uint32_t load; // how much it has to do, by its last welcome: in quarters of a worker
    uint64_t rank; // breaks ties, so that not all clients turn to the same of several equals
    struct weir_edge_link link;
    struct weir_edge_window window;
};

enum weir_edge_slot_state {
    WEIR_EDGE_SLOT_FREE = 0,
    WEIR_EDGE_SLOT_ASKING,
    WEIR_EDGE_SLOT_ACCEPTED,
    WEIR_EDGE_SLOT_ENDED,    // its last event has still to be told
    WEIR_EDGE_SLOT_CANCELLED // and its node has still to be told
};

// A task under way.
struct weir_edge_slot {
    struct weir_edge_task task;
    uint64_t due_ns;
    uint64_t next_ns; // when something has to be done for it
    uint32_t number;
    uint32_t tried;  // nodes that did not answer, a bit each
    uint8_t state;   // enum weir_edge_slot_state
    uint8_t node;    // the node that has it, or is asked
    uint8_t attempt; // counts the nodes that were asked; from 1
    uint8_t sent;    // how often it was sent to this one
    // What has still to be told.
    uint8_t cancel_node, cancel_attempt; // attempt 0: nobody
    bool tell_accepted, tell_given_up, tell_node;
    uint8_t given_up;
    struct weir_edge_address holder;
    // ENDED.
    enum weir_edge_event_kind ending;
    enum weir_edge_refusal refusal;
    struct weir_edge_result result;
};

struct weir_edge_client {
    struct weir_edge_config config; // with the defaults; `nodes` is not kept
    uint64_t sequence;              // of the last datagram
    uint64_t random;                // the generator's state
    uint64_t next_exchange_ns;      // before this, no node makes room for another
    uint32_t submitted;
    uint32_t dropped[WEIR_EDGE_DROPS];
    struct weir_edge_node nodes[WEIR_EDGE_NODES];
    struct weir_edge_slot slots[WEIR_EDGE_TASKS];
    // A result that has still to be acknowledged.
    bool ack;
    uint32_t ack_number;
    uint64_t ack_token;
    struct weir_edge_address ack_to;
    uint8_t buffer[WEIR_EDGE_DATAGRAM_BYTES + 1];
};

#endif
