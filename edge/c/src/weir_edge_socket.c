// SPDX-License-Identifier: Apache-2.0

// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the system's, for select() with -std=c11
#define _POSIX_C_SOURCE 200809L

#include "weir_edge/socket.h"

#include <string.h>

#include "weir_edge_sys.h"

#define NS_PER_US UINT64_C(1000)
#define US_PER_S UINT64_C(1000000)
// What is waited for at most, so that it fits any system's struct timeval.
#define WAIT_MAX_US (60U * US_PER_S)

// Any system's addresses of the versions that we know.
union any_sockaddr {
    struct sockaddr any;
    struct sockaddr_in ip4;
#if WEIR_EDGE_IPV6
    struct sockaddr_in6 ip6;
#endif
};

// Returns its bytes; 0 if the system does not have this version.
static socklen_t to_system(const struct weir_edge_address *address, union any_sockaddr *out)
{
    memset(out, 0, sizeof *out);
    if (address->version == 4U) {
        out->ip4.sin_family = AF_INET;
        out->ip4.sin_port = htons(address->port);
        memcpy(&out->ip4.sin_addr, address->ip, 4);
        return (socklen_t)sizeof out->ip4;
    }
#if WEIR_EDGE_IPV6
    out->ip6.sin6_family = AF_INET6;
    out->ip6.sin6_port = htons(address->port);
    memcpy(&out->ip6.sin6_addr, address->ip, 16);
    return (socklen_t)sizeof out->ip6;
#else
    return 0;
#endif
}

static struct weir_edge_address from_system(const union any_sockaddr *from)
{
    struct weir_edge_address address = {.version = 4, .port = ntohs(from->ip4.sin_port)};
#if WEIR_EDGE_IPV6
    if (from->any.sa_family == AF_INET6) {
        address.version = 6;
        address.port = ntohs(from->ip6.sin6_port);
        memcpy(address.ip, &from->ip6.sin6_addr, 16);
        return address;
    }
#endif
    memcpy(address.ip, &from->ip4.sin_addr, 4);
    return address;
}

static uint64_t now_of(const struct weir_edge_socket *device)
{
    return device->config.now_ns(device->config.context);
}

static void send_datagram(struct weir_edge_socket *device, const struct weir_edge_event *event)
{
    union any_sockaddr to;
    socklen_t bytes = to_system(&event->address, &to);
    if (bytes == 0U || WEIR_EDGE_SYS(sendto)(device->descriptor, event->datagram, event->datagram_bytes, MSG_DONTWAIT,
                                             &to.any, bytes) < 0) {
        device->unsent++;
    }
}

// Does what is to be done now. Not from within itself: what on_event() calls is done by the loop that called it.
static void flush(struct weir_edge_socket *device)
{
    if (device->flushing) {
        return;
    }
    device->flushing = true;
    struct weir_edge_event event;
    do {
        weir_edge_client_poll(&device->client, now_of(device), &event);
        if (event.kind == WEIR_EDGE_SEND) {
            send_datagram(device, &event);
        } else if (event.kind != WEIR_EDGE_NOTHING) {
            device->config.on_event(device->config.context, &event);
        }
    } while (event.kind != WEIR_EDGE_NOTHING);
    device->flushing = false;
}

// Takes one datagram, if there is one.
static enum weir_edge_status take_datagram(struct weir_edge_socket *device)
{
    union any_sockaddr from;
    socklen_t from_bytes = (socklen_t)sizeof from;
    memset(&from, 0, sizeof from);
    uint8_t *buffer = weir_edge_client_buffer(&device->client);
    ssize_t bytes = WEIR_EDGE_SYS(recvfrom)(device->descriptor, buffer, WEIR_EDGE_DATAGRAM_BYTES + 1U, MSG_DONTWAIT,
                                            &from.any, &from_bytes);
    if (bytes < 0) {
        // Somebody's ICMP may be reported as an error of the socket; it says nothing that matters here.
        bool passes = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ECONNREFUSED;
        return passes ? WEIR_EDGE_OK : WEIR_EDGE_SYSTEM;
    }
    struct weir_edge_address address = from_system(&from);
    weir_edge_client_receive(&device->client, now_of(device), &address, buffer, (size_t)bytes);
    return WEIR_EDGE_OK;
}

enum weir_edge_status weir_edge_socket_open(struct weir_edge_socket *device,
                                            const struct weir_edge_socket_config *config)
{
    if (config->now_ns == NULL || config->on_event == NULL) {
        return WEIR_EDGE_INVALID;
    }
    device->config = *config;
    device->flushing = false;
    device->unsent = 0;
    enum weir_edge_status status = weir_edge_client_init(&device->client, &config->client, now_of(device));
    if (status != WEIR_EDGE_OK) {
        return status;
    }
    device->config.client.nodes = NULL; // the caller's, and not needed any more
    union any_sockaddr local;
    struct weir_edge_address any = {.version = config->client.nodes[0].version, .port = config->port};
    socklen_t bytes = to_system(&any, &local);
    if (bytes == 0U) {
        return WEIR_EDGE_INVALID;
    }
    device->descriptor = WEIR_EDGE_SYS(socket)(local.any.sa_family, SOCK_DGRAM, 0);
    if (device->descriptor < 0) {
        return WEIR_EDGE_SYSTEM;
    }
    if (device->descriptor >= FD_SETSIZE || WEIR_EDGE_SYS(bind)(device->descriptor, &local.any, bytes) != 0) {
        int why = device->descriptor >= FD_SETSIZE ? EMFILE : errno;
        weir_edge_socket_close(device);
        errno = why;
        return WEIR_EDGE_SYSTEM;
    }
    return WEIR_EDGE_OK;
}

void weir_edge_socket_close(struct weir_edge_socket *device)
{
    (void)WEIR_EDGE_SYS(close)(device->descriptor);
    device->descriptor = -1;
}

enum weir_edge_status weir_edge_socket_submit(struct weir_edge_socket *device, const struct weir_edge_task *task,
                                              uint32_t *number)
{
    enum weir_edge_status status = weir_edge_client_submit(&device->client, now_of(device), task, number);
    flush(device);
    return status;
}

enum weir_edge_status weir_edge_socket_cancel(struct weir_edge_socket *device, uint32_t number)
{
    enum weir_edge_status status = weir_edge_client_cancel(&device->client, number);
    flush(device);
    return status;
}

enum weir_edge_status weir_edge_socket_run(struct weir_edge_socket *device, uint64_t until_ns)
{
    flush(device);
    uint64_t at_ns = weir_edge_client_timeout(&device->client);
    at_ns = at_ns < until_ns ? at_ns : until_ns;
    uint64_t now_ns = now_of(device);
    // Rounded up: who is woken too early only finds that he must wait again.
    uint64_t wait_us = at_ns > now_ns ? (at_ns - now_ns + NS_PER_US - 1U) / NS_PER_US : 0U;
    wait_us = wait_us < WAIT_MAX_US ? wait_us : WAIT_MAX_US;
    struct timeval wait = {.tv_sec = (time_t)(wait_us / US_PER_S), .tv_usec = (suseconds_t)(wait_us % US_PER_S)};
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(device->descriptor, &readable);
    int ready = WEIR_EDGE_SYS(select)(device->descriptor + 1, &readable, NULL, NULL, &wait);
    if (ready < 0 && errno != EINTR) {
        return WEIR_EDGE_SYSTEM;
    }
    enum weir_edge_status status = ready > 0 ? take_datagram(device) : WEIR_EDGE_OK;
    flush(device);
    return status;
}
