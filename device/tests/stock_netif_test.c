// SPDX-License-Identifier: Apache-2.0
//
// lwip/stock_netif.c on the bench of host_device.h. Most tests are named after a mistake that network drivers make.

#include "stock_netif.h"

#include <string.h>

#include "check.h"
#include "host_device.h"
#include "lwip/inet_chksum.h"
#include "scenario.h"

#define POOL 24U
#define RANDOM_STEPS 1500U
#define RANDOM_SEEDS 400U

static struct check_random random_state;

// Whatever has happened: with all datagrams freed, every buffer is free or in a ring that is at least half full, and
// frames still arrive.
static void check_recovers(void)
{
    host.preempt = NULL;
    host.mailbox_size = TCPIP_MBOX_SIZE;
    host_settle();
    while (host_application(0)) {
    }
    host_settle();
    host_check_conservation();
    uint32_t in_ring = host_in_ring();
    CHECK(in_ring >= PLAIN_RX_RING / 2);
    CHECK(weir_status.rx_free == weir_scenario.rx_buffers - in_ring);
    uint32_t before = host.received;
    host.application_keeps = false;
    for (uint32_t i = 0; i < in_ring; i++) {
        CHECK(host_datagram(100));
    }
    host_settle();
    CHECK(host.received == before + in_ring);
    host_check_conservation();
}

static void starts_as_its_header_says(void)
{
    host_start(POOL);
    CHECK(host_in_ring() == PLAIN_RX_RING);
    CHECK(weir_status.rx_free == POOL - PLAIN_RX_RING);
    CHECK(host_irq_enable() == PLAIN_NIC_IRQ_RX);
    CHECK(host_control() == (PLAIN_NIC_CONTROL_RX | PLAIN_NIC_CONTROL_TX));
    CHECK(host.driver_priority == weir_scenario.net_priority);
    CHECK(host.netif.mtu == 1500 && host.netif.hwaddr_len == 6);
    CHECK(memcmp(host.netif.hwaddr, weir_scenario.mac, 6) == 0);
    check_recovers();
}

static void datagrams_of_every_size_arrive_unharmed(void)
{
    host_start(POOL);
    for (uint16_t payload = 4; payload <= 1472U; payload++) {
        CHECK(host_datagram(payload));
        host_settle();
        CHECK(host.received == payload - 3U);
    }
    check_recovers();
}

static void one_interrupt_takes_all_frames(void)
{
    host_start(64);
    host_settle();
    for (uint32_t i = 0; i < PLAIN_RX_RING; i++) {
        CHECK(host_datagram(60));
    }
    CHECK(!host_datagram(60));
    CHECK(host_interrupt());
    CHECK(!host_interrupt());
    CHECK(host_driver());
    CHECK(!host_driver());
    while (host_tcpip()) {
    }
    CHECK(host.received == PLAIN_RX_RING && host.interrupts == 1U);
    check_recovers();
}

// A frame in the middle of the ISR, after it has cleared the flag (the bench checks that it has), and nothing else
// that could wake the driver.
static void frame_in_isr(enum host_point point)
{
    if (point == HOST_NOTIFY && host.sequence < 5U) {
        CHECK(host_datagram(60));
    }
}

static void frame_during_the_interrupt_is_not_lost(void)
{
    host_start(POOL);
    host_settle();
    host.preempt = frame_in_isr;
    CHECK(host_datagram(60));
    host_settle();
    CHECK(host.received == 5U && host.interrupts == 5U);
    check_recovers();
}

static void frame_before_sleep(enum host_point point)
{
    if (point == HOST_TAKE && host.sequence < 5U) {
        CHECK(host_datagram(60));
        CHECK(host_interrupt());
    }
}

static void frame_before_the_driver_sleeps_is_not_lost(void)
{
    host_start(POOL);
    host.preempt = frame_before_sleep;
    CHECK(host_driver()); // one call: it never sleeps in between
    CHECK(!host_driver());
    while (host_tcpip()) {
    }
    CHECK(host.received == 5U);
    check_recovers();
}

