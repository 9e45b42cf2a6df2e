// SPDX-License-Identifier: Apache-2.0
//
// A second classifier, to hold the library's against: byte by byte, one RFC after the other, nothing clever.

#ifndef DISSECTOR_H
#define DISSECTOR_H

#include <stddef.h>
#include <stdint.h>

enum dissected_kind { DISSECTED_REFUSED, DISSECTED_BACKGROUND, DISSECTED_ADDRESS, DISSECTED_CONTROL, DISSECTED_PORT };

struct dissected {
    enum dissected_kind kind;
    uint8_t protocol;     // the rest: of DISSECTED_PORT
    uint16_t port;        // host byte order
    size_t sender;        // offset of the IP address
    size_t sender_length; // its bytes
};

// `length`: of the whole frame. No byte behind it and none behind `depth` is read.
struct dissected dissect(const uint8_t *frame, size_t length, size_t depth);

#endif
