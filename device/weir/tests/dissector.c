// SPDX-License-Identifier: Apache-2.0

#include "dissector.h"

#include <stdbool.h>

#include "check.h"

#define EXTENSIONS_FOLLOWED 6

struct reader {
    const uint8_t *bytes;
    size_t length, depth;
};

static unsigned u8(const struct reader *r, size_t at)
{
    CHECK(at < r->length && at < r->depth);
    return r->bytes[at];
}

static unsigned u16(const struct reader *r, size_t at)
{
    return u8(r, at) * 256U + u8(r, at + 1U);
}

static struct dissected of_kind(enum dissected_kind kind)
{
    return (struct dissected){.kind = kind};
}

// RFC 768: a header of 8 bytes; RFC 9293: of 20 at least. In both, the destination port is the second 16 bits.
static struct dissected dissect_ports(const struct reader *r, unsigned protocol, size_t at, size_t end)
{
    size_t header = protocol == 17U ? 8U : 20U;
    if (at + header > end) {
        return of_kind(DISSECTED_REFUSED);
    }
    if (at + 4U > r->depth) {
        return of_kind(DISSECTED_BACKGROUND);
    }
    return (struct dissected){.kind = DISSECTED_PORT, .protocol = (uint8_t)protocol, .port = (uint16_t)u16(r, at + 2U)};
}

// RFC 791, 3.1.
static struct dissected dissect_ipv4(const struct reader *r, size_t at)
{
    if (r->length < at + 20U) {
        return of_kind(DISSECTED_REFUSED);
    }
    unsigned version = u8(r, at) / 16U;
    size_t header = (size_t)(u8(r, at) % 16U) * 4U;
    size_t total = u16(r, at + 2U);
    if (version != 4U || header < 20U || total < header || total > r->length - at) {
        return of_kind(DISSECTED_REFUSED);
    }
    unsigned flags = u16(r, at + 6U);
    bool more_fragments = (flags & 0x2000U) != 0U;
    unsigned fragment_offset = flags % 0x2000U;
    if (more_fragments || fragment_offset > 0U) {
        return of_kind(DISSECTED_BACKGROUND);
    }
    switch (u8(r, at + 9U)) {
    case 1: // ICMP
    case 2: // IGMP
        return of_kind(DISSECTED_CONTROL);
    case 6:
    case 17: {
        struct dissected result = dissect_ports(r, u8(r, at + 9U), at + header, at + total);
        result.sender = at + 12U;
        result.sender_length = 4;
        return result;
    }
    default:
        return of_kind(DISSECTED_BACKGROUND);
    }
}

// RFC 8200, 3 and 4: hop-by-hop options (0), routing (43) and destination options (60) have the next header and the
// length in units of 8 bytes, without the first.
static struct dissected dissect_ipv6(const struct reader *r, size_t at)
{
    if (r->length < at + 40U) {
        return of_kind(DISSECTED_REFUSED);
    }
    size_t end = at + 40U + u16(r, at + 4U);
    if (u8(r, at) / 16U != 6U || end > r->length) {
        return of_kind(DISSECTED_REFUSED);
    }
    unsigned next = u8(r, at + 6U);
    size_t header = at + 40U;
    for (int extensions = 0; next == 0U || next == 43U || next == 60U; extensions++) {
        if (header + 8U > end) {
            return of_kind(DISSECTED_REFUSED);
        }
        if (header + 2U > r->depth) {
            return of_kind(DISSECTED_BACKGROUND);
        }
        size_t bytes = ((size_t)u8(r, header + 1U) + 1U) * 8U;
        if (header + bytes > end) {
            return of_kind(DISSECTED_REFUSED);
        }
        if (extensions == EXTENSIONS_FOLLOWED) {
            return of_kind(DISSECTED_BACKGROUND);
        }
        next = u8(r, header);
        header += bytes;
    }
    if (next == 58U) {
        return of_kind(DISSECTED_ADDRESS);
    }
    if (next != 6U && next != 17U) { // among others a fragment, 44, and nothing, 59
        return of_kind(DISSECTED_BACKGROUND);
    }
    struct dissected result = dissect_ports(r, next, header, end);
    result.sender = at + 8U;
    result.sender_length = 16;
    return result;
}

// IEEE 802.3 and 802.1Q: two addresses, up to two tags, the EtherType.
struct dissected dissect(const uint8_t *frame, size_t length, size_t depth)
{
    struct reader r = {.bytes = frame, .length = length, .depth = depth};
    size_t at = 12;
    for (int tags = 0;; tags++) {
        if (length < at + 2U) {
            return of_kind(DISSECTED_REFUSED);
        }
        unsigned type = u16(&r, at);
        if ((type == 0x8100U || type == 0x88a8U) && tags < 2) {
            at += 4U;
            continue;
        }
        switch (type) {
        case 0x0800:
            return dissect_ipv4(&r, at + 2U);
        case 0x86dd:
            return dissect_ipv6(&r, at + 2U);
        case 0x0806:
            return of_kind(DISSECTED_ADDRESS);
        default:
            return of_kind(DISSECTED_BACKGROUND);
        }
    }
}
