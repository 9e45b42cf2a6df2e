// SPDX-License-Identifier: Apache-2.0
//
// The receive path by example: what may be configured, the overall limit, and who suffers in a flood.

#include "weir/rx.h"

#include <errno.h>
#include <string.h>

#include "check.h"
#include "frames.h"
#include "model.h"
#include "rx_forgets.h"
#include "sim.h"
#include "weir/port.h"

#define PERIOD 1000U
#define LOW_PORT 501U
#define HIGH_PORT 502U

static const struct weir_rx_config usual = {.buffers = 20,
                                            .ring = 12,
                                            .capacity = 3,
                                            .batch = 6,
                                            .period = PERIOD,
                                            .background_priority = 1,
                                            .system_priority = 2};
static uint8_t low, high;

static void start(const struct weir_rx_config *config)
{
    sim_start(config);
    low = model_add(weir_match_port(17, LOW_PORT), 3);
    high = model_add(weir_match_port(17, HIGH_PORT), 5);
}

static bool arrives_from(unsigned port, uint8_t sender)
{
    struct frame frame = frame_datagram(port, sender);
    return sim_arrives(&frame);
}

// A frame at a time, slowly enough for an interrupt each.
static void arrives(unsigned port, uint32_t count)
{
    for (; count > 0U; count--) {
        CHECK(arrives_from(port, 1));
        sim.now += PERIOD;
        CHECK(sim_interrupts());
        model_check();
    }
}

static void free_all(const uint16_t *buffers, uint32_t count)
{
    while (count > 0U) {
        model_free(buffers[--count]);
    }
}

static void wrong_configurations(void)
{
    struct weir_rx_config wrong[16];
    uint32_t count = sizeof wrong / sizeof wrong[0];
    for (uint32_t i = 0; i < count; i++) {
        wrong[i] = usual;
    }
    wrong[0].buffers = WEIR_BUFFERS + 1;
    wrong[1].ring = 0;
    wrong[2].ring = wrong[2].buffers;
    wrong[3].buffers = WEIR_FLOWS_ALL;
    wrong[3].ring = 6;
    wrong[3].batch = 0;
    wrong[4].refill = (uint16_t)(wrong[4].ring + 1U);
    wrong[5].refill = wrong[5].ring; // with a full ring, a clean buffer would have to go into it
    wrong[6].capacity = 0;
    wrong[7].period = 0;
    wrong[8].period = UINT32_C(1) << 31;
    wrong[9].batch = (uint16_t)(wrong[9].capacity - 1U);
    wrong[10].batch = (uint16_t)(wrong[10].ring + 1U);
    wrong[11].capacity = (uint16_t)(wrong[11].ring + 1U);
    wrong[11].batch = 0;
    wrong[12].background_priority = WEIR_PRIORITIES;
    wrong[13].system_priority = WEIR_PRIORITIES;
    wrong[14].share_percent = 101;
    wrong[15].system_capacity = 1; // per no time
    sim_start(&usual);
    rx_forget();
    sim.in_ring = 0;
    for (uint32_t i = 0; i < count; i++) {
        check_context("configuration %u", i);
        CHECK(weir_rx_init(&wrong[i]) == EINVAL);
        CHECK(sim.in_ring == 0U);
        struct weir_rx_books books = weir_rx_status().books;
        CHECK(books.with_nic + books.waiting + books.held + books.clean + books.dirty == 0);
    }
    CHECK(weir_rx_init(&usual) == 0 && sim.in_ring == usual.ring);
}

static void a_flood_is_polled_and_silence_brings_interrupts_back(void)
{
    start(&usual);
    uint32_t polls = 0;
    for (uint32_t i = 0; i < 200U * 20U; i++) { // 20 frames per period
        sim.now += PERIOD / 20U;
        (void)arrives_from(LOW_PORT, 1);
        polls += sim_interrupts() && model_status().polling ? 1U : 0U;
        model_check();
    }
    CHECK(polls >= 199U && polls <= 201U);
    CHECK(model_status().polling && !sim.interrupts_on);
    for (uint64_t periods = 1; periods < 100U; periods++) {
        CHECK(sim_most_taken_in(periods * PERIOD) <= usual.batch * (periods + 1U));
    }
    CHECK(sim_most_taken_in(100U * PERIOD) >= 100U * usual.batch); // and no less than it may
    for (uint32_t i = 0; i < 4U; i++) {
        sim.now += PERIOD;
        (void)sim_interrupts();
    }
    CHECK(!model_status().polling && sim.interrupts_on && !sim.timer_on);
    arrives(HIGH_PORT, 1);
}

