// SPDX-License-Identifier: Apache-2.0

#include "lwip_guard.h"

#define ETHERNET_BYTES 14U
#define IPV4_BYTES 20U
#define TCP_BYTES 20U
#define TCP_BYTES_MAX 60U
#define FRAGMENT_AT 6U
#define MORE_FRAGMENTS 0x20U
#define PROTOCOL_AT 9U
#define PROTOCOL_TCP 6U
#define DATA_OFFSET_AT 12U

enum tcp_option { OPTION_END = 0, OPTION_NOTHING = 1 };

static bool options_end_in_the_header(const uint8_t *option, const uint8_t *end)
{
    while (option < end && *option != OPTION_END) {
        if (*option == OPTION_NOTHING) {
            option++;
            continue;
        }
        if (end - option < 2 || option[1] < 2U || option[1] > end - option) {
            return false;
        }
        option += option[1];
    }
    return true;
}

// What is no TCP over IPv4, or ends before its TCP header does, lwIP sees through itself, but for fragments, which it
// puts together first.
bool lwip_guard_passes(const uint8_t *frame, uint32_t length)
{
    const uint8_t *ip = frame + ETHERNET_BYTES;
    if (length < ETHERNET_BYTES + IPV4_BYTES || frame[12] != 0x08 || frame[13] != 0x00 ||
        ip[PROTOCOL_AT] != PROTOCOL_TCP) {
        return true;
    }
    uint32_t fragment_at = ((ip[FRAGMENT_AT] & 0x1fU) << 8 | ip[FRAGMENT_AT + 1U]) * 8U;
    if (fragment_at != 0U) {
        return fragment_at >= TCP_BYTES_MAX; // data; nobody sends a header in pieces in good faith (RFC 3128)
    }
    bool whole = (ip[FRAGMENT_AT] & MORE_FRAGMENTS) == 0U;
    uint32_t tcp_at = ETHERNET_BYTES + (ip[0] & 0xfU) * 4U;
    if (length < tcp_at + TCP_BYTES) {
        return whole;
    }
    const uint8_t *tcp = frame + tcp_at;
    uint32_t header_bytes = (uint32_t)(tcp[DATA_OFFSET_AT] >> 4) * 4U;
    if (header_bytes <= TCP_BYTES) {
        return true;
    }
    if (length < tcp_at + header_bytes) {
        return whole;
    }
    return options_end_in_the_header(tcp + TCP_BYTES, tcp + header_bytes);
}