static void fill_application(uint32_t buffers)
{
    host.application_keeps = true;
    for (uint32_t i = 0; i < buffers; i++) {
        CHECK(host_datagram(60));
        host_settle();
    }
    CHECK(host.held_count == buffers);
}

static void empty_pool_arms_the_ring_again(bool urgent)
{
    host_start(POOL);
    host_settle();
    host.driver_is_urgent = urgent;
    fill_application(POOL);
    CHECK(weir_status.rx_free == 0U && host_in_ring() == 0U);
    CHECK(!host_datagram(60));
    for (uint32_t round = 0; round < 100U; round++) { // one buffer is enough to live on
        CHECK(host_application(round % host.held_count));
        host_settle();
        CHECK(host_in_ring() == 1U);
        CHECK(host_datagram(60));
        host_settle();
        CHECK(host.held_count == POOL);
    }
    check_recovers();
}

static void empty_pool_arms_the_ring_again_urgent(void)
{
    empty_pool_arms_the_ring_again(true);
}

static void empty_pool_arms_the_ring_again_later(void)
{
    empty_pool_arms_the_ring_again(false);
}

static void freed_buffers_wake_the_driver_only_while_it_starves(void)
{
    host_start(POOL);
    host_settle();
    fill_application(POOL);
    CHECK(host.wakes == 0U);
    CHECK(host_application(0) && host_application(0) && host_application(0));
    CHECK(host.wakes == 1U); // it is awake already
    host_settle();
    while (host_application(0)) {
        host_settle();
    }
    CHECK(host.wakes <= 1U + PLAIN_RX_RING); // then the ring is full
    uint32_t wakes = host.wakes;
    for (uint32_t i = 0; i < 100U; i++) {
        CHECK(host_datagram(60));
        host_settle();
        CHECK(host_application(0));
        host_settle();
    }
    CHECK(host.wakes == wakes);
    check_recovers();
}

// The application frees its last buffers while the driver is finding out that there are none.
static void free_at_every_point(enum host_point point)
{
    if (point == HOST_UNPROTECT && check_once_in(&random_state, 2)) {
        (void)host_application(0);
    }
}

static void buffer_freed_while_the_driver_finds_none_wakes_it(void)
{
    for (uint64_t seed = 1; seed <= 50U; seed++) {
        if (seed == 1U) {
            host_start(POOL);
            host_settle();
        }
        check_context("seed %llu", (unsigned long long)seed);
        random_state.state = seed;
        host.application_keeps = true;
        while (host_datagram(60)) {
            host_settle();
        }
        CHECK(host_application(0));
        host.preempt = free_at_every_point;
        host_settle();
        check_recovers();
    }
}

static void full_mailbox_loses_frames_but_no_buffers(void)
{
    host_start(POOL);
    host_settle();
    host.mailbox_size = 3;
    for (uint32_t i = 0; i < 200U; i++) {
        CHECK(host_datagram(60)); // the ring is always filled again
        (void)host_interrupt();
        (void)host_driver();
        host_check_conservation();
    }
    CHECK(host.mailbox_full == 197U);
    check_recovers();
}

static err_t send(const uint8_t *bytes, uint16_t length, uint16_t first)
{
    struct pbuf *head = pbuf_alloc(PBUF_RAW, first, PBUF_RAM);
    struct pbuf *tail = pbuf_alloc(PBUF_RAW, (u16_t)(length - first), PBUF_RAM);
    CHECK(head != NULL && tail != NULL);
    pbuf_cat(head, tail);
    CHECK(pbuf_take(head, bytes, length) == ERR_OK);
    err_t result = host.netif.linkoutput(&host.netif, head);
    memset(head->payload, 0xee, head->len); // the sender's memory is its own again
    (void)pbuf_free(head);
    return result;
}

