// SPDX-License-Identifier: Apache-2.0

#include "weir_edge_link.h"

// How old a measurement may be. Clocks that drift by 200 ppm move by 1 ms in this time.
#define AGE_MAX_NS UINT64_C(5000000000)
// What is taken for a delay at most: an hour. Keeps products within 64 bits whatever a node says of its clock.
#define DELAY_MAX_NS UINT64_C(3600000000000)

static void keep(struct weir_edge_samples *samples, uint64_t now_ns, int64_t value_ns)
{
    samples->at_ns[samples->next] = now_ns;
    samples->value_ns[samples->next] = value_ns;
    samples->next = (uint8_t)((samples->next + 1U) % WEIR_EDGE_SAMPLES);
    if (samples->count < WEIR_EDGE_SAMPLES) {
        samples->count++;
    }
}

// The values that are not too old, and the last one whatever its age. Returns how many.
static size_t recent(const struct weir_edge_samples *samples, uint64_t now_ns, int64_t values[WEIR_EDGE_SAMPLES])
{
    size_t count = 0;
    for (size_t back = 1; back <= samples->count; back++) {
        size_t i = (samples->next + WEIR_EDGE_SAMPLES - back) % WEIR_EDGE_SAMPLES;
        if (back == 1U || now_ns <= samples->at_ns[i] || now_ns - samples->at_ns[i] <= AGE_MAX_NS) {
            values[count++] = samples->value_ns[i];
        }
    }
    return count;
}

static void sort(int64_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        int64_t value = values[i];
        size_t place = i;
        for (; place > 0U && values[place - 1U] > value; place--) {
            values[place] = values[place - 1U];
        }
        values[place] = value;
    }
}

// `due_ns` less nanoseconds of either sign, within the clock's range.
static uint64_t earlier_by(uint64_t due_ns, int64_t by_ns)
{
    if (by_ns >= 0) {
        return due_ns > (uint64_t)by_ns ? due_ns - (uint64_t)by_ns : 0U;
    }
    uint64_t later = due_ns + (0U - (uint64_t)by_ns);
    return later < due_ns ? UINT64_MAX : later;
}

void weir_edge_link_came(struct weir_edge_link *link, uint64_t now_ns, uint64_t sent_at_ns)
{
    keep(&link->one_way, now_ns, (int64_t)(now_ns - sent_at_ns));
}

void weir_edge_link_answered(struct weir_edge_link *link, uint64_t now_ns, uint64_t asked_at_ns)
{
    uint64_t took = now_ns > asked_at_ns ? now_ns - asked_at_ns : 0U;
    keep(&link->round_trips, now_ns, (int64_t)(took < DELAY_MAX_NS ? took : DELAY_MAX_NS));
}

bool weir_edge_link_round_trip(const struct weir_edge_link *link, uint64_t now_ns, uint64_t *min_ns, uint64_t *max_ns)
{
    int64_t values[WEIR_EDGE_SAMPLES];
    size_t count = recent(&link->round_trips, now_ns, values);
    *min_ns = UINT64_MAX;
    *max_ns = 0;
    for (size_t i = 0; i < count; i++) {
        *min_ns = (uint64_t)values[i] < *min_ns ? (uint64_t)values[i] : *min_ns;
        *max_ns = (uint64_t)values[i] > *max_ns ? (uint64_t)values[i] : *max_ns;
    }
    return count > 0U;
}

uint64_t weir_edge_link_leave_by(const struct weir_edge_link *link, uint64_t now_ns, uint64_t due_ns,
                                 uint16_t share_permille, uint16_t uncertainty_permille)
{
    int64_t sorted[WEIR_EDGE_SAMPLES];
    size_t count = recent(&link->one_way, now_ns, sorted);
    uint64_t min_ns;
    uint64_t max_ns;
    if (count == 0U || !weir_edge_link_round_trip(link, now_ns, &min_ns, &max_ns)) {
        return 0;
    }
    sort(sorted, count);
    size_t kept = (share_permille * count + 999U) / 1000U; // at least 1, as share and count are
    int64_t reserved = sorted[kept - 1U];
    // Twice the delay. What of `reserved` is delay and what is offset is taken from half the shortest round trip; with
    // a factor of 1 this does not matter.
    uint64_t spread = (uint64_t)reserved - (uint64_t)sorted[0];
    int64_t twice = (int64_t)(min_ns + 2U * (spread < DELAY_MAX_NS ? spread : DELAY_MAX_NS));
    int64_t besides = ((int64_t)uncertainty_permille - 1000) * twice / 2000;
    return earlier_by(earlier_by(due_ns, reserved), besides);
}
