// SPDX-License-Identifier: Apache-2.0
//
// The client's states, told by what it sends and says.

#include "weir_edge/client.h"

#include <string.h>

#include "check.h"
#include "peer.h"
#include "weir_edge_nodes.h"

#define MS UINT64_C(1000000)
#define SESSION 77U

static struct weir_edge_client client;
static struct weir_edge_event event;
static uint64_t now_ns = UINT64_C(5000000000);
static struct peer peers[6];
static uint8_t output[8];
static bool hash_fails;

static int fragile_hmac(void *context, const uint8_t *bytes, size_t length, uint8_t tag[32])
{
    return hash_fails ? -1 : peer_hmac(context, bytes, length, tag);
}

static struct weir_edge_config config_of(size_t nodes)
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

static struct weir_edge_task a_task(void)
{
    return (struct weir_edge_task){.program = "p",
                                   .output = output,
                                   .output_bytes_max = sizeof output,
                                   .wcet_ns = 10U * MS,
                                   .budget_ns = 300U * MS};
}

// The next event, which is of this kind.
static void expect(enum weir_edge_event_kind kind)
{
    weir_edge_client_poll(&client, now_ns, &event);
    CHECK(event.kind == kind);
}

// The next datagram is of this type and goes to this peer, with the token it gave.
static void expect_sent(enum weir_edge_type type, const struct peer *to)
{
    expect(WEIR_EDGE_SEND);
    CHECK(event.datagram[3] == (uint8_t)type && event.address.port == to->address.port);
    uint64_t token = (uint64_t)event.datagram[18] << 8 | event.datagram[19];
    CHECK(token == (type == WEIR_EDGE_HELLO ? 0U : to->token));
}

static void receive(const struct peer *from, const struct peer_datagram *datagram)
{
    weir_edge_client_receive(&client, now_ns, &from->address, datagram->bytes, datagram->length);
}

// The peer answers the hello that is sent now, and does so after `round_trip_ns`.
static void meets(struct peer *peer, uint64_t round_trip_ns)
{
    expect_sent(WEIR_EDGE_HELLO, peer);
    uint64_t asked_at_ns = now_ns;
    now_ns += round_trip_ns;
    struct peer_datagram datagram = peer_welcome(peer, now_ns - round_trip_ns / 2U, SESSION, asked_at_ns, NULL, 0);
    receive(peer, &datagram);
}

// A client that knows so many nodes; node i has a round trip of 2 * (i + 1) ms.
static void begin(size_t nodes)
{
    struct weir_edge_config config = config_of(nodes);
    config.hello_period_ns = UINT32_C(4000000000); // out of the way
    CHECK(weir_edge_client_init(&client, &config, now_ns) == WEIR_EDGE_OK);
    for (size_t i = 0; i < nodes; i++) {
        meets(&peers[i], 2U * (i + 1U) * MS);
    }
    expect(WEIR_EDGE_NOTHING);
}

static uint32_t submits(const struct peer *to)
{
    struct weir_edge_task task = a_task();
    uint32_t number = 0;
    CHECK(weir_edge_client_submit(&client, now_ns, &task, &number) == WEIR_EDGE_OK);
    CHECK(weir_edge_client_timeout(&client) == 0U);
    expect_sent(WEIR_EDGE_SUBMIT, to);
    expect(WEIR_EDGE_NOTHING);
    return number;
}

static void accepts(struct peer *peer, uint32_t number, uint8_t attempt, const struct peer *holder)
{
    struct peer_datagram datagram = peer_accept(peer, now_ns, SESSION, number, attempt, &holder->address);
    receive(peer, &datagram);
}

static void results(struct peer *peer, uint32_t number, const char *text)
{
    struct peer_datagram datagram = peer_result(peer, now_ns, SESSION, number, WEIR_EDGE_EXIT_DONE, text);
    receive(peer, &datagram);
}

