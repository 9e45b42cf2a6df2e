// SPDX-License-Identifier: Apache-2.0

#include "sim.h"

#include <sanitizer/asan_interface.h>
#include <string.h>

#include "check.h"
#include "model.h"
#include "rx_forgets.h"
#include "weir/driver.h"
#include "weir/port.h"

#define HEADER_WORDS (WEIR_HEADER_BYTES / 4)
#define TAKES_MAX 100000U

struct sim sim;

static struct {
    uint32_t words[HEADER_WORDS];
    uint32_t length; // of the frame, which may be longer
} buffer_of[WEIR_BUFFERS];

static uint64_t takes[TAKES_MAX]; // when
static uint32_t takes_count;

void sim_start(const struct weir_rx_config *config)
{
    ASAN_UNPOISON_MEMORY_REGION(buffer_of, sizeof buffer_of);
    uint64_t now = sim.now;
    sim = (struct sim){.now = now, .ring_size = config->ring, .buffers = config->buffers, .interrupts_on = true};
    takes_count = 0;
    model_start(config);
    rx_forget();
    CHECK(weir_rx_init(config) == 0);
    CHECK(sim.in_ring == sim.ring_size);
    model_check();
}

bool sim_arrives(const struct frame *frame)
{
    if (sim.filled == sim.in_ring) {
        sim.missed++;
        return false;
    }
    uint32_t buffer = sim.ring[sim.filled++];
    uint32_t words = ((uint32_t)frame->length + 3U) / 4U;
    ASAN_UNPOISON_MEMORY_REGION(buffer_of[buffer].words, sizeof buffer_of[buffer].words);
    memcpy(buffer_of[buffer].words, frame->bytes, words < HEADER_WORDS ? frame->length : WEIR_HEADER_BYTES);
    buffer_of[buffer].length = (uint32_t)frame->length;
    if (words < HEADER_WORDS) { // nobody reads behind the frame's last word
        ASAN_POISON_MEMORY_REGION(&buffer_of[buffer].words[words], (HEADER_WORDS - words) * sizeof(uint32_t));
    }
    sim.arrived++;
    sim.pending = true;
    return true;
}

bool sim_timer_is_due(void)
{
    return sim.timer_on && (int32_t)((uint32_t)sim.now - sim.timer_at) >= 0;
}

bool sim_interrupts(void)
{
    bool any = false;
    for (uint32_t times = 0; sim_timer_is_due() || (sim.pending && sim.interrupts_on); times++) {
        CHECK(!sim.in_interrupt && sim.lock_depth == 0U);
        CHECK(times < 2U); // or it asks forever
        sim.in_interrupt = true;
        int32_t priority = weir_rx_interrupt(sim_timer_is_due());
        model_interrupt_ends(priority);
        sim.in_interrupt = false;
        any = true;
    }
    return any;
}

const uint8_t *sim_frame(uint32_t buffer, uint32_t *length)
{
    *length = buffer_of[buffer].length;
    return (const uint8_t *)buffer_of[buffer].words;
}

bool sim_is_in_ring(uint32_t buffer)
{
    for (uint32_t i = 0; i < sim.in_ring; i++) {
        if (sim.ring[i] == buffer) {
            return true;
        }
    }
    return false;
}

uint32_t sim_most_taken_in(uint64_t window)
{
    uint32_t most = 0;
    for (uint32_t first = 0, next = 0; first < takes_count; first++) {
        while (next < takes_count && takes[next] - takes[first] < window) {
            next++;
        }
        most = next - first > most ? next - first : most;
    }
    return most;
}

// An interrupt may come here, if this is a task without the lock.
static void point(void)
{
    if (!sim.in_interrupt && sim.lock_depth == 0U) {
        sim.points++;
        if (sim.point != NULL) {
            void (*locked)(void) = sim.locked; // the interrupted task's
            sim.locked = NULL;
            sim.point();
            sim.locked = locked;
        }
    }
}

uint64_t weir_port_now(void)
{
    return sim.now;
}

uint32_t weir_port_now_low(void)
{
    return (uint32_t)sim.now;
}

weir_port_state weir_port_lock(void)
{
    CHECK(!sim.in_interrupt);
    point();
    sim.lock_depth++;
    if (sim.locked != NULL) {
        void (*locked)(void) = sim.locked;
        sim.locked = NULL;
        locked();
    }
    return (weir_port_state)sim.lock_depth;
}

void weir_port_unlock(weir_port_state state)
{
    CHECK(sim.lock_depth == (uint32_t)state);
    sim.lock_depth--;
    point();
}

void weir_port_poll_at(uint32_t time)
{
    // To come; a task may find that it has passed, as the interrupt was kept away.
    CHECK(time - (uint32_t)sim.now < UINT32_C(1) << 31 ||
          (sim.lock_depth > 0U && (uint32_t)sim.now - time < UINT32_C(1) << 30));
    CHECK(sim.in_interrupt || sim.lock_depth > 0U);
    sim.timer_at = time;
    sim.timer_on = true;
}

void weir_port_poll_off(void)
{
    CHECK(sim.in_interrupt);
    sim.timer_on = false;
}

void weir_port_invalidate_all(void)
{
    CHECK(!sim.in_interrupt && sim.lock_depth == 1U);
    sim.invalidations++;
}

int32_t weir_driver_take(uint32_t *length)
{
    CHECK(sim.in_interrupt && sim.in_ring > 0U);
    model_interrupt_step();
    if (sim.filled == 0U) {
        if (sim.late != NULL) {
            (void)sim_arrives(sim.late);
            sim.late = NULL;
        }
        return -1;
    }
    uint16_t buffer = sim.ring[0];
    sim.in_ring--;
    sim.filled--;
    memmove(sim.ring, sim.ring + 1, sim.in_ring * sizeof sim.ring[0]);
    *length = buffer_of[buffer].length;
    if (takes_count < TAKES_MAX) {
        takes[takes_count++] = sim.now;
    }
    sim.now += sim.ticks_per_frame;
    model_arrives(buffer);
    return buffer;
}

void weir_driver_give(uint32_t buffer)
{
    CHECK(sim.in_interrupt || sim.lock_depth > 0U);
    CHECK(buffer < sim.buffers && sim.in_ring < sim.ring_size && !sim_is_in_ring(buffer));
    sim.ring[sim.in_ring++] = (uint16_t)buffer;
}

const volatile uint32_t *weir_driver_header(uint32_t buffer)
{
    CHECK(sim.in_interrupt && buffer < sim.buffers && !sim_is_in_ring(buffer));
    return buffer_of[buffer].words;
}

void weir_driver_interrupt(bool on)
{
    CHECK(sim.in_interrupt);
    sim.interrupts_on = on;
}

void weir_driver_acknowledge(void)
{
    CHECK(sim.in_interrupt);
    sim.pending = false;
}
