// SPDX-License-Identifier: Apache-2.0

#include "frames.h"

#include <string.h>

#include "check.h"

void frame_bytes(struct frame *frame, size_t count, uint8_t value)
{
    CHECK(frame->length + count <= sizeof frame->bytes);
    memset(frame->bytes + frame->length, value, count);
    frame->length += count;
}

void frame_u16(struct frame *frame, unsigned value)
{
    frame_bytes(frame, 1, (uint8_t)(value >> 8));
    frame_bytes(frame, 1, (uint8_t)value);
}

void frame_ethernet(struct frame *frame, unsigned type)
{
    frame_bytes(frame, 6, 0x02);
    frame_bytes(frame, 6, 0x04);
    frame_u16(frame, type);
}

void frame_tag(struct frame *frame, unsigned tag_type)
{
    uint8_t *type = frame->bytes + frame->length - 2U;
    unsigned inner = (unsigned)(type[0] << 8 | type[1]);
    frame->length -= 2U;
    frame_u16(frame, tag_type);
    frame_u16(frame, 0x6005); // priority 3, VLAN 5
    frame_u16(frame, inner);
}

void frame_ipv4(struct frame *frame, unsigned protocol, size_t options, unsigned fragment, size_t payload)
{
    frame_bytes(frame, 1, (uint8_t)(0x45U + options / 4U));
    frame_bytes(frame, 1, 0);
    frame_u16(frame, (unsigned)(20U + options + payload));
    frame_u16(frame, 0x1234);
    frame_u16(frame, fragment);
    frame_bytes(frame, 1, 64);
    frame_bytes(frame, 1, (uint8_t)protocol);
    frame_u16(frame, 0xabcd);
    frame_u16(frame, 0x0a00);
    frame_u16(frame, 0x0002);
    frame_u16(frame, 0x0a00);
    frame_u16(frame, 0x0001);
    frame_bytes(frame, options, 1); // no operation
}

void frame_ipv6(struct frame *frame, unsigned next, size_t payload)
{
    frame_u16(frame, 0x6000);
    frame_u16(frame, 0);
    frame_u16(frame, (unsigned)payload);
    frame_bytes(frame, 1, (uint8_t)next);
    frame_bytes(frame, 1, 64);
    frame_bytes(frame, 15, 0x20);
    frame_bytes(frame, 1, 2);
    frame_bytes(frame, 16, 0x30);
}

void frame_extension(struct frame *frame, unsigned next, size_t bytes)
{
    frame_bytes(frame, 1, (uint8_t)next);
    frame_bytes(frame, 1, (uint8_t)(bytes / 8U - 1U));
    frame_bytes(frame, bytes - 2U, 0);
}

void frame_udp(struct frame *frame, unsigned port, size_t data)
{
    frame_u16(frame, 40000);
    frame_u16(frame, port);
    frame_u16(frame, (unsigned)(8U + data));
    frame_u16(frame, 0);
    frame_bytes(frame, data, 0x55);
}

void frame_tcp(struct frame *frame, unsigned port, size_t data)
{
    frame_u16(frame, 40001);
    frame_u16(frame, port);
    frame_bytes(frame, 8, 0x11);
    frame_u16(frame, 0x5010);
    frame_bytes(frame, 6, 0x22);
    frame_bytes(frame, data, 0x55);
}

struct frame frame_datagram(unsigned port, uint8_t sender)
{
    struct frame frame = {.length = 0};
    frame_ethernet(&frame, 0x0800);
    frame_ipv4(&frame, 17, 0, 0, 8);
    frame.bytes[14 + 15] = sender;
    frame_udp(&frame, port, 0);
    frame_bytes(&frame, 60U - frame.length, 0);
    return frame;
}

