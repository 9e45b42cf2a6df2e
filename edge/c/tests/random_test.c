// SPDX-License-Identifier: Apache-2.0
//
// Lives of a client from random bytes (steps.h).

#include "check.h"
#include "steps.h"
#include "weir_edge/limits.h"

#define LIVES 10000U
#define BYTES_MAX 2000U

static void any_life_keeps_the_rules(void)
{
    for (uint32_t i = 0; i < LIVES; i++) {
        check_context("life %u", i);
        struct check_random random = {i}; // each is repeatable alone
        uint8_t bytes[BYTES_MAX];
        size_t length = check_below(&random, BYTES_MAX);
        for (size_t at = 0; at < length; at++) {
            bytes[at] = (uint8_t)check_random(&random);
        }
        steps_run(bytes, length);
    }
    check_context("accepted %lu, rejected %lu, results %lu, lost %lu, given up %lu, dropped %lu", steps_seen.accepted,
                  steps_seen.rejected, steps_seen.results, steps_seen.lost, steps_seen.given_up, steps_seen.dropped);
    // Or the steps find nothing any more. With one node, most of what is sent to the client is not from it.
    uint64_t few = WEIR_EDGE_NODES == 1 ? LIVES / 2000U : LIVES / 200U;
    CHECK(steps_seen.accepted > 4U * few && steps_seen.rejected > 4U * few && steps_seen.results > 4U * few);
    CHECK(steps_seen.lost >= few && steps_seen.given_up > 4U * few && steps_seen.dropped > LIVES);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"10,000 random lives keep the rules", any_life_keeps_the_rules},
    };
    CHECK(argc == 2);
    return check_run(WEIR_EDGE_NODES == 4 ? "weir_edge_random" : "weir_edge_random, other limits", tests,
                     sizeof tests / sizeof tests[0], argv[1]);
}
