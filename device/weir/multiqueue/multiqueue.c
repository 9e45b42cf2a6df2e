// SPDX-License-Identifier: Apache-2.0

#include "weir/multiqueue.h"

#include <errno.h>

#include "weir/port.h"

#define NO_FLOWS UINT32_C(0)

// Of each buffer that software has.
struct buffer {
    uint16_t next; // frame to be worked on
    uint16_t left; // of those not begun
    uint16_t held; // with the IP stack or a socket
    bool taken;
};

static struct {
    uint16_t taken, held; // first: simulators find them by this variable's name
    struct buffer buffers[2U * WEIR_MQ_QUEUES];
    // Flows that have to wait for their limit: the buffer that software has of them is here, not in the flow's queue.
    uint32_t parked;
    uint16_t parked_buffer[WEIR_MQ_QUEUES];
    uint32_t parked_until[WEIR_MQ_QUEUES]; // low half of the time
} weir_mq;

_Static_assert(WEIR_MQ_QUEUES <= 32, "a bit for each");
_Static_assert(2 * WEIR_MQ_QUEUES <= WEIR_BUFFERS, "they wait in the flows' queues by their indices");

static inline uint32_t bit(uint32_t flow)
{
    return UINT32_C(1) << flow;
}

static void wake_for_the_first(void)
{
    if (weir_mq.parked == NO_FLOWS) {
        weir_port_poll_off();
        return;
    }
    // Seen from now: some may be late, and from those to the latest it may be further than half the range of numbers.
    uint32_t now = weir_port_now_low();
    int32_t first = INT32_MAX;
    for (uint32_t left = weir_mq.parked; left != NO_FLOWS; left &= left - 1U) {
        int32_t in = (int32_t)(weir_mq.parked_until[__builtin_ctz(left)] - now);
        first = in < first ? in : first;
    }
    weir_port_poll_at(now + (uint32_t)first);
}

// The flow's limit is reached: what it has waits until `until`. That is one buffer, as the NIC keeps the other one.
static void park(uint8_t flow, uint64_t until)
{
    weir_mq.parked |= bit(flow);
    weir_mq.parked_until[flow] = (uint32_t)until;
    weir_mq.parked_buffer[flow] = weir_flow_take(flow);
    wake_for_the_first();
}

static void unpark(uint8_t flow)
{
    weir_mq.parked &= ~bit(flow);
    weir_flow_put(flow, weir_mq.parked_buffer[flow]);
}

int32_t weir_mq_interrupt(void)
{
    uint32_t half;
    uint32_t frames;
    int32_t queue;
    while ((queue = weir_mq_driver_take(&half, &frames)) >= 0) {
        uint16_t index = (uint16_t)(2U * (uint32_t)queue + half);
        struct buffer *buffer = &weir_mq.buffers[index];
        buffer->next = (uint16_t)weir_mq_driver_first(index);
        buffer->left = (uint16_t)frames;
        buffer->taken = true;
        weir_mq.taken++;
        weir_flow_put((uint8_t)queue, index);
    }
    return weir_flows_priority();
}

int32_t weir_mq_timer(void)
{
    uint32_t now = weir_port_now_low();
    for (uint32_t left = weir_mq.parked; left != NO_FLOWS; left &= left - 1U) {
        uint8_t flow = (uint8_t)__builtin_ctz(left);
        if ((int32_t)(now - weir_mq.parked_until[flow]) >= 0) {
            unpark(flow);
        }
    }
    wake_for_the_first();
    return weir_flows_priority();
}

bool weir_mq_next(struct weir_packet *packet)
{
    packet->length = 0;
    uint8_t to = weir_flows_highest();
    if (to == WEIR_NO_FLOW) {
        return false;
    }
    struct weir_flow *flow = weir_flow(to);
    if (flow->limited_by_server && !weir_server_admit(&flow->server, weir_port_now())) {
        flow->limited++;
        park(to, weir_server_next(&flow->server));
        return true;
    }
    struct buffer *buffer = &weir_mq.buffers[flow->first];
    if (weir_mq_driver_first(flow->first) == buffer->next) {
        weir_port_invalidate_all(); // somebody may have read the buffer's last content through the cache
    }
    packet->buffer = buffer->next;
    packet->length = (uint16_t)weir_mq_driver_length(buffer->next);
    packet->flow = to;
    packet->priority = flow->priority;
    buffer->next = (uint16_t)(buffer->next + weir_mq_driver_units(packet->length));
    buffer->held++;
    weir_mq.held++;
    flow->held++;
    if (--buffer->left == 0U) {
        (void)weir_flow_take(to);
    }
    return true;
}

// With the lock.
static void release_if_done(uint32_t index)
{
    struct buffer *buffer = &weir_mq.buffers[index];
    if (buffer->taken && buffer->left == 0U && buffer->held == 0U) {
        buffer->taken = false;
        weir_mq.taken--;
        weir_mq_driver_release(index / 2U);
    }
}

void weir_mq_free(uint16_t frame)
{
    uint32_t index = weir_mq_driver_buffer(frame);
    weir_port_state state = weir_port_lock();
    weir_mq.buffers[index].held--;
    weir_mq.held--;
    weir_flow((uint8_t)(index / 2U))->held--;
    release_if_done(index);
    weir_port_unlock(state);
}

void weir_mq_changed(uint8_t flow)
{
    weir_mq_driver_open(flow);
    if ((weir_mq.parked & bit(flow)) != 0U) {
        weir_mq.parked_until[flow] = weir_port_now_low(); // it waits for the limit that it had
        wake_for_the_first();
    }
}

void weir_mq_close(uint8_t flow)
{
    weir_port_state state = weir_port_lock();
    weir_mq_driver_close(flow);
    weir_mq.parked &= ~bit(flow);
    if (weir_flow(flow)->waiting != 0U) {
        (void)weir_flow_take(flow);
    }
    uint32_t first = 2U * flow;
    if (!weir_mq.buffers[first].taken && !weir_mq.buffers[first + 1U].taken) {
        weir_mq_driver_release(flow); // handed over, but not taken yet: it would be the next flow's
    }
    for (uint32_t index = first; index <= first + 1U; index++) {
        weir_mq.buffers[index].left = 0;
        release_if_done(index); // held ones keep the flow's place until they are free
    }
    WEIR_ON_CLOSED(flow);
    weir_port_unlock(state);
}

int weir_mq_init(const struct weir_mq_config *config)
{
    struct weir_server system;
    enum weir_server_kind kind = config->system_capacity == 0U ? WEIR_SERVER_NONE : WEIR_SERVER_DEFERRABLE;
    if (weir_server_init(&system, kind, config->system_capacity, config->system_period) != 0 ||
        config->background_priority >= WEIR_PRIORITIES || config->system_priority >= WEIR_PRIORITIES) {
        return EINVAL;
    }
    weir_port_state state = weir_port_lock();
    weir_flows_init(config->background_priority, config->system_priority);
    weir_flow_set_server(WEIR_FLOW_ADDRESS, &system);
    weir_flow_set_server(WEIR_FLOW_CONTROL, &system);
    weir_mq_driver_open(WEIR_FLOW_BACKGROUND);
    weir_mq_driver_open(WEIR_FLOW_ADDRESS);
    weir_mq_driver_open(WEIR_FLOW_CONTROL);
    weir_port_unlock(state);
    return 0;
}