static void polls_keep_to_their_grid(void)
{
    start(&usual);
    for (uint32_t i = 0; i < 1000U; i++) {
        while (arrives_from(LOW_PORT, 1)) {
        }
        sim.now += PERIOD / 3U; // later than the timer says, by up to a third of a period
        (void)sim_interrupts();
    }
    CHECK(sim_most_taken_in(300U * (uint64_t)PERIOD) >= 299U * usual.batch);
}

// However long a frame takes, the tasks have their share of the time.
static void polls_take_their_share_of_the_time_and_no_more(void)
{
    struct weir_rx_config config = usual;
    config.share_percent = 40;
    start(&config);
    sim.ticks_per_frame = PERIOD;
    uint64_t in_interrupts = 0;
    uint64_t since = sim.now;
    for (uint32_t i = 0; i < 1000U; i++) {
        while (arrives_from(LOW_PORT, 1)) {
        }
        sim.now += PERIOD / 10U;
        uint64_t before = sim.now;
        (void)sim_interrupts();
        in_interrupts += sim.now - before;
    }
    uint64_t share = 100U * in_interrupts / (sim.now - since);
    CHECK(share >= 38U && share <= 40U);
}

static void a_low_flood_takes_nothing_from_what_waits_higher(void)
{
    start(&usual);
    arrives(HIGH_PORT, 5);
    arrives(LOW_PORT, 100);
    CHECK(naive[high].waiting == 5U && naive[low].waiting > 0U);
    arrives(HIGH_PORT, 3);
    CHECK(naive[high].waiting == 8U);
    CHECK(weir_flow(high)->recycled == 0U);
}

// Path (a) counts, and lets through what matters more at once.
static void a_flood_goes_the_short_way(void)
{
    start(&usual);
    arrives(LOW_PORT, 6);
    CHECK(naive[low].waiting == 6U);
    uint32_t before = model.short_circuited;
    arrives(LOW_PORT, 50); // gives_clean first: buffers beyond the ring
    CHECK(model.short_circuited > before + 30U);
    CHECK(weir_flow(low)->recycled == model.short_circuited);
    for (uint32_t i = 0; i < 3U; i++) {
        CHECK(arrives_from(LOW_PORT, 1));
    }
    CHECK(arrives_from(HIGH_PORT, 1) && arrives_from(LOW_PORT, 1));
    sim.now += PERIOD;
    (void)sim_interrupts();
    sim.now += PERIOD;
    (void)sim_interrupts();
    CHECK(naive[high].waiting == 1U);
}

static void a_socket_that_never_reads_starves_nobody(void)
{
    start(&usual);
    struct weir_packet packet;
    uint32_t delivered = 0;
    for (uint32_t i = 0; i < 500U; i++) {
        arrives(LOW_PORT, 3); // taken by the network task, and kept
        arrives(HIGH_PORT, 1);
        while (model_next(&packet)) {
            if (packet.flow == high) {
                delivered++;
                model_free(packet.buffer);
            }
        }
    }
    CHECK(delivered == 500U);
    CHECK(weir_flow(low)->limited > 1000U);
}

// Packets are counted as held when their turn comes: a flow that has many waiting, and then keeps them, keeps no more
// than if they had come one by one.
static void a_socket_that_never_reads_keeps_no_more_of_a_burst(void)
{
    start(&usual);
    struct weir_packet packet;
    uint32_t kept = 0;
    arrives(LOW_PORT, 14);
    CHECK(naive[low].waiting == 14U);
    while (model_next(&packet)) {
        kept++;
    }
    CHECK(kept == 10U); // 8 beyond a full ring, and its reserve
    CHECK(weir_flow(low)->limited == 4U);
    CHECK(sim.in_ring == 10U);
}

// Sockets that keep whatever they get, as many as there can be: what another one is sent still arrives.
static void sockets_that_never_read_leave_others_theirs(void)
{
    start(&usual);
    struct weir_packet packet;
    for (uint16_t port = 600; port < 604U; port++) {
        (void)model_add(weir_match_port(17, port), 3);
    }
    uint32_t delivered = 0;
    for (uint32_t i = 0; i < 20U; i++) {
        for (uint16_t port = 600; port < 605U; port++) { // the last one is background
            arrives(port, 3);
        }
        arrives(LOW_PORT, 3);
        arrives(HIGH_PORT, 1);
        while (model_next(&packet)) {
            if (packet.flow == high) {
                delivered++;
                model_free(packet.buffer);
            }
        }
    }
    CHECK(delivered == 20U);
    CHECK(sim.in_ring > 0U);
}

// Packets to the same port, not from the flow's sender, are background; so many that buffers are scarce.
static void a_stranger_at_the_port_takes_nothing_from_the_sender(void)
{
    static const uint8_t sender[4] = {10, 0, 0, 2};
    start(&usual);
    model_only_from(high, sender, 4);
    for (uint32_t i = 0; i < 100U; i++) {
        CHECK(arrives_from(HIGH_PORT, 66));
        sim.now += PERIOD;
        (void)sim_interrupts();
    }
    CHECK(arrives_from(HIGH_PORT, 2));
    sim.now += PERIOD;
    (void)sim_interrupts();
    CHECK(naive[high].waiting == 1U);
}

