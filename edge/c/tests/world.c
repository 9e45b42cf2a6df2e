// SPDX-License-Identifier: Apache-2.0

#include "world.h"

#include "check.h"

struct weir_edge_client client;
struct weir_edge_event event;
uint64_t now_ns = UINT64_C(5000000000);
struct peer peers[6];
uint8_t output[8];
bool hash_fails;

static int fragile_hmac(void *context, const uint8_t *bytes, size_t length, uint8_t tag[32])
{
    return hash_fails ? -1 : peer_hmac(context, bytes, length, tag);
}

struct weir_edge_config config_of(size_t nodes)
{
    static struct weir_edge_address addresses[WEIR_EDGE_NODES + 1];
    for (uint8_t i = 0; i < 6U; i++) {
        peers[i] = peer_at(i);
    }
    for (size_t i = 0; i < nodes; i++) {
        addresses[i] = peers[i].address;
    }
    return (struct weir_edge_config){
        .hmac = fragile_hmac, .session = SESSION, .nodes = addresses, .nodes_count = nodes};
}

struct weir_edge_task a_task(void)
{
    return (struct weir_edge_task){.program = "p",
                                   .output = output,
                                   .output_bytes_max = sizeof output,
                                   .wcet_ns = 10U * MS,
                                   .budget_ns = 300U * MS};
}

void expect(enum weir_edge_event_kind kind)
{
    weir_edge_client_poll(&client, now_ns, &event);
    CHECK(event.kind == kind);
}

void expect_sent(enum weir_edge_type type, const struct peer *to)
{
    expect(WEIR_EDGE_SEND);
    CHECK(event.datagram[3] == (uint8_t)type && event.address.port == to->address.port);
    uint64_t token = (uint64_t)event.datagram[18] << 8 | event.datagram[19];
    CHECK(token == (type == WEIR_EDGE_HELLO ? to->given : to->token));
}

void receive(const struct peer *from, const struct peer_datagram *datagram)
{
    weir_edge_client_receive(&client, now_ns, &from->address, datagram->bytes, datagram->length);
}

void meets(struct peer *peer, uint64_t round_trip_ns)
{
    expect_sent(WEIR_EDGE_HELLO, peer);
    uint64_t asked_at_ns = now_ns;
    now_ns += round_trip_ns;
    struct peer_datagram datagram = peer_welcome(peer, now_ns - round_trip_ns / 2U, SESSION, asked_at_ns, NULL, 0);
    receive(peer, &datagram);
}

void begin(size_t nodes)
{
    struct weir_edge_config config = config_of(nodes);
    config.hello_period_ns = UINT32_C(4000000000); // out of the way
    CHECK(weir_edge_client_init(&client, &config, now_ns) == WEIR_EDGE_OK);
    for (size_t i = 0; i < nodes; i++) {
        meets(&peers[i], 2U * (i + 1U) * MS);
    }
    expect(WEIR_EDGE_NOTHING);
}

uint32_t submits(const struct peer *to)
{
    struct weir_edge_task task = a_task();
    uint32_t number = 0;
    CHECK(weir_edge_client_submit(&client, now_ns, &task, &number) == WEIR_EDGE_OK);
    CHECK(weir_edge_client_timeout(&client) == 0U);
    expect_sent(WEIR_EDGE_SUBMIT, to);
    expect(WEIR_EDGE_NOTHING);
    return number;
}

void accepts(struct peer *peer, uint32_t number, uint8_t attempt, const struct peer *holder)
{
    struct peer_datagram datagram = peer_accept(peer, now_ns, SESSION, number, attempt, &holder->address);
    receive(peer, &datagram);
}

void results(struct peer *peer, uint32_t number, const char *text)
{
    struct peer_datagram datagram = peer_result(peer, now_ns, SESSION, number, WEIR_EDGE_EXIT_DONE, text);
    receive(peer, &datagram);
}

void rejects(struct peer *peer, uint32_t number, uint8_t attempt)
{
    struct peer_datagram datagram = peer_reject(peer, now_ns, SESSION, number, attempt, WEIR_EDGE_REFUSED_NO_TIME);
    receive(peer, &datagram);
}

void waits(void)
{
    uint64_t at_ns = weir_edge_client_timeout(&client);
    CHECK(at_ns > now_ns);
    now_ns = at_ns;
}
