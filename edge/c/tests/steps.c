// SPDX-License-Identifier: Apache-2.0

#include "steps.h"

#include <string.h>

#include "check.h"
#include "peer.h"

#define MS UINT64_C(1000000)
#define SESSION UINT64_C(0x1122334455667788)
#define PEERS 6U
#define NUMBERS 256U
// Nothing that comes in may make the client talk on and on.
#define EVENTS_MAX (1U + 5U * WEIR_EDGE_TASKS + WEIR_EDGE_NODES)

struct steps_seen steps_seen;

enum progress { NEW = 0, UNDER_WAY, ACCEPTED, ENDED };

// One life.
static struct {
    const uint8_t *at;
    size_t left;
    struct weir_edge_client client;
    uint64_t now_ns;
    uint64_t asked_at_ns[PEERS];
    uint32_t submitted;
    uint8_t progress[NUMBERS]; // enum progress
    struct peer peers[PEERS];
    uint8_t outputs[WEIR_EDGE_TASKS][16];
} life;

static uint8_t next(void)
{
    if (life.left == 0U) {
        return 0;
    }
    life.left--;
    return *life.at++;
}

static void is_datagram(const struct weir_edge_event *event)
{
    CHECK(event->datagram_bytes >= WEIR_EDGE_HEADER_BYTES + WEIR_EDGE_TAG_BYTES);
    CHECK(event->datagram_bytes <= WEIR_EDGE_DATAGRAM_BYTES);
    struct weir_edge_seal seal = {peer_hmac, NULL};
    struct weir_edge_header header;
    struct weir_edge_message message;
    CHECK(weir_edge_message_read(&seal, event->datagram, event->datagram_bytes, &header, &message) ==
          WEIR_EDGE_DROP_UNEXPECTED);
    CHECK(header.sender == SESSION && header.sent_at_ns == life.now_ns);
    for (uint32_t i = 0; i < PEERS; i++) {
        bool to_it = event->address.port == life.peers[i].address.port;
        if (to_it && message.type == WEIR_EDGE_HELLO) {
            life.asked_at_ns[i] = life.now_ns;
        }
    }
}

// A task's events come in the order that client.h has, and end.
static void is_in_order(const struct weir_edge_event *event)
{
    CHECK(event->number >= 1U && event->number <= life.submitted);
    uint8_t *progress = &life.progress[event->number % NUMBERS];
    CHECK(*progress == UNDER_WAY || *progress == ACCEPTED);
    switch (event->kind) {
    case WEIR_EDGE_ACCEPTED:
        *progress = ACCEPTED;
        steps_seen.accepted++;
        break;
    case WEIR_EDGE_REJECTED:
        CHECK(event->refusal >= WEIR_EDGE_REFUSED_NO_TIME && event->refusal <= WEIR_EDGE_REFUSED_LOST);
        *progress = ENDED;
        steps_seen.rejected++;
        break;
    case WEIR_EDGE_RESULT:
        CHECK(event->result.exit >= WEIR_EDGE_EXIT_DONE && event->result.exit <= WEIR_EDGE_EXIT_FAILED);
        CHECK(event->result.output_bytes <= sizeof life.outputs[0]);
        *progress = ENDED;
        steps_seen.results++;
        break;
    case WEIR_EDGE_LOST:
        CHECK(*progress == ACCEPTED);
        *progress = ENDED;
        steps_seen.lost++;
        break;
    default:
        CHECK(event->kind == WEIR_EDGE_GIVEN_UP);
        CHECK(*progress == UNDER_WAY || *progress == ACCEPTED);
        steps_seen.given_up++;
        break;
    }
}

static void polls(void)
{
    struct weir_edge_event event = {.kind = WEIR_EDGE_SEND};
    for (uint32_t i = 0; event.kind != WEIR_EDGE_NOTHING; i++) {
        CHECK(i <= EVENTS_MAX);
        weir_edge_client_poll(&life.client, life.now_ns, &event);
        if (event.kind == WEIR_EDGE_SEND) {
            is_datagram(&event);
        } else if (event.kind != WEIR_EDGE_NOTHING) {
            is_in_order(&event);
        }
    }
    CHECK(weir_edge_client_timeout(&life.client) > life.now_ns);
    CHECK(weir_edge_client_under_way(&life.client) <= WEIR_EDGE_TASKS);
}

static void submits(void)
{
    static uint8_t payload[WEIR_EDGE_PAYLOAD_BYTES];
    struct weir_edge_task task = {.program = "program",
                                  .payload = next() % 2U == 0U ? payload : NULL,
                                  .payload_bytes = next() * 5U,
                                  .output_bytes_max = next() % 17U,
                                  .wcet_ns = next() * MS,
                                  .budget_ns = next() * 4U * MS};
    task.output = life.outputs[life.submitted % WEIR_EDGE_TASKS];
    uint32_t number = 0;
    enum weir_edge_status status = weir_edge_client_submit(&life.client, life.now_ns, &task, &number);
    if (status == WEIR_EDGE_OK) {
        life.submitted++;
        CHECK(number == life.submitted);
        life.progress[number % NUMBERS] = UNDER_WAY;
    }
}

