// SPDX-License-Identifier: Apache-2.0
//
// What lwIP keeps, kept_frames.c has said: over the real lwIP, segments and fragments in any order.

#include "kept_frames.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "host_sys.h"
#include "lwip/etharp.h"
#include "lwip/inet_chksum.h"
#include "lwip/init.h"
#include "lwip/netif.h"
#include "lwip/prot/tcp.h"
#include "lwip/tcp.h"
#include "lwip/tcpip.h"
#include "lwip/udp.h"
#include "netif/ethernet.h"
#include "scenario.h"
#include "weir/flows.h"

#define PORT 502
#define IP_AT 14U
#define TCP_AT 34U
#define DATA_AT 54U
#define FRAME_MAX 1600U
#define STREAM 20000U
#define SEGMENT_MAX 700U
#define FLOW 3U
#define PEER_ISN 0xfffff000U // sequence numbers wrap on the way
#define PIECE 64U
#define PIECES 4U

struct scenario weir_scenario;
const uint32_t host_mtime[2];
int scenario_tcpip_priority(void)
{
    return 1;
}
void host_sys_protect(void) {}
void host_sys_unprotect(void) {}
bool host_sys_post(uint32_t filled)
{
    (void)filled;
    return true;
}

static struct check_random random_ = {7};
static struct netif netif;
static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1}, peer_mac[6] = {2, 0, 0, 0, 0, 2};
static const uint8_t address[4] = {10, 0, 0, 1}, peer[4] = {10, 0, 0, 2};

static uint32_t device_isn;
static uint8_t stream[STREAM], received[STREAM];
static uint32_t received_bytes, datagrams;
static uint32_t places_freed[WEIR_FLOWS_ALL * KEPT_FRAMES_PER_FLOW];
static bool lwip_has_it; // the frame that was handed in last

void kept_frames_freed(uint32_t place)
{
    CHECK(place < sizeof places_freed / sizeof places_freed[0]);
    places_freed[place]++;
}

static err_t transmit(struct netif *to, struct pbuf *p)
{
    (void)to;
    uint8_t frame[FRAME_MAX];
    CHECK(pbuf_copy_partial(p, frame, sizeof frame, 0) == p->tot_len);
    if (frame[13] == 0 && (frame[TCP_AT + 13] & TCP_SYN) != 0U) {
        memcpy(&device_isn, frame + TCP_AT + 4, 4);
        device_isn = lwip_ntohl(device_isn);
    }
    return ERR_OK;
}

static err_t start_netif(struct netif *started)
{
    started->linkoutput = transmit;
    started->output = etharp_output;
    started->hwaddr_len = 6;
    memcpy(started->hwaddr, mac, 6);
    started->mtu = 1500;
    started->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_LINK_UP;
    return ERR_OK;
}

// The application is never behind: what it has not been given, lwIP has kept.
static err_t application(void *argument, struct tcp_pcb *pcb, struct pbuf *p, err_t error)
{
    (void)argument;
    CHECK(error == ERR_OK);
    if (p != NULL) {
        CHECK(received_bytes + p->tot_len <= STREAM);
        received_bytes += pbuf_copy_partial(p, received + received_bytes, p->tot_len, 0);
        tcp_recved(pcb, p->tot_len);
        (void)pbuf_free(p);
    }
    return ERR_OK;
}

static err_t accepted(void *argument, struct tcp_pcb *pcb, err_t error)
{
    (void)argument;
    CHECK(error == ERR_OK);
    tcp_recv(pcb, application);
    return ERR_OK;
}

static void datagram(void *argument, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *from, u16_t port)
{
    (void)argument;
    (void)pcb;
    (void)from;
    (void)port;
    CHECK(p->tot_len == PIECES * PIECE - 8U);
    datagrams++;
    (void)pbuf_free(p);
}

static void freed(struct pbuf *p)
{
    lwip_has_it = false;
    free(p); // with its bytes
}

