// SPDX-License-Identifier: Apache-2.0
//
// For Eva: one receive interrupt, with any frames, from any state in which indices are indices. What the interrupt
// leaves is such a state again, so that it holds for every interrupt. The classifier's results are any: see
// classify.c.

#include "../../src/flows.c"
#include "../../src/rx.c"
#include "../../src/server.c"

#include "__fc_builtin.h"

#define WORDS (WEIR_HEADER_BYTES / 4)

static volatile uint32_t frame[WORDS]; // volatile: each read can give anything
static volatile uint64_t clock;

static uint32_t any_below(uint32_t bound)
{
    return (uint32_t)Frama_C_interval(0, (int)bound - 1);
}

static uint8_t any_flow(void)
{
    return (uint8_t)any_below(WEIR_FLOWS_ALL);
}

// The first of a list, or none.
static uint8_t any_flow_of_list(void)
{
    return Frama_C_nondet(0, 1) ? WEIR_NO_FLOW : (uint8_t)any_below(WEIR_FLOWS);
}

static uint16_t any_buffer(void)
{
    return (uint16_t)any_below(WEIR_BUFFERS);
}

uint64_t weir_port_now(void)
{
    return clock;
}

uint32_t weir_port_now_low(void)
{
    return (uint32_t)clock;
}

int32_t weir_driver_take(uint32_t *length)
{
    *length = any_below(65536);
    return Frama_C_nondet(0, 1) ? -1 : (int32_t)any_buffer();
}

const volatile uint32_t *weir_driver_header(uint32_t buffer)
{
    //@ assert buffer < WEIR_BUFFERS;
    (void)buffer;
    return frame;
}

void weir_driver_give(uint32_t buffer)
{
    //@ assert buffer < WEIR_BUFFERS;
    (void)buffer;
}

void weir_port_poll_at(uint32_t time)
{
    (void)time;
}

void weir_port_poll_off(void) {}
void weir_driver_interrupt(bool on)
{
    (void)on;
}
void weir_driver_acknowledge(void) {}

weir_match weir_classify_any(const volatile uint32_t *words, uint32_t length)
{
    (void)length;
    return words[0];
}

uint32_t weir_sender(const volatile uint32_t *words, uint32_t *bytes)
{
    (void)words;
    if (Frama_C_nondet(0, 1)) {
        *bytes = 4;
        return 2U * any_below((WEIR_HEADER_BYTES - 4U - 2U) / 2U + 1U);
    }
    *bytes = 16;
    return 2U * any_below((WEIR_HEADER_BYTES - 16U - 2U) / 2U + 1U);
}

static void any_server(struct weir_server *server)
{
    Frama_C_make_unknown((char *)server, sizeof *server);
    server->period = (uint32_t)Frama_C_interval(1, WEIR_SERVER_PERIOD_MAX);
    server->capacity = (uint16_t)Frama_C_interval(1, 65535);
    server->left = (uint16_t)any_below(65536);
    server->kind = (uint8_t)any_below(3);
    server->oldest = (uint8_t)any_below(WEIR_SPORADIC_MAX);
}

static void any_state(void)
{
    Frama_C_make_unknown((char *)&weir_rx, sizeof weir_rx);
    weir_rx.clean_first = any_buffer();
    weir_rx.dirty_first = any_buffer();
    weir_rx.polling = Frama_C_nondet(0, 1);
    weir_rx.drop_background = Frama_C_nondet(0, 1);
    //@ loop unroll WEIR_BUFFERS;
    for (uint32_t i = 0; i < WEIR_BUFFERS; i++) {
        weir_slots[i].next = any_buffer();
        weir_slots[i].length = (uint16_t)any_below(65536);
        weir_slots[i].flow = any_flow();
    }
    //@ loop unroll WEIR_FLOWS_ALL;
    for (uint32_t i = 0; i < WEIR_FLOWS_ALL; i++) {
        struct weir_flow *flow = &weir_flow_table[i];
        Frama_C_make_unknown((char *)flow, sizeof *flow);
        flow->list_next = any_flow_of_list();
        flow->priority = (uint8_t)any_below(WEIR_PRIORITIES);
        flow->ring_next = any_flow();
        flow->ring_prev = any_flow();
        flow->first = any_buffer();
        flow->last = any_buffer();
        flow->sender_words = (uint8_t)Frama_C_nondet(0, Frama_C_nondet(1, 4));
        flow->limited_by_server = Frama_C_nondet(0, 1);
        any_server(&flow->server);
    }
    //@ loop unroll WEIR_PRIORITIES;
    for (uint32_t i = 0; i < WEIR_PRIORITIES; i++) {
        weir_levels[i].turn = any_flow();
        weir_levels[i].longest = any_flow();
    }
    weir_levels_waiting = (uint32_t)Frama_C_interval(INT32_MIN, INT32_MAX);
    weir_highest_waiting = Frama_C_interval(-1, WEIR_PRIORITIES - 1);
    //@ loop unroll WEIR_FLOW_LISTS;
    for (uint32_t i = 0; i < WEIR_FLOW_LISTS; i++) {
        weir_flow_lists[i] = any_flow_of_list();
    }
    Frama_C_make_unknown((char *)&weir_doomed, sizeof weir_doomed);
    weir_doomed.who = (uint8_t)any_below(3);
    weir_doomed.limited = Frama_C_nondet(0, 1);
    weir_doomed.flow = &weir_flow_table[any_flow()];
}

static void indices_are_indices(void)
{
    //@ assert weir_rx.clean_first < WEIR_BUFFERS;
    //@ assert weir_highest_waiting >= -1 && weir_highest_waiting < WEIR_PRIORITIES;
    //@ loop unroll WEIR_BUFFERS;
    for (uint32_t i = 0; i < WEIR_BUFFERS; i++) {
        //@ assert weir_slots[i].next < WEIR_BUFFERS && weir_slots[i].flow < WEIR_FLOWS_ALL;
    }
    //@ loop unroll WEIR_FLOWS_ALL;
    for (uint32_t i = 0; i < WEIR_FLOWS_ALL; i++) {
        //@ assert weir_flow_table[i].first < WEIR_BUFFERS && weir_flow_table[i].last < WEIR_BUFFERS;
        //@ assert weir_flow_table[i].ring_next < WEIR_FLOWS_ALL && weir_flow_table[i].ring_prev < WEIR_FLOWS_ALL;
        //@ assert weir_flow_table[i].server.oldest < WEIR_SPORADIC_MAX;
    }
    //@ loop unroll WEIR_PRIORITIES;
    for (uint32_t i = 0; i < WEIR_PRIORITIES; i++) {
        //@ assert weir_levels[i].turn < WEIR_FLOWS_ALL && weir_levels[i].longest < WEIR_FLOWS_ALL;
    }
}

void eva_eager(void)
{
    any_state();
    (void)weir_rx_interrupt(Frama_C_nondet(0, 1));
    indices_are_indices();
}