static void rejects(struct peer *peer, uint32_t number, uint8_t attempt)
{
    struct peer_datagram datagram = peer_reject(peer, now_ns, SESSION, number, attempt, WEIR_EDGE_REFUSED_NO_TIME);
    receive(peer, &datagram);
}

// On to when the client wants to be called.
static void waits(void)
{
    uint64_t at_ns = weir_edge_client_timeout(&client);
    CHECK(at_ns > now_ns);
    now_ns = at_ns;
}

static void configurations_out_of_range_are_refused(void)
{
    struct weir_edge_config good = config_of(WEIR_EDGE_NODES);
    struct weir_edge_address address = peers[0].address;
    struct weir_edge_config wrong[10];
    for (size_t i = 0; i < 10U; i++) {
        wrong[i] = good;
    }
    wrong[0].hmac = NULL;
    wrong[1].session = 0;
    wrong[2].nodes = NULL;
    wrong[3].nodes_count = 0;
    wrong[4].nodes_count = WEIR_EDGE_NODES + 1U;
    wrong[5].share_permille = 1001;
    wrong[6].uncertainty_permille = 10001;
    wrong[7].nodes = &address;
    wrong[7].nodes_count = 1;
    for (size_t i = 0; i < 7U; i++) {
        check_context("configuration %zu", i);
        CHECK(weir_edge_client_init(&client, &wrong[i], now_ns) == WEIR_EDGE_INVALID);
    }
    address.version = 5;
    CHECK(weir_edge_client_init(&client, &wrong[7], now_ns) == WEIR_EDGE_INVALID);
    address.version = 6;
    CHECK(weir_edge_client_init(&client, &wrong[7], now_ns) == WEIR_EDGE_OK);
    address.port = 0;
    CHECK(weir_edge_client_init(&client, &wrong[7], now_ns) == WEIR_EDGE_INVALID);
    good.share_permille = 1000;
    good.uncertainty_permille = 10000;
    good.margin_ns = 1;
    good.closest = 1;
    good.answer_ns = 1;
    CHECK(weir_edge_client_init(&client, &good, now_ns) == WEIR_EDGE_OK);
}

static void tasks_out_of_range_are_refused(void)
{
    begin(1);
    struct weir_edge_task wrong[9];
    for (size_t i = 0; i < 9U; i++) {
        wrong[i] = a_task();
    }
    wrong[0].program = NULL;
    wrong[1].program = "";
    wrong[2].program = "123456789012345678901234567890123";
    wrong[3].payload_bytes = 1;
    wrong[4].payload = output;
    wrong[4].payload_bytes = WEIR_EDGE_PAYLOAD_BYTES + 1U;
    wrong[5].output = NULL;
    wrong[6].wcet_ns = 0;
    wrong[7].wcet_ns = UINT64_C(3600000000001);
    wrong[8].budget_ns = UINT64_C(3600000000001);
    for (size_t i = 0; i < 9U; i++) {
        check_context("task %zu", i);
        CHECK(weir_edge_client_submit(&client, now_ns, &wrong[i], NULL) == WEIR_EDGE_INVALID);
    }
    expect(WEIR_EDGE_NOTHING);
    wrong[2].program = "12345678901234567890123456789012";
    wrong[2].output = NULL;
    wrong[2].output_bytes_max = 0;
    CHECK(weir_edge_client_submit(&client, now_ns, &wrong[2], NULL) == WEIR_EDGE_OK);
}

