// SPDX-License-Identifier: Apache-2.0
//
// The classifier against a second one, over a million frames that are changed at random, and captured ones.

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "classified.h"
#include "frames.h"

#ifndef FRAMES
#define FRAMES 1500000U
#endif

static void random_frames_are_classified_alike(void)
{
    enum { REFUSED, BACKGROUND, SYSTEM, UDP, TCP, KINDS };
    uint32_t seen[KINDS] = {0};
    for (uint32_t i = 0; i < FRAMES; i++) {
        check_context("frame %u", i);
        struct check_random random = {i}; // each is repeatable alone
        struct frame frame = frame_random(&random);
        frame_mutate(&frame, &random);
        weir_match match = classified_alike(frame.bytes, frame.length);
        seen[match < 3U ? match : match >> 16 == WEIR_PROTOCOL_UDP ? UDP : TCP]++;
    }
    for (int kind = REFUSED; kind < KINDS; kind++) {
        check_context("kind %d: %u of %u", kind, seen[kind], FRAMES);
        CHECK(seen[kind] > FRAMES / 50U); // or the generator finds nothing any more
    }
}

static void rubbish_is_classified_alike(void)
{
    static const uint8_t starts[][4] = {{8, 0, 0x45, 0}, {0x86, 0xdd, 0x60, 0}, {0x81, 0, 0, 0}, {0, 0, 0, 0}};
    struct check_random random = {1};
    for (uint32_t i = 0; i < FRAMES / 4U; i++) {
        struct frame frame = {.length = check_below(&random, 200)};
        for (size_t at = 0; at < frame.length; at++) {
            frame.bytes[at] = (uint8_t)check_random(&random);
        }
        memcpy(frame.bytes + 12, starts[i % 4U], 4);
        frame.bytes[16] = 0; // a length that may fit
        (void)classified_alike(frame.bytes, frame.length);
    }
}

static void captured_frames_are_classified_alike(void)
{
    static uint8_t frame[65536];
    struct {
        uint32_t seconds, microseconds, captured, length;
    } header;
    uint32_t modbus = 0;
    FILE *capture = fopen(CAPTURE, "rb");
    CHECK(capture != NULL && fseek(capture, 24, SEEK_SET) == 0);
    while (fread(&header, sizeof header, 1, capture) == 1U) {
        CHECK(header.captured <= sizeof frame && fread(frame, header.captured, 1, capture) == 1U);
        for (uint32_t length = 0; length <= header.captured; length++) {
            weir_match match = classified_alike(frame, length);
            modbus += length == header.captured && match == weir_match_port(6, 502) ? 1U : 0U;
        }
    }
    CHECK(fclose(capture) == 0);
    CHECK(modbus > 100U);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"1,500,000 changed frames: same verdict as the second classifier", random_frames_are_classified_alike},
        {"375,000 frames of rubbish: same verdict", rubbish_is_classified_alike},
        {"captured frames at every length: same verdict", captured_frames_are_classified_alike},
    };
    CHECK(argc == 2);
    return check_run("weir_classify_fuzz", tests, sizeof tests / sizeof tests[0], argv[1]);
}
