// SPDX-License-Identifier: Apache-2.0

#include "mq_sim.h"

#include <string.h>

#include "check.h"
#include "mq_model.h"
#include "sim.h"
#include "weir/port.h"

#define QUEUE_UNITS (2U * MQ_SIM_UNITS_MAX)

struct mq_sim mq_sim;

// Of each place in packet memory: the frame that begins there.
static struct {
    uint32_t serial;
    uint32_t length;
} memory[MQ_SIM_FRAMES_MAX];

void mq_sim_start(void)
{
    sim = (struct sim){.now = sim.now};
    mq_sim = (struct mq_sim){.meanwhile = NULL};
    memset(memory, 0, sizeof memory);
    for (uint32_t i = 0; i < WEIR_MQ_QUEUES; i++) {
        mq_sim.queues[i].asked_units = MQ_SIM_UNITS_MAX;
    }
}

static void meanwhile(void)
{
    if (mq_sim.meanwhile != NULL) {
        mq_sim.meanwhile();
    }
}

// Where a buffer begins, in units.
static uint32_t base(uint32_t queue, uint32_t half)
{
    return queue * QUEUE_UNITS + half * mq_sim.queues[queue].units;
}

static void empty(uint32_t queue, uint32_t half)
{
    mq_sim.queues[queue].buffers[half] = (struct mq_sim_buffer){.frames = 0};
    memset(&memory[base(queue, half)], 0, mq_sim.queues[queue].units * sizeof memory[0]);
}

static void hand_over_if_due(struct mq_sim_queue *q)
{
    if (q->due && !q->ready) {
        q->due = false;
        q->ready = true;
        q->taken = false;
        q->filled ^= 1U;
        CHECK(q->buffers[q->filled].frames == 0U);
    }
}

static bool fits(const struct mq_sim_queue *q, uint32_t length)
{
    return q->buffers[q->filled].units + weir_mq_driver_units(length) <= q->units;
}

uint32_t mq_sim_arrives(uint32_t queue, uint32_t length)
{
    struct mq_sim_queue *q = &mq_sim.queues[queue];
    if (!q->open) {
        return 0;
    }
    mq_sim.arrived++;
    if (!fits(q, length) && q->buffers[q->filled].frames != 0U) {
        if (!q->ready && weir_mq_driver_units(length) <= q->units) {
            q->due = true;
        }
        hand_over_if_due(q);
    }
    if (!fits(q, length)) {
        q->dropped++;
        return 0;
    }
    struct mq_sim_buffer *buffer = &q->buffers[q->filled];
    uint32_t frame = base(queue, q->filled) + buffer->units + MQ_SIM_HEADROOM_UNITS;
    memory[frame].serial = mq_sim.arrived;
    memory[frame].length = length;
    buffer->frames++;
    buffer->units += weir_mq_driver_units(length);
    mq_model_arrives(queue, mq_sim.arrived);
    q->due = q->due || !q->moderated;
    hand_over_if_due(q);
    return mq_sim.arrived;
}

void mq_sim_expires(uint32_t queue)
{
    struct mq_sim_queue *q = &mq_sim.queues[queue];
    q->due = q->due || q->buffers[q->filled].frames != 0U;
    hand_over_if_due(q);
}

// The queue of the highest priority that interrupts; -1.
static int32_t next_queue(void)
{
    int32_t next = -1;
    for (uint32_t i = 0; i < WEIR_MQ_QUEUES; i++) {
        const struct mq_sim_queue *q = &mq_sim.queues[i];
        if (q->ready && !q->taken && (next < 0 || q->priority > mq_sim.queues[next].priority)) {
            next = (int32_t)i;
        }
    }
    return next;
}

