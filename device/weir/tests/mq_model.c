// SPDX-License-Identifier: Apache-2.0

#include "mq_model.h"

#include <string.h>

#include "check.h"
#include "sim.h"
#include "weir/port.h"

#define WINDOWS 3U // periods that limits are checked for

struct mq_model mq_model;

static uint32_t held_serial[MQ_SIM_FRAMES_MAX]; // of frames that were delivered and not freed; 0: not so

void mq_model_start(const struct weir_mq_config *config)
{
    mq_sim_start();
    mq_model = (struct mq_model){.delivered = 0};
    memset(held_serial, 0, sizeof held_serial);
    naive_start(config->background_priority, config->system_priority);
    CHECK(weir_mq_init(config) == 0);
    for (uint8_t i = 0; i < WEIR_MQ_QUEUES; i++) {
        CHECK(mq_sim.queues[i].open == (i >= WEIR_FLOWS));
        mq_model.flows[i].server = weir_flow(i)->server;
    }
    mq_model_check();
}

uint32_t mq_model_waiting(void)
{
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < WEIR_MQ_QUEUES; i++) {
        waiting += mq_model.flows[i].count;
    }
    return waiting;
}

static void check_queue(uint32_t queue)
{
    const struct mq_model_flow *flow = &mq_model.flows[queue];
    const struct mq_sim_queue *q = &mq_sim.queues[queue];
    uint32_t handed_over = q->ready && !q->taken ? q->buffers[q->filled ^ 1U].frames : 0U;
    CHECK(flow->count == q->buffers[q->filled].frames + handed_over + flow->left);
    CHECK(naive[queue].waiting == (flow->left != 0U && !flow->parked ? 1U : 0U));
    CHECK(naive[queue].held == mq_model.held[2U * queue] + mq_model.held[2U * queue + 1U]);
    bool done = flow->left == 0U && naive[queue].held == 0U;
    CHECK((q->ready && q->taken) == !done); // neither released too early nor kept
    CHECK(q->open || flow->count == 0U);
}

static void check_timer(void)
{
    bool any = false;
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < WEIR_MQ_QUEUES; i++) {
        any = any || mq_model.flows[i].parked;
        first = mq_model.flows[i].parked && mq_model.flows[i].until < first ? mq_model.flows[i].until : first;
    }
    // It may come too early, for a flow that was parked.
    int64_t in = (int32_t)(sim.timer_at - (uint32_t)sim.now);
    CHECK(!any || (sim.timer_on && in <= (int64_t)(first - sim.now)));
}

void mq_model_check(void)
{
    CHECK(!sim.in_interrupt && sim.lock_depth == 0U);
    uint32_t dropped = 0;
    for (uint32_t i = 0; i < WEIR_MQ_QUEUES; i++) {
        check_queue(i);
        dropped += mq_sim.queues[i].dropped;
    }
    CHECK(mq_sim.arrived == mq_model.delivered + dropped + mq_model.discarded + mq_model_waiting());
    check_timer();
    naive_check();
}

void mq_model_arrives(uint32_t queue, uint32_t serial)
{
    struct mq_model_flow *flow = &mq_model.flows[queue];
    CHECK(flow->count < sizeof flow->frames / sizeof flow->frames[0]);
    flow->frames[flow->count++] = serial;
}

void mq_model_taken(uint32_t queue, uint32_t half, uint32_t frames)
{
    struct mq_model_flow *flow = &mq_model.flows[queue];
    CHECK(flow->left == 0U && naive[queue].held == 0U && !flow->parked);
    flow->left = frames;
    flow->buffer = (uint16_t)(2U * queue + half);
    flow->fresh = true;
    naive_was_put((uint8_t)queue, flow->buffer);
}

void mq_model_released(uint32_t queue, uint32_t half)
{
    CHECK(mq_model.flows[queue].left == 0U || !mq_sim.queues[queue].open);
    CHECK(mq_model.held[2U * queue + half] == 0U);
}

void mq_model_timer(void)
{
    for (uint8_t i = 0; i < WEIR_MQ_QUEUES; i++) {
        struct mq_model_flow *flow = &mq_model.flows[i];
        if (flow->parked && flow->until <= sim.now) {
            flow->parked = false;
            naive_was_put(i, flow->buffer);
        }
    }
}

void mq_model_interrupt_ends(int32_t priority)
{
    CHECK(priority == naive_highest());
}

// In any [t, t + window): windows that end with a packet are the worst, too.
static void check_windows(const struct mq_model_flow *flow)
{
    const struct weir_server *server = &flow->server;
    for (uint32_t periods = 1; periods <= WINDOWS; periods++) {
        uint32_t most = server->capacity * (server->kind == WEIR_SERVER_SPORADIC ? periods : periods + 1U);
        uint32_t passed = 0;
        while (passed < flow->passes && passed < MQ_MODEL_PASSES &&
               sim.now - flow->passed[(flow->passes - 1U - passed) % MQ_MODEL_PASSES] <
                   periods * (uint64_t)server->period) {
            passed++;
        }
        CHECK(most < MQ_MODEL_PASSES && passed <= most);
    }
}