static unsigned pick(struct check_random *random, const unsigned *of, uint32_t count)
{
    return of[check_below(random, count)];
}
#define PICK(random, ...)                                                                                              \
    pick(random, (const unsigned[]){__VA_ARGS__}, sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

static void random_payload(struct frame *frame, struct check_random *random, unsigned protocol, size_t data)
{
    unsigned port = PICK(random, 0, 1, 80, 502, 0x0102, 47808, 65535);
    if (protocol == 17U) {
        frame_udp(frame, port, data);
    } else if (protocol == 6U) {
        frame_tcp(frame, port, data);
    } else {
        frame_bytes(frame, data, (uint8_t)check_random(random));
    }
}

static size_t header_of(unsigned protocol)
{
    return protocol == 17U ? 8U : protocol == 6U ? 20U : 0U;
}

struct frame frame_random(struct check_random *random)
{
    struct frame frame = {.length = 0};
    unsigned type = PICK(random, 0x0800, 0x0800, 0x0800, 0x86dd, 0x86dd, 0x0806, 0x88cc, 0x8100, 46);
    frame_ethernet(&frame, type);
    for (uint32_t tags = check_below(random, 6); tags > 2U; tags--) { // none in half of the frames
        frame_tag(&frame, PICK(random, 0x8100, 0x8100, 0x88a8));
    }
    unsigned protocol = PICK(random, 17, 17, 17, 6, 6, 1, 2, 58, 59, 47);
    size_t data = check_once_in(random, 4) ? check_below(random, 200) : check_below(random, 8);
    if (type == 0x0800U) {
        size_t options = check_once_in(random, 3) ? check_below(random, 11) * 4U : 0U;
        unsigned fragment = check_once_in(random, 4) ? PICK(random, 0x4000, 0x8000, 0x2000, 1, 0x1fff, 0x3000) : 0U;
        frame_ipv4(&frame, protocol, options, fragment, header_of(protocol) + data);
        random_payload(&frame, random, protocol, data);
    } else if (type == 0x86ddU) {
        size_t extensions = check_once_in(random, 2) ? check_below(random, 9) : 0U;
        size_t bytes[8];
        unsigned next[9];
        size_t payload = header_of(protocol) + data;
        for (size_t i = 0; i < extensions; i++) {
            next[i] = check_once_in(random, 12) ? 44U : PICK(random, 0, 43, 60);
            bytes[i] = check_once_in(random, 3) ? 8U + check_below(random, 5) * 8U : 8U;
            payload += bytes[i];
        }
        next[extensions] = protocol;
        frame_ipv6(&frame, next[0], payload);
        for (size_t i = 0; i < extensions; i++) {
            frame_extension(&frame, next[i + 1U], bytes[i]);
        }
        random_payload(&frame, random, protocol, data);
    } else {
        frame_bytes(&frame, data, 0);
    }
    if (frame.length < 60U && check_once_in(random, 2)) {
        frame_bytes(&frame, 60U - frame.length, 0); // padding
    }
    return frame;
}

void frame_mutate(struct frame *frame, struct check_random *random)
{
    for (uint32_t times = check_below(random, 4); times > 0U; times--) {
        uint32_t limit = frame->length < 80U ? (uint32_t)frame->length : 80U;
        uint32_t at = check_below(random, limit + 1U);
        switch (check_below(random, 5)) {
        case 0: // cut, anywhere or near the end
            frame->length -= check_below(random, check_once_in(random, 2) ? (uint32_t)frame->length + 1U : limit + 1U);
            break;
        case 1: // one bit
            frame->bytes[at] = (uint8_t)(frame->bytes[at] ^ 1U << check_below(random, 8));
            break;
        case 2: // one byte
            frame->bytes[at] = (uint8_t)check_random(random);
            break;
        case 3: // a length that is off by little
            frame->bytes[at] = (uint8_t)(frame->bytes[at] + check_below(random, 5) - 2U);
            break;
        default: // a typical value
            frame->bytes[at] = (uint8_t)PICK(random, 0, 1, 6, 8, 17, 0x3f, 0x40, 0x45, 0x60, 0x81, 0x86, 0xdd, 0xff);
            break;
        }
    }
}
