// SPDX-License-Identifier: Apache-2.0
//
// driver/plain_ring.c against a NIC that does what nic/README.md says of descriptors, and a queue as reference.

#include "plain_ring.h"

#include <string.h>

#include "check.h"

#define COUNT_MAX 256U
#define STEPS 20000U

// The NIC's side of a ring.
struct nic {
    struct plain_desc *desc;
    uint32_t index;
};

static struct plain_desc desc[COUNT_MAX];
static struct plain_ring ring;
static struct nic nic;

// Starts with an empty ring whose positions are at `position` already.
static void start(uint32_t count, uint32_t position)
{
    memset(desc, 0xff, sizeof desc);
    plain_ring_init(&ring, desc, count);
    ring.given = position;
    ring.taken = position;
    nic = (struct nic){.desc = desc, .index = position % count};
}

// Uses the next descriptor, if it is the NIC's, and returns it with `length` and with rubbish in the bits between.
static bool nic_use(uint16_t length, uint32_t *address, uint16_t *capacity)
{
    struct plain_desc *next = &nic.desc[nic.index];
    uint32_t control = next->control;
    if ((control & PLAIN_DESC_OWN) == 0U) {
        return false;
    }
    *address = next->address;
    *capacity = (uint16_t)control;
    next->control = (control & PLAIN_DESC_WRAP) | UINT32_C(0x3fff0000) | length;
    nic.index = ((control & PLAIN_DESC_WRAP) != 0U) ? 0U : nic.index + 1U;
    return true;
}

static void wrap_is_on_the_last_only(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        CHECK(((desc[i].control & PLAIN_DESC_WRAP) != 0U) == (i == count - 1U));
    }
}

static void a_new_ring_is_softwares(void)
{
    for (uint32_t count = 2; count <= COUNT_MAX; count *= 2U) {
        check_context("count %u", count);
        start(count, 0);
        wrap_is_on_the_last_only(count);
        for (uint32_t i = 0; i < count; i++) {
            CHECK((desc[i].control & ~PLAIN_DESC_WRAP) == 0U);
            CHECK(desc[i].address == 0U);
        }
        for (uint32_t i = count; i < COUNT_MAX; i++) {
            CHECK(desc[i].control == UINT32_MAX && desc[i].address == UINT32_MAX); // not its memory
        }
        CHECK(plain_ring_room(&ring) == count);
        CHECK(plain_ring_next(&ring) == 0U);
    }
}

static void a_full_ring_refuses_and_does_not_change(void)
{
    for (uint32_t count = 2; count <= COUNT_MAX; count *= 2U) {
        check_context("count %u", count);
        start(count, 0);
        for (uint32_t i = 0; i < count; i++) {
            CHECK(plain_ring_next(&ring) == i);
            CHECK(plain_ring_give(&ring, 0x1000U + i, (uint16_t)(100U + i)));
        }
        struct plain_ring ring_before = ring;
        struct plain_desc desc_before[COUNT_MAX];
        memcpy(desc_before, desc, sizeof desc);
        CHECK(plain_ring_room(&ring) == 0U);
        CHECK(!plain_ring_give(&ring, 0x9999U, 9));
        CHECK(memcmp(&ring_before, &ring, sizeof ring) == 0);
        CHECK(memcmp(desc_before, desc, sizeof desc) == 0);
        wrap_is_on_the_last_only(count);
    }
}

static void nothing_to_take_changes_nothing(void)
{
    uint16_t length = 77;
    start(4, 0);
    CHECK(plain_ring_take(&ring, &length) == -1); // empty
    CHECK(plain_ring_give(&ring, 0x1000, 64));
    CHECK(plain_ring_take(&ring, &length) == -1); // still the NIC's
    CHECK(length == 77 && ring.taken == 0U);
    uint32_t address;
    uint16_t capacity;
    CHECK(nic_use(60, &address, &capacity));
    CHECK(plain_ring_take(&ring, &length) == 0 && length == 60);
    CHECK(plain_ring_take(&ring, &length) == -1); // taken once
    CHECK(plain_ring_room(&ring) == 4U);
}

static void every_length_comes_back(void)
{
    start(2, 0);
    for (uint32_t length = 0; length <= UINT16_MAX; length++) {
        uint32_t address;
        uint16_t capacity;
        uint16_t taken = 0;
        CHECK(plain_ring_give(&ring, length * 4U, (uint16_t)~length));
        CHECK(nic_use((uint16_t)length, &address, &capacity));
        CHECK(address == length * 4U && capacity == (uint16_t)~length);
        CHECK(plain_ring_take(&ring, &taken) == (int32_t)(length % 2U));
        CHECK(taken == length);
    }
}

