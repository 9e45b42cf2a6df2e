// SPDX-License-Identifier: Apache-2.0

#include "kept_frames.h"

#include <string.h>

#include "lwip/priv/tcp_priv.h"
#include "lwip/prot/ethernet.h"
#include "lwip/prot/ip4.h"
#include "lwip/prot/tcp.h"
#include "lwip/sys.h"
#include "weir/flows.h"

struct kept_frame {
    struct pbuf_custom pbuf; // first: the free function gets a pointer to it
    uint8_t data[(KEPT_FRAMES_BYTES + 3U) / 4U * 4U];
};

// Written before it is read.
static struct kept_frame kept[WEIR_FLOWS_ALL][KEPT_FRAMES_PER_FLOW] __attribute__((section(".noinit")));

static uint8_t used[WEIR_FLOWS_ALL]; // a bit for each
uint32_t kept_frames_count;

_Static_assert(KEPT_FRAMES_PER_FLOW <= 8, "a bit for each");
_Static_assert(KEPT_FRAMES_PER_FLOW > IP_REASS_MAX_PBUFS && KEPT_FRAMES_PER_FLOW > TCP_OOSEQ_MAX_PBUFS,
               "or lwIP never sees what would make it give up an old one");

static uint32_t word_at(const uint8_t *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

// A segment of a connection behind what is to come next. What lwIP has no place for in its window it drops itself.
static bool comes_too_early(const uint8_t *ip, const uint8_t *tcp)
{
    struct tcp_hdr header;
    memcpy(&header, tcp, sizeof header);
    uint32_t from = word_at(ip + offsetof(struct ip_hdr, src));
    uint32_t to = word_at(ip + offsetof(struct ip_hdr, dest));
    for (const struct tcp_pcb *pcb = tcp_active_pcbs; pcb != NULL; pcb = pcb->next) {
        if (pcb->remote_port == lwip_ntohs(header.src) && pcb->local_port == lwip_ntohs(header.dest) &&
            ip4_addr_get_u32(ip_2_ip4(&pcb->remote_ip)) == from && ip4_addr_get_u32(ip_2_ip4(&pcb->local_ip)) == to) {
            return TCP_SEQ_GT(lwip_ntohl(header.seqno), pcb->rcv_nxt);
        }
    }
    return false;
}

bool kept_frames_waits(const uint8_t *frame, uint32_t length)
{
    const uint8_t *ip = frame + SIZEOF_ETH_HDR;
    if (length < SIZEOF_ETH_HDR + IP_HLEN || frame[12] != ETHTYPE_IP >> 8 || frame[13] != (ETHTYPE_IP & 0xff)) {
        return false;
    }
    uint32_t fragment = (uint32_t)ip[6] << 8 | ip[7];
    if ((fragment & (IP_MF | IP_OFFMASK)) != 0U) {
        return true;
    }
    uint32_t tcp_at = SIZEOF_ETH_HDR + (ip[0] & 0xfU) * 4U;
    return ip[9] == IP_PROTO_TCP && length >= tcp_at + TCP_HLEN && comes_too_early(ip, frame + tcp_at);
}

static void pbuf_freed(struct pbuf *p)
{
    uint32_t place = (uint32_t)((struct kept_frame *)p - &kept[0][0]);
    SYS_ARCH_DECL_PROTECT(level);
    SYS_ARCH_PROTECT(level);
    used[place / KEPT_FRAMES_PER_FLOW] &= (uint8_t) ~(1U << place % KEPT_FRAMES_PER_FLOW);
    kept_frames_count--;
    SYS_ARCH_UNPROTECT(level);
    kept_frames_freed(place);
}

struct pbuf *kept_frames_copy(const struct pbuf *p, uint8_t flow, uint32_t *place)
{
    uint32_t free = ~(uint32_t)used[flow]; // others only free some
    uint32_t index = (uint32_t)__builtin_ctz(free);
    if (index >= KEPT_FRAMES_PER_FLOW || p->len > KEPT_FRAMES_BYTES) {
        return NULL;
    }
    SYS_ARCH_DECL_PROTECT(level);
    SYS_ARCH_PROTECT(level);
    used[flow] |= (uint8_t)(1U << index);
    kept_frames_count++;
    SYS_ARCH_UNPROTECT(level);
    struct kept_frame *copy = &kept[flow][index];
    memcpy(copy->data, p->payload, p->len);
    copy->pbuf.custom_free_function = pbuf_freed;
    *place = flow * KEPT_FRAMES_PER_FLOW + index;
    return pbuf_alloced_custom(PBUF_RAW, p->len, PBUF_REF, &copy->pbuf, copy->data, sizeof copy->data);
}
