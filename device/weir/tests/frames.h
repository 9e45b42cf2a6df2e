// SPDX-License-Identifier: Apache-2.0
//
// Ethernet frames for tests: built header by header, and at random.

#ifndef FRAMES_H
#define FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "check.h"

#define FRAME_BYTES_MAX 1518

struct frame {
    size_t length;
    uint8_t bytes[FRAME_BYTES_MAX];
};

// Each appends; lengths inside are those of a frame that ends with `payload` bytes of payload.
void frame_bytes(struct frame *frame, size_t count, uint8_t value);
void frame_u16(struct frame *frame, unsigned value);
void frame_ethernet(struct frame *frame, unsigned type);
void frame_tag(struct frame *frame, unsigned tag_type); // in front of the last EtherType
void frame_ipv4(struct frame *frame, unsigned protocol, size_t options, unsigned fragment, size_t payload);
void frame_ipv6(struct frame *frame, unsigned next, size_t payload);
void frame_extension(struct frame *frame, unsigned next, size_t bytes);
void frame_udp(struct frame *frame, unsigned port, size_t data);
void frame_tcp(struct frame *frame, unsigned port, size_t data);

// A UDP datagram to `port` of 60 bytes with an IPv4 sender 10.0.0.`sender`.
struct frame frame_datagram(unsigned port, uint8_t sender);

// A well-formed frame of any kind.
struct frame frame_random(struct check_random *random);
// Cuts, lengthens or changes it in a few places, mostly where headers are.
void frame_mutate(struct frame *frame, struct check_random *random);

#endif
