// SPDX-License-Identifier: Apache-2.0
//
// What a node says to a client, written by hand.

#ifndef PEER_H
#define PEER_H

#include "weir_edge_message.h"

// Quick, and no protection: for tests of what comes behind it. `context` may be null.
weir_edge_hmac peer_hmac;

struct peer {
    struct weir_edge_address address;
    uint64_t session, token, sequence;
    uint64_t given;          // the token of its last welcome; 0: it sent none
    uint16_t density;        // in thousandths
    uint64_t clock_ahead_ns; // of the client's; may wrap
};

struct peer_datagram {
    uint8_t bytes[2048];
    size_t length;
};

// Node `place`, with a session, a token and an address of its own.
struct peer peer_at(uint8_t place);

// `receiver` is the client's session. Each is sent now.
struct peer_datagram peer_welcome(struct peer *peer, uint64_t now_ns, uint64_t receiver, uint64_t asked_at_ns,
                                  const struct weir_edge_address *others, uint8_t others_count);
struct peer_datagram peer_accept(struct peer *peer, uint64_t now_ns, uint64_t receiver, uint32_t number,
                                 uint8_t attempt, const struct weir_edge_address *holder);
struct peer_datagram peer_reject(struct peer *peer, uint64_t now_ns, uint64_t receiver, uint32_t number,
                                 uint8_t attempt, enum weir_edge_refusal refusal);
struct peer_datagram peer_result(struct peer *peer, uint64_t now_ns, uint64_t receiver, uint32_t number,
                                 enum weir_edge_exit exit, const char *output);

// Any bytes behind a header; `type` as in datagrams.
struct peer_datagram peer_any(struct peer *peer, uint64_t now_ns, uint64_t receiver, uint8_t type, const uint8_t *body,
                              size_t length);

#endif