// Into lwIP as it is. Returns whether lwIP has kept it, as it must have been foretold.
static bool kept_by_lwip(const uint8_t *frame, uint16_t length)
{
    bool foretold = kept_frames_waits(frame, length);
    struct pbuf_custom *custom = malloc(sizeof *custom + length);
    CHECK(custom != NULL);
    uint8_t *bytes = (uint8_t *)(custom + 1);
    memcpy(bytes, frame, length);
    custom->custom_free_function = freed;
    lwip_has_it = true;
    struct pbuf *p = pbuf_alloced_custom(PBUF_RAW, length, PBUF_REF, custom, bytes, length);
    if (ethernet_input(p, &netif) != ERR_OK) {
        (void)pbuf_free(p);
    }
    CHECK(!lwip_has_it || foretold);
    return lwip_has_it;
}

static uint32_t full;

// As the driver does it.
static void through_copies(const uint8_t *frame, uint16_t length, uint8_t flow)
{
    struct pbuf original = {.payload = (void *)(uintptr_t)frame, .len = length, .tot_len = length};
    if (!kept_frames_waits(frame, length)) {
        CHECK(!kept_by_lwip(frame, length));
        return;
    }
    uint32_t place;
    struct pbuf *copy = kept_frames_copy(&original, flow, &place);
    if (copy == NULL) {
        full++;
        return;
    }
    CHECK(place / KEPT_FRAMES_PER_FLOW == flow && memcmp(copy->payload, frame, length) == 0);
    if (ethernet_input(copy, &netif) != ERR_OK) {
        (void)pbuf_free(copy);
    }
}

static void start(void)
{
    CHECK(sys_mutex_new(&lock_tcpip_core) == ERR_OK);
    sys_mutex_lock(&lock_tcpip_core);
    lwip_init();
    ip4_addr_t ip, mask, gateway = {0};
    memcpy(&ip.addr, address, 4);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    CHECK(netif_add(&netif, &ip, &mask, &gateway, NULL, start_netif, ethernet_input) != NULL);
    netif_set_default(&netif);
    netif_set_up(&netif);
    struct tcp_pcb *pcb = tcp_new();
    CHECK(pcb != NULL && tcp_bind(pcb, IP_ADDR_ANY, PORT) == ERR_OK);
    tcp_accept(tcp_listen(pcb), accepted);
    struct udp_pcb *udp = udp_new();
    CHECK(udp != NULL && udp_bind(udp, IP_ADDR_ANY, PORT) == ERR_OK);
    udp_recv(udp, datagram, NULL);
    // So that the device knows where the peer is.
    uint8_t arp[42] = {[12] = 8, 6, 0, 1, 8, 0, 6, 4, 0, 1};
    memcpy(arp, mac, 6);
    memcpy(arp + 6, peer_mac, 6);
    memcpy(arp + 22, peer_mac, 6);
    memcpy(arp + 28, peer, 4);
    memcpy(arp + 38, address, 4);
    CHECK(!kept_by_lwip(arp, sizeof arp));
}

// Headers for `bytes` of IP payload. Returns the frame's length.
static uint16_t ip_frame(uint8_t *frame, uint8_t protocol, uint16_t id, uint16_t fragment, uint32_t bytes)
{
    memset(frame, 0, TCP_AT);
    memcpy(frame, mac, 6);
    memcpy(frame + 6, peer_mac, 6);
    frame[12] = 8;
    uint8_t *ip = frame + IP_AT;
    uint16_t words[] = {lwip_htons((uint16_t)(20U + bytes)), lwip_htons(id), lwip_htons(fragment)};
    ip[0] = 0x45;
    memcpy(ip + 2, words, sizeof words);
    ip[8] = 64;
    ip[9] = protocol;
    memcpy(ip + 12, peer, 4);
    memcpy(ip + 16, address, 4);
    uint16_t sum = inet_chksum(ip, 20);
    memcpy(ip + 10, &sum, 2);
    return (uint16_t)(TCP_AT + bytes);
}