// The flow's turn has come. Returns whether its limit lets it go on.
static bool admitted(uint8_t to, struct mq_model_flow *flow)
{
    if (flow->server.kind == WEIR_SERVER_NONE) {
        return true;
    }
    if (!weir_server_admit(&flow->server, sim.now)) {
        flow->parked = true;
        flow->until = weir_server_next(&flow->server);
        naive_was_taken(to, flow->buffer);
        mq_model.parkings++;
        return false;
    }
    flow->passed[flow->passes++ % MQ_MODEL_PASSES] = sim.now;
    check_windows(flow);
    return true;
}

static void is_delivered(uint8_t to, struct mq_model_flow *flow, const struct weir_packet *packet)
{
    uint32_t length;
    uint32_t serial = mq_sim_serial(packet->buffer, &length);
    CHECK(flow->left > 0U && serial == flow->frames[0]);
    CHECK(packet->flow == to && packet->priority == naive[to].priority && packet->length == length);
    CHECK(weir_mq_driver_buffer(packet->buffer) == flow->buffer && held_serial[packet->buffer] == 0U);
    held_serial[packet->buffer] = serial;
    mq_model.held[flow->buffer]++;
    naive[to].held++;
    mq_model.delivered++;
    flow->count--;
    memmove(flow->frames, flow->frames + 1, flow->count * sizeof flow->frames[0]);
    if (--flow->left == 0U) {
        naive_was_taken(to, flow->buffer);
    }
}

static bool next(struct weir_packet *packet)
{
    weir_port_state state = weir_port_lock();
    uint8_t to = naive_turn();
    uint32_t invalidations = sim.invalidations;
    bool any = weir_mq_next(packet);
    CHECK(any == (to != WEIR_NO_FLOW));
    if (any) {
        struct mq_model_flow *flow = &mq_model.flows[to];
        bool passes = admitted(to, flow);
        CHECK(passes == (packet->length != 0U));
        CHECK(sim.invalidations - invalidations == (passes && flow->fresh ? 1U : 0U));
        if (passes) {
            flow->fresh = false;
            is_delivered(to, flow, packet);
        }
    }
    weir_port_unlock(state);
    return any;
}

bool mq_model_next(struct weir_packet *packet)
{
    bool any;
    do {
        any = next(packet);
    } while (any && packet->length == 0U); // its flow is parked
    return any;
}

static uint16_t freeing;

static void is_freed(void)
{
    uint32_t length;
    uint32_t buffer = weir_mq_driver_buffer(freeing);
    CHECK(mq_sim_serial(freeing, &length) == held_serial[freeing]); // nobody has written into it
    held_serial[freeing] = 0;
    mq_model.held[buffer]--;
    naive[buffer / 2U].held--;
}

void mq_model_free(uint16_t frame)
{
    CHECK(held_serial[frame] != 0U);
    uint16_t outer = freeing; // of the task that this one came in between of
    freeing = frame;
    sim.locked = is_freed;
    weir_mq_free(frame);
    freeing = outer;
}

static void changed(uint8_t flow)
{
    mq_model.flows[flow].until = sim.now;
    weir_mq_changed(flow);
}

uint8_t mq_model_add(weir_match match, uint8_t priority)
{
    weir_port_state state = weir_port_lock();
    uint8_t flow = naive_add(match, priority);
    if (flow != WEIR_NO_FLOW) {
        mq_model.flows[flow] = (struct mq_model_flow){.count = 0};
        changed(flow);
    }
    weir_port_unlock(state);
    return flow;
}

// From the library, with the lock.
void mq_model_closed(uint32_t queue)
{
    CHECK(!sim.in_interrupt && sim.lock_depth == 1U && !mq_sim.queues[queue].open);
    struct mq_model_flow *flow = &mq_model.flows[queue];
    while (naive[queue].waiting != 0U) {
        naive_was_taken((uint8_t)queue, naive[queue].packets[0]);
    }
    mq_model.discarded += flow->count;
    flow->count = 0;
    flow->left = 0;
    flow->parked = false;
    mq_model.closed++;
}

void mq_model_remove(uint8_t flow)
{
    weir_port_state state = weir_port_lock();
    naive_remove(flow);
    weir_port_unlock(state);
    uint32_t closed = mq_model.closed;
    weir_mq_close(flow);
    CHECK(mq_model.closed == closed + 1U && mq_model.flows[flow].count == 0U);
}

void mq_model_set_priority(uint8_t flow, uint8_t priority)
{
    weir_port_state state = weir_port_lock();
    naive_set_priority(flow, priority);
    changed(flow);
    weir_port_unlock(state);
}

void mq_model_limit(uint8_t flow, enum weir_server_kind kind, uint16_t capacity, uint32_t period)
{
    struct weir_server server;
    CHECK(weir_server_init(&server, kind, capacity, period) == 0);
    weir_port_state state = weir_port_lock();
    weir_flow_set_server(flow, &server);
    changed(flow);
    mq_model.flows[flow].server = server;
    mq_model.flows[flow].passes = 0;
    weir_port_unlock(state);
}
