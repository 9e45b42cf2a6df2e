// SPDX-License-Identifier: Apache-2.0

#include "weir/rx.h"

#include <errno.h>
#include <stddef.h>

#include "weir/driver.h"
#include "weir/port.h"

// The straight path is that of a packet that is kept: it meets the coldest cache.
#define unlikely(condition) __builtin_expect(condition, false)

static struct {
    struct weir_rx_books books; // first: simulators find them by this variable's name
    uint16_t clean_first;
    uint16_t dirty_first;
    uint16_t dirty_last; // undefined if there are none
    int32_t shared;      // buffers that flows can still hold beyond their reserves
    uint16_t held_max;   // with so many held, a flow can have its first buffer only
    // As configured.
    uint16_t refill;
    uint16_t ring;
    uint16_t capacity;
    uint16_t batch;
    bool drop_background;
    // The overall limit.
    bool polling;
    uint16_t spent;        // in this period
    uint32_t period_start; // low half of the time
    uint32_t period;
    uint32_t rest_sixteenths; // what is left to others after an interrupt, in sixteenths of its length
    uint32_t refused;
} weir_rx;

static inline void give(uint16_t buffer)
{
    weir_rx.books.with_nic++;
    weir_driver_give(buffer);
}

static __attribute__((noinline)) void give_clean(void)
{
    uint16_t buffer = weir_rx.clean_first;
    weir_rx.clean_first = weir_slots[buffer].next;
    weir_rx.books.clean--;
    give(buffer);
    WEIR_ON_GIVEN(buffer);
}

// The packet's content was not read through the cache, so that the NIC can have the buffer at once.
static inline void drop(uint16_t buffer, enum weir_drop why)
{
    give(buffer);
    WEIR_ON_DROPPED(buffer, why);
}

// Buffers in the IP stack and its sockets: each flow has a reserve, and the rest, beyond a full ring, is shared. Every
// flow can have one buffer, and one more is always left, so that sockets that nobody reads cannot empty the ring.
static inline bool may_hold(const struct weir_flow *flow)
{
    return flow->held == 0U ||
           (weir_rx.books.held < weir_rx.held_max && (flow->held < WEIR_FLOW_RESERVE || weir_rx.shared > 0));
}

static inline bool within_limit(struct weir_flow *flow)
{
    return !flow->limited_by_server || weir_server_admit(&flow->server, weir_port_now());
}

static __attribute__((noinline)) void recycle(uint8_t victim)
{
    weir_flow(victim)->recycled++;
    weir_rx.books.waiting--;
    drop(weir_flow_take(victim), WEIR_DROP_RECYCLED);
}

// When buffers are scarce: makes room in the ring for a packet of the flow, or says that it has to go itself.
static bool make_room(struct weir_flow *flow, uint8_t *victim)
{
    if (weir_rx.books.clean != 0U) {
        give_clean();
        return true;
    }
    *victim = weir_flows_victim(flow);
    return *victim != WEIR_NO_FLOW || weir_rx.books.waiting == 0U;
}

// Frames like this one need not be looked up again.
static void doom(weir_match match, const struct weir_flow *port_flow, struct weir_flow *flow, bool limited)
{
    if (port_flow != NULL && port_flow->sender_words > 1U) {
        return; // IPv6 is not worth it
    }
    bool qualified = port_flow != NULL && port_flow->sender_words != 0U;
    weir_doomed.who = !qualified ? WEIR_DOOMED_ANYBODY : flow == port_flow ? WEIR_DOOMED_ONLY : WEIR_DOOMED_EXCEPT;
    weir_doomed.sender = qualified ? port_flow->sender[0] : 0U;
    weir_doomed.flow = flow;
    weir_doomed.limited = limited;
    weir_doomed.until = limited ? weir_server_next(&flow->server) : 0U;
    weir_doomed.match = match;
}

