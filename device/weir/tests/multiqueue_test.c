// SPDX-License-Identifier: Apache-2.0
//
// The receive path over a NIC with queues: by example, and in random order. mq_model.h checks each step.

#include "weir/multiqueue.h"

#include <errno.h>
#include <string.h>

#include "check.h"
#include "mq_model.h"
#include "mq_sim.h"
#include "sim.h"
#include "weir/port.h"

#define PERIOD 1000U
#define LENGTH 60U // five fit into a buffer
#define LOW 3
#define HIGH 5

static const struct weir_mq_config usual = {.background_priority = 1, .system_priority = 2};
static uint8_t low, high, equal; // the last two are of one priority

static uint16_t held[MQ_SIM_FRAMES_MAX];
static uint32_t held_count;

static weir_match port(uint32_t which)
{
    return weir_match_port(17, (uint16_t)(500U + which));
}

static void start(void)
{
    mq_model_start(&usual);
    held_count = 0;
    low = mq_model_add(port(0), LOW);
    high = mq_model_add(port(1), HIGH);
    equal = mq_model_add(port(2), HIGH);
    mq_model_check();
}

// Into the buffer that the NIC fills, which keeps it.
static void arrive(uint8_t flow, uint32_t count)
{
    mq_sim.queues[flow].moderated = true;
    for (; count > 0U; count--) {
        CHECK(mq_sim_arrives(flow, LENGTH) != 0U);
    }
    mq_model_check();
}

static void arrive_and_interrupt(uint8_t flow, uint32_t count)
{
    arrive(flow, count);
    mq_sim_expires(flow);
    CHECK(mq_sim_interrupts());
    mq_model_check();
}

static void take_from(uint8_t flow, uint32_t count)
{
    for (; count > 0U; count--) {
        struct weir_packet packet;
        CHECK(mq_model_next(&packet) && packet.flow == flow);
        held[held_count++] = packet.buffer;
        mq_model_check();
    }
}

static void nothing_to_take(void)
{
    struct weir_packet packet;
    CHECK(!mq_model_next(&packet));
    mq_model_check();
}

static void free_at(uint32_t i)
{
    uint16_t frame = held[i];
    held_count--;
    memmove(&held[i], &held[i + 1U], (held_count - i) * sizeof held[0]);
    mq_model_free(frame);
    mq_model_check();
}

static void free_all(void)
{
    while (held_count > 0U) {
        free_at(0);
    }
}

static void deliver(uint8_t flow, uint32_t count)
{
    for (; count > 0U; count--) {
        take_from(flow, 1);
        free_all();
        (void)mq_sim_interrupts();
    }
}

static void wrong_configurations(void)
{
    struct weir_mq_config wrong[4];
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        wrong[i] = usual;
    }
    wrong[0].background_priority = WEIR_PRIORITIES;
    wrong[1].system_priority = WEIR_PRIORITIES;
    wrong[2].system_capacity = 1; // per no time
    wrong[3].system_capacity = 1;
    wrong[3].system_period = UINT32_C(1) << 31;
    start();
    arrive_and_interrupt(low, 2);
    struct weir_flow flows[WEIR_FLOWS_ALL];
    struct mq_sim nic = mq_sim;
    memcpy(flows, weir_flow_table, sizeof flows);
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        check_context("configuration %u", i);
        CHECK(weir_mq_init(&wrong[i]) == EINVAL);
        CHECK(memcmp(flows, weir_flow_table, sizeof flows) == 0 && memcmp(&nic, &mq_sim, sizeof nic) == 0);
        mq_model_check();
    }
    deliver(low, 2);
}

static void nothing_to_do(void)
{
    start();
    sim.in_interrupt = true;
    sim.timer_on = true;
    CHECK(weir_mq_interrupt() == -1);
    CHECK(weir_mq_timer() == -1 && !sim.timer_on);
    sim.in_interrupt = false;
    nothing_to_take();
}

static void frames_come_out_in_order(void)
{
    start();
    for (uint32_t i = 0; i < 30U; i++) {
        arrive_and_interrupt(low, 1U + i % 5U);
        arrive(low, 1U + i % 3U); // into the other buffer
        deliver(low, 1U + i % 5U);
        mq_sim_expires(low);
        CHECK(mq_sim_interrupts());
        deliver(low, 1U + i % 3U);
        nothing_to_take();
    }
}