static uint16_t segment(uint8_t *frame, uint8_t flags, uint32_t sequence, const uint8_t *data, uint32_t bytes)
{
    uint16_t length = ip_frame(frame, IP_PROTO_TCP, 1, 0, TCP_HLEN + bytes);
    struct tcp_hdr header = {.src = lwip_htons(4000),
                             .dest = lwip_htons(PORT),
                             .seqno = lwip_htonl(sequence),
                             .ackno = lwip_htonl(flags == TCP_SYN ? 0U : device_isn + 1U),
                             ._hdrlen_rsvd_flags = lwip_htons((uint16_t)(5U << 12 | flags)),
                             .wnd = lwip_htons(60000)};
    memcpy(frame + TCP_AT, &header, sizeof header);
    memcpy(frame + DATA_AT, data, bytes);
    struct pbuf p = {
        .payload = frame + TCP_AT, .len = (uint16_t)(TCP_HLEN + bytes), .tot_len = (uint16_t)(TCP_HLEN + bytes)};
    ip_addr_t from, to;
    memcpy(&from.addr, peer, 4);
    memcpy(&to.addr, address, 4);
    uint16_t sum = ip_chksum_pseudo(&p, IP_PROTO_TCP, p.tot_len, &from, &to);
    memcpy(frame + TCP_AT + offsetof(struct tcp_hdr, chksum), &sum, 2);
    return length;
}

static void connect_peer(void)
{
    uint8_t frame[FRAME_MAX];
    CHECK(!kept_by_lwip(frame, segment(frame, TCP_SYN, PEER_ISN, stream, 0)));
    CHECK(!kept_by_lwip(frame, segment(frame, TCP_ACK, PEER_ISN + 1U, stream, 0)));
    for (uint32_t i = 0; i < STREAM; i++) {
        stream[i] = (uint8_t)check_random(&random_);
    }
}

// Data from around where the receiver is: behind, overlapping, next, ahead.
static uint16_t some_segment(uint8_t *frame)
{
    uint32_t from = received_bytes + check_below(&random_, 3000);
    from = check_once_in(&random_, 3) ? received_bytes : from < 500U ? 0U : from - 500U;
    from = from < STREAM ? from : STREAM - 1U;
    uint32_t bytes = 1U + check_below(&random_, SEGMENT_MAX);
    bytes = bytes < STREAM - from ? bytes : STREAM - from;
    return segment(frame, TCP_ACK, PEER_ISN + 1U + from, stream + from, bytes);
}

static void segments_that_lwip_keeps_are_foretold(void)
{
    start();
    connect_peer();
    uint32_t kept = 0, foretold = 0;
    for (uint32_t i = 0; received_bytes < STREAM; i++) {
        uint8_t frame[FRAME_MAX];
        uint16_t length = some_segment(frame);
        check_context("segment %u", i);
        CHECK(i < 10000U);
        foretold += kept_frames_waits(frame, length) ? 1U : 0U;
        kept += kept_by_lwip(frame, length) ? 1U : 0U;
    }
    CHECK(memcmp(received, stream, STREAM) == 0 && kept > 20U && foretold < 2U * kept);
}

static void a_stream_out_of_order_arrives_through_copies(void)
{
    start();
    connect_peer();
    for (uint32_t i = 0; received_bytes < STREAM; i++) {
        uint8_t frame[FRAME_MAX];
        check_context("segment %u", i);
        CHECK(i < 10000U);
        through_copies(frame, some_segment(frame), FLOW);
    }
    CHECK(memcmp(received, stream, STREAM) == 0 && kept_frames_count == 0U &&
          places_freed[FLOW * KEPT_FRAMES_PER_FLOW] > 10U);
}

static void a_connection_that_is_none_is_not_waited_for(void)
{
    start();
    connect_peer();
    uint8_t frame[FRAME_MAX];
    uint16_t length = segment(frame, TCP_ACK, PEER_ISN + 1000U, stream, 10);
    CHECK(kept_frames_waits(frame, length));
    for (uint32_t at = IP_AT + 12U; at < TCP_AT + 4U; at++) { // addresses and ports
        frame[at] ^= 1U;
        CHECK(!kept_frames_waits(frame, length));
        frame[at] ^= 1U;
    }
    frame[12] = 0x86;
    CHECK(!kept_frames_waits(frame, length));
}

static uint16_t fragment(uint8_t *frame, uint16_t id, uint32_t which)
{
    uint16_t offset = (uint16_t)(which * PIECE / 8U | (which + 1U < PIECES ? IP_MF : 0U));
    uint16_t length = ip_frame(frame, IP_PROTO_UDP, id, offset, PIECE);
    memset(frame + TCP_AT, 0, PIECE);
    if (which == 0U) {
        uint16_t header[4] = {lwip_htons(4000), lwip_htons(PORT), lwip_htons(PIECES * PIECE), 0};
        memcpy(frame + TCP_AT, header, sizeof header);
    }
    return length;
}

