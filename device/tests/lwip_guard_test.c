// SPDX-License-Identifier: Apache-2.0
//
// TCP options that lead out of their header never reach lwIP; everything else does.

#include "lwip_guard.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

#define TCP_AT 34U
#define OPTIONS_AT 54U
#define FRAME_MAX 94U

// A frame with TCP and `options` bytes of them, in memory that ends with it.
static bool passes(const uint8_t *options, uint32_t bytes, uint32_t length)
{
    uint8_t *frame = calloc(1, length);
    CHECK(frame != NULL);
    uint8_t whole[FRAME_MAX] = {[12] = 8, [14] = 0x45, [14 + 9] = 6};
    whole[TCP_AT + 12] = (uint8_t)((5U + bytes / 4U) << 4);
    memcpy(whole + OPTIONS_AT, options, bytes);
    memcpy(frame, whole, length);
    bool result = lwip_guard_passes(frame, length);
    free(frame);
    return result;
}

static void good_options(void)
{
    static const uint8_t mss[] = {2, 4, 5, 180};
    static const uint8_t usual[] = {2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7};
    static const uint8_t ended[] = {1, 0, 9, 255};
    CHECK(passes(mss, 0, OPTIONS_AT));
    CHECK(passes(mss, sizeof mss, OPTIONS_AT + sizeof mss));
    CHECK(passes(usual, sizeof usual, OPTIONS_AT + sizeof usual));
    CHECK(passes(ended, sizeof ended, OPTIONS_AT + sizeof ended));
}

static void bad_options(void)
{
    static const uint8_t no_length[] = {1, 1, 1, 2};
    static const uint8_t too_long[] = {2, 5, 5, 180};
    static const uint8_t too_short[] = {8, 1, 0, 0};
    static const uint8_t zero[] = {8, 0, 0, 0};
    CHECK(!passes(no_length, sizeof no_length, OPTIONS_AT + sizeof no_length));
    CHECK(!passes(too_long, sizeof too_long, OPTIONS_AT + sizeof too_long));
    CHECK(!passes(too_short, sizeof too_short, OPTIONS_AT + sizeof too_short));
    CHECK(!passes(zero, sizeof zero, OPTIONS_AT + sizeof zero));
}

static void cut_frames(void)
{
    static const uint8_t mss[] = {2, 4, 5, 180};
    for (uint32_t length = 1; length < OPTIONS_AT + sizeof mss; length++) {
        CHECK(passes(mss, sizeof mss, length));
    }
}

// The definition, once more: following the options ends at the header's end or at an end mark.
static bool well_formed(const uint8_t *options, uint32_t bytes)
{
    uint32_t at = 0;
    while (at < bytes) {
        if (options[at] == 0) {
            return true;
        }
        if (options[at] == 1) {
            at += 1;
        } else if (at + 1U < bytes && options[at + 1U] >= 2) {
            at += options[at + 1U];
        } else {
            return false;
        }
    }
    return at == bytes;
}

static void random_options(void)
{
    struct check_random random = {.state = 1};
    uint32_t good = 0;
    for (uint32_t i = 0; i < 300000U; i++) {
        uint8_t options[40];
        uint32_t bytes = 4U * check_below(&random, 11);
        for (uint32_t at = 0; at < bytes; at++) {
            options[at] = (uint8_t)check_below(&random, check_once_in(&random, 8) ? 256 : 9);
        }
        bool expected = well_formed(options, bytes);
        good += expected ? 1U : 0U;
        CHECK(passes(options, bytes, OPTIONS_AT + bytes) == expected);
    }
    CHECK(good > 30000U && good < 270000U);
}

// Fragments: payload is not taken for a header, and a header comes whole or not at all.
static void fragments(void)
{
    uint8_t frame[FRAME_MAX] = {[12] = 8, [14] = 0x45, [14 + 9] = 6, [TCP_AT + 12] = 0x60, [OPTIONS_AT] = 2};
    for (uint32_t units = 1; units < 0x2000U; units++) {
        frame[14 + 6] = (uint8_t)(units >> 8);
        frame[14 + 7] = (uint8_t)units;
        CHECK(lwip_guard_passes(frame, FRAME_MAX) == (units * 8U >= 60U));
    }
    frame[14 + 6] = 0x20; // the first of several
    frame[14 + 7] = 0;
    CHECK(!lwip_guard_passes(frame, FRAME_MAX));
    frame[OPTIONS_AT] = 1;
    frame[OPTIONS_AT + 1] = 1;
    frame[OPTIONS_AT + 2] = 1;
    frame[OPTIONS_AT + 3] = 1;
    CHECK(lwip_guard_passes(frame, OPTIONS_AT + 4));
    CHECK(!lwip_guard_passes(frame, OPTIONS_AT + 3));
    CHECK(!lwip_guard_passes(frame, TCP_AT + 8));
    frame[TCP_AT + 12] = 0x50;
    CHECK(lwip_guard_passes(frame, OPTIONS_AT));
}

static void other_protocols(void)
{
    uint8_t frame[FRAME_MAX] = {[12] = 8, [14] = 0x45, [14 + 9] = 6, [TCP_AT + 12] = 0x60, [OPTIONS_AT] = 2};
    CHECK(!lwip_guard_passes(frame, FRAME_MAX));
    frame[14 + 9] = 17;
    CHECK(lwip_guard_passes(frame, FRAME_MAX));
    frame[14 + 9] = 6;
    frame[13] = 6;
    CHECK(lwip_guard_passes(frame, FRAME_MAX));
    frame[12] = 0x86;
    CHECK(lwip_guard_passes(frame, FRAME_MAX));
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"options that end in the header pass", good_options},
        {"options that lead out of it do not", bad_options},
        {"frames cut anywhere are lwIP's matter", cut_frames},
        {"300,000 random options: as by the definition", random_options},
        {"fragments: a header comes whole", fragments},
        {"other protocols pass", other_protocols},
    };
    CHECK(argc == 2);
    return check_run("lwip_guard", tests, sizeof tests / sizeof tests[0], argv[1]);
}