static void higher_priority_first_between_two_frames_of_a_buffer(void)
{
    start();
    arrive_and_interrupt(low, 4);
    take_from(low, 1);
    arrive_and_interrupt(high, 2);
    take_from(high, 1);
    arrive_and_interrupt(WEIR_FLOW_BACKGROUND, 1);
    take_from(high, 1);
    take_from(low, 2);
    mq_model_set_priority(WEIR_FLOW_BACKGROUND, LOW + 1);
    take_from(WEIR_FLOW_BACKGROUND, 1);
    take_from(low, 1);
    nothing_to_take();
    free_all();
}

static void equals_take_turns_frame_by_frame(void)
{
    start();
    arrive_and_interrupt(high, 5);
    arrive_and_interrupt(equal, 3);
    for (uint32_t i = 0; i < 3U; i++) {
        deliver(high, 1);
        deliver(equal, 1);
    }
    deliver(high, 2);
}

static void a_buffer_goes_with_its_last_frame_in_any_order(void)
{
    start();
    for (uint32_t order = 0; order < 4U * 3U * 2U; order++) {
        check_context("order %u", order);
        uint32_t released = mq_sim.queues[low].released;
        arrive_and_interrupt(low, 4);
        take_from(low, 4);
        arrive(low, 1); // waits in the NIC
        mq_sim_expires(low);
        free_at(order % 4U);
        free_at(order / 4U % 3U);
        free_at(order / 12U);
        CHECK(mq_sim.queues[low].released == released && !mq_sim_interrupts());
        free_at(0);
        CHECK(mq_sim.queues[low].released == released + 1U && mq_sim_interrupts());
        deliver(low, 1);
    }
}

static void a_buffer_is_kept_while_frames_of_it_wait(void)
{
    start();
    arrive_and_interrupt(low, 5);
    deliver(low, 4);
    CHECK(mq_sim.queues[low].released == 0U);
    deliver(low, 1);
    CHECK(mq_sim.queues[low].released == 1U);
}

static void the_cache_forgets_once_per_buffer(void)
{
    start();
    for (uint32_t i = 1; i <= 10U; i++) {
        arrive_and_interrupt(low, 3);
        deliver(low, 3);
        CHECK(sim.invalidations == i);
    }
}

static void a_full_queue_costs_nobody_else_anything(void)
{
    start();
    arrive_and_interrupt(low, 5);
    take_from(low, 1);
    held_count = 0; // for good
    arrive(low, 5);
    for (uint32_t i = 0; i < 50U; i++) {
        CHECK(mq_sim_arrives(low, LENGTH) == 0U);
        arrive_and_interrupt(high, 1);
        deliver(high, 1);
    }
    CHECK(mq_sim.queues[low].dropped == 50U && mq_sim.queues[high].dropped == 0U);
}

// A flood of 20 frames per period.
static void flood(enum weir_server_kind kind, uint16_t capacity)
{
    start();
    mq_model_limit(high, kind, capacity, PERIOD);
    uint32_t from_low = 0;
    uint32_t from_high = 0;
    for (uint32_t i = 0; i < 20U * 200U; i++) {
        sim.now += PERIOD / 20U;
        (void)mq_sim_arrives(high, LENGTH);
        CHECK(mq_sim_arrives(low, LENGTH) != 0U);
        (void)mq_sim_interrupts();
        struct weir_packet packet;
        while (mq_model_next(&packet)) {
            from_low += packet.flow == low ? 1U : 0U;
            from_high += packet.flow == high ? 1U : 0U;
            mq_model_free(packet.buffer);
            (void)mq_sim_interrupts();
        }
        mq_model_check();
    }
    CHECK(from_low == 20U * 200U);
    CHECK(from_high >= 199U * capacity && from_high <= 201U * capacity);
    CHECK(weir_flow(high)->limited == mq_model.parkings && mq_model.parkings >= 199U);
}

static void a_deferrable_limit(void)
{
    flood(WEIR_SERVER_DEFERRABLE, 7); // more than a buffer holds
}

static void a_sporadic_limit(void)
{
    flood(WEIR_SERVER_SPORADIC, WEIR_SPORADIC_MAX);
}