// One of the last tasks.
static uint32_t some_number(void)
{
    return life.submitted - next() % 4U;
}

static void receives(const struct peer *from, const struct peer_datagram *datagram)
{
    uint8_t *buffer = weir_edge_client_buffer(&life.client);
    size_t length = datagram->length <= WEIR_EDGE_DATAGRAM_BYTES ? datagram->length : WEIR_EDGE_DATAGRAM_BYTES + 1U;
    memcpy(buffer, datagram->bytes, length);
    weir_edge_client_receive(&life.client, life.now_ns, &from->address, buffer, length);
}

static void well_formed(struct peer *peer)
{
    struct weir_edge_address others[2] = {life.peers[next() % PEERS].address, life.peers[next() % PEERS].address};
    struct peer_datagram datagram;
    uint8_t kind = next() % 8U;
    uint32_t number = some_number();
    uint8_t attempt = (uint8_t)(1U + next() / 128U);
    if (kind < 3U) {
        uint64_t asked_at_ns = life.asked_at_ns[peer - life.peers];
        datagram = peer_welcome(peer, life.now_ns, SESSION, asked_at_ns, others, next() % 3U);
    } else if (kind < 5U) {
        datagram = peer_accept(peer, life.now_ns, SESSION, number, attempt, &others[0]);
    } else if (kind < 6U) {
        datagram = peer_reject(peer, life.now_ns, SESSION, number, attempt, (enum weir_edge_refusal)(1U + next() % 5U));
    } else {
        static const char *const outputs[] = {"", "output", "an output that is too long for what is there"};
        enum weir_edge_exit exit = (enum weir_edge_exit)(1U + next() % 3U);
        datagram = peer_result(peer, life.now_ns, SESSION, number, exit, outputs[next() % 3U]);
    }
    receives(peer, &datagram);
}

// The steps' own bytes: as a datagram, or as what is sealed in one.
static void rubbish(struct peer *peer, bool sealed)
{
    uint8_t body[1401];
    size_t length = next() % 64U == 0U ? sizeof body : next();
    uint8_t type = next();
    uint64_t receiver = next() % 8U == 0U ? next() : SESSION;
    for (size_t i = 0; i < length; i++) {
        body[i] = next();
    }
    struct peer_datagram datagram = {.length = length};
    if (sealed) {
        datagram = peer_any(peer, life.now_ns, receiver, type % 10U, body, length);
    } else {
        memcpy(datagram.bytes, body, length);
    }
    receives(peer, &datagram);
}

static void goes_on(void)
{
    uint64_t at_ns = weir_edge_client_timeout(&life.client);
    uint64_t step_ns = next() * MS / 4U;
    life.now_ns = next() % 2U == 0U && at_ns > life.now_ns ? at_ns : life.now_ns + step_ns;
}

static void begins(void)
{
    memset(&life.submitted, 0, sizeof life.submitted);
    memset(life.progress, NEW, sizeof life.progress);
    memset(life.asked_at_ns, 0, sizeof life.asked_at_ns);
    life.now_ns = next() * MS / 200U; // also where the clock begins
    struct weir_edge_address nodes[WEIR_EDGE_NODES];
    for (uint8_t i = 0; i < PEERS; i++) {
        life.peers[i] = peer_at(i);
        life.peers[i].address.port = (uint16_t)(9000U + i / 2U); // some differ by their addresses alone
    }
    struct weir_edge_config config = {.hmac = peer_hmac, .session = SESSION, .nodes = nodes};
    config.nodes_count = 1U + next() % WEIR_EDGE_NODES;
    config.closest = next() % 6U;
    for (size_t i = 0; i < config.nodes_count; i++) {
        nodes[i] = life.peers[next() % PEERS].address;
    }
    CHECK(weir_edge_client_init(&life.client, &config, life.now_ns) == WEIR_EDGE_OK);
}

void steps_run(const uint8_t *bytes, size_t length)
{
    life.at = bytes;
    life.left = length;
    begins();
    while (life.left > 0U) {
        uint8_t step = next();
        struct peer *peer = &life.peers[next() % PEERS];
        switch (step % 16U) {
        case 0:
        case 1:
        case 2:
            submits();
            break;
        case 3: {
            uint32_t number = some_number();
            if (weir_edge_client_cancel(&life.client, number) == WEIR_EDGE_OK) {
                life.progress[number % NUMBERS] = ENDED;
            }
            break;
        }
        case 4:
            rubbish(peer, false);
            break;
        case 5:
            rubbish(peer, true);
            break;
        case 6:
            peer->session++; // started again
            peer->sequence = 0;
            break;
        case 7:
        case 8:
        case 9:
            goes_on();
            break;
        default:
            well_formed(peer);
            break;
        }
        if (step < 240U) {
            polls();
        }
    }
    for (int why = 0; why < WEIR_EDGE_DROPS; why++) {
        steps_seen.dropped += weir_edge_client_dropped(&life.client, (enum weir_edge_drop)why);
    }
}