static void there_is_a_limit_to_tasks(void)
{
    struct weir_edge_config config = config_of(1);
    struct weir_edge_task task = a_task();
    struct weir_edge_address nearest;
    uint64_t round_trip_ns;
    CHECK(weir_edge_client_init(&client, &config, now_ns) == WEIR_EDGE_OK);
    CHECK(weir_edge_client_submit(&client, now_ns, &task, NULL) == WEIR_EDGE_NO_NODE);
    CHECK(weir_edge_client_nearest(&client, now_ns, &nearest, &round_trip_ns) == WEIR_EDGE_NO_NODE);
    meets(&peers[0], 4U * MS);
    CHECK(weir_edge_client_nearest(&client, now_ns, &nearest, &round_trip_ns) == WEIR_EDGE_OK);
    CHECK(nearest.port == peers[0].address.port && round_trip_ns == 4U * MS);
    for (uint32_t i = 0; i < WEIR_EDGE_TASKS; i++) {
        CHECK(submits(&peers[0]) == i + 1U);
    }
    CHECK(weir_edge_client_under_way(&client) == WEIR_EDGE_TASKS);
    CHECK(weir_edge_client_submit(&client, now_ns, &task, NULL) == WEIR_EDGE_FULL);
    CHECK(weir_edge_client_cancel(&client, 3) == WEIR_EDGE_OK);
    CHECK(weir_edge_client_under_way(&client) == WEIR_EDGE_TASKS - 1U);
    CHECK(weir_edge_client_submit(&client, now_ns, &task, NULL) == WEIR_EDGE_FULL);
    expect_sent(WEIR_EDGE_CANCEL, &peers[0]);
    CHECK(submits(&peers[0]) == WEIR_EDGE_TASKS + 1U);
}

// 300 ms from now, less 1 ms of margin, less 1 ms for the way back, in the node's clock.
static void results_come_in_time_late_and_cut(void)
{
    begin(1);
    uint32_t number = submits(&peers[0]);
    uint64_t leave_by_ns = 0;
    for (size_t i = 41; i < 49U; i++) {
        leave_by_ns = leave_by_ns << 8 | client.buffer[i];
    }
    CHECK(leave_by_ns == now_ns + 298U * MS + peers[0].clock_ahead_ns);
    uint64_t due_ns = now_ns + 300U * MS;
    accepts(&peers[0], number, 1, &peers[0]);
    expect(WEIR_EDGE_ACCEPTED);
    CHECK(event.number == number && event.address.port == peers[0].address.port);
    expect(WEIR_EDGE_NOTHING);
    now_ns = due_ns - 5U * MS;
    results(&peers[0], number, "1234567");
    CHECK(weir_edge_client_timeout(&client) == 0U);
    expect_sent(WEIR_EDGE_RESULT_ACK, &peers[0]);
    expect(WEIR_EDGE_RESULT);
    CHECK(event.result.exit == WEIR_EDGE_EXIT_DONE && event.result.lateness_ns == -5 * (int64_t)MS);
    CHECK(event.result.output_bytes == 7U && !event.result.output_cut && event.result.execution_ns == 7U * MS);
    CHECK(event.result.output == output && memcmp(output, "1234567", 7) == 0);
    CHECK(weir_edge_client_under_way(&client) == 0U);
    results(&peers[0], number, "1234567"); // the acknowledgement was lost
    expect_sent(WEIR_EDGE_RESULT_ACK, &peers[0]);
    expect(WEIR_EDGE_NOTHING);
    number = submits(&peers[0]);
    now_ns += 305U * MS;
    results(&peers[0], number, "1234567890"); // nothing was heard of it before
    expect_sent(WEIR_EDGE_RESULT_ACK, &peers[0]);
    expect(WEIR_EDGE_RESULT);
    CHECK(event.result.lateness_ns == 5 * (int64_t)MS && event.result.output_bytes == 8U && event.result.output_cut);
    number = submits(&peers[0]);
    results(&peers[0], number, "");
    expect_sent(WEIR_EDGE_RESULT_ACK, &peers[0]);
    expect(WEIR_EDGE_RESULT);
    CHECK(event.result.output_bytes == 0U && !event.result.output_cut);
}

static void accepted_tasks_that_do_not_come_back_are_lost(void)
{
    begin(1);
    uint32_t number = submits(&peers[0]);
    uint64_t due_ns = now_ns + 300U * MS;
    accepts(&peers[0], number, 1, &peers[0]);
    expect(WEIR_EDGE_ACCEPTED);
    waits();
    CHECK(now_ns == due_ns + 500U * MS);
    expect(WEIR_EDGE_LOST);
    CHECK(event.number == number);
    results(&peers[0], number, "x");
    expect_sent(WEIR_EDGE_RESULT_ACK, &peers[0]);
    expect(WEIR_EDGE_NOTHING);
}