static void full_transmit_ring_refuses_and_loses_nothing(void)
{
    static struct host_frame frames[HOST_SENT_MAX];
    random_state.state = 1;
    host_start(POOL);
    uint32_t accepted = 0;
    uint32_t refused = 0;
    uint32_t in_flight = 0;
    while (accepted < HOST_SENT_MAX) {
        struct host_frame *frame = &frames[accepted];
        frame->length = (uint16_t)(14U + check_below(&random_state, 1501));
        for (uint32_t i = 0; i < frame->length; i++) {
            frame->bytes[i] = (uint8_t)check_random(&random_state);
        }
        uint16_t first = (uint16_t)(1U + check_below(&random_state, frame->length - 1U));
        err_t result = send(frame->bytes, frame->length, first);
        CHECK(result == ((in_flight < PLAIN_TX_RING) ? ERR_OK : ERR_MEM));
        accepted += (result == ERR_OK) ? 1U : 0U;
        in_flight += (result == ERR_OK) ? 1U : 0U;
        refused += (result == ERR_OK) ? 0U : 1U;
        while (check_once_in(&random_state, 2) && host_transmit()) {
            in_flight--;
        }
        CHECK(host.kicks == accepted);
    }
    while (host_transmit()) {
    }
    CHECK(refused > 0U && host.sent_count == accepted);
    for (uint32_t i = 0; i < accepted; i++) {
        CHECK(host.sent[i].length == frames[i].length);
        CHECK(memcmp(host.sent[i].bytes, frames[i].bytes, frames[i].length) == 0);
    }
    check_recovers();
}

static void ask(const char *bytes, size_t length)
{
    uint8_t frame[60] = {0};
    memcpy(frame, bytes, length);
    if (frame[12] == 8U && frame[13] == 0U) { // IP: the checksums
        uint16_t checksum = inet_chksum(&frame[14], 20);
        memcpy(&frame[24], &checksum, 2);
        checksum = inet_chksum(&frame[34], 26);
        memcpy(&frame[36], &checksum, 2);
    }
    host.sequence++; // for the sums of the bench: frames, not datagrams
    host.received++;
    CHECK(host_receive(frame, sizeof frame));
}

static void ask_for_address(void)
{
    static const char arp[] = "\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x07\x08\x06"
                              "\x00\x01\x08\x00\x06\x04\x00\x01"
                              "\x02\x00\x00\x00\x00\x07\x0a\x00\x00\x02"
                              "\x00\x00\x00\x00\x00\x00\x0a\x00\x00\x01";
    ask(arp, sizeof arp);
}

static void ask_for_echo(void)
{
    static const char echo[] = "\x02\x00\x00\x00\x00\x09\x02\x00\x00\x00\x00\x07\x08\x00"
                               "\x45\x00\x00\x2e\x00\x00\x00\x00\x40\x01\x00\x00"
                               "\x0a\x00\x00\x02\x0a\x00\x00\x01"
                               "\x08\x00\x00\x00\x00\x00\x00\x00";
    ask(echo, sizeof echo);
}

// lwIP answers from the receive path, in the received buffer, and the transmit ring is full.
static void answers_into_a_full_transmit_ring_cost_no_buffer(void)
{
    host_start(POOL);
    ask_for_address();
    host_settle();
    for (uint32_t i = 0; i < 100U; i++) {
        ask_for_echo();
        host_settle();
        host_check_conservation();
    }
    while (host_transmit()) {
    }
    CHECK(host.sent_count == PLAIN_TX_RING);
    CHECK(host.sent[0].bytes[13] == 6U && host.sent[0].bytes[21] == 2U); // an ARP reply
    CHECK(host.sent[1].bytes[23] == 1U && host.sent[1].bytes[34] == 0U); // an echo reply
    ask_for_echo();
    host_settle();
    CHECK(host_transmit());
    check_recovers();
}

// The application reads and frees datagrams just when the driver has dropped the cache: these buffers must not reach
// the NIC without the cache being dropped again. The bench checks it when the NIC writes.
static void free_after_invalidation(enum host_point point)
{
    if (point == HOST_CACHE) {
        (void)host_application(0);
    }
}

