// SPDX-License-Identifier: Apache-2.0
//
// The estimate of the link against the Rust one, and against clocks that mean nothing; the replay window against a list
// of all numbers that were seen; the hash against RFC 4231.

#include "weir_edge_link.h"

#include <string.h>

#include "check.h"
#include "vectors.h"
#include "weir_edge/mbedtls.h"
#include "weir_edge_replay.h"

static struct weir_edge_link live;
static uint32_t estimates;

static void takes_link(struct vector *line)
{
    if (strcmp(line->name, "link") == 0) {
        memset(&live, 0, sizeof live);
    } else if (strcmp(line->name, "came") == 0) {
        uint64_t now_ns = vector_number(line);
        weir_edge_link_came(&live, now_ns, vector_number(line));
    } else if (strcmp(line->name, "answered") == 0) {
        uint64_t now_ns = vector_number(line);
        weir_edge_link_answered(&live, now_ns, vector_number(line));
    } else if (strcmp(line->name, "round_trip") == 0) {
        uint64_t min_ns;
        uint64_t max_ns;
        CHECK(weir_edge_link_round_trip(&live, vector_number(line), &min_ns, &max_ns));
        CHECK(min_ns == vector_number(line));
        CHECK(max_ns == vector_number(line));
    } else if (strcmp(line->name, "leave_by") == 0) {
        uint64_t now_ns = vector_number(line);
        uint64_t due_ns = vector_number(line);
        uint16_t share = (uint16_t)vector_number(line);
        uint16_t uncertainty = (uint16_t)vector_number(line);
        CHECK(weir_edge_link_leave_by(&live, now_ns, due_ns, share, uncertainty) == vector_number(line));
        estimates++;
    }
}

static void both_estimates_are_alike(void)
{
    vectors_each(takes_link);
    CHECK(estimates > 200U);
}

static void clocks_that_mean_nothing_do_no_harm(void)
{
    static const uint64_t times[] = {0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1U, UINT64_MAX - 1U, UINT64_MAX};
    struct check_random random = {1};
    for (uint32_t round = 0; round < 20000U; round++) {
        struct weir_edge_link link;
        memset(&link, 0, sizeof link);
        CHECK(weir_edge_link_leave_by(&link, 5, 5, 990, 1000) == 0U);
        uint64_t now_ns = times[check_below(&random, 6)];
        for (uint32_t i = check_below(&random, 3U * WEIR_EDGE_SAMPLES); i > 0U; i--) {
            weir_edge_link_came(&link, now_ns, times[check_below(&random, 6)]);
            weir_edge_link_answered(&link, now_ns, times[check_below(&random, 6)]);
            now_ns += check_below(&random, 1000000000);
        }
        uint16_t share = (uint16_t)(1U + check_below(&random, 1000));
        uint16_t uncertainty = (uint16_t)(1U + check_below(&random, 10000));
        (void)weir_edge_link_leave_by(&link, now_ns, times[check_below(&random, 6)], share, uncertainty);
    }
}

// Our clock is ahead by more than the deadline is away, or behind by as much: the range is kept.
static void times_stay_within_the_clocks_range(void)
{
    struct weir_edge_link link;
    memset(&link, 0, sizeof link);
    weir_edge_link_came(&link, 1000, 1);
    CHECK(weir_edge_link_leave_by(&link, 1000, 500, 1000, 1000) == 0U); // no round trip
    weir_edge_link_answered(&link, 1000, 900);
    CHECK(weir_edge_link_leave_by(&link, 1000, 2000, 1000, 1000) == 1001U);
    CHECK(weir_edge_link_leave_by(&link, 1000, 500, 1000, 1000) == 0U);
    CHECK(weir_edge_link_leave_by(&link, 1000, 2000, 1000, 2000) == 951U);
    CHECK(weir_edge_link_leave_by(&link, 1000, 2000, 1000, 500) == 1026U);
    memset(&link, 0, sizeof link);
    weir_edge_link_came(&link, 1000, 5000);
    weir_edge_link_answered(&link, 1000, 1001); // from the future
    CHECK(weir_edge_link_leave_by(&link, 1000, UINT64_MAX - 10U, 1000, 1000) == UINT64_MAX);
    CHECK(weir_edge_link_leave_by(&link, 1000, 2000, 1000, 10000) == 6000U);
}

static void no_number_is_accepted_twice_and_none_of_the_last_thousand_is_lost(void)
{
    static bool seen[1U << 16];
    struct check_random random = {1};
    for (uint32_t round = 0; round < 100U; round++) {
        struct weir_edge_window window;
        memset(&window, 0, sizeof window);
        memset(seen, 0, sizeof seen);
        uint64_t base = check_once_in(&random, 2) ? 0U : UINT64_MAX - sizeof seen + 1U;
        uint64_t highest = 0;
        bool begun = false;
        for (uint32_t i = 0; i < 500U; i++) {
            uint64_t step = check_below(&random, check_once_in(&random, 10) ? 3000 : 30);
            uint64_t at = check_once_in(&random, 2) ? highest - (step < highest ? step : highest) : highest + step;
            if (at >= sizeof seen) {
                break;
            }
            bool expected = base + at != 0U && !seen[at] && (!begun || at + 1024U > highest);
            CHECK(weir_edge_replay_accept(&window, base + at) == expected);
            seen[at] = seen[at] || expected;
            begun = begun || expected;
            highest = at > highest ? at : highest;
        }
    }
}

// Cases 1 and 2. Shorter keys count as filled up with zeros.
static void the_hash_is_that_of_rfc_4231(void)
{
    static const struct {
        uint8_t key[32];
        const char *data;
        uint8_t tag[8];
    } cases[] = {
        {{11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11},
         "Hi There",
         {0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53}},
        {{'J', 'e', 'f', 'e'}, "what do ya want for nothing?", {0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_edge_mbedtls hmac;
        uint8_t tag[32];
        CHECK(weir_edge_mbedtls_init(&hmac, cases[i].key) == 0);
        for (int again = 0; again < 2; again++) {
            CHECK(weir_edge_mbedtls_hmac(&hmac, (const uint8_t *)cases[i].data, strlen(cases[i].data), tag) == 0);
            CHECK(memcmp(tag, cases[i].tag, sizeof cases[i].tag) == 0);
        }
        weir_edge_mbedtls_free(&hmac);
    }
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"the estimate is the Rust client's", both_estimates_are_alike},
        {"clocks that mean nothing do no harm", clocks_that_mean_nothing_do_no_harm},
        {"times stay within the clock's range", times_stay_within_the_clocks_range},
        {"no number twice, none of the last thousand lost",
         no_number_is_accepted_twice_and_none_of_the_last_thousand_is_lost},
        {"the hash is RFC 4231's", the_hash_is_that_of_rfc_4231},
    };
    CHECK(argc == 2);
    return check_run("weir_edge_link", tests, sizeof tests / sizeof tests[0], argv[1]);
}
