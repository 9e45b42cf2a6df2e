// SPDX-License-Identifier: Apache-2.0

#include "mitigation.h"

#include "plain_netif.h"
#include "soc.h"
#include "trace.h"

#define NAPI_WEIGHT 64U // Linux's
// What an interrupt costs before and after mitigation_isr(): trap, notification, return.
#define TRAP_CYCLES 300U
// `budget`, mended: an eighth of the allotment is kept for what nobody measures.
#define BUDGET_EIGHTHS 7

static TaskHandle_t driver_task;
static uint32_t variant; // enum scenario_variant
static bool mended;

static volatile bool stopped; // receive interrupts are off
// `burst`, `queue`, `capped`: what had arrived when they went off, which the driver still works on.
static volatile uint32_t mark;  // in frames since the start
static volatile uint32_t taken; // by the driver

static uint32_t slice_cycles;
static uint32_t slice_begin;  // low half of the time
static uint32_t slice_frames; // since the start, when it began

// The watched task.
static const struct scenario_task *watched;
static int32_t stop_cycles, resume_cycles; // earliness
static uint32_t deadline_cycles, period_cycles;
static volatile int32_t earliness;      // of the last job
static volatile uint32_t next_deadline; // low half of the time
static volatile bool released;          // the watched task has begun

// `budget`, in cycles. Each counter has one writer.
static volatile uint32_t spent_driver, spent_interrupts;
static uint32_t job_start, job_spent; // when the job started, and what was spent then
static volatile int32_t allotment;
static volatile uint32_t allotment_spent; // what was spent when it was given

static uint32_t now_low(void)
{
    return *(const volatile uint32_t *)SOC_MTIME;
}

static uint32_t spent(void)
{
    return spent_driver + (mended ? spent_interrupts : 0U);
}

static void stop(void)
{
    SOC_NIC->irq_enable = 0;
    mark = SOC_NIC->rx_frames;
    stopped = true;
    if (variant == SCENARIO_CAPPED) {
        trace_always(TRACE_POLLING, 1); // what finds no room now is over the limit
    }
}

// A frame that is waiting interrupts at once.
static void resume(void)
{
    stopped = false;
    if (variant == SCENARIO_CAPPED) {
        trace_always(TRACE_POLLING, 0);
    }
    SOC_NIC->irq_enable = PLAIN_NIC_IRQ_RX;
}

void mitigation_init(TaskHandle_t driver)
{
    const struct scenario_mitigation *setting = &weir_scenario.mitigation;
    uint32_t cycles_per_us = weir_scenario.cycles_per_us;
    driver_task = driver;
    variant = weir_scenario.variant;
    mended = setting->mended != 0U;
    slice_cycles = setting->slice_us * cycles_per_us;
    if (variant == SCENARIO_CAPPED) {
        slice_cycles = weir_scenario.limit_period_us * cycles_per_us;
    }
    if (setting->task < weir_scenario.task_count) {
        watched = &weir_scenario.tasks[setting->task];
        deadline_cycles = watched->deadline_us * cycles_per_us;
        period_cycles = watched->period_us * cycles_per_us;
        stop_cycles = (int32_t)(deadline_cycles / 100U * setting->stop_percent);
        resume_cycles = (int32_t)(deadline_cycles / 100U * setting->resume_percent);
    }
    earliness = INT32_MAX;
    allotment = (int32_t)deadline_cycles;
}

// All descriptors that the NIC was given are filled: the next frame finds no place.
static bool queue_is_full(void)
{
    uint32_t with_nic = plain_rx_ring.given - plain_rx_ring.taken;
    uint32_t full = weir_scenario.mitigation.queue < with_nic ? weir_scenario.mitigation.queue : with_nic;
    if (full == 0U) {
        return true;
    }
    uint32_t last = (plain_rx_ring.taken + full - 1U) & (PLAIN_RX_RING - 1U);
    return (PLAIN_RX_DESCRIPTORS[last].control & PLAIN_DESC_OWN) == 0U;
}

static void slice_begins(uint32_t begin, uint32_t frames)
{
    slice_begin = begin;
    slice_frames = frames;
}

// Counts what has arrived in this slice; `capacity` of it is enough.
static void slice_count(uint32_t now, uint32_t capacity)
{
    uint32_t frames = SOC_NIC->rx_frames;
    uint32_t into = now - slice_begin;
    if (into >= slice_cycles) {
        slice_begins(now - into % slice_cycles, frames - 1U); // this frame is the slice's first
    }
    if (frames - slice_frames >= capacity) {
        stop();
        mark = slice_frames + capacity; // others may have arrived before this interrupt
        soc_poll_at(slice_begin + slice_cycles);
    }
}