static void buffers_read_after_the_invalidation_are_not_handed_over(void)
{
    host_start(POOL);
    host_settle();
    fill_application(POOL);
    host.preempt = free_after_invalidation;
    for (uint32_t i = 0; i < 50U; i++) {
        (void)host_application(0);
        host_settle();
        while (host_datagram(60)) {
        }
        host_settle();
    }
    check_recovers();
}

static void random_actor(uint32_t density)
{
    switch (check_below(&random_state, 6)) {
    case 0:
    case 1:
        (void)host_datagram((uint16_t)(4U + check_below(&random_state, check_once_in(&random_state, 8) ? 1469 : 60)));
        break;
    case 2:
        (void)host_driver();
        break;
    case 3:
        (void)host_tcpip();
        break;
    case 4:
        if (check_once_in(&random_state, density)) {
            (void)host_application((host.held_count == 0U) ? 0U : check_below(&random_state, host.held_count));
        }
        break;
    default:
        host.application_keeps = !check_once_in(&random_state, 3);
        host.driver_is_urgent = check_once_in(&random_state, 2);
        break;
    }
    (void)host_interrupt();
}

static void random_preemption(enum host_point point)
{
    if (point == HOST_NOTIFY) {
        if (check_once_in(&random_state, 4)) {
            (void)host_datagram(20);
        }
    } else if (check_once_in(&random_state, 6)) {
        random_actor(1);
    }
}

static void random_schedules_conserve_buffers(uint32_t rx_buffers)
{
    host_start(rx_buffers);
    for (uint64_t seed = 1; seed <= RANDOM_SEEDS; seed++) {
        check_context("%u buffers, seed %llu", rx_buffers, (unsigned long long)seed);
        random_state.state = seed;
        host.mailbox_size = (seed % 3U == 0U) ? TCPIP_MBOX_SIZE : 1U + check_below(&random_state, 12);
        host.preempt = random_preemption;
        uint32_t density = 1U + check_below(&random_state, 4); // how slowly the application frees
        for (uint32_t step = 0; step < RANDOM_STEPS; step++) {
            random_actor(density);
            host_check_conservation();
        }
        check_recovers();
    }
    CHECK(host.no_descriptor > 0U && host.mailbox_full > 0U && host.received > 0U);
}

static void random_20(void)
{
    random_schedules_conserve_buffers(20);
}

static void random_64(void)
{
    random_schedules_conserve_buffers(64);
}

static void random_256(void)
{
    random_schedules_conserve_buffers(PLAIN_RX_BUFFERS_MAX);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"starts as its header says", starts_as_its_header_says},
        {"datagrams of every size arrive unharmed", datagrams_of_every_size_arrive_unharmed},
        {"one interrupt takes all frames", one_interrupt_takes_all_frames},
        {"a frame during the interrupt is not lost", frame_during_the_interrupt_is_not_lost},
        {"a frame before the driver sleeps is not lost", frame_before_the_driver_sleeps_is_not_lost},
        {"an empty pool arms the ring again, driver above the application", empty_pool_arms_the_ring_again_urgent},
        {"an empty pool arms the ring again, driver below the application", empty_pool_arms_the_ring_again_later},
        {"freed buffers wake the driver only while it starves", freed_buffers_wake_the_driver_only_while_it_starves},
        {"a buffer freed while the driver finds none wakes it", buffer_freed_while_the_driver_finds_none_wakes_it},
        {"a full mailbox loses frames but no buffers", full_mailbox_loses_frames_but_no_buffers},
        {"a full transmit ring refuses and loses nothing", full_transmit_ring_refuses_and_loses_nothing},
        {"answers into a full transmit ring cost no buffer", answers_into_a_full_transmit_ring_cost_no_buffer},
        {"buffers read after the invalidation are not handed over",
         buffers_read_after_the_invalidation_are_not_handed_over},
        {"random schedules conserve buffers, pool of 20", random_20},
        {"random schedules conserve buffers, pool of 64", random_64},
        {"random schedules conserve buffers, pool of 256", random_256},
    };
    CHECK(argc == 2);
    return check_run("stock_netif", tests, sizeof tests / sizeof tests[0], argv[1]);
}
