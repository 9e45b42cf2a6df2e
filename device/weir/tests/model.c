// SPDX-License-Identifier: Apache-2.0

#include "model.h"

#include <string.h>

#include "check.h"
#include "dissector.h"
#include "sim.h"
#include "weir/port.h"

struct model model;

static struct weir_server servers[WEIR_FLOWS_ALL]; // as the library's, which is stepped alike

void model_start(const struct weir_rx_config *config)
{
    model = (struct model){.config = *config, .arriving = -1, .victim = WEIR_NO_FLOW};
    model.config.refill = config->refill != 0U ? config->refill : config->ring / 2U;
    model.shared = config->buffers - config->ring;
    naive_start(config->background_priority, config->system_priority);
}

struct weir_rx_status model_status(void)
{
    void (*point)(void) = sim.point;
    void (*locked)(void) = sim.locked;
    uint32_t points = sim.points;
    bool in_interrupt = sim.in_interrupt;
    sim.point = NULL;
    sim.locked = NULL;
    sim.in_interrupt = false;
    struct weir_rx_status status = weir_rx_status();
    sim.in_interrupt = in_interrupt;
    sim.points = points;
    sim.point = point;
    sim.locked = locked;
    return status;
}

void model_check(void)
{
    CHECK(!sim.in_interrupt && sim.lock_depth == 0U && model.arriving < 0);
    struct weir_rx_status status = model_status();
    struct weir_rx_books books = status.books;
    uint32_t in[MODEL_HELD + 1] = {0};
    for (uint32_t i = 0; i < sim.buffers; i++) {
        in[model.place[i]]++;
        CHECK(model.place[i] == MODEL_IDLE || !sim_is_in_ring(i));
    }
    CHECK(in[MODEL_ARRIVING] == 0U);
    CHECK(in[MODEL_WAITING] == naive_waiting() && in[MODEL_HELD] == model.held);
    CHECK(books.with_nic == sim.in_ring);
    CHECK(books.waiting == in[MODEL_WAITING]);
    CHECK(books.held == in[MODEL_HELD]);
    CHECK((uint32_t)books.with_nic + books.waiting + books.held + books.clean + books.dirty == sim.buffers);
    CHECK(status.polling == !sim.interrupts_on);
    CHECK(sim.interrupts_on != sim.timer_on);
    naive_check();
}

static uint8_t flow_of(uint32_t buffer)
{
    uint32_t length;
    const uint8_t *frame = sim_frame(buffer, &length);
    return naive_flow_of(frame, length);
}

static bool is_refused(uint32_t buffer)
{
    uint32_t length;
    const uint8_t *frame = sim_frame(buffer, &length);
    return dissect(frame, length, WEIR_HEADER_BYTES).kind == DISSECTED_REFUSED ||
           (model.config.drop_background && flow_of(buffer) == WEIR_FLOW_BACKGROUND);
}

// While the packet arrives it is not in the ring; buffers that are clean would be given first.
static bool buffers_are_scarce(void)
{
    return sim.in_ring < model.config.refill && model_status().books.clean == 0U;
}

static bool may_be_held(uint8_t flow)
{
    return naive[flow].held == 0U || (model.held < (uint32_t)model.config.buffers - WEIR_FLOWS_ALL &&
                                      (naive[flow].held < WEIR_FLOW_RESERVE || model.shared > 0));
}

void model_arrives(uint32_t buffer)
{
    CHECK(model.place[buffer] == MODEL_IDLE && model.arriving < 0);
    model.place[buffer] = MODEL_ARRIVING;
    model.arriving = (int32_t)buffer;
    model.victim = WEIR_NO_FLOW;
    model.gave_clean = false;
    memset(servers, 0, sizeof servers);
    for (uint32_t flow = 0; flow < WEIR_FLOWS_ALL; flow++) {
        servers[flow] = weir_flow((uint8_t)flow)->server;
    }
}

void model_interrupt_step(void)
{
    CHECK(model.arriving < 0);
}

void model_interrupt_ends(int32_t priority)
{
    CHECK(model.arriving < 0);
    CHECK(priority == naive_highest());
}

void model_queued(uint32_t buffer)
{
    uint8_t flow = flow_of(buffer);
    CHECK(model.arriving == (int32_t)buffer && !is_refused(buffer));
    CHECK(may_be_held(flow));
    CHECK(!weir_flow(flow)->limited_by_server || weir_server_admit(&servers[flow], sim.now));
    // Kept without a victim: there are buffers, or nothing waits that could have given way.
    CHECK(model.victim != WEIR_NO_FLOW || sim.in_ring >= model.config.refill || naive_waiting() == 0U ||
          model.gave_clean);
    model.arriving = -1;
    model.place[buffer] = MODEL_WAITING;
    model.flow[buffer] = flow;
    model.queued++;
    naive_was_put(flow, (uint16_t)buffer);
}

