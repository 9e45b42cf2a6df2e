// SPDX-License-Identifier: Apache-2.0
//
// weir/classify.h by example: each kind of frame, and each at every length.

#include "weir/classify.h"

#include <string.h>

#include "check.h"
#include "classified.h"
#include "frames.h"

#define PORT 502U
#define UDP_PORT weir_match_port(17, PORT)
#define TCP_PORT weir_match_port(6, PORT)

static struct frame frame; // under construction; empty at a test's begin

static weir_match classified(void)
{
    return classified_alike(frame.bytes, frame.length);
}

// The frame is what `expected` says, and refused at every shorter length that cuts a header or contradicts the IP
// header's; all of that also with one and two tags.
static void expect_cut(weir_match expected, size_t shortest)
{
    struct frame untagged = frame;
    for (size_t tags = 0; tags <= 2U; tags++) {
        frame = untagged;
        frame.length = 14;
        for (size_t i = 0; i < tags; i++) {
            frame_tag(&frame, i == 0U ? 0x8100 : 0x88a8);
        }
        memcpy(frame.bytes + frame.length, untagged.bytes + 14, untagged.length - 14U);
        size_t whole = untagged.length + tags * 4U;
        for (frame.length = 0; frame.length <= whole; frame.length++) {
            check_context("%zu tags, %zu of %zu bytes", tags, frame.length, whole);
            CHECK(classified() == (frame.length < shortest + tags * 4U ? WEIR_MATCH_REFUSED : expected));
        }
    }
}

static void ports(void)
{
    CHECK(weir_match_port(17, 0x1234) == 0x113412U);
    CHECK(weir_match_port(6, 502) == 0x06f601U);
    for (uint32_t port = 0; port <= UINT16_MAX; port++) {
        frame = frame_datagram(port, 1);
        CHECK(classified() == weir_match_port(17, (uint16_t)port));
    }
}

static void ipv4_udp(void)
{
    for (size_t options = 0; options <= 40U; options += 4U) {
        frame.length = 0;
        frame_ethernet(&frame, 0x0800);
        frame_ipv4(&frame, 17, options, 0x4000, 8 + 3); // "do not fragment" is no fragment
        frame_udp(&frame, PORT, 3);
        size_t whole = frame.length;
        frame_bytes(&frame, 7, 0); // padding
        expect_cut(UDP_PORT, whole);
    }
}

static void ipv4_tcp(void)
{
    for (size_t options = 0; options <= 40U; options += 4U) {
        frame.length = 0;
        frame_ethernet(&frame, 0x0800);
        frame_ipv4(&frame, 6, options, 0, 20);
        frame_tcp(&frame, PORT, 0);
        expect_cut(TCP_PORT, frame.length);
    }
}

// A transport header that the IP packet has no room for, though the frame has.
static void ipv4_lying_lengths(void)
{
    for (unsigned protocol = 6; protocol <= 17U; protocol += 11U) {
        size_t header = protocol == 6U ? 20 : 8;
        for (size_t options = 0; options <= 40U; options += 4U) {
            for (size_t total = 0; total <= 120U; total++) {
                check_context("protocol %u, %zu bytes of options, total length %zu", protocol, options, total);
                frame.length = 0;
                frame_ethernet(&frame, 0x0800);
                frame_ipv4(&frame, protocol, options, 0, header);
                frame_u16(&frame, 1);
                frame_u16(&frame, PORT);
                frame_bytes(&frame, 104U - frame.length, 0);
                frame.bytes[14 + 3] = (uint8_t)total;
                bool fits = total >= 20U + options + header && total <= 90U;
                CHECK(classified() == (fits ? weir_match_port((uint8_t)protocol, PORT) : WEIR_MATCH_REFUSED));
            }
        }
    }
    frame = frame_datagram(PORT, 1);
    for (unsigned first = 0; first <= 0xffU; first++) {
        frame.bytes[14] = (uint8_t)first; // version and header length: 40 bytes are too long for the total of 28
        CHECK(classified() == (first == 0x45U ? UDP_PORT : WEIR_MATCH_REFUSED));
    }
}