// The watched task's last job was late, or (the thesis did not look) its next will be: if interrupts starve it, it
// reports nothing.
static bool is_late(void)
{
    return released && (earliness < stop_cycles || (mended && (int32_t)(next_deadline - now_low()) < stop_cycles));
}

static bool budget_is_spent(void)
{
    return (int32_t)(spent() - allotment_spent) >= allotment;
}

void mitigation_isr(BaseType_t *woken)
{
    uint32_t now = now_low();
    SOC_NIC->irq_pending = PLAIN_NIC_IRQ_RX;
    switch (variant) {
    case SCENARIO_BURST:
        slice_count(now, weir_scenario.mitigation.capacity);
        break;
    case SCENARIO_CAPPED:
        slice_count(now, weir_scenario.limit_capacity);
        break;
    case SCENARIO_QUEUE:
        if (queue_is_full()) {
            stop();
        }
        break;
    case SCENARIO_NAPI:
        stop();
        break;
    case SCENARIO_HYSTERESIS:
        if (mended && is_late()) {
            stop();
        }
        break;
    case SCENARIO_BUDGET:
        if (mended && budget_is_spent()) {
            stop();
        }
        break;
    default:
        break;
    }
    vTaskNotifyGiveFromISR(driver_task, woken);
    spent_interrupts += now_low() - now + TRAP_CYCLES;
}

void mitigation_timer_isr(BaseType_t *woken)
{
    soc_poll_off();
    uint32_t begin = slice_begin + slice_cycles;
    if (variant == SCENARIO_CAPPED) {
        uint32_t waiting = SOC_NIC->rx_frames - taken;
        uint32_t capacity = weir_scenario.limit_capacity;
        if (waiting >= capacity) {
            slice_begins(begin, mark);
            mark = taken + capacity;
            soc_poll_at(begin + slice_cycles);
            vTaskNotifyGiveFromISR(driver_task, woken);
            return;
        }
    }
    slice_begins(begin, mark);
    resume();
    vTaskNotifyGiveFromISR(driver_task, woken); // the frame's interrupt has been acknowledged, maybe
}

bool mitigation_may_receive(void)
{
    switch (variant) {
    case SCENARIO_BURST:
    case SCENARIO_QUEUE:
    case SCENARIO_CAPPED:
        return !stopped || (int32_t)(mark - taken) > 0;
    case SCENARIO_HYSTERESIS:
        if (!stopped && is_late()) {
            stop();
        }
        return !stopped;
    case SCENARIO_BUDGET:
        if (!stopped && budget_is_spent()) {
            stop();
        }
        return !stopped;
    default:
        return true;
    }
}

void mitigation_received(uint32_t cycles)
{
    taken++;
    spent_driver += cycles;
    if (variant == SCENARIO_NAPI && taken % NAPI_WEIGHT == 0U) {
        taskYIELD();
    }
}

void mitigation_rest(void)
{
    if (!stopped) {
        return;
    }
    switch (variant) {
    case SCENARIO_NAPI:
        resume();
        break;
    case SCENARIO_QUEUE:
        resume(); // it has emptied what was its queue
        break;
    case SCENARIO_HYSTERESIS:
        while (earliness <= resume_cycles || is_late()) {
            vTaskDelay(1);
        }
        resume();
        xTaskNotifyGive(driver_task); // there may be frames whose interrupt is over
        break;
    default: // a timer or the watched task resumes
        break;
    }
}

bool mitigation_watches(const struct scenario_task *task)
{
    return task == watched;
}

void mitigation_releases_begin(uint64_t first)
{
    next_deadline = (uint32_t)first + deadline_cycles;
    released = true;
}

void mitigation_job_started(void)
{
    job_start = now_low();
    job_spent = spent();
}

void mitigation_job_ended(void)
{
    uint32_t now = now_low();
    earliness = (int32_t)(next_deadline - now);
    next_deadline += period_cycles;
    if (variant != SCENARIO_BUDGET) {
        return;
    }
    if (mended) {
        // What the task leaves of its time when nobody interferes: the same in each period, whatever was spent in the
        // last one.
        int32_t own = (int32_t)(now - job_start - (spent() - job_spent));
        allotment = ((int32_t)deadline_cycles - own) / 8 * BUDGET_EIGHTHS;
    } else {
        allotment = earliness;
    }
    allotment_spent = spent();
    if (stopped) {
        resume();
        xTaskNotifyGive(driver_task);
    }
}