static __attribute__((noinline)) void eager(uint16_t buffer, uint32_t length)
{
    const volatile uint32_t *frame = weir_driver_header(buffer);
    weir_match match = weir_classify(frame, length);
    uint8_t port = weir_flow_find(match);
    uint8_t to = weir_flow_of(match, port, frame);
    if (unlikely(match == WEIR_MATCH_REFUSED || (to == WEIR_FLOW_BACKGROUND && weir_rx.drop_background))) {
        weir_rx.refused++;
        drop(buffer, WEIR_DROP_REFUSED);
        return;
    }
    struct weir_flow *flow = weir_flow(to);
    uint8_t victim = WEIR_NO_FLOW;
    if (unlikely(weir_rx.books.with_nic < weir_rx.refill) && !make_room(flow, &victim)) {
        doom(match, port == WEIR_NO_FLOW ? NULL : weir_flow(port), flow, false);
        flow->recycled++;
        drop(buffer, WEIR_DROP_SHORT_CIRCUIT);
        return;
    }
    bool holds_too_many = !may_hold(flow);
    if (unlikely(holds_too_many || !within_limit(flow))) {
        if (!holds_too_many) {
            doom(match, port == WEIR_NO_FLOW ? NULL : weir_flow(port), flow, true);
        }
        flow->limited++;
        drop(buffer, WEIR_DROP_LIMITED);
        return;
    }
    if (unlikely(victim != WEIR_NO_FLOW)) {
        recycle(victim);
    }
    weir_slots[buffer].length = (uint16_t)length;
    weir_slots[buffer].flow = to;
    weir_rx.books.waiting++;
    weir_flow_put(to, buffer);
    WEIR_ON_QUEUED(buffer);
}

struct arrival {
    int32_t buffer; // -1: none
    uint32_t length;
};

static inline bool is_doomed(const volatile uint32_t *frame, uint32_t length, weir_match match, bool port_of_anybody)
{
    if (port_of_anybody) {
        return weir_classify_glance_is(frame, length, match);
    }
    if (weir_classify_glance(frame, length) != match) {
        return false;
    }
    return weir_doomed.who == WEIR_DOOMED_ANYBODY ||
           (weir_sender_glance(frame) == weir_doomed.sender) == (weir_doomed.who == WEIR_DOOMED_ONLY);
}

// Takes frames, up to `budget`, and discards them, until one comes that is not doomed. Returns how many it discarded.
static inline __attribute__((always_inline)) uint32_t discard(uint32_t budget, bool port_of_anybody, uint32_t why,
                                                              struct arrival *other)
{
    weir_match match = weir_doomed.match;
    for (uint32_t discarded = 0; discarded < budget; discarded++) {
        uint32_t length;
        int32_t buffer = weir_driver_take(&length);
        if (buffer < 0) {
            return discarded;
        }
        if (!is_doomed(weir_driver_header((uint32_t)buffer), length, match, port_of_anybody)) {
            other->buffer = buffer;
            other->length = length;
            return discarded;
        }
        weir_driver_give((uint32_t)buffer);
        WEIR_ON_DROPPED(buffer, why);
    }
    return budget;
}

static __attribute__((noinline)) uint32_t discard_port(uint32_t budget, uint32_t why, struct arrival *other)
{
    return discard(budget, true, why, other);
}

static __attribute__((noinline)) uint32_t discard_any(uint32_t budget, uint32_t why, struct arrival *other)
{
    return discard(budget, false, why, other);
}

// The short circuit of a flood: as long as frames come of which one look says that they are of no use, nothing changes
// but a counter. Takes up to `budget` frames and returns how many it took; *other is the last one if it is not so.
// discard_port() calls nothing and needs no registers saved: that is where most frames of most floods end.
static inline uint32_t serve_doomed(uint32_t budget, struct arrival *other)
{
    other->buffer = -1;
    bool limited = weir_doomed.limited;
    bool scarce = weir_rx.books.with_nic <= weir_rx.refill && weir_rx.books.clean == 0U;
    if (weir_doomed.match == WEIR_MATCH_REFUSED || !(limited ? weir_port_now() < weir_doomed.until : scarce)) {
        other->buffer = weir_driver_take(&other->length);
        return other->buffer >= 0 ? 1U : 0U;
    }
    uint32_t why = limited ? WEIR_DROP_LIMITED : WEIR_DROP_SHORT_CIRCUIT;
    bool port_of_anybody = weir_doomed.match > WEIR_MATCH_CONTROL && weir_doomed.who == WEIR_DOOMED_ANYBODY;
    uint32_t discarded = port_of_anybody ? discard_port(budget, why, other) : discard_any(budget, why, other);
    if (limited) {
        weir_doomed.flow->limited += discarded;
    } else {
        weir_doomed.flow->recycled += discarded;
    }
    return discarded + (other->buffer >= 0 ? 1U : 0U);
}