static void recycled(uint32_t buffer)
{
    uint8_t victim = model.flow[buffer];
    CHECK(model.arriving >= 0 && model.place[buffer] == MODEL_WAITING && model.victim == WEIR_NO_FLOW);
    naive_check_victim(flow_of((uint32_t)model.arriving), victim);
    naive_was_taken(victim, (uint16_t)buffer);
    model.place[buffer] = MODEL_IDLE;
    model.victim = victim;
    model.recycled++;
}

// A drop gives the buffer to the NIC before it is told.
void model_dropped(uint32_t buffer, int why)
{
    CHECK(sim.in_ring > 0U && sim_is_in_ring(buffer));
    if (why == WEIR_DROP_RECYCLED) {
        recycled(buffer);
        return;
    }
    CHECK(model.arriving == (int32_t)buffer && model.victim == WEIR_NO_FLOW);
    sim.in_ring--; // as it was when the verdict was passed
    uint8_t flow = flow_of(buffer);
    switch (why) {
    case WEIR_DROP_REFUSED:
        CHECK(is_refused(buffer));
        model.refused++;
        break;
    case WEIR_DROP_SHORT_CIRCUIT:
        CHECK(buffers_are_scarce() && naive_waiting() > 0U);
        if (!is_refused(buffer)) { // those that lie are not always looked at any more
            naive_check_victim(flow, WEIR_NO_FLOW);
        }
        model.short_circuited++;
        break;
    default:
        CHECK(why == WEIR_DROP_LIMITED);
        CHECK(is_refused(buffer) || !may_be_held(flow) || !weir_server_admit(&servers[flow], sim.now));
        model.limited++;
        break;
    }
    sim.in_ring++;
    model.place[buffer] = MODEL_IDLE;
    model.arriving = -1;
}

void model_abandoned(uint32_t buffer)
{
    CHECK(model.place[buffer] == MODEL_WAITING && sim.lock_depth > 0U);
    naive_was_taken(model.flow[buffer], (uint16_t)buffer);
    model.place[buffer] = MODEL_IDLE;
    model.abandoned++;
}

void model_discarded(uint32_t buffer)
{
    CHECK(model.place[buffer] == MODEL_WAITING && sim.lock_depth > 0U);
    naive_was_taken(model.flow[buffer], (uint16_t)buffer);
    model.place[buffer] = MODEL_IDLE;
    model.discarded++;
}

void model_given(uint32_t buffer)
{
    CHECK(sim_is_in_ring(buffer) && model.place[buffer] == MODEL_IDLE);
    model.gave_clean = true;
}

static bool next(struct weir_packet *packet)
{
    weir_port_state state = weir_port_lock();
    uint8_t flow = naive_turn();
    bool held = flow != WEIR_NO_FLOW && may_be_held(flow);
    uint32_t discarded = model.discarded;
    bool any = weir_rx_next(packet);
    CHECK(any == (flow != WEIR_NO_FLOW));
    if (any && !held) {
        CHECK(packet->flow == flow && packet->length == 0U && model.discarded == discarded + 1U);
    } else if (any) {
        uint32_t length;
        (void)sim_frame(packet->buffer, &length);
        CHECK(packet->flow == flow && packet->priority == naive[flow].priority && packet->length == length);
        naive_was_taken(flow, packet->buffer); // the oldest
        model.place[packet->buffer] = MODEL_HELD;
        model.held++;
        naive[flow].held++;
        model.shared -= naive[flow].held > WEIR_FLOW_RESERVE ? 1 : 0;
        model.delivered++;
    }
    weir_port_unlock(state);
    return any;
}

bool model_next(struct weir_packet *packet)
{
    bool any;
    do {
        any = next(packet);
    } while (any && packet->length == 0U); // it was discarded
    return any;
}

static uint16_t freeing;

static void is_freed(void)
{
    uint8_t flow = model.flow[freeing];
    model.place[freeing] = MODEL_IDLE;
    model.held--;
    model.shared += naive[flow].held > WEIR_FLOW_RESERVE ? 1 : 0;
    naive[flow].held--;
}

void model_free(uint16_t buffer)
{
    CHECK(model.place[buffer] == MODEL_HELD);
    uint16_t outer = freeing; // of the task that this one came in between of
    freeing = buffer;
    sim.locked = is_freed;
    weir_rx_free(buffer);
    freeing = outer;
}

uint8_t model_add(weir_match match, uint8_t priority)
{
    weir_port_state state = weir_port_lock();
    uint8_t flow = naive_add(match, priority);
    weir_port_unlock(state);
    return flow;
}

void model_remove(uint8_t flow)
{
    weir_port_state state = weir_port_lock();
    naive_remove(flow);
    weir_port_unlock(state);
    weir_rx_drain(flow);
    CHECK(naive[flow].waiting == 0U);
}

void model_set_priority(uint8_t flow, uint8_t priority)
{
    weir_port_state state = weir_port_lock();
    naive_set_priority(flow, priority);
    weir_port_unlock(state);
}

void model_only_from(uint8_t flow, const uint8_t *sender, size_t length)
{
    weir_port_state state = weir_port_lock();
    naive_only_from(flow, sender, length);
    weir_port_unlock(state);
}
