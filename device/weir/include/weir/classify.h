// SPDX-License-Identifier: Apache-2.0
//
// Early demultiplexing: where does a frame belong, by its headers alone?

#ifndef WEIR_CLASSIFY_H
#define WEIR_CLASSIFY_H

#include <stdbool.h>
#include <stdint.h>

// Bytes of a frame that the classifier may read: Ethernet with two VLAN tags, IPv6 with as many extension headers as
// it follows, and ports. What lies deeper is background.
#define WEIR_HEADER_BYTES 160

// Extension headers of IPv6 that are followed.
#define WEIR_EXTENSIONS_MAX 6

// What a frame belongs to: IP protocol << 16 | destination port, both as in the frame, so that a little-endian CPU
// has the port's bytes swapped; or one of the values below, which are no such pair.
typedef uint32_t weir_match;

#define WEIR_MATCH_REFUSED UINT32_C(0)    // lies about its length, or ends within a header: no stack should see it
#define WEIR_MATCH_BACKGROUND UINT32_C(1) // fragments, other protocols and EtherTypes
// For the IP stack itself. Two, so that a flood of pings does not keep the device from being found.
#define WEIR_MATCH_ADDRESS UINT32_C(2) // ARP, ICMPv6 (with which IPv6 resolves addresses)
#define WEIR_MATCH_CONTROL UINT32_C(3) // ICMP, IGMP

#define WEIR_PROTOCOL_TCP 6
#define WEIR_PROTOCOL_UDP 17

// `port` in host byte order.
weir_match weir_match_port(uint8_t protocol, uint16_t port);

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define WEIR_LITTLE_ENDIAN(word) __builtin_bswap32(word)
#else
#define WEIR_LITTLE_ENDIAN(word) (word)
#endif

// Any frame; weir_classify() sees to those that come most often without it.
weir_match weir_classify_any(const volatile uint32_t *frame, uint32_t length);

// Classifies the frame of `length` bytes (without frame check sequence) that starts at `frame`. Reads no word behind
// the one with the frame's last byte and none behind WEIR_HEADER_BYTES; the number of steps does not depend on the
// frame beyond WEIR_EXTENSIONS_MAX. Any context. RFC 894, 791, 768, 9293, 826, 8200; IEEE 802.1Q (two tags).
static inline weir_match weir_classify(const volatile uint32_t *frame, uint32_t length)
{
    // IPv4 without tags, options and fragments, UDP or TCP: four words decide.
    if (length >= 42U && (WEIR_LITTLE_ENDIAN(frame[3]) & 0xffffffU) == 0x450008U) {
        uint32_t fragment_protocol = WEIR_LITTLE_ENDIAN(frame[5]);
        uint32_t protocol = fragment_protocol >> 24;
        uint32_t total_swapped = WEIR_LITTLE_ENDIAN(frame[4]);
        uint32_t total = (total_swapped << 8 & 0xff00U) | (total_swapped >> 8 & 0xffU);
        uint32_t shortest = protocol == WEIR_PROTOCOL_UDP ? 28U : protocol == WEIR_PROTOCOL_TCP ? 40U : UINT32_MAX;
        if ((fragment_protocol & 0xff3fU) == 0U && total >= shortest && total <= length - 14U) {
            return protocol << 16 | (WEIR_LITTLE_ENDIAN(frame[9]) & 0xffffU);
        }
    }
    return weir_classify_any(frame, length);
}

// weir_classify() for the frames that floods are made of, with one word less: what the IP header says of its length is
// not looked at. For those who are about to discard the frame anyway. WEIR_MATCH_REFUSED for others.
static inline weir_match weir_classify_glance(const volatile uint32_t *frame, uint32_t length)
{
    if (length < 42U) {
        return WEIR_MATCH_REFUSED;
    }
    uint32_t type_version = WEIR_LITTLE_ENDIAN(frame[3]);
    if (type_version << 8 != 0x45000800U) {
        return (type_version & 0xffffU) == 0x0608U ? WEIR_MATCH_ADDRESS : WEIR_MATCH_REFUSED;
    }
    uint32_t fragment_protocol = WEIR_LITTLE_ENDIAN(frame[5]) & 0xff00ff3fU;
    if (fragment_protocol == (uint32_t)WEIR_PROTOCOL_UDP << 24 || fragment_protocol == (uint32_t)WEIR_PROTOCOL_TCP
                                                                                           << 24) {
        return fragment_protocol >> 8 | (WEIR_LITTLE_ENDIAN(frame[9]) & 0xffffU);
    }
    if (fragment_protocol == UINT32_C(1) << 24) {
        return WEIR_MATCH_CONTROL;
    }
    return (fragment_protocol & 0xffffU) != 0U ? WEIR_MATCH_BACKGROUND : WEIR_MATCH_REFUSED;
}

// weir_classify_glance(frame, length) == match, for the match of a port.
static inline bool weir_classify_glance_is(const volatile uint32_t *frame, uint32_t length, weir_match match)
{
    return length >= 42U && WEIR_LITTLE_ENDIAN(frame[3]) << 8 == 0x45000800U &&
           (WEIR_LITTLE_ENDIAN(frame[5]) & 0xff00ff3fU) == (match & 0xff0000U) << 8 &&
           WEIR_LITTLE_ENDIAN(frame[9]) << 16 == match << 16;
}

// The sender's address of a frame that weir_classify_glance() has put to a port.
static inline uint32_t weir_sender_glance(const volatile uint32_t *frame)
{
    return WEIR_LITTLE_ENDIAN(WEIR_LITTLE_ENDIAN(frame[6]) >> 16 | WEIR_LITTLE_ENDIAN(frame[7]) << 16);
}

// The sender's IP address, of a frame that weir_classify() has put to a port: the offset of its first byte, which is
// even, and in *bytes its length, 4 or 16.
uint32_t weir_sender(const volatile uint32_t *frame, uint32_t *bytes);

#endif
