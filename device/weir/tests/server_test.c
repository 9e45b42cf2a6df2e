// SPDX-License-Identifier: Apache-2.0
//
// weir/server.h against what it promises: how much passes in any window of time, and that nobody is turned away who
// keeps to the contract.

#include "weir/server.h"

#include <errno.h>
#include <string.h>

#include "check.h"

#define PACKETS 4000U
#define RUNS 300U

static uint64_t passed[PACKETS];
static uint32_t passes;

struct contract {
    enum weir_server_kind kind;
    uint16_t capacity;
    uint32_t period;
};

static struct contract random_contract(struct check_random *random)
{
    struct contract c = {.kind = check_once_in(random, 2) ? WEIR_SERVER_DEFERRABLE : WEIR_SERVER_SPORADIC};
    c.capacity = (uint16_t)(1U + check_below(random, WEIR_SPORADIC_MAX));
    switch (check_below(random, 3)) {
    case 0:
        c.period = 1U + check_below(random, 20);
        break;
    case 1:
        c.period = 1U + check_below(random, 100000);
        break;
    default:
        c.period = WEIR_SERVER_PERIOD_MAX - check_below(random, 10);
        break;
    }
    return c;
}

// Where the low half wraps, where 2^32 ticks pass between two packets, and where nothing is special.
static uint64_t random_begin(struct check_random *random, uint32_t period)
{
    uint64_t wraps = check_below(random, 4);
    uint64_t before = check_random(random) % (4U * (uint64_t)period);
    return wraps == 0U ? check_below(random, period) : (wraps << 32) - (before < (wraps << 32) ? before : 0U);
}

static uint64_t random_gap(struct check_random *random, uint32_t period, uint16_t capacity)
{
    switch (check_below(random, 12)) {
    case 0:
        return 0;
    case 1:
        return period;
    case 2:
        return period - 1U;
    case 3:
        return period + 1U;
    case 4:
        return check_random(random) % (3U * (uint64_t)period);
    case 5:
        return (UINT64_C(1) << 32) + check_below(random, period); // a long silence: the low half has been here before
    default:
        return check_random(random) % ((uint64_t)period / capacity + 1U);
    }
}

// In any [t, t + window): windows that begin with a packet are the worst.
static void check_windows(const struct contract *c)
{
    for (uint64_t periods = 1; periods <= 5U; periods++) {
        uint64_t bound = c->capacity * (c->kind == WEIR_SERVER_SPORADIC ? periods : periods + 1U);
        for (uint32_t first = 0, next = 0; first < passes; first++) {
            while (next < passes && passed[next] - passed[first] < periods * c->period) {
                next++;
            }
            CHECK(next - first <= bound);
        }
    }
}

static void a_window_has_a_bound(void)
{
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        struct check_random random = {seed};
        struct contract c = random_contract(&random);
        struct weir_server server;
        check_context("seed %llu, kind %d, capacity %u, period %u", (unsigned long long)seed, (int)c.kind, c.capacity,
                      c.period);
        CHECK(weir_server_init(&server, c.kind, c.capacity, c.period) == 0);
        uint64_t now = random_begin(&random, c.period);
        passes = 0;
        for (uint32_t i = 0; i < PACKETS; i++) {
            now += random_gap(&random, c.period, c.capacity);
            if (weir_server_admit(&server, now)) {
                passed[passes++] = now;
            }
        }
        CHECK(passes > PACKETS / 20U);
        check_windows(&c);
    }
}

// A flow that asks for no more than its contract gives: sporadic, `capacity` in any period; deferrable, `capacity` in
// each period of the grid. Offered as early as it may: every wish that the contract allows passes.
static bool within_contract(const struct contract *c, uint64_t now)
{
    uint32_t recent = 0;
    for (uint32_t i = passes; i-- > 0U && recent < c->capacity;) {
        bool counts = c->kind == WEIR_SERVER_SPORADIC ? now - passed[i] < c->period
                                                      : now / c->period == passed[i] / c->period;
        if (!counts) {
            break;
        }
        recent++;
    }
    return recent < c->capacity;
}

static void who_keeps_to_the_contract_passes(void)
{
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        struct check_random random = {seed};
        struct contract c = random_contract(&random);
        struct weir_server server;
        check_context("seed %llu, kind %d, capacity %u, period %u", (unsigned long long)seed, (int)c.kind, c.capacity,
                      c.period);
        CHECK(weir_server_init(&server, c.kind, c.capacity, c.period) == 0);
        uint64_t now = random_begin(&random, c.period);
        bool polite = check_once_in(&random, 2); // or it tries more, which must not cost it what it is owed
        passes = 0;
        for (uint32_t i = 0; i < PACKETS; i++) {
            now += random_gap(&random, c.period, c.capacity);
            bool owed = within_contract(&c, now);
            if (owed || !polite) {
                CHECK(weir_server_admit(&server, now) == owed);
            }
            if (owed) {
                passed[passes++] = now;
            }
        }
    }
}

static void without_a_server_everything_passes(void)
{
    struct weir_server server;
    CHECK(weir_server_init(&server, WEIR_SERVER_NONE, 0, 0) == 0);
    for (uint32_t i = 0; i < 100U; i++) {
        CHECK(weir_server_admit(&server, 7));
    }
}

static void a_wrong_request_changes_nothing(void)
{
    static const struct {
        int kind;
        uint16_t capacity;
        uint64_t period;
    } wrong[] = {
        {-1, 1, 1},
        {3, 1, 1},
        {0x101, 1, 1},
        {WEIR_SERVER_DEFERRABLE, 0, 1},
        {WEIR_SERVER_DEFERRABLE, 1, 0},
        {WEIR_SERVER_DEFERRABLE, 1, UINT64_C(0x80000000)},
        {WEIR_SERVER_DEFERRABLE, 1, UINT64_C(0x100000001)},
        {WEIR_SERVER_SPORADIC, 0, 1},
        {WEIR_SERVER_SPORADIC, 1, 0},
        {WEIR_SERVER_SPORADIC, 1, UINT64_MAX},
        {WEIR_SERVER_SPORADIC, WEIR_SPORADIC_MAX + 1, 1},
        {WEIR_SERVER_SPORADIC, UINT16_MAX, 1},
    };
    struct weir_server server;
    struct weir_server before;
    memset(&server, 0x5a, sizeof server);
    before = server;
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int kind = wrong[i].kind;
        enum weir_server_kind as_given;
        memcpy(&as_given, &kind, sizeof as_given); // as a careless caller's cast
        CHECK(weir_server_init(&server, as_given, wrong[i].capacity, wrong[i].period) == EINVAL);
        CHECK(memcmp(&server, &before, sizeof server) == 0);
    }
    CHECK(weir_server_init(&server, WEIR_SERVER_SPORADIC, WEIR_SPORADIC_MAX, WEIR_SERVER_PERIOD_MAX) == 0);
    CHECK(weir_server_init(&server, WEIR_SERVER_DEFERRABLE, UINT16_MAX, 1) == 0);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"no window of time sees more than the bound", a_window_has_a_bound},
        {"who keeps to the contract passes, and nobody else", who_keeps_to_the_contract_passes},
        {"without a server everything passes", without_a_server_everything_passes},
        {"a wrong request is refused and changes nothing", a_wrong_request_changes_nothing},
    };
    CHECK(argc == 2);
    return check_run("weir_server", tests, sizeof tests / sizeof tests[0], argv[1]);
}