// Up to `budget` frames. Returns how many there were.
static inline uint32_t serve(uint32_t budget)
{
    uint32_t served = 0;
    struct arrival other = {.buffer = 0};
    while (other.buffer >= 0 && served < budget && weir_rx.books.with_nic != 0U) {
        served += serve_doomed(budget - served, &other);
        if (other.buffer >= 0) {
            weir_rx.books.with_nic--;
            eager((uint16_t)other.buffer, other.length);
        }
    }
    return served;
}

static __attribute__((noinline)) void poll_from_now_on(bool polling_before, uint32_t began)
{
    weir_rx.polling = true;
    // Whatever the frames cost: what follows this interrupt is the others' time.
    uint32_t now = weir_port_now_low();
    uint32_t rest = now + ((now - began) * weir_rx.rest_sixteenths >> 4);
    uint32_t next = weir_rx.period_start + weir_rx.period;
    weir_port_poll_at((int32_t)(rest - next) > 0 ? rest : next);
    if (!polling_before) {
        weir_driver_interrupt(false);
        WEIR_ON_POLLING(1U);
    }
}

static __attribute__((noinline)) void interrupts_from_now_on(void)
{
    weir_rx.polling = false;
    weir_port_poll_off();
    weir_driver_interrupt(true);
    WEIR_ON_POLLING(0U);
}

int32_t weir_rx_interrupt(bool timer)
{
    uint32_t now = weir_port_now_low();
    bool polling = weir_rx.polling;
    weir_driver_acknowledge();
    // After a pause of 2^32 ticks a period can seem not to be over: then one is polled for nothing.
    if (timer || now - weir_rx.period_start >= weir_rx.period) {
        // Polls keep to their grid, whatever delays the interrupt, or they would take less than they may.
        uint32_t on_time = weir_rx.period_start + weir_rx.period;
        weir_rx.period_start = timer && now - on_time < weir_rx.period ? on_time : now;
        weir_rx.spent = 0;
    }
    uint32_t spent = weir_rx.spent;
    spent += serve(polling ? weir_rx.batch : weir_rx.capacity - spent);
    weir_rx.spent = (uint16_t)spent;
    if (spent >= weir_rx.capacity) {
        poll_from_now_on(polling, now);
    } else if (polling) {
        interrupts_from_now_on();
    }
    return weir_flows_priority();
}

// Nobody has read it through the cache.
static void put_clean(uint16_t buffer)
{
    weir_slots[buffer].next = weir_rx.clean_first;
    weir_rx.clean_first = buffer;
    weir_rx.books.clean++;
    if (weir_rx.books.with_nic < weir_rx.ring) {
        give_clean();
    }
}

bool weir_rx_next(struct weir_packet *packet)
{
    uint8_t to = weir_flows_highest();
    if (to == WEIR_NO_FLOW) {
        return false;
    }
    uint16_t buffer = weir_flow_take(to);
    struct weir_flow *flow = weir_flow(to);
    weir_rx.books.waiting--;
    packet->flow = to;
    packet->priority = flow->priority;
    packet->buffer = buffer;
    if (unlikely(!may_hold(flow))) { // those before it are still held
        flow->limited++;
        packet->length = 0;
        WEIR_ON_DISCARDED(buffer);
        put_clean(buffer);
        return true;
    }
    weir_rx.books.held++;
    flow->held++;
    if (flow->held > WEIR_FLOW_RESERVE) {
        weir_rx.shared--;
    }
    packet->length = weir_slots[buffer].length;
    return true;
}

static inline void put_dirty(uint16_t buffer)
{
    if (weir_rx.books.dirty == 0U) {
        weir_rx.dirty_last = buffer;
    }
    weir_slots[buffer].next = weir_rx.dirty_first;
    weir_rx.dirty_first = buffer;
    weir_rx.books.dirty++;
}

