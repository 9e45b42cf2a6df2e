// SPDX-License-Identifier: Apache-2.0
//
// What becomes of tasks, told by what the client sends and says.

#include <string.h>

#include "check.h"
#include "world.h"

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
        {"the clock may begin at 0", the_clock_may_begin_at_0},
        {"a hash that fails is as a datagram that gets lost", a_hash_that_fails_is_as_a_datagram_that_gets_lost},
    };
    CHECK(argc == 2);
    return check_run("weir_edge_client", tests, sizeof tests / sizeof tests[0], argv[1]);
}