// What the descriptors in flight hold, oldest first; positions count from the start of a run.
struct reference {
    struct {
        uint32_t address;
        uint16_t capacity;
        uint16_t length;
        uint32_t index;
    } entry[COUNT_MAX];
    uint32_t given;
    uint32_t used;
    uint32_t taken;
};

static void random_give(struct reference *reference, struct check_random *random)
{
    bool full = reference->given - reference->taken == ring.count;
    uint32_t address = (uint32_t)check_random(random);
    uint16_t capacity = (uint16_t)check_random(random);
    uint32_t index = plain_ring_next(&ring);
    CHECK(plain_ring_give(&ring, address, capacity) == !full);
    if (!full) {
        uint32_t slot = reference->given % COUNT_MAX;
        reference->entry[slot].address = address;
        reference->entry[slot].capacity = capacity;
        reference->entry[slot].index = index;
        reference->given++;
    }
}

static void random_use(struct reference *reference, struct check_random *random)
{
    bool any = reference->given != reference->used;
    uint16_t length = (uint16_t)check_random(random);
    uint32_t address;
    uint16_t capacity;
    CHECK(nic_use(length, &address, &capacity) == any);
    if (any) {
        uint32_t slot = reference->used % COUNT_MAX;
        CHECK(reference->entry[slot].address == address);
        CHECK(reference->entry[slot].capacity == capacity);
        reference->entry[slot].length = length;
        reference->used++;
    }
}

static void random_take(struct reference *reference)
{
    bool any = reference->used != reference->taken;
    uint16_t length = 0;
    int32_t index = plain_ring_take(&ring, &length);
    CHECK((index >= 0) == any);
    if (any) {
        uint32_t slot = reference->taken % COUNT_MAX;
        CHECK(reference->entry[slot].index == (uint32_t)index);
        CHECK(reference->entry[slot].length == length);
        reference->taken++;
    }
}

static void random_run(uint32_t count, uint32_t position, uint64_t seed)
{
    check_context("count %u, position %u, seed %llu", count, position, (unsigned long long)seed);
    struct check_random random = {seed};
    struct reference reference = {0};
    start(count, position);
    uint32_t bias = 0; // phases in which one side is faster, so that the ring is now full, now empty
    for (uint32_t step = 0; step < STEPS; step++) {
        if (step % (4U * count) == 0U) {
            bias = check_below(&random, 4);
        }
        uint32_t action = check_below(&random, 4);
        action = (action == 3U) ? bias : action;
        if (action == 0U) {
            random_give(&reference, &random);
        } else if (action == 1U) {
            random_use(&reference, &random);
        } else {
            random_take(&reference);
        }
        CHECK(plain_ring_room(&ring) == count - (reference.given - reference.taken));
        CHECK(plain_ring_next(&ring) == (position + reference.given) % count);
    }
    wrap_is_on_the_last_only(count);
    CHECK(reference.taken > count); // it did go round
}

static void random_interleavings_keep_order_and_count(void)
{
    for (uint32_t count = 2; count <= COUNT_MAX; count *= 2U) {
        for (uint64_t seed = 1; seed <= 8U; seed++) {
            random_run(count, 0, seed);
        }
    }
}

static void positions_may_overflow(void)
{
    for (uint32_t count = 2; count <= COUNT_MAX; count *= 2U) {
        random_run(count, UINT32_MAX, 1);
        random_run(count, UINT32_MAX - count, 2);
        random_run(count, UINT32_MAX - count / 2U, 3);
        random_run(count, UINT32_MAX - STEPS / 8U, 4);
    }
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"a new ring is software's, WRAP on the last descriptor only", a_new_ring_is_softwares},
        {"a full ring refuses and does not change", a_full_ring_refuses_and_does_not_change},
        {"nothing to take changes nothing", nothing_to_take_changes_nothing},
        {"every length comes back", every_length_comes_back},
        {"random interleavings keep order and count", random_interleavings_keep_order_and_count},
        {"positions may overflow", positions_may_overflow},
    };
    CHECK(argc == 2);
    return check_run("plain_ring", tests, sizeof tests / sizeof tests[0], argv[1]);
}
