// SPDX-License-Identifier: Apache-2.0
//
// For Eva: the classifier over every frame of every length. The frame lies at the end of its memory, so that a read
// behind its last word is a read outside.

#include "../../src/classify.c"

#include "__fc_builtin.h"

#define WORDS_MAX (WEIR_HEADER_BYTES / 4)

static volatile uint32_t memory[WORDS_MAX]; // volatile: each read can give anything

static void any_frame(uint32_t words, uint32_t shortest, uint32_t longest)
{
    const volatile uint32_t *frame = &memory[WORDS_MAX - words];
    uint32_t length = (uint32_t)Frama_C_interval((int)shortest, (int)longest);
    weir_match match = weir_classify(frame, length);
    weir_match glance = weir_classify_glance(frame, length);
    (void)weir_classify_glance_is(frame, length, glance);
    if (match > WEIR_MATCH_CONTROL) {
        uint32_t bytes;
        uint32_t offset = weir_sender(frame, &bytes);
        //@ assert offset % 2 == 0 && offset + bytes + 2 <= WEIR_HEADER_BYTES;
        (void)offset;
    }
}

void eva_classify(void)
{
    any_frame(0, 0, 0);
    //@ loop unroll 40;
    for (uint32_t words = 1; words <= WORDS_MAX; words++) {
        any_frame(words, words * 4U - 3U, words * 4U);
    }
    any_frame(WORDS_MAX, WEIR_HEADER_BYTES + 1, 65535);
}