static void rejections_count_for_their_attempt(void)
{
    begin(1);
    uint32_t number = submits(&peers[0]);
    rejects(&peers[0], number, 2);
    rejects(&peers[0], number + 1U, 1);
    expect(WEIR_EDGE_NOTHING);
    rejects(&peers[0], number, 1);
    expect(WEIR_EDGE_REJECTED);
    CHECK(event.number == number && event.refusal == WEIR_EDGE_REFUSED_NO_TIME);
    expect(WEIR_EDGE_NOTHING);
}

static void takeovers_are_told_and_repetitions_are_not(void)
{
    begin(1);
    uint32_t number = submits(&peers[0]);
    accepts(&peers[0], number, 1, &peers[0]);
    expect(WEIR_EDGE_ACCEPTED);
    accepts(&peers[0], number, 1, &peers[0]);
    expect(WEIR_EDGE_NOTHING);
    accepts(&peers[5], number, 1, &peers[5]); // a machine that we do not know
    expect(WEIR_EDGE_ACCEPTED);
    CHECK(event.address.port == peers[5].address.port);
    struct weir_edge_address ip6 = {.ip = {0xfd}, .port = peers[5].address.port, .version = 6};
    struct peer_datagram datagram = peer_accept(&peers[5], now_ns, SESSION, number, 1, &ip6);
    receive(&peers[5], &datagram);
    expect(WEIR_EDGE_ACCEPTED);
    CHECK(event.address.version == 6U);
    struct peer stranger = peers[5];
    stranger.token = 0;
    results(&stranger, number, "x");
    expect_sent(WEIR_EDGE_RESULT_ACK, &stranger);
    expect(WEIR_EDGE_RESULT);
}

// Sent twice, then the next node, then the one after it; nodes that were asked before are told that they need not.
static void silent_nodes_are_given_up_for_the_next(void)
{
    begin(4);
    uint32_t number = submits(&peers[0]);
    for (uint8_t node = 0; node < 3U; node++) {
        waits();
        expect_sent(WEIR_EDGE_SUBMIT, &peers[node]);
        CHECK(event.datagram[40] == node + 1U);
        waits();
        expect_sent(WEIR_EDGE_CANCEL, &peers[node]);
        CHECK(event.datagram[40] == node + 1U);
        expect(WEIR_EDGE_GIVEN_UP);
        CHECK(event.number == number && event.address.port == peers[node].address.port);
        if (node < 2U) {
            expect_sent(WEIR_EDGE_SUBMIT, &peers[node + 1U]);
            expect(WEIR_EDGE_NOTHING);
        }
    }
    expect(WEIR_EDGE_REJECTED);
    CHECK(event.refusal == WEIR_EDGE_REFUSED_NO_NODE);
    CHECK(weir_edge_client_under_way(&client) == 0U);
}

static void without_another_node_or_time_for_it_there_is_none(void)
{
    begin(1);
    (void)submits(&peers[0]);
    waits();
    expect_sent(WEIR_EDGE_SUBMIT, &peers[0]);
    waits();
    expect_sent(WEIR_EDGE_CANCEL, &peers[0]);
    expect(WEIR_EDGE_GIVEN_UP);
    expect(WEIR_EDGE_REJECTED);
    begin(2);
    struct weir_edge_task task = a_task();
    task.budget_ns = 30U * MS;
    CHECK(weir_edge_client_submit(&client, now_ns, &task, NULL) == WEIR_EDGE_OK);
    expect_sent(WEIR_EDGE_SUBMIT, &peers[0]);
    waits();
    expect_sent(WEIR_EDGE_SUBMIT, &peers[0]);
    waits();
    expect_sent(WEIR_EDGE_CANCEL, &peers[0]);
    expect(WEIR_EDGE_GIVEN_UP);
    expect(WEIR_EDGE_REJECTED);
}