static void a_parked_flow_goes_on_when_its_time_has_come(void)
{
    start();
    mq_model_limit(high, WEIR_SERVER_SPORADIC, 1, PERIOD);
    arrive_and_interrupt(high, 3);
    arrive_and_interrupt(low, 1);
    deliver(high, 1);
    deliver(low, 1); // not held up
    nothing_to_take();
    for (uint32_t i = 0; i < 2U; i++) {
        CHECK(sim.timer_on);
        sim.now += PERIOD - 1U;
        CHECK(!mq_sim_interrupts());
        nothing_to_take();
        sim.now++;
        CHECK(mq_sim_interrupts() && !sim.timer_on);
        deliver(high, 1);
        nothing_to_take();
    }
}

// One is software's, one the NIC's, which drops what fits into neither.
static void both_buffers_of_a_parked_flow_keep_their_order(void)
{
    start();
    mq_model_limit(high, WEIR_SERVER_DEFERRABLE, 2, PERIOD);
    arrive_and_interrupt(high, 5);
    deliver(high, 2);
    nothing_to_take();
    arrive(high, 5);
    mq_sim_expires(high);
    CHECK(!mq_sim_interrupts());
    CHECK(mq_sim_arrives(high, LENGTH) == 0U && mq_sim.queues[high].dropped == 1U);
    for (uint32_t i = 0; i < 4U; i++) {
        sim.now += PERIOD;
        CHECK(mq_sim_interrupts());
        deliver(high, 2);
        nothing_to_take();
    }
    CHECK(mq_model_waiting() == 0U);
}

static void each_parked_flow_has_its_own_time(void)
{
    start();
    mq_model_limit(low, WEIR_SERVER_SPORADIC, 1, 2U * PERIOD);
    mq_model_limit(high, WEIR_SERVER_SPORADIC, 1, 3U * PERIOD);
    mq_model_limit(equal, WEIR_SERVER_SPORADIC, 1, PERIOD);
    arrive_and_interrupt(low, 2);
    arrive_and_interrupt(high, 2);
    arrive_and_interrupt(equal, 2);
    deliver(high, 1);
    deliver(equal, 1);
    deliver(low, 1);
    nothing_to_take();
    sim.now += PERIOD;
    CHECK(mq_sim_interrupts());
    deliver(equal, 1);
    nothing_to_take();
    sim.now += PERIOD;
    CHECK(mq_sim_interrupts());
    deliver(low, 1);
    nothing_to_take();
    sim.now += PERIOD;
    CHECK(mq_sim_interrupts() && !sim.timer_on);
    deliver(high, 1);
}

// The timer's interrupt is kept away just then.
static void a_flow_whose_time_has_come_is_not_forgotten(void)
{
    start();
    mq_model_limit(low, WEIR_SERVER_SPORADIC, 1, PERIOD);
    mq_model_limit(high, WEIR_SERVER_SPORADIC, 1, WEIR_SERVER_PERIOD_MAX);
    arrive_and_interrupt(low, 2);
    deliver(low, 1);
    nothing_to_take();
    arrive_and_interrupt(high, 2);
    sim.now += PERIOD + 1U;
    take_from(high, 1);
    nothing_to_take();
    CHECK(mq_sim_interrupts());
    deliver(low, 1);
}

static void a_priority_changed_while_parked_counts_afterwards(void)
{
    start();
    mq_model_limit(low, WEIR_SERVER_SPORADIC, 1, PERIOD);
    arrive_and_interrupt(low, 2);
    deliver(low, 1);
    nothing_to_take();
    mq_model_set_priority(low, HIGH + 1);
    CHECK(mq_sim_interrupts()); // its limit is asked anew
    nothing_to_take();
    arrive_and_interrupt(high, 1);
    sim.now += PERIOD;
    CHECK(mq_sim_interrupts());
    deliver(low, 1);
    deliver(high, 1);
}

// What waits for the limit that there was does not wait for it any more.
static void a_limit_changed_while_parked_counts_at_once(void)
{
    start();
    mq_model_limit(low, WEIR_SERVER_SPORADIC, 1, WEIR_SERVER_PERIOD_MAX);
    arrive_and_interrupt(low, 3);
    deliver(low, 1);
    nothing_to_take();
    CHECK(!mq_sim_interrupts());
    mq_model_limit(low, WEIR_SERVER_SPORADIC, 1, PERIOD);
    CHECK(mq_sim_interrupts());
    deliver(low, 1);
    nothing_to_take();
    mq_model_limit(low, WEIR_SERVER_NONE, 0, 0);
    CHECK(mq_sim_interrupts() && !sim.timer_on);
    deliver(low, 1);
}