bool mq_sim_interrupts(void)
{
    bool any = false;
    for (uint32_t times = 0; sim_timer_is_due() || next_queue() >= 0; times++) {
        CHECK(!sim.in_interrupt && sim.lock_depth == 0U);
        CHECK(times < 2U); // or it asks forever
        bool timer = sim_timer_is_due();
        sim.in_interrupt = true;
        if (timer) {
            mq_model_timer();
        }
        mq_model_interrupt_ends(timer ? weir_mq_timer() : weir_mq_interrupt());
        sim.in_interrupt = false;
        any = true;
    }
    return any;
}

uint32_t mq_sim_serial(uint32_t frame, uint32_t *length)
{
    CHECK(frame < MQ_SIM_FRAMES_MAX);
    uint32_t buffer = weir_mq_driver_buffer(frame);
    const struct mq_sim_queue *q = &mq_sim.queues[buffer / 2U];
    CHECK(q->ready && q->taken && buffer % 2U != q->filled);
    *length = memory[frame].length;
    return memory[frame].serial;
}

int32_t weir_mq_driver_take(uint32_t *half, uint32_t *frames)
{
    CHECK(sim.in_interrupt || sim.lock_depth > 0U);
    meanwhile();
    int32_t queue = next_queue();
    if (queue >= 0) {
        struct mq_sim_queue *q = &mq_sim.queues[queue];
        CHECK(q->open);
        q->taken = true;
        *half = q->filled ^ 1U;
        *frames = q->buffers[*half].frames;
        mq_model_taken((uint32_t)queue, *half, *frames);
    }
    return queue;
}

void weir_mq_driver_release(uint32_t queue)
{
    CHECK(!sim.in_interrupt && sim.lock_depth > 0U && queue < WEIR_MQ_QUEUES);
    meanwhile();
    struct mq_sim_queue *q = &mq_sim.queues[queue];
    CHECK(!q->open || (q->ready && q->taken)); // of a queue that is off, whatever the NIC has handed over
    if (q->ready) {
        mq_model_released(queue, q->filled ^ 1U);
        q->released++;
        q->ready = false;
        q->taken = false;
        empty(queue, q->filled ^ 1U);
        hand_over_if_due(q);
    }
}

void weir_mq_driver_open(uint32_t queue)
{
    CHECK(!sim.in_interrupt && sim.lock_depth > 0U && queue < WEIR_MQ_QUEUES);
    meanwhile();
    struct mq_sim_queue *q = &mq_sim.queues[queue];
    if (!q->open) {
        CHECK(!q->ready); // a buffer that somebody has may lie elsewhere now
        q->units = q->asked_units;
        q->filled = 0;
        q->open = true;
    }
    q->priority = weir_flow((uint8_t)queue)->priority;
}

void weir_mq_driver_close(uint32_t queue)
{
    CHECK(!sim.in_interrupt && sim.lock_depth > 0U && queue < WEIR_MQ_QUEUES);
    meanwhile();
    struct mq_sim_queue *q = &mq_sim.queues[queue];
    CHECK(q->open);
    q->open = false;
    q->due = false;
    q->discarded += q->buffers[q->filled].frames;
    empty(queue, q->filled);
}

uint32_t weir_mq_driver_first(uint32_t buffer)
{
    CHECK(buffer < 2U * WEIR_MQ_QUEUES);
    return base(buffer / 2U, buffer % 2U) + MQ_SIM_HEADROOM_UNITS;
}

uint32_t weir_mq_driver_buffer(uint32_t frame)
{
    uint32_t queue = frame / QUEUE_UNITS;
    return 2U * queue + (frame >= base(queue, 1) ? 1U : 0U);
}

uint32_t weir_mq_driver_length(uint32_t frame)
{
    CHECK(!sim.in_interrupt && sim.lock_depth > 0U);
    meanwhile();
    uint32_t length;
    CHECK(mq_sim_serial(frame, &length) != 0U);
    return length;
}

uint32_t weir_mq_driver_units(uint32_t length)
{
    return (length + WEIR_MQ_UNIT_BYTES - 1U) / WEIR_MQ_UNIT_BYTES + MQ_SIM_HEADROOM_UNITS;
}
