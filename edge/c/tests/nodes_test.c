// SPDX-License-Identifier: Apache-2.0
//
// Which nodes the client knows, believes and turns to.

#include "weir_edge_nodes.h"

#include "check.h"
#include "world.h"

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
    // Another session of the node, but no answer to a hello of ours.
    struct peer former = peers[0];
    former.session = 5;
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
    CHECK(weir_edge_client_dropped(&client, WEIR_EDGE_DROP_STRANGER) == 3U);
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

// Its answers count at once; what it may want of us is asked by a hello.
static void a_node_that_was_started_again_may_already_work_for_us(void)
{
    begin(1);
    uint32_t number = submits(&peers[0]);
    peers[0].session = 5;
    peers[0].sequence = 0;
    accepts(&peers[0], number, 1, &peers[0]);
    expect(WEIR_EDGE_ACCEPTED);
    expect_sent(WEIR_EDGE_HELLO, &peers[0]);
    expect(WEIR_EDGE_NOTHING);
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
    hears_of((const uint8_t[]){0, 1, 2, 3, 1}, 5);
    CHECK(weir_edge_client_timeout(&client) <= now_ns);
    meets(&peers[1], 8U * MS);
    meets(&peers[2], 6U * MS);
    expect_sent(WEIR_EDGE_HELLO, &peers[3]);
    expect(WEIR_EDGE_NOTHING);
}

static bool is_known(uint8_t place)
{
    return weir_edge_find_node(&client, &peers[place].address) != WEIR_EDGE_NOBODY;
}

// So long, in which nodes 0 and 3 answer, and the others do not.
static void nodes_0_and_3_answer(uint64_t time_ns)
{
    uint64_t until_ns = now_ns + time_ns;
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

static void hears_and_meets_all_four(void)
{
    begin(1);
    hears_of((const uint8_t[]){1, 2, 3}, 3);
    meets(&peers[1], MS / 2U);
    meets(&peers[2], 8U * MS);
    meets(&peers[3], 9U * MS);
}

// Every two seconds, one of those that are not the three closest.
static void who_is_not_close_makes_room_now_and_then(void)
{
    hears_and_meets_all_four();
    hears_of((const uint8_t[]){5, 4}, 2);
    CHECK(is_known(0) && is_known(1) && is_known(2) && !is_known(3) && is_known(5));
    hears_of((const uint8_t[]){4}, 1);
    CHECK(!is_known(4));
    now_ns += 2001U * MS;
    hears_of((const uint8_t[]){4}, 1);
    CHECK(is_known(4) && !is_known(5));
}

// The node that a task is with, and those that it has tried.
static void who_has_to_do_with_a_task_keeps_its_place(void)
{
    hears_and_meets_all_four();
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
    nodes_0_and_3_answer(60000U * MS);
    hears_of((const uint8_t[]){5}, 1);
    CHECK(is_known(0) && is_known(1) && !is_known(2) && is_known(3) && is_known(5));
    nodes_0_and_3_answer(60000U * MS);
    rejects(&peers[0], number, 2);
    hears_of((const uint8_t[]){4}, 1); // what became of the task has still to be told
    CHECK(!is_known(4));
    while (event.kind != WEIR_EDGE_REJECTED) {
        weir_edge_client_poll(&client, now_ns, &event);
    }
    now_ns += 2001U * MS;
    hears_of((const uint8_t[]){2, 4}, 2);
    CHECK(is_known(2) && !is_known(4) && is_known(0) && is_known(3) && is_known(1) != is_known(5));
}

// Of nodes that are equally far, the less busy one.
static void the_less_busy_of_equals_is_asked(void)
{
    begin(1);
    hears_of((const uint8_t[]){1, 2}, 2);
    for (uint8_t i = 1; i < 3U; i++) {
        expect_sent(WEIR_EDGE_HELLO, &peers[i]);
    }
    for (uint16_t density = 400; density < 3000U; density = (uint16_t)(density + 400U)) {
        peers[1].density = density;
        peers[2].density = (uint16_t)(3000U - density);
        for (uint8_t i = 1; i < 3U; i++) {
            struct peer_datagram datagram = peer_welcome(&peers[i], now_ns, SESSION, now_ns - MS / 2U, NULL, 0);
            receive(&peers[i], &datagram);
        }
        struct weir_edge_address nearest;
        uint64_t round_trip_ns;
        CHECK(weir_edge_client_nearest(&client, now_ns, &nearest, &round_trip_ns) == WEIR_EDGE_OK);
        if (density / 250U != (3000U - density) / 250U) {
            CHECK(nearest.port == peers[density < 1500U ? 1 : 2].address.port);
        }
    }
}

// The closest every hello period, the others, and those that do not answer, every two seconds.
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
    // Which are the closest is known from the second one on.
    CHECK(hellos[3] >= 38U && hellos[2] >= 38U);
    CHECK(hellos[0] == 5U && hellos[1] == 5U);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"recordings and strangers are dropped", recordings_and_strangers_are_dropped},
        {"a node that was started again is known by its answer", a_node_that_was_started_again_is_known_by_its_answer},
        {"a node that was started again may already work for us",
         a_node_that_was_started_again_may_already_work_for_us},
        {"numbers begin at 1", numbers_begin_at_1},
        {"nodes that leave hellos unanswered are not used", nodes_that_leave_hellos_unanswered_are_not_used},
        {"others are learnt while there is room", others_are_learnt_while_there_is_room},
        {"who is not close makes room now and then", who_is_not_close_makes_room_now_and_then},
        {"who has to do with a task keeps its place", who_has_to_do_with_a_task_keeps_its_place},
        {"the less busy of equals is asked", the_less_busy_of_equals_is_asked},
        {"the closest are measured more often", the_closest_are_measured_more_often},
    };
    CHECK(argc == 2);
    return check_run("weir_edge_nodes", tests, sizeof tests / sizeof tests[0], argv[1]);
}
