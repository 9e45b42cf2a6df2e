// SPDX-License-Identifier: Apache-2.0
//
// A client on a UDP socket of its own: BSD sockets, as Linux has them, or lwIP's (compile with -DWEIR_EDGE_LWIP; lwIP
// needs LWIP_SOCKET and LWIP_SOCKET_SELECT). One task (thread) calls all of these:
//
//   weir_edge_socket_open(&device, &config);
//   for (;;) {
//       weir_edge_socket_run(&device, now_ns(NULL) + period_ns);
//       ... weir_edge_socket_submit(&device, &task, NULL) where it has something to hand over ...
//   }
//
// Outcomes come to config.on_event(), from any of them. It may call submit() and cancel(), but not run() and close().

#ifndef WEIR_EDGE_SOCKET_H
#define WEIR_EDGE_SOCKET_H

#include "weir_edge/client.h"

struct weir_edge_socket_config {
    // `nodes` are of one version of IP, which is the socket's; of the other's it hears and keeps away. IPv6 with lwIP
    // needs LWIP_IPV6.
    struct weir_edge_config client;
    // UDP port to be bound to; 0: one that the system chooses.
    uint16_t port;
    // Nanoseconds of a clock that never goes back and never wraps, in any task. Not null. On Linux, CLOCK_MONOTONIC; a
    // clock in ticks that wraps must be extended.
    uint64_t (*now_ns)(void *context);
    // Any event but NOTHING and SEND. What it points to is the callee's until it returns, but for the task's memory.
    // Not null.
    void (*on_event)(void *context, const struct weir_edge_event *event);
    void *context; // of both
};

struct weir_edge_socket {
    struct weir_edge_client client; // weir_edge_client_nearest(), under_way() and dropped() may be called with it
    struct weir_edge_socket_config config;
    int descriptor;
    bool flushing;
    uint32_t unsent; // datagrams that the system did not take; they count as lost on their way
};

// Opens the socket in the caller's memory. OK; INVALID: see client.h, or a null pointer; SYSTEM: nothing is open.
enum weir_edge_status weir_edge_socket_open(struct weir_edge_socket *device,
                                            const struct weir_edge_socket_config *config);

// Closes it. Nothing is said to nodes, which forget tasks under way at their deadlines; cancel() them before.
void weir_edge_socket_close(struct weir_edge_socket *device);

// As weir_edge_client_submit(), and sends it.
enum weir_edge_status weir_edge_socket_submit(struct weir_edge_socket *device, const struct weir_edge_task *task,
                                              uint32_t *number);

// As weir_edge_client_cancel(), and sends it.
enum weir_edge_status weir_edge_socket_cancel(struct weir_edge_socket *device, uint32_t number);

// Does what is to be done, waits for one datagram until `until_ns` at the latest, and does what comes of it. Returns
// earlier when the client had something to do. OK, or SYSTEM if the socket cannot be read.
enum weir_edge_status weir_edge_socket_run(struct weir_edge_socket *device, uint64_t until_ns);

#endif
