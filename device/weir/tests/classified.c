// SPDX-License-Identifier: Apache-2.0

#include "classified.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "dissector.h"

#define WORDS (WEIR_HEADER_BYTES / 4)

static weir_match match_of(const struct dissected *dissected)
{
    switch (dissected->kind) {
    case DISSECTED_REFUSED:
        return WEIR_MATCH_REFUSED;
    case DISSECTED_BACKGROUND:
        return WEIR_MATCH_BACKGROUND;
    case DISSECTED_ADDRESS:
        return WEIR_MATCH_ADDRESS;
    case DISSECTED_CONTROL:
        return WEIR_MATCH_CONTROL;
    default:
        return weir_match_port(dissected->protocol, dissected->port);
    }
}

weir_match classified_alike(const uint8_t *bytes, size_t length)
{
    // On the heap, where the address sanitizer watches its end; filled up to the word with rubbish.
    static uint32_t *memory;
    memory = memory == NULL ? malloc(WORDS * sizeof *memory) : memory;
    size_t words = (length + 3U) / 4U < WORDS ? (length + 3U) / 4U : WORDS;
    uint32_t *frame = memory + WORDS - words;
    memset(frame, 0xa5, words * sizeof *frame);
    memcpy(frame, bytes, length < WEIR_HEADER_BYTES ? length : WEIR_HEADER_BYTES);

    weir_match match = weir_classify(frame, (uint32_t)length);
    CHECK(weir_classify_any(frame, (uint32_t)length) == match);
    weir_match glance = weir_classify_glance(frame, (uint32_t)length);
    struct dissected dissected = dissect((const uint8_t *)frame, length, WEIR_HEADER_BYTES);
    CHECK(match == match_of(&dissected));
    // A glance is right or says nothing, but for a frame that lies, which nobody wants anyway.
    CHECK(glance == 0U || glance == match || match == WEIR_MATCH_REFUSED);
    weir_match port = match > WEIR_MATCH_CONTROL ? match : weir_match_port(17, 9);
    CHECK(weir_classify_glance_is(frame, (uint32_t)length, port) == (glance == port));
    if (glance > WEIR_MATCH_CONTROL) {
        uint32_t sender;
        memcpy(&sender, (const uint8_t *)frame + 26, sizeof sender);
        CHECK(weir_sender_glance(frame) == sender);
    }
    if (dissected.kind == DISSECTED_PORT) {
        uint32_t sender_bytes;
        CHECK(weir_sender(frame, &sender_bytes) == dissected.sender);
        CHECK(sender_bytes == dissected.sender_length);
    }
    return match;
}