static void the_system_flows_have_their_limit(void)
{
    struct weir_mq_config config = usual;
    config.system_capacity = 2;
    config.system_period = PERIOD;
    sim.now = 10U * PERIOD;
    mq_model_start(&config);
    for (uint8_t flow = WEIR_FLOW_ADDRESS; flow <= WEIR_FLOW_CONTROL; flow++) {
        CHECK(weir_flow(flow)->limited_by_server && weir_flow(flow)->priority == config.system_priority);
        arrive_and_interrupt(flow, 3);
        deliver(flow, 2);
        nothing_to_take();
    }
    arrive_and_interrupt(WEIR_FLOW_BACKGROUND, 5);
    deliver(WEIR_FLOW_BACKGROUND, 5);
}

static void closed_with_frames_waiting(void)
{
    start();
    arrive_and_interrupt(high, 3);
    take_from(high, 1);
    free_all();
    arrive(high, 2);
    arrive_and_interrupt(low, 1);
    mq_model_remove(high);
    mq_model_check();
    CHECK(mq_model.discarded == 4U && mq_sim.queues[high].discarded == 2U);
    CHECK(mq_sim.queues[high].released == 1U && mq_sim.queues[low].released == 0U);
    CHECK(mq_sim_arrives(high, LENGTH) == 0U);
    deliver(low, 1);
    nothing_to_take();
}

static void closed_while_parked(void)
{
    start();
    mq_model_limit(high, WEIR_SERVER_SPORADIC, 1, PERIOD);
    arrive_and_interrupt(high, 3);
    deliver(high, 1);
    nothing_to_take();
    mq_model_remove(high);
    mq_model_check();
    CHECK(mq_sim.queues[high].released == 1U);
    sim.now += 2U * PERIOD;
    CHECK(mq_sim_interrupts() && !sim.timer_on);
    nothing_to_take();
    CHECK(mq_model_add(port(3), LOW) == high);
    arrive_and_interrupt(high, 5); // no limit
    deliver(high, 5);
}

static void closed_with_frames_held(void)
{
    start();
    for (uint32_t i = 3; i < WEIR_FLOWS; i++) { // all others
        CHECK(mq_model_add(port(i), LOW) != WEIR_NO_FLOW);
    }
    arrive_and_interrupt(high, 4);
    take_from(high, 3);
    mq_model_remove(high);
    mq_model_check();
    nothing_to_take();
    for (uint32_t i = 0; i < 3U; i++) {
        CHECK(mq_sim.queues[high].released == 0U);
        CHECK(mq_model_add(port(1), LOW) == WEIR_NO_FLOW);
        free_at(held_count / 2U);
    }
    CHECK(mq_sim.queues[high].released == 1U);
    mq_sim.queues[high].asked_units = MQ_SIM_UNITS_MAX / 2U;
    CHECK(mq_model_add(port(1), LOW) == high);
    CHECK(weir_flow(high)->priority == LOW && weir_flow(high)->held == 0U && !mq_sim_interrupts());
    nothing_to_take();
    for (uint32_t i = 0; i < 3U; i++) {
        arrive_and_interrupt(high, 2);
        deliver(high, 2);
    }
}

// The interrupt may be held back for long, as the queue's priority is low.
static void closed_with_a_buffer_that_nobody_has_taken_over(void)
{
    start();
    arrive_and_interrupt(low, 1);
    deliver(low, 1);
    arrive(low, 2);
    mq_sim_expires(low);
    mq_model_remove(low);
    mq_model_check();
    CHECK(!mq_sim_interrupts());
    nothing_to_take();
    mq_sim.queues[low].asked_units = MQ_SIM_UNITS_MAX / 2U;
    CHECK(mq_model_add(port(3), LOW) == low);
    CHECK(!mq_sim_interrupts());
    arrive_and_interrupt(low, 2);
    deliver(low, 2);
}

// Between the flow's removal and the end of its queue.
static void removed_flow_goes_on_until_it_is_closed(void)
{
    start();
    arrive_and_interrupt(low, 2);
    naive_remove(low);
    arrive(low, 1);
    take_from(low, 1);
    weir_mq_close(low);
    mq_model_check();
    nothing_to_take();
    free_all();
}

#define PHASES 40U
#define STEPS 10000U
#define PORTS 9U // more than there are flows

static struct check_random random_;
static uint32_t wire; // of 100: how busy it is
static bool network_task_runs;