// Makes the dirty buffers clean, and fills the ring.
static void refill(void)
{
    weir_port_state state = weir_port_lock();
    if (weir_rx.books.dirty != 0U) {
        // Their last users have read them through the cache. Nobody reads them from here on, so that nothing of them
        // can come back into the cache before the NIC has written. All at once and with the lock: if a more urgent
        // task came in between, they would be out of the interrupt's reach for as long as that has the CPU.
        weir_port_invalidate_all();
        weir_slots[weir_rx.dirty_last].next = weir_rx.clean_first;
        weir_rx.clean_first = weir_rx.dirty_first;
        weir_rx.books.clean = (uint16_t)(weir_rx.books.clean + weir_rx.books.dirty);
        weir_rx.books.dirty = 0;
    }
    bool more = true;
    while (more) {
        weir_port_unlock(state);
        state = weir_port_lock();
        more = weir_rx.books.with_nic < weir_rx.ring && weir_rx.books.clean != 0U;
        if (more) {
            give_clean();
        }
    }
    weir_port_unlock(state);
}

void weir_rx_free(uint16_t buffer)
{
    struct weir_flow *flow = weir_flow(weir_slots[buffer].flow);
    weir_port_state state = weir_port_lock();
    if (flow->held > WEIR_FLOW_RESERVE) {
        weir_rx.shared++;
    }
    flow->held--;
    weir_rx.books.held--;
    put_dirty(buffer);
    // One invalidation serves however many buffers there are, so it waits for several, unless the NIC runs out.
    bool urgent = weir_rx.books.with_nic + weir_rx.books.clean < weir_rx.refill / 2U;
    bool enough = weir_rx.books.dirty >= weir_rx.refill;
    weir_port_unlock(state);
    if (urgent || enough) {
        refill();
    }
}

void weir_rx_drain(uint8_t flow)
{
    bool more = true;
    while (more) { // ends: the flow takes no new packets, see weir_flow_remove()
        weir_port_state state = weir_port_lock();
        more = weir_flow(flow)->waiting != 0U;
        if (more) {
            uint16_t buffer = weir_flow_take(flow);
            weir_rx.books.waiting--;
            WEIR_ON_ABANDONED(buffer);
            put_dirty(buffer);
        }
        weir_port_unlock(state);
    }
    refill(); // the ring may have nothing left, and nobody may have a buffer to free
}

int weir_rx_init(const struct weir_rx_config *config)
{
    struct weir_rx_config c = *config;
    c.refill = c.refill == 0U ? c.ring / 2U : c.refill;
    c.batch = c.batch == 0U ? c.capacity : c.batch;
    c.share_percent = c.share_percent == 0U ? 100U : c.share_percent;
    struct weir_server system;
    enum weir_server_kind kind = c.system_capacity == 0U ? WEIR_SERVER_NONE : WEIR_SERVER_DEFERRABLE;
    if (weir_server_init(&system, kind, c.system_capacity, c.system_period) != 0 || c.buffers > WEIR_BUFFERS ||
        c.buffers <= WEIR_FLOWS_ALL || c.ring == 0U || c.ring >= c.buffers || c.refill >= c.ring || c.capacity == 0U ||
        c.period == 0U || c.period > WEIR_SERVER_PERIOD_MAX || c.batch < c.capacity || c.batch > c.ring ||
        c.share_percent > 100U || c.background_priority >= WEIR_PRIORITIES || c.system_priority >= WEIR_PRIORITIES) {
        return EINVAL;
    }
    weir_flows_init(c.background_priority, c.system_priority);
    weir_flow_set_server(WEIR_FLOW_ADDRESS, &system);
    weir_flow_set_server(WEIR_FLOW_CONTROL, &system);
    weir_rx.refill = c.refill;
    weir_rx.ring = c.ring;
    weir_rx.capacity = c.capacity;
    weir_rx.batch = c.batch;
    weir_rx.period = c.period;
    weir_rx.rest_sixteenths = 16U * (100U - c.share_percent) / c.share_percent;
    weir_rx.drop_background = c.drop_background;
    weir_rx.shared = c.buffers - c.ring;
    weir_rx.held_max = (uint16_t)(c.buffers - WEIR_FLOWS_ALL);
    for (uint16_t i = c.buffers; i-- > 0U;) {
        put_dirty(i);
    }
    refill();
    return 0;
}

struct weir_rx_status weir_rx_status(void)
{
    weir_port_state state = weir_port_lock();
    struct weir_rx_status status = {.books = weir_rx.books, .refused = weir_rx.refused, .polling = weir_rx.polling};
    weir_port_unlock(state);
    return status;
}