static void datagrams_in_fragments_arrive_through_copies(void)
{
    start();
    for (uint16_t id = 1; id <= 100U; id++) {
        uint32_t first = check_below(&random_, PIECES);
        for (uint32_t i = 0; i < PIECES; i++) {
            uint8_t frame[FRAME_MAX];
            through_copies(frame, fragment(frame, id, (first + i) % PIECES), WEIR_FLOW_BACKGROUND);
        }
        CHECK(datagrams == id && kept_frames_count == 0U && full == 0U);
    }
}

// lwIP gives up the oldest ones; before it has seen the new one it cannot.
static void fragments_whose_rest_never_comes_hold_up_nobody(void)
{
    start();
    uint8_t frame[FRAME_MAX];
    for (uint16_t id = 1; id <= 100U; id++) {
        through_copies(frame, fragment(frame, id, 0), WEIR_FLOW_BACKGROUND);
        CHECK(full == 0U && kept_frames_count <= KEPT_FRAMES_PER_FLOW);
    }
    for (uint32_t i = 0; i < PIECES; i++) {
        through_copies(frame, fragment(frame, 1000, i), WEIR_FLOW_BACKGROUND);
    }
    CHECK(datagrams == 1U);
}

static void each_flow_has_room_of_its_own(void)
{
    uint8_t frame[KEPT_FRAMES_BYTES + 1U] = {0};
    struct pbuf p = {.payload = frame, .len = 100, .tot_len = 100};
    struct pbuf *copies[KEPT_FRAMES_PER_FLOW];
    uint32_t place;
    for (uint32_t i = 0; i < KEPT_FRAMES_PER_FLOW; i++) {
        copies[i] = kept_frames_copy(&p, 0, &place);
        CHECK(copies[i] != NULL && place == i && kept_frames_count == i + 1U);
    }
    CHECK(kept_frames_copy(&p, 0, &place) == NULL);
    struct pbuf *other = kept_frames_copy(&p, 1, &place);
    CHECK(other != NULL && place == KEPT_FRAMES_PER_FLOW);
    (void)pbuf_free(copies[2]);
    CHECK(places_freed[2] == 1U && kept_frames_copy(&p, 0, &place) != NULL && place == 2U);
    p.len = p.tot_len = KEPT_FRAMES_BYTES;
    CHECK(kept_frames_copy(&p, 1, &place) != NULL);
    p.len = p.tot_len = KEPT_FRAMES_BYTES + 1U;
    CHECK(kept_frames_copy(&p, 1, &place) == NULL);
}

// In memory that ends with the frame.
static void nothing_is_read_behind_a_frame(void)
{
    start();
    connect_peer();
    for (uint32_t i = 0; i < 20000U; i++) {
        uint8_t whole[FRAME_MAX];
        uint16_t length = some_segment(whole);
        for (uint32_t changes = check_below(&random_, 4); changes > 0U; changes--) {
            whole[12U + check_below(&random_, 44)] = (uint8_t)check_random(&random_);
        }
        length = (uint16_t)(1U + check_below(&random_, 80U < length ? 80U : length));
        uint8_t *frame = malloc(length);
        CHECK(frame != NULL);
        memcpy(frame, whole, length);
        (void)kept_frames_waits(frame, length);
        free(frame);
    }
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"segments that lwIP keeps are foretold", segments_that_lwip_keeps_are_foretold},
        {"a stream out of order arrives through copies", a_stream_out_of_order_arrives_through_copies},
        {"a connection that is none is not waited for", a_connection_that_is_none_is_not_waited_for},
        {"datagrams in fragments arrive through copies", datagrams_in_fragments_arrive_through_copies},
        {"fragments whose rest never comes hold up nobody", fragments_whose_rest_never_comes_hold_up_nobody},
        {"each flow has room of its own", each_flow_has_room_of_its_own},
        {"nothing is read behind a frame", nothing_is_read_behind_a_frame},
    };
    CHECK(argc == 2);
    return check_run("kept_frames", tests, sizeof tests / sizeof tests[0], argv[1]);
}
