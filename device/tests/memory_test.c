// SPDX-License-Identifier: Apache-2.0
//
// firmware/memory.c, whose memcpy is compiled here under another name, against the C library's.

#include <string.h>

#include "check.h"

void *memcpy_by_words(void *restrict destination, const void *restrict source, size_t count);

#define BYTES 160U

static void every_alignment_and_length(void)
{
    uint8_t source[BYTES];
    uint8_t expected[BYTES];
    uint8_t got[BYTES];
    for (size_t i = 0; i < BYTES; i++) {
        source[i] = (uint8_t)(i * 7U + 1U);
    }
    for (size_t to = 0; to < 8U; to++) {
        for (size_t from = 0; from < 8U; from++) {
            for (size_t count = 0; count <= BYTES - 16U; count++) {
                check_context("to %zu, from %zu, %zu bytes", to, from, count);
                memset(expected, 0xee, BYTES);
                memset(got, 0xee, BYTES);
                memcpy(&expected[to], &source[from], count);
                CHECK(memcpy_by_words(&got[to], &source[from], count) == &got[to]);
                CHECK(memcmp(expected, got, BYTES) == 0);
            }
        }
    }
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"memcpy at every alignment and length, and nothing beside it", every_alignment_and_length},
    };
    return (argc == 2) ? check_run("memory", tests, sizeof tests / sizeof tests[0], argv[1]) : 2;
}
