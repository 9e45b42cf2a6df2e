// SPDX-License-Identifier: Apache-2.0

#include "weir/classify.h"

#include <stddef.h>

#define ETHERNET_BYTES 14U
#define VLAN_BYTES 4U
#define VLAN_TAGS_MAX 2U
#define IPV4_BYTES 20U
#define IPV6_BYTES 40U
#define PORTS_BYTES 4U
#define UDP_BYTES 8U
#define TCP_BYTES 20U

#define ETHERTYPE_IPV4 0x0800U
#define ETHERTYPE_ARP 0x0806U
#define ETHERTYPE_VLAN 0x8100U
#define ETHERTYPE_VLAN_SERVICE 0x88a8U
#define ETHERTYPE_IPV6 0x86ddU

#define PROTOCOL_HOP_BY_HOP 0U
#define PROTOCOL_ICMP 1U
#define PROTOCOL_IGMP 2U
#define PROTOCOL_ROUTING 43U
#define PROTOCOL_ICMPV6 58U
#define PROTOCOL_DESTINATION 60U

// A frame's bytes are read as words, because byte reads of uncached memory cost as much, and there are four times as
// many. Offsets are those of the frame.
struct view {
    const volatile uint32_t *words;
    uint32_t length;
};

// Little endian, whatever the CPU: the byte of the lowest address is the word's lowest.
static inline uint32_t word_at(struct view v, uint32_t offset)
{
    return WEIR_LITTLE_ENDIAN(v.words[offset / 4U]);
}

weir_match weir_match_port(uint8_t protocol, uint16_t port)
{
    return (uint32_t)protocol << 16 | (uint32_t)(port << 8 & 0xff00) | (uint32_t)(port >> 8);
}

// Callers have checked that the bytes are in the frame and below WEIR_HEADER_BYTES.
static inline uint32_t byte_at(struct view v, uint32_t offset)
{
    return word_at(v, offset) >> (8U * (offset % 4U)) & 0xffU;
}

static inline uint32_t half_at(struct view v, uint32_t offset) // at an even offset, in host byte order
{
    uint32_t half = word_at(v, offset) >> (8U * (offset % 4U)) & 0xffffU;
    return (half >> 8 | half << 8) & 0xffffU;
}

static inline bool has(struct view v, uint32_t offset, uint32_t bytes)
{
    return offset + bytes <= v.length && offset + bytes <= WEIR_HEADER_BYTES;
}

// A header that is not all there: the frame ends in it, or it lies deeper than anyone needs.
static weir_match cut(struct view v, uint32_t offset, uint32_t bytes)
{
    return offset + bytes > v.length ? WEIR_MATCH_REFUSED : WEIR_MATCH_BACKGROUND;
}

// What follows an IP header that is no fragment. `end`: of the IP packet, within the frame.
static weir_match transport(struct view v, uint32_t protocol, uint32_t offset, uint32_t end)
{
    if (protocol == WEIR_PROTOCOL_UDP || protocol == WEIR_PROTOCOL_TCP) {
        if (offset + (protocol == WEIR_PROTOCOL_UDP ? UDP_BYTES : TCP_BYTES) > end) {
            return WEIR_MATCH_REFUSED;
        }
        if (!has(v, offset, PORTS_BYTES)) {
            return cut(v, offset, PORTS_BYTES);
        }
        return protocol << 16 | (word_at(v, offset + 2U) >> (8U * ((offset + 2U) % 4U)) & 0xffffU);
    }
    return WEIR_MATCH_BACKGROUND;
}

static weir_match ipv4(struct view v, uint32_t offset)
{
    if (!has(v, offset, IPV4_BYTES)) {
        return cut(v, offset, IPV4_BYTES);
    }
    uint32_t header = (byte_at(v, offset) & 0xfU) * 4U;
    uint32_t total = half_at(v, offset + 2U);
    if (byte_at(v, offset) >> 4 != 4U || header < IPV4_BYTES || total < header || offset + total > v.length) {
        return WEIR_MATCH_REFUSED;
    }
    if ((half_at(v, offset + 6U) & 0x3fffU) != 0U) { // more fragments, or not the first
        return WEIR_MATCH_BACKGROUND;
    }
    uint32_t protocol = byte_at(v, offset + 9U);
    if (protocol == PROTOCOL_ICMP || protocol == PROTOCOL_IGMP) {
        return WEIR_MATCH_CONTROL;
    }
    return transport(v, protocol, offset + header, offset + total);
}

static weir_match ipv6(struct view v, uint32_t offset)
{
    if (!has(v, offset, IPV6_BYTES)) {
        return cut(v, offset, IPV6_BYTES);
    }
    uint32_t end = offset + IPV6_BYTES + half_at(v, offset + 4U);
    if (byte_at(v, offset) >> 4 != 6U || end > v.length) {
        return WEIR_MATCH_REFUSED;
    }
    uint32_t next = byte_at(v, offset + 6U);
    uint32_t at = offset + IPV6_BYTES;
    for (uint32_t i = 0; i <= WEIR_EXTENSIONS_MAX; i++) {
        if (next != PROTOCOL_HOP_BY_HOP && next != PROTOCOL_ROUTING && next != PROTOCOL_DESTINATION) {
            return next == PROTOCOL_ICMPV6 ? WEIR_MATCH_ADDRESS : transport(v, next, at, end);
        }
        if (at + 8U > end) {
            return WEIR_MATCH_REFUSED;
        }
        if (!has(v, at, 2U)) {
            return cut(v, at, 2U);
        }
        next = byte_at(v, at);
        at += (byte_at(v, at + 1U) + 1U) * 8U;
        if (at > end) {
            return WEIR_MATCH_REFUSED;
        }
    }
    return WEIR_MATCH_BACKGROUND;
}

// Offset of what the Ethernet header and its tags carry, and the EtherType in *type. The frame has all of them, or ends
// in one: then the offset is behind its end.
static uint32_t network_header(struct view v, uint32_t *type)
{
    uint32_t offset = ETHERNET_BYTES;
    *type = half_at(v, offset - 2U);
    for (uint32_t tags = 0; tags < VLAN_TAGS_MAX && (*type == ETHERTYPE_VLAN || *type == ETHERTYPE_VLAN_SERVICE);
         tags++) {
        offset += VLAN_BYTES;
        if (!has(v, 0, offset)) {
            break;
        }
        *type = half_at(v, offset - 2U);
    }
    return offset;
}

weir_match weir_classify_any(const volatile uint32_t *frame, uint32_t length)
{
    struct view v = {.words = frame, .length = length};
    if (!has(v, 0, ETHERNET_BYTES)) {
        return WEIR_MATCH_REFUSED;
    }
    uint32_t type;
    uint32_t offset = network_header(v, &type);
    if (!has(v, 0, offset)) {
        return WEIR_MATCH_REFUSED;
    }
    switch (type) {
    case ETHERTYPE_IPV4:
        return ipv4(v, offset);
    case ETHERTYPE_IPV6:
        return ipv6(v, offset);
    case ETHERTYPE_ARP:
        return WEIR_MATCH_ADDRESS;
    default:
        return WEIR_MATCH_BACKGROUND;
    }
}

uint32_t weir_sender(const volatile uint32_t *frame, uint32_t *bytes)
{
    struct view v = {.words = frame, .length = WEIR_HEADER_BYTES};
    uint32_t type;
    uint32_t offset = network_header(v, &type);
    bool long_address = type == ETHERTYPE_IPV6;
    *bytes = long_address ? 16U : 4U;
    return offset + (long_address ? 8U : 12U);
}