static void late_acceptances_of_former_attempts_are_cancelled(void)
{
    begin(2);
    uint32_t number = submits(&peers[0]);
    waits();
    expect_sent(WEIR_EDGE_SUBMIT, &peers[0]);
    waits();
    expect_sent(WEIR_EDGE_CANCEL, &peers[0]);
    expect(WEIR_EDGE_GIVEN_UP);
    expect_sent(WEIR_EDGE_SUBMIT, &peers[1]);
    accepts(&peers[0], number, 1, &peers[0]);
    expect_sent(WEIR_EDGE_CANCEL, &peers[0]);
    CHECK(event.datagram[40] == 1U);
    accepts(&peers[5], number, 1, &peers[5]); // nobody whom we could tell
    expect(WEIR_EDGE_NOTHING);
    accepts(&peers[1], number, 2, &peers[1]);
    expect(WEIR_EDGE_ACCEPTED);
    accepts(&peers[0], number, 1, &peers[0]); // came after: whoever runs it, it is run
    expect(WEIR_EDGE_ACCEPTED);
}

static void cancelled_tasks_are_heard_of_no_more(void)
{
    begin(1);
    uint32_t number = submits(&peers[0]);
    accepts(&peers[0], number, 1, &peers[0]);
    CHECK(weir_edge_client_cancel(&client, number) == WEIR_EDGE_OK);
    CHECK(weir_edge_client_cancel(&client, number) == WEIR_EDGE_UNKNOWN);
    CHECK(weir_edge_client_timeout(&client) == 0U);
    expect_sent(WEIR_EDGE_CANCEL, &peers[0]);
    expect(WEIR_EDGE_NOTHING);
    output[0] = '?';
    results(&peers[0], number, "x");
    expect_sent(WEIR_EDGE_RESULT_ACK, &peers[0]);
    expect(WEIR_EDGE_NOTHING);
    CHECK(output[0] == '?');
}

static void recordings_and_strangers_are_dropped(void)
{
    begin(1);
    uint32_t number = submits(&peers[0]);
    struct peer_datagram datagram = peer_accept(&peers[0], now_ns, SESSION, number, 1, &peers[0].address);
    receive(&peers[0], &datagram);
    receive(&peers[0], &datagram);
    CHECK(weir_edge_client_dropped(&client, WEIR_EDGE_DROP_REPLAYED) == 1U);
    datagram = peer_reject(&peers[0], now_ns, SESSION - 1U, number, 1, WEIR_EDGE_REFUSED_FULL); // another start's
    receive(&peers[0], &datagram);
    datagram = peer_welcome(&peers[5], now_ns, SESSION, now_ns, NULL, 0); // we did not ask
    receive(&peers[5], &datagram);
    CHECK(weir_edge_client_dropped(&client, WEIR_EDGE_DROP_STRANGER) == 2U);
    // A former session of the node.
    struct peer former = peers[0];
    former.session = 5;
    rejects(&former, number, 1);
    CHECK(weir_edge_client_dropped(&client, WEIR_EDGE_DROP_STRANGER) == 3U);
    datagram = peer_welcome(&former, now_ns, SESSION, now_ns - 1001U * MS, NULL, 0);
    receive(&peers[0], &datagram);
    datagram = peer_welcome(&former, now_ns, SESSION, now_ns + 1U, NULL, 0);
    receive(&peers[0], &datagram);
    CHECK(weir_edge_client_dropped(&client, WEIR_EDGE_DROP_REPLAYED) == 3U);
    datagram = peer_any(&peers[0], now_ns, SESSION, WEIR_EDGE_HELLO, NULL, 0);
    receive(&peers[0], &datagram);
    CHECK(weir_edge_client_dropped(&client, WEIR_EDGE_DROP_UNEXPECTED) == 1U);
    struct weir_edge_address nowhere = {.version = 0};
    datagram = peer_welcome(&peers[5], now_ns, SESSION, now_ns, NULL, 0);
    weir_edge_client_receive(&client, now_ns, &nowhere, datagram.bytes, datagram.length);
    CHECK(weir_edge_client_dropped(&client, WEIR_EDGE_DROP_STRANGER) == 4U);
    expect(WEIR_EDGE_ACCEPTED);
    expect(WEIR_EDGE_NOTHING);
}

