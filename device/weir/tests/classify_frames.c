// SPDX-License-Identifier: Apache-2.0
//
// classify_frames < FRAMES: where the classifier puts each frame, for a comparison with another dissector
// (test_scapy.py). FRAMES: for each two bytes of length, low one first, and its bytes. Prints a line for each:
// `refused`, `background`, `address`, `control`, or protocol and port.

#include <stdio.h>
#include <stdlib.h>

#include "weir/classify.h"

#define FRAME_BYTES_MAX 65536U

static void print(weir_match match)
{
    static const char *const words[] = {"refused", "background", "address", "control"};
    if (match <= WEIR_MATCH_CONTROL) {
        puts(words[match]);
    } else {
        printf("%u %u\n", match >> 16, (match & 0xffU) << 8 | (match >> 8 & 0xffU));
    }
}

int main(void)
{
    static uint32_t frame[FRAME_BYTES_MAX / sizeof(uint32_t)];
    uint8_t length[2];
    while (fread(length, 1, sizeof length, stdin) == sizeof length) {
        size_t bytes = (size_t)length[0] | (size_t)length[1] << 8;
        if (fread(frame, 1, bytes, stdin) != bytes) {
            return EXIT_FAILURE;
        }
        print(weir_classify(frame, (uint32_t)bytes));
    }
    return EXIT_SUCCESS;
}