static void some_frame(void)
{
    uint32_t flow = check_below(&random_, WEIR_MQ_QUEUES);
    uint32_t length = 14U;
    switch (check_below(&random_, 4)) {
    case 0:
        length += check_below(&random_, MQ_SIM_UNITS_MAX * WEIR_MQ_UNIT_BYTES); // some fit into no buffer
        break;
    case 1:
        length += check_below(&random_, 200);
        break;
    default:
        break;
    }
    (void)mq_sim_arrives(flow, length);
}

static void nic_goes_on(void)
{
    while (check_below(&random_, 100) < wire) {
        some_frame();
    }
    if (check_once_in(&random_, 2)) {
        mq_sim_expires(check_below(&random_, WEIR_MQ_QUEUES));
    }
}

static void meanwhile(void)
{
    if (check_once_in(&random_, 4)) {
        nic_goes_on();
    }
}

static void time_passes(void)
{
    if (sim.timer_on && check_once_in(&random_, 20)) { // to what is waited for, however long that is
        int32_t in = (int32_t)(sim.timer_at - (uint32_t)sim.now);
        sim.now += in > 0 ? (uint32_t)in : 0U;
        (void)mq_sim_interrupts();
    }
    sim.now += check_below(&random_, 3) * check_below(&random_, 100);
    if (!check_once_in(&random_, 4)) {
        (void)mq_sim_interrupts();
    }
}

static void network_task(void)
{
    network_task_runs = true;
    struct weir_packet packet;
    if (mq_model_next(&packet)) {
        held[held_count++] = packet.buffer;
        if (!check_once_in(&random_, 4)) { // the protocol work is all: no socket waits for it
            held_count--;
            mq_model_free(packet.buffer);
        }
    }
    network_task_runs = false;
}

// In a task, without the lock.
static void point(void)
{
    nic_goes_on();
    time_passes();
    if (!network_task_runs && check_once_in(&random_, 3)) {
        network_task();
    }
}

static void free_one(void)
{
    if (held_count > 0U) {
        uint32_t i = check_below(&random_, held_count);
        uint16_t frame = held[i];
        held[i] = held[--held_count];
        mq_model_free(frame);
    }
}

static uint32_t some_period(void)
{
    switch (check_below(&random_, 8)) {
    case 0:
        return WEIR_SERVER_PERIOD_MAX - check_below(&random_, 3);
    case 1:
        return 1U + check_below(&random_, 10);
    default:
        return 1U + check_below(&random_, 500);
    }
}

static void change_flows(void)
{
    uint8_t flow = (uint8_t)check_below(&random_, WEIR_FLOWS_ALL);
    bool open = flow >= WEIR_FLOWS || naive[flow].open;
    weir_match match = port(check_below(&random_, PORTS));
    switch (check_below(&random_, 6)) {
    case 0:
    case 1:
        if (weir_flow_find(match) == WEIR_NO_FLOW) {
            for (uint32_t i = 0; i < WEIR_FLOWS; i++) {
                mq_sim.queues[i].asked_units = 8U + check_below(&random_, MQ_SIM_UNITS_MAX - 7U);
                mq_sim.queues[i].moderated = check_once_in(&random_, 2);
            }
            (void)mq_model_add(match, (uint8_t)check_below(&random_, WEIR_PRIORITIES));
        }
        break;
    case 2:
        if (flow < WEIR_FLOWS && open && check_once_in(&random_, 2)) {
            mq_model_remove(flow);
        }
        break;
    case 3:
    case 4:
        if (open) {
            mq_model_set_priority(flow, (uint8_t)check_below(&random_, WEIR_PRIORITIES));
        }
        break;
    default:
        if (open) {
            enum weir_server_kind kind = (enum weir_server_kind)check_below(&random_, 3);
            mq_model_limit(flow, kind, (uint16_t)(1U + check_below(&random_, WEIR_SPORADIC_MAX)), some_period());
        }
        break;
    }
}

static void step(void)
{
    switch (check_below(&random_, 12)) {
    case 0:
        change_flows();
        break;
    case 1:
    case 2:
        free_one();
        break;
    case 3:
    case 4:
    case 5:
        network_task();
        break;
    default:
        nic_goes_on();
        time_passes();
        break;
    }
    mq_model_check();
}