static void ipv4_fragments(void)
{
    for (unsigned fragment = 0; fragment <= UINT16_MAX; fragment++) {
        frame = frame_datagram(PORT, 1);
        frame.bytes[14 + 6] = (uint8_t)(fragment >> 8);
        frame.bytes[14 + 7] = (uint8_t)fragment;
        CHECK(classified() == ((fragment & 0x3fffU) == 0U ? UDP_PORT : WEIR_MATCH_BACKGROUND));
    }
}

static void ip_protocols(void)
{
    for (unsigned protocol = 0; protocol <= 0xffU; protocol++) {
        check_context("protocol %u", protocol);
        frame.length = 0;
        frame_ethernet(&frame, 0x0800);
        frame_ipv4(&frame, protocol, 0, 0, 20);
        frame_tcp(&frame, PORT, 0);
        bool port = protocol == 6U || protocol == 17U;
        weir_match match = port ? weir_match_port((uint8_t)protocol, PORT) : WEIR_MATCH_BACKGROUND;
        CHECK(classified() == (protocol == 1U || protocol == 2U ? WEIR_MATCH_CONTROL : match));
        frame.length = 0;
        frame_ethernet(&frame, 0x86dd);
        frame_ipv6(&frame, protocol, 20);
        frame_bytes(&frame, 2, 0);
        frame_u16(&frame, PORT);
        frame_bytes(&frame, 16, 0);
        bool extension = protocol == 0U || protocol == 43U || protocol == 60U; // twice hop-by-hop, then the end
        match = extension ? WEIR_MATCH_REFUSED : match;
        CHECK(classified() == (protocol == 58U ? WEIR_MATCH_ADDRESS : match));
    }
}

static void ipv6_extension_headers(void)
{
    for (size_t bytes = 8; bytes <= 24U; bytes += 8U) {
        for (size_t extensions = 0; extensions <= 8U; extensions++) {
            for (unsigned protocol = 6; protocol <= 17U; protocol += 11U) {
                size_t header = protocol == 6U ? 20 : 8;
                frame.length = 0;
                frame_ethernet(&frame, 0x86dd);
                frame_ipv6(&frame, extensions > 0U ? 0 : protocol, extensions * bytes + header);
                for (size_t i = 1; i <= extensions; i++) {
                    frame_extension(&frame, i == extensions ? protocol : i % 2U ? 43 : 60, bytes);
                }
                bool deep = frame.length + 4U > WEIR_HEADER_BYTES || extensions > WEIR_EXTENSIONS_MAX;
                if (protocol == 6U) {
                    frame_tcp(&frame, PORT, 0);
                } else {
                    frame_udp(&frame, PORT, 0);
                }
                CHECK(classified() == (deep ? WEIR_MATCH_BACKGROUND : weir_match_port((uint8_t)protocol, PORT)));
                if (!deep && frame.length + 8U < WEIR_HEADER_BYTES) {
                    expect_cut(weir_match_port((uint8_t)protocol, PORT), frame.length);
                }
            }
        }
    }
}

static void ipv6_lying_lengths(void)
{
    for (unsigned protocol = 17; protocol <= 58U; protocol += 41U) { // the extension header ends behind the packet
        for (unsigned units = 0; units <= 0xffU; units++) {
            frame.length = 0;
            frame_ethernet(&frame, 0x86dd);
            frame_ipv6(&frame, 60, 8 + 8);
            frame_extension(&frame, protocol, 8);
            frame.bytes[frame.length - 7U] = (uint8_t)units;
            frame_udp(&frame, PORT, 0);
            frame_bytes(&frame, 600, 0);
            weir_match whole = protocol == 58U ? WEIR_MATCH_ADDRESS : UDP_PORT;
            bool fits = units == 0U || (units == 1U && protocol == 58U);
            CHECK(classified() == (fits ? whole : WEIR_MATCH_REFUSED));
        }
    }
    frame.length = 0;
    frame_ethernet(&frame, 0x86dd);
    frame_ipv6(&frame, 17, 8);
    frame_udp(&frame, PORT, 0);
    for (unsigned first = 0; first <= 0xffU; first++) {
        frame.bytes[14] = (uint8_t)first;
        CHECK(classified() == (first >> 4 == 6U ? UDP_PORT : WEIR_MATCH_REFUSED));
    }
}