static void a_node_that_was_started_again_is_known_by_its_answer(void)
{
    begin(1);
    waits();
    peers[0].session = 5;
    peers[0].token = 6;
    peers[0].sequence = 0;
    meets(&peers[0], 8U * MS);
    struct weir_edge_address nearest;
    uint64_t round_trip_ns;
    CHECK(weir_edge_client_nearest(&client, now_ns, &nearest, &round_trip_ns) == WEIR_EDGE_OK);
    CHECK(round_trip_ns == 8U * MS); // the former session's 2 ms are forgotten
    (void)submits(&peers[0]);
}

static void the_clock_may_begin_at_0(void)
{
    struct weir_edge_config config = config_of(1);
    struct weir_edge_task task = a_task();
    config.margin_ns = 1000U * (uint32_t)MS; // more than has passed
    now_ns = 0;
    CHECK(weir_edge_client_init(&client, &config, now_ns) == WEIR_EDGE_OK);
    meets(&peers[0], 2U * MS);
    CHECK(weir_edge_client_submit(&client, now_ns, &task, NULL) == WEIR_EDGE_OK);
    expect_sent(WEIR_EDGE_SUBMIT, &peers[0]);
}

// A datagram without a number can be no answer to anything; the node's former answers do not count any more either.
static void numbers_begin_at_1(void)
{
    begin(1);
    struct weir_edge_task task = a_task();
    peers[0].session = 5;
    peers[0].sequence = UINT64_MAX;
    struct peer_datagram datagram = peer_welcome(&peers[0], now_ns, SESSION, now_ns, NULL, 0);
    receive(&peers[0], &datagram);
    CHECK(weir_edge_client_dropped(&client, WEIR_EDGE_DROP_REPLAYED) == 1U);
    CHECK(weir_edge_client_submit(&client, now_ns, &task, NULL) == WEIR_EDGE_NO_NODE);
}

static void nodes_that_leave_hellos_unanswered_are_not_used(void)
{
    begin(1);
    struct weir_edge_task task = a_task();
    for (int hello = 0; hello < 300; hello++) {
        CHECK(weir_edge_client_submit(&client, now_ns, &task, NULL) == (hello <= 3 ? WEIR_EDGE_OK : WEIR_EDGE_NO_NODE));
        (void)weir_edge_client_cancel(&client, (uint32_t)hello + 1U);
        if (hello <= 3) {
            expect_sent(WEIR_EDGE_CANCEL, &peers[0]);
        }
        waits();
        if (hello < 299) {
            expect_sent(WEIR_EDGE_HELLO, &peers[0]);
        }
    }
    meets(&peers[0], 2U * MS);
    (void)submits(&peers[0]);
}

// All others of a welcome; node 0 is the only one that was configured.
static void hears_of(const uint8_t *places, uint8_t count)
{
    struct weir_edge_address others[WEIR_EDGE_OTHERS];
    for (uint8_t i = 0; i < count; i++) {
        others[i] = peers[places[i]].address;
    }
    struct peer_datagram datagram = peer_welcome(&peers[0], now_ns, SESSION, now_ns - 2U * MS, others, count);
    receive(&peers[0], &datagram);
}