// When all is done, nothing is anywhere, and the timer is off.
static void drain(void)
{
    sim.point = NULL;
    mq_sim.meanwhile = NULL;
    for (uint32_t rounds = 0; mq_model_waiting() > 0U || held_count > 0U || sim.timer_on; rounds++) {
        CHECK(rounds < 10000U);
        for (uint32_t i = 0; i < WEIR_MQ_QUEUES; i++) {
            mq_sim_expires(i);
        }
        int32_t in = sim.timer_on ? (int32_t)(sim.timer_at - (uint32_t)sim.now) : 0;
        sim.now += in > 0 ? (uint32_t)in : 0U;
        (void)mq_sim_interrupts();
        network_task();
        free_one();
        mq_model_check();
    }
    for (uint32_t i = 0; i < WEIR_MQ_QUEUES; i++) {
        CHECK(!mq_sim.queues[i].ready && weir_flow((uint8_t)i)->held == 0U && weir_flow((uint8_t)i)->waiting == 0U);
    }
}

static void random_schedules(void)
{
    mq_model_start(&usual);
    for (uint32_t phase = 0; phase < PHASES; phase++) {
        random_.state = phase;
        sim.now = ((sim.now >> 32) + 2U) * (UINT64_C(1) << 32) -
                  check_below(&random_, 40000); // soon its low half wraps
        sim.point = point;
        mq_sim.meanwhile = meanwhile;
        for (uint32_t i = 0; i < STEPS; i++) {
            check_context("phase %u, step %u", phase, i);
            if (i % 200U == 0U) {
                wire = check_below(&random_, 4) * 15U;
            }
            step();
        }
        drain();
    }
    uint32_t dropped = 0;
    for (uint32_t i = 0; i < WEIR_MQ_QUEUES; i++) {
        dropped += mq_sim.queues[i].dropped;
    }
    check_context("%u delivered, %u dropped, %u discarded, %u closed, %u parkings", mq_model.delivered, dropped,
                  mq_model.discarded, mq_model.closed, mq_model.parkings);
    CHECK(mq_model.delivered > 100U * PHASES && dropped > 100U * PHASES && mq_model.discarded > 10U * PHASES);
    CHECK(mq_model.closed > 10U * PHASES && mq_model.parkings > 10U * PHASES);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"a wrong configuration is refused and changes nothing", wrong_configurations},
        {"interrupts without a cause do nothing", nothing_to_do},
        {"frames of a flow come out in order", frames_come_out_in_order},
        {"a higher priority goes first, also between two frames of a buffer",
         higher_priority_first_between_two_frames_of_a_buffer},
        {"flows of one priority take turns, frame by frame", equals_take_turns_frame_by_frame},
        {"a buffer is released with its last frame, in any order of freeing",
         a_buffer_goes_with_its_last_frame_in_any_order},
        {"a buffer is kept while frames of it wait", a_buffer_is_kept_while_frames_of_it_wait},
        {"the cache forgets once per buffer", the_cache_forgets_once_per_buffer},
        {"a full queue costs nobody else anything", a_full_queue_costs_nobody_else_anything},
        {"a deferrable limit holds in a flood, and gives what it may", a_deferrable_limit},
        {"a sporadic limit holds in a flood, and gives what it may", a_sporadic_limit},
        {"a parked flow goes on when its time has come, and holds up nobody",
         a_parked_flow_goes_on_when_its_time_has_come},
        {"both buffers of a parked flow keep their order", both_buffers_of_a_parked_flow_keep_their_order},
        {"each parked flow has its own time", each_parked_flow_has_its_own_time},
        {"a flow whose time has come is not forgotten for one that waits long",
         a_flow_whose_time_has_come_is_not_forgotten},
        {"a priority changed while the flow is parked counts afterwards",
         a_priority_changed_while_parked_counts_afterwards},
        {"the system flows have their limit", the_system_flows_have_their_limit},
        {"closed with frames waiting", closed_with_frames_waiting},
        {"a limit changed while the flow is parked counts at once", a_limit_changed_while_parked_counts_at_once},
        {"closed while parked", closed_while_parked},
        {"closed with frames held: the place is not used again before they are free", closed_with_frames_held},
        {"closed with a buffer that nobody has taken over", closed_with_a_buffer_that_nobody_has_taken_over},
        {"a removed flow goes on until it is closed", removed_flow_goes_on_until_it_is_closed},
        {"400,000 random steps: order, books, limits, nothing lost", random_schedules},
    };
    CHECK(argc == 2);
    return check_run("weir_multiqueue", tests, sizeof tests / sizeof tests[0], argv[1]);
}