static void a_stranger_takes_nothing_from_an_ipv6_sender(void)
{
    static const uint8_t sender[16] = {0xfe, 0x80, [15] = 2};
    start(&usual);
    model_only_from(high, sender, sizeof sender);
    struct frame frame = {.length = 0};
    frame_ethernet(&frame, 0x86dd);
    frame_ipv6(&frame, 17, 20);
    frame_udp(&frame, HIGH_PORT, 12);
    for (uint32_t i = 0; i < 100U; i++) {
        CHECK(sim_arrives(&frame));
        sim.now += PERIOD;
        (void)sim_interrupts();
    }
    memcpy(&frame.bytes[14 + 8], sender, sizeof sender);
    CHECK(sim_arrives(&frame));
    sim.now += PERIOD;
    (void)sim_interrupts();
    CHECK(model.short_circuited > 0U && naive[high].waiting == 1U);
}

static void equals_share_in_a_flood(void)
{
    start(&usual);
    model_set_priority(low, 5);
    arrives(LOW_PORT, 100);
    arrives(HIGH_PORT, 4);
    CHECK(naive[high].waiting == 4U && model.short_circuited > 0U);
}

static void a_servers_excess_is_discarded(void)
{
    start(&usual);
    CHECK(weir_server_init(&weir_flow(low)->server, WEIR_SERVER_SPORADIC, 2, 100U * PERIOD) == 0);
    weir_flow(low)->limited_by_server = true;
    sim.now = 1000U * PERIOD;
    arrives(LOW_PORT, 6);
    arrives(HIGH_PORT, 6);
    CHECK(naive[low].waiting == 2U && weir_flow(low)->limited == 4U);
    CHECK(naive[high].waiting == 6U && weir_flow(high)->limited == 0U);
}

static void background_can_be_dropped_at_once(void)
{
    struct weir_rx_config config = usual;
    config.drop_background = true;
    start(&config);
    arrives(999, 7);
    arrives(HIGH_PORT, 1);
    struct frame runt = {.length = 10};
    CHECK(sim_arrives(&runt) && sim_interrupts());
    CHECK(model_status().refused == 8U && naive_waiting() == 1U);
}

static void a_frame_during_the_interrupt_is_not_lost(void)
{
    start(&usual);
    struct frame late = frame_datagram(HIGH_PORT, 1);
    sim.late = &late;
    CHECK(arrives_from(HIGH_PORT, 1));
    CHECK(sim_interrupts());
    CHECK(sim.late == NULL && sim.filled == 0U && naive[high].waiting == 2U);
}

// Sockets that keep whatever they get: the ring is never without a descriptor, and gets back what they free.
static void a_pool_in_sockets_leaves_the_ring_armed(void)
{
    struct weir_rx_config config = usual;
    config.ring = 4;
    config.buffers = 14; // five more than there are flows
    config.capacity = 2;
    config.batch = 4;
    start(&config);
    uint16_t held[14];
    uint32_t held_count = 0;
    for (uint32_t i = 0; i < 50U; i++) {
        CHECK(arrives_from(HIGH_PORT, 1));
        sim.now += PERIOD;
        CHECK(sim_interrupts());
        struct weir_packet packet;
        if (model_next(&packet)) {
            held[held_count++] = packet.buffer;
        }
    }
    check_context("held %u, limited %u, in ring %u", held_count, weir_flow(high)->limited, sim.in_ring);
    CHECK(held_count == 5U && weir_flow(high)->limited == 45U && sim.in_ring >= 2U);
    free_all(held, held_count);
    CHECK(sim.in_ring == config.ring);
    arrives(HIGH_PORT, 1);
    CHECK(naive[high].waiting == 1U);
}

// A flow that ends with all buffers waiting in it, when nobody has one to free.
static void a_closed_flow_gives_its_buffers_back(void)
{
    struct weir_rx_config config = usual;
    config.ring = 1;
    config.buffers = 10;
    config.capacity = 1;
    config.batch = 1;
    start(&config);
    struct weir_packet packet;
    arrives(LOW_PORT, 1);
    CHECK(sim.in_ring == 0U);
    model_remove(low);
    CHECK(sim.in_ring == 1U);
    model_check();
    arrives(HIGH_PORT, 1);
    CHECK(model_next(&packet) && packet.flow == high);
}