static void others_are_learnt_while_there_is_room(void)
{
    begin(1);
    struct weir_edge_address wrong = {.ip = {1}, .version = 4};
    struct peer_datagram datagram = peer_welcome(&peers[0], now_ns, SESSION, now_ns, &wrong, 1);
    receive(&peers[0], &datagram); // no port
    hears_of((const uint8_t[]){0, 1, 2, 3, 4, 1}, 6);
    CHECK(weir_edge_client_timeout(&client) <= now_ns);
    meets(&peers[1], 8U * MS);
    meets(&peers[2], 6U * MS);
    expect_sent(WEIR_EDGE_HELLO, &peers[3]);
    expect(WEIR_EDGE_NOTHING);
    hears_of((const uint8_t[]){5}, 1);
    expect(WEIR_EDGE_NOTHING);
}

static bool is_known(uint8_t place)
{
    return weir_edge_find_node(&client, &peers[place].address) != WEIR_EDGE_NOBODY;
}

// A minute in which nodes 0 and 3 answer, and the others do not.
static void nodes_0_and_3_answer(void)
{
    uint64_t until_ns = now_ns + 60000U * MS;
    while (now_ns < until_ns) {
        weir_edge_client_poll(&client, now_ns, &event);
        if (event.kind == WEIR_EDGE_NOTHING) {
            waits();
        } else if (event.address.ip[3] == 0U) {
            hears_of(NULL, 0);
        } else if (event.address.ip[3] == 3U) {
            struct peer_datagram datagram = peer_welcome(&peers[3], now_ns, SESSION, now_ns - 9U * MS, NULL, 0);
            receive(&peers[3], &datagram);
        }
    }
}

// A learnt node that does not answer gives way to a new one, but not while a task remembers it.
static void silent_nodes_give_way_to_new_ones(void)
{
    begin(1);
    hears_of((const uint8_t[]){1, 2, 3}, 3);
    meets(&peers[1], MS / 2U);
    meets(&peers[2], 8U * MS);
    meets(&peers[3], 9U * MS);
    struct weir_edge_task task = a_task();
    uint32_t number = 0;
    task.budget_ns = UINT64_C(3600000000000);
    CHECK(weir_edge_client_submit(&client, now_ns, &task, &number) == WEIR_EDGE_OK);
    expect_sent(WEIR_EDGE_SUBMIT, &peers[1]);
    accepts(&peers[1], number, 1, &peers[1]);
    nodes_0_and_3_answer();
    hears_of((const uint8_t[]){5, 4}, 2);
    CHECK(is_known(0) && is_known(1) && is_known(3) && is_known(5) && !is_known(2) && !is_known(4));
    rejects(&peers[1], number, 1);
    hears_of((const uint8_t[]){4}, 1);
    CHECK(is_known(1)); // the task's end has still to be told
    while (event.kind != WEIR_EDGE_REJECTED) {
        weir_edge_client_poll(&client, now_ns, &event);
    }
    hears_of((const uint8_t[]){4}, 1);
    CHECK(is_known(4) && !is_known(1));
}

static void nodes_that_tasks_have_tried_keep_their_places(void)
{
    begin(1);
    hears_of((const uint8_t[]){1, 2, 3}, 3);
    meets(&peers[1], MS / 2U);
    expect_sent(WEIR_EDGE_HELLO, &peers[2]);
    meets(&peers[3], 9U * MS);
    struct weir_edge_task task = a_task();
    uint32_t number = 0;
    task.budget_ns = UINT64_C(3600000000000);
    CHECK(weir_edge_client_submit(&client, now_ns, &task, &number) == WEIR_EDGE_OK);
    expect_sent(WEIR_EDGE_SUBMIT, &peers[1]);
    waits();
    expect_sent(WEIR_EDGE_SUBMIT, &peers[1]);
    waits();
    expect_sent(WEIR_EDGE_CANCEL, &peers[1]);
    expect(WEIR_EDGE_GIVEN_UP);
    expect_sent(WEIR_EDGE_SUBMIT, &peers[0]);
    accepts(&peers[0], number, 2, &peers[0]);
    nodes_0_and_3_answer();
    hears_of((const uint8_t[]){4, 5}, 2);
    CHECK(is_known(1) && is_known(4) && !is_known(2) && !is_known(5));
}

