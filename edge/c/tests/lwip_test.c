// SPDX-License-Identifier: Apache-2.0
//
// The client's sockets over lwIP with its own threads: a node answers on the loop interface.

#include <lwip/sockets.h>
#include <lwip/sys.h>
#include <lwip/tcpip.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "peer.h"
#include "weir_edge/socket.h"

#define MS UINT64_C(1000000)
#define PORT 9000U

static struct weir_edge_socket device;
static struct weir_edge_event last;
static uint32_t accepted;
static bool ended;

static uint64_t now_ns(void *context)
{
    struct timespec now;
    (void)context;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * 1000U * MS + (uint64_t)now.tv_nsec;
}

static uint64_t number_at(const uint8_t *bytes, size_t at, size_t count)
{
    uint64_t number = 0;
    for (size_t i = 0; i < count; i++) {
        number = number << 8 | bytes[at + i];
    }
    return number;
}

static void reply(int descriptor, const struct peer_datagram *datagram, const struct sockaddr *to, socklen_t to_bytes)
{
    CHECK(lwip_sendto(descriptor, datagram->bytes, datagram->length, 0, to, to_bytes) == (ssize_t)datagram->length);
}

// A node: answers hellos, and says of each task that it is accepted and done.
static void node(void *argument)
{
    int descriptor = *(int *)argument;
    struct peer peer = peer_at(1);
    for (;;) {
        uint8_t bytes[WEIR_EDGE_DATAGRAM_BYTES];
        struct sockaddr_storage from;
        socklen_t from_bytes = sizeof from;
        ssize_t length = lwip_recvfrom(descriptor, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &from_bytes);
        CHECK(length >= (ssize_t)(WEIR_EDGE_HEADER_BYTES + WEIR_EDGE_TAG_BYTES));
        uint64_t client = number_at(bytes, 4, 8);
        uint32_t number = (uint32_t)number_at(bytes, 36, 4);
        struct peer_datagram datagram;
        if (bytes[3] == WEIR_EDGE_HELLO) {
            uint64_t sent_at_ns = number_at(bytes, 28, 8);
            datagram = peer_welcome(&peer, now_ns(NULL), client, sent_at_ns, NULL, 0);
            reply(descriptor, &datagram, (struct sockaddr *)&from, from_bytes);
        } else if (bytes[3] == WEIR_EDGE_SUBMIT) {
            datagram = peer_accept(&peer, now_ns(NULL), client, number, bytes[40], &peer.address);
            reply(descriptor, &datagram, (struct sockaddr *)&from, from_bytes);
            datagram = peer_result(&peer, now_ns(NULL), client, number, WEIR_EDGE_EXIT_DONE, "output");
            reply(descriptor, &datagram, (struct sockaddr *)&from, from_bytes);
        }
    }
}

static void takes_event(void *context, const struct weir_edge_event *event)
{
    (void)context;
    accepted += event->kind == WEIR_EDGE_ACCEPTED ? 1U : 0U;
    ended = ended || event->kind == WEIR_EDGE_RESULT;
    last = *event;
}

static void a_task_comes_back(const struct sockaddr *address, socklen_t address_bytes,
                              const struct weir_edge_address *to)
{
    static int descriptor;
    static uint8_t output[10];
    tcpip_init(NULL, NULL);
    descriptor = lwip_socket(address->sa_family, SOCK_DGRAM, 0);
    CHECK(descriptor >= 0 && lwip_bind(descriptor, address, address_bytes) == 0);
    CHECK(sys_thread_new("node", node, &descriptor, 0, 0) != NULL);
    struct weir_edge_socket_config config = {.now_ns = now_ns, .on_event = takes_event};
    config.client.hmac = peer_hmac;
    config.client.session = 77;
    config.client.nodes = to;
    config.client.nodes_count = 1;
    config.client.answer_ns = 1000U * (uint32_t)MS;
    CHECK(weir_edge_socket_open(&device, &config) == WEIR_EDGE_OK);
    struct weir_edge_task task = {
        .program = "p", .output = output, .output_bytes_max = sizeof output, .wcet_ns = MS, .budget_ns = 60000U * MS};
    uint32_t number = 0;
    while (weir_edge_socket_submit(&device, &task, &number) == WEIR_EDGE_NO_NODE) {
        CHECK(weir_edge_socket_run(&device, now_ns(NULL) + 1000U * MS) == WEIR_EDGE_OK);
    }
    while (!ended) {
        CHECK(weir_edge_socket_run(&device, UINT64_MAX) == WEIR_EDGE_OK);
    }
    CHECK(last.kind == WEIR_EDGE_RESULT && last.number == number && accepted == 1U && last.result.lateness_ns < 0);
    CHECK(last.result.output_bytes == 6U && memcmp(output, "output", 6) == 0 && device.unsent == 0U);
    weir_edge_socket_close(&device);
}

static void a_task_comes_back_over_ip4(void)
{
    struct weir_edge_address to = {.ip = {127, 0, 0, 1}, .port = PORT, .version = 4};
    struct sockaddr_in address = {.sin_len = sizeof address, .sin_family = AF_INET, .sin_port = lwip_htons(PORT)};
    address.sin_addr.s_addr = INADDR_ANY;
    a_task_comes_back((struct sockaddr *)&address, sizeof address, &to);
}

#if LWIP_IPV6
static void a_task_comes_back_over_ip6(void)
{
    struct weir_edge_address to = {.ip = {[15] = 1}, .port = PORT, .version = 6};
    struct sockaddr_in6 address = {.sin6_len = sizeof address, .sin6_family = AF_INET6, .sin6_port = lwip_htons(PORT)};
    a_task_comes_back((struct sockaddr *)&address, sizeof address, &to);
}
#endif

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"a task comes back over IPv4", a_task_comes_back_over_ip4},
#if LWIP_IPV6
        {"a task comes back over IPv6", a_task_comes_back_over_ip6},
#endif
    };
    CHECK(argc == 2);
    return check_run("weir_edge_socket, lwIP", tests, sizeof tests / sizeof tests[0], argv[1]);
}