// Removed with packets waiting and held: its place is another flow's when they are gone, not before.
static void a_flow_ends_with_packets_everywhere(void)
{
    start(&usual);
    struct weir_packet packet;
    uint16_t buffers[3];
    arrives(LOW_PORT, 6);
    for (uint32_t i = 0; i < 3U; i++) {
        CHECK(model_next(&packet));
        buffers[i] = packet.buffer;
    }
    weir_port_state state = weir_port_lock();
    naive_remove(low);
    weir_port_unlock(state);
    arrives(LOW_PORT, 1); // background now
    CHECK(naive[WEIR_FLOW_BACKGROUND].waiting == 1U);
    uint8_t next = model_add(weir_match_port(17, 600), 4);
    CHECK(next != low);
    weir_rx_drain(low);
    model_check();
    CHECK(model_add(weir_match_port(17, 601), 4) != low);
    free_all(buffers, 3);
    CHECK(model_add(weir_match_port(17, 602), 4) == low);
    model_check();
}

// Sockets come and go under full flood: at their ports, at others, and at nobody's.
static void sockets_come_and_go_in_a_flood(void)
{
    struct check_random random = {.state = 1};
    uint8_t flow[WEIR_FLOWS];
    uint16_t held[20];
    uint32_t open = 0;
    uint32_t held_count = 0;
    sim_start(&usual);
    for (uint32_t opened = 0; opened < 100000U;) {
        if (open > 0U && check_once_in(&random, 2)) {
            uint32_t which = check_below(&random, open);
            model_remove(flow[which]);
            flow[which] = flow[--open];
        } else if (open < WEIR_FLOWS) {
            weir_match match = weir_match_port(17, (uint16_t)(500U + check_below(&random, 16)));
            uint8_t added = weir_flow_find(match) == WEIR_NO_FLOW ? model_add(match, (uint8_t)check_below(&random, 8))
                                                                  : WEIR_NO_FLOW;
            opened++;
            if (added != WEIR_NO_FLOW) {
                flow[open++] = added;
            }
        }
        for (uint32_t i = 0; i < 4U; i++) { // model.h checks for each where it ends
            (void)arrives_from(498U + check_below(&random, 20), 1);
            sim.now += PERIOD / 16U;
            (void)sim_interrupts();
        }
        struct weir_packet packet;
        if (held_count < 8U && model_next(&packet)) {
            held[held_count++] = packet.buffer;
        }
        if (held_count > 0U && check_once_in(&random, 3)) {
            model_free(held[--held_count]);
        }
        model_check();
    }
    while (open > 0U) {
        model_remove(flow[--open]);
    }
    free_all(held, held_count);
    struct weir_packet packet;
    while (model_next(&packet)) {
        model_free(packet.buffer);
    }
    struct weir_rx_books books = model_status().books;
    CHECK(books.waiting == 0U && books.held == 0U);
    CHECK(books.with_nic + books.clean + books.dirty == usual.buffers);
    for (uint32_t i = 0; i < WEIR_FLOWS; i++) {
        CHECK(weir_flow((uint8_t)i)->match == WEIR_MATCH_REFUSED);
    }
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"a wrong configuration is refused and changes nothing", wrong_configurations},
        {"a flood is polled, silence brings interrupts back", a_flood_is_polled_and_silence_brings_interrupts_back},
        {"polls keep to their grid", polls_keep_to_their_grid},
        {"polls take their share of the time and no more", polls_take_their_share_of_the_time_and_no_more},
        {"a low flood takes nothing from what waits higher", a_low_flood_takes_nothing_from_what_waits_higher},
        {"a flood goes the short way", a_flood_goes_the_short_way},
        {"a socket that never reads starves nobody", a_socket_that_never_reads_starves_nobody},
        {"a socket that never reads keeps no more of a burst", a_socket_that_never_reads_keeps_no_more_of_a_burst},
        {"sockets that never read leave others theirs", sockets_that_never_read_leave_others_theirs},
        {"a stranger at the port takes nothing from its sender", a_stranger_at_the_port_takes_nothing_from_the_sender},
        {"a stranger takes nothing from an IPv6 sender", a_stranger_takes_nothing_from_an_ipv6_sender},
        {"equals share in a flood", equals_share_in_a_flood},
        {"a server's excess is discarded", a_servers_excess_is_discarded},
        {"background can be dropped at once", background_can_be_dropped_at_once},
        {"a frame during the interrupt is not lost", a_frame_during_the_interrupt_is_not_lost},
        {"a pool in sockets leaves the ring armed", a_pool_in_sockets_leaves_the_ring_armed},
        {"a closed flow gives its buffers back", a_closed_flow_gives_its_buffers_back},
        {"a flow ends with packets everywhere", a_flow_ends_with_packets_everywhere},
        {"100,000 sockets come and go in a flood", sockets_come_and_go_in_a_flood},
    };
    CHECK(argc == 2);
    return check_run("weir_rx", tests, sizeof tests / sizeof tests[0], argv[1]);
}
