// SPDX-License-Identifier: Apache-2.0
//
// A client and the nodes around it, which do and say what a test has them do.

#ifndef WORLD_H
#define WORLD_H

#include "peer.h"
#include "weir_edge/client.h"

#define MS UINT64_C(1000000)
#define SESSION 77U

extern struct weir_edge_client client;
extern struct weir_edge_event event; // the last one
extern uint64_t now_ns;
extern struct peer peers[6];
extern uint8_t output[8]; // of all tasks
extern bool hash_fails;

struct weir_edge_config config_of(size_t nodes);

struct weir_edge_task a_task(void);

// The next event, which is of this kind.
void expect(enum weir_edge_event_kind kind);

// The next datagram is of this type and goes to this peer, with the token it gave.
void expect_sent(enum weir_edge_type type, const struct peer *to);

void receive(const struct peer *from, const struct peer_datagram *datagram);

// The peer answers the hello that is sent now, and does so after `round_trip_ns`.
void meets(struct peer *peer, uint64_t round_trip_ns);

// A client that knows so many nodes; node i has a round trip of 2 * (i + 1) ms.
void begin(size_t nodes);

uint32_t submits(const struct peer *to);

void accepts(struct peer *peer, uint32_t number, uint8_t attempt, const struct peer *holder);

void results(struct peer *peer, uint32_t number, const char *text);

void rejects(struct peer *peer, uint32_t number, uint8_t attempt);

// On to when the client wants to be called.
void waits(void);

#endif