static void ipv6_fragments(void)
{
    frame_ethernet(&frame, 0x86dd);
    frame_ipv6(&frame, 44, 8 + 8);
    frame_extension(&frame, 17, 8);
    frame_udp(&frame, PORT, 0);
    expect_cut(WEIR_MATCH_BACKGROUND, frame.length);
}

static void other_ethertypes(void)
{
    for (unsigned type = 0; type <= UINT16_MAX; type++) {
        frame.length = 0;
        frame_ethernet(&frame, type);
        frame_bytes(&frame, 46, 0);
        bool ip = type == 0x0800U || type == 0x86ddU;                       // and no IP header in it
        weir_match match = ip ? WEIR_MATCH_REFUSED : WEIR_MATCH_BACKGROUND; // an empty tag has an unknown type in it
        CHECK(classified() == (type == 0x0806U ? WEIR_MATCH_ADDRESS : match));
    }
}

static void system_protocols(void)
{
    frame_ethernet(&frame, 0x0806);
    frame_bytes(&frame, 28, 0);
    expect_cut(WEIR_MATCH_ADDRESS, 14); // a short one reads nothing amiss in the stack, which looks into its own buffer
    for (unsigned protocol = 1; protocol <= 2U; protocol++) {
        frame.length = 0;
        frame_ethernet(&frame, 0x0800);
        frame_ipv4(&frame, protocol, 4, 0, 8);
        frame_bytes(&frame, 8, 0);
        expect_cut(WEIR_MATCH_CONTROL, frame.length);
    }
    frame.length = 0;
    frame_ethernet(&frame, 0x86dd);
    frame_ipv6(&frame, 0, 8 + 8);
    frame_extension(&frame, 58, 8);
    frame_bytes(&frame, 8, 0);
    expect_cut(WEIR_MATCH_ADDRESS, frame.length);
}

static void three_tags_are_too_many(void)
{
    for (int tags = 0; tags <= 4; tags++) {
        frame.length = 0;
        frame_ethernet(&frame, 0x0800);
        for (int i = 0; i < tags; i++) {
            frame_tag(&frame, 0x8100);
        }
        frame_ipv4(&frame, 17, 0, 0, 8);
        frame_udp(&frame, PORT, 0);
        CHECK(classified() == (tags <= 2 ? UDP_PORT : WEIR_MATCH_BACKGROUND));
    }
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"all ports", ports},
        {"IPv4 with and without options, UDP, every length", ipv4_udp},
        {"IPv4 with and without options, TCP, every length", ipv4_tcp},
        {"IPv4 headers that lie about lengths are refused", ipv4_lying_lengths},
        {"IPv4 fragments are background, first and later ones", ipv4_fragments},
        {"all IP protocols", ip_protocols},
        {"IPv6 extension headers, every length; too many or too deep are background", ipv6_extension_headers},
        {"IPv6 headers that lie about lengths are refused", ipv6_lying_lengths},
        {"IPv6 fragments are background", ipv6_fragments},
        {"all EtherTypes", other_ethertypes},
        {"ARP, ICMP, IGMP and ICMPv6 are the system's, every length", system_protocols},
        {"one and two VLAN tags are looked behind, three are background", three_tags_are_too_many},
    };
    CHECK(argc == 2);
    return check_run("weir_classify", tests, sizeof tests / sizeof tests[0], argv[1]);
}
