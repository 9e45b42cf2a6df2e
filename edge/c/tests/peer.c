// SPDX-License-Identifier: Apache-2.0

#include "peer.h"

#include <string.h>

int peer_hmac(void *context, const uint8_t *bytes, size_t length, uint8_t tag[32])
{
    uint64_t state = UINT64_C(14695981039346656037);
    (void)context;
    for (size_t i = 0; i < length; i++) {
        state = (state ^ bytes[i]) * UINT64_C(1099511628211);
    }
    for (size_t i = 0; i < 32U; i++) {
        tag[i] = (uint8_t)(state >> 8U * (i % 8U));
    }
    return 0;
}

struct peer peer_at(uint8_t place)
{
    return (struct peer){
        .address = {.ip = {10, 0, 0, place}, .port = (uint16_t)(9000U + place), .version = 4},
        .session = 1000U + place,
        .token = 2000U + place,
        .clock_ahead_ns = UINT64_C(1000000000000) * place,
    };
}

static void put(struct peer_datagram *datagram, uint64_t number, size_t bytes)
{
    for (size_t i = bytes; i > 0U; i--) {
        datagram->bytes[datagram->length++] = (uint8_t)(number >> 8U * (i - 1U));
    }
}

static void put_bytes(struct peer_datagram *datagram, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        datagram->bytes[datagram->length++] = ((const uint8_t *)bytes)[i];
    }
}

static void put_address(struct peer_datagram *datagram, const struct weir_edge_address *address)
{
    put(datagram, address->version, 1);
    put_bytes(datagram, address->ip, address->version == 4U ? 4 : 16);
    put(datagram, address->port, 2);
}

static struct peer_datagram begin(struct peer *peer, uint64_t now_ns, uint64_t receiver, uint8_t type)
{
    struct peer_datagram datagram = {.bytes = {'W', 'E', 1, type}, .length = 4};
    peer->sequence++;
    put(&datagram, peer->session, 8);
    put(&datagram, receiver, 8);
    put(&datagram, peer->sequence, 8);
    put(&datagram, now_ns + peer->clock_ahead_ns, 8);
    return datagram;
}

static struct peer_datagram end(struct peer_datagram datagram)
{
    uint8_t tag[32];
    (void)peer_hmac(NULL, datagram.bytes, datagram.length, tag);
    put_bytes(&datagram, tag, WEIR_EDGE_TAG_BYTES);
    return datagram;
}

struct peer_datagram peer_welcome(struct peer *peer, uint64_t now_ns, uint64_t receiver, uint64_t asked_at_ns,
                                  const struct weir_edge_address *others, uint8_t others_count)
{
    struct peer_datagram datagram = begin(peer, now_ns, receiver, WEIR_EDGE_WELCOME);
    put(&datagram, asked_at_ns, 8);
    put(&datagram, peer->token, 8);
    peer->given = peer->token;
    put(&datagram, peer->density, 4);
    put(&datagram, others_count, 1);
    for (uint8_t i = 0; i < others_count; i++) {
        put_address(&datagram, &others[i]);
    }
    return end(datagram);
}

struct peer_datagram peer_accept(struct peer *peer, uint64_t now_ns, uint64_t receiver, uint32_t number,
                                 uint8_t attempt, const struct weir_edge_address *holder)
{
    struct peer_datagram datagram = begin(peer, now_ns, receiver, WEIR_EDGE_ACCEPT);
    put(&datagram, number, 4);
    put(&datagram, attempt, 1);
    put_address(&datagram, holder);
    return end(datagram);
}

struct peer_datagram peer_reject(struct peer *peer, uint64_t now_ns, uint64_t receiver, uint32_t number,
                                 uint8_t attempt, enum weir_edge_refusal refusal)
{
    struct peer_datagram datagram = begin(peer, now_ns, receiver, WEIR_EDGE_REJECT);
    put(&datagram, number, 4);
    put(&datagram, attempt, 1);
    put(&datagram, (uint64_t)refusal, 1);
    return end(datagram);
}

struct peer_datagram peer_result(struct peer *peer, uint64_t now_ns, uint64_t receiver, uint32_t number,
                                 enum weir_edge_exit exit, const char *output)
{
    struct peer_datagram datagram = begin(peer, now_ns, receiver, WEIR_EDGE_RESULT_COMES);
    put(&datagram, number, 4);
    put(&datagram, (uint64_t)exit, 1);
    put(&datagram, 7000000, 8);
    put(&datagram, strlen(output), 2);
    put_bytes(&datagram, output, strlen(output));
    return end(datagram);
}

struct peer_datagram peer_any(struct peer *peer, uint64_t now_ns, uint64_t receiver, uint8_t type, const uint8_t *body,
                              size_t length)
{
    struct peer_datagram datagram = begin(peer, now_ns, receiver, type);
    put_bytes(&datagram, body, length);
    return end(datagram);
}