// The closest every hello period, the others, and those that do not answer, once in a second.
static void the_closest_are_measured_more_often(void)
{
    struct weir_edge_config config = config_of(4);
    uint32_t hellos[4] = {0};
    config.closest = 2;
    CHECK(weir_edge_client_init(&client, &config, now_ns) == WEIR_EDGE_OK);
    uint64_t until_ns = now_ns + 10000U * MS;
    while (now_ns < until_ns) {
        weir_edge_client_poll(&client, now_ns, &event);
        if (event.kind == WEIR_EDGE_NOTHING) {
            waits();
            continue;
        }
        uint8_t node = event.address.ip[3];
        hellos[node]++;
        if (node != 1U) { // which is silent, and node 3 the nearest
            uint64_t asked_at_ns = now_ns - (4U - node) * MS;
            struct peer_datagram datagram = peer_welcome(&peers[node], now_ns, SESSION, asked_at_ns, NULL, 0);
            receive(&peers[node], &datagram);
        }
    }
    CHECK(hellos[3] >= 45U && hellos[2] >= 45U);
    CHECK(hellos[0] <= 15U && hellos[0] >= 9U && hellos[1] <= 15U && hellos[1] >= 9U);
}

static void a_hash_that_fails_is_as_a_datagram_that_gets_lost(void)
{
    begin(1);
    struct weir_edge_task task = a_task();
    hash_fails = true;
    CHECK(weir_edge_client_submit(&client, now_ns, &task, NULL) == WEIR_EDGE_OK);
    expect(WEIR_EDGE_NOTHING);
    rejects(&peers[0], 1, 1);
    CHECK(weir_edge_client_dropped(&client, WEIR_EDGE_DROP_FORGED) == 1U);
    waits();
    hash_fails = false;
    expect_sent(WEIR_EDGE_SUBMIT, &peers[0]);
    hash_fails = true;
    waits();
    expect(WEIR_EDGE_NOTHING); // no cancellation
    expect(WEIR_EDGE_GIVEN_UP);
    expect(WEIR_EDGE_REJECTED);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"configurations out of range are refused", configurations_out_of_range_are_refused},
        {"tasks out of range are refused", tasks_out_of_range_are_refused},
        {"there is a limit to tasks", there_is_a_limit_to_tasks},
        {"results come in time, late and cut", results_come_in_time_late_and_cut},
        {"accepted tasks that do not come back are lost", accepted_tasks_that_do_not_come_back_are_lost},
        {"rejections count for their attempt", rejections_count_for_their_attempt},
        {"takeovers are told, repetitions are not", takeovers_are_told_and_repetitions_are_not},
        {"silent nodes are given up for the next", silent_nodes_are_given_up_for_the_next},
        {"without another node, or time for it, there is none", without_another_node_or_time_for_it_there_is_none},
        {"late acceptances of former attempts are cancelled", late_acceptances_of_former_attempts_are_cancelled},
        {"cancelled tasks are heard of no more", cancelled_tasks_are_heard_of_no_more},
        {"recordings and strangers are dropped", recordings_and_strangers_are_dropped},
        {"a node that was started again is known by its answer", a_node_that_was_started_again_is_known_by_its_answer},
        {"the clock may begin at 0", the_clock_may_begin_at_0},
        {"numbers begin at 1", numbers_begin_at_1},
        {"nodes that leave hellos unanswered are not used", nodes_that_leave_hellos_unanswered_are_not_used},
        {"others are learnt while there is room", others_are_learnt_while_there_is_room},
        {"silent nodes give way to new ones", silent_nodes_give_way_to_new_ones},
        {"nodes that tasks have tried keep their places", nodes_that_tasks_have_tried_keep_their_places},
        {"the closest are measured more often", the_closest_are_measured_more_often},
        {"a hash that fails is as a datagram that gets lost", a_hash_that_fails_is_as_a_datagram_that_gets_lost},
    };
    CHECK(argc == 2);
    return check_run("weir_edge_client", tests, sizeof tests / sizeof tests[0], argv[1]);
}
