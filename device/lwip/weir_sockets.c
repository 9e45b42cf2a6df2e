// SPDX-License-Identifier: Apache-2.0

#include "weir_sockets.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "FreeRTOS.h"
#include "task.h"

#include "lwip/api.h"
#include "lwip/priv/sockets_priv.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/tcpip.h"
#include "lwip/udp.h"
#include "weir/port.h"
#include "weir/rx.h"
#include "weir_hooks.h"

#undef sys_arch_mbox_fetch
#undef sys_arch_mbox_tryfetch

static struct {
    const sys_mbox_t *mbox; // where the receiving task waits; NULL: nobody can
    // The task that received last; until one has, that opened the socket. Only compared: it may be gone.
    TaskHandle_t receiver;
    uint8_t receiver_priority;
    struct weir_so_flow asked; // by setsockopt()
    bool seen;
} sockets[WEIR_FLOWS];

static uint32_t fingerprint; // of lwIP's lists when the flows were last compared with them
static bool without_flow;    // a socket found no room in the table then

// Calls `each` for every socket with a local port. With the core lock.
static void for_each_socket(void (*each)(weir_match match, const sys_mbox_t *mbox))
{
    for (const struct udp_pcb *pcb = udp_pcbs; pcb != NULL; pcb = pcb->next) {
        const struct netconn *conn = pcb->recv_arg;
        each(weir_match_port(WEIR_PROTOCOL_UDP, pcb->local_port), conn == NULL ? NULL : &conn->recvmbox);
    }
    for (const struct tcp_pcb_listen *pcb = tcp_listen_pcbs.listen_pcbs; pcb != NULL; pcb = pcb->next) {
        const struct netconn *conn = pcb->callback_arg;
        each(weir_match_port(WEIR_PROTOCOL_TCP, pcb->local_port), conn == NULL ? NULL : &conn->acceptmbox);
    }
    for (const struct tcp_pcb *pcb = tcp_bound_pcbs; pcb != NULL; pcb = pcb->next) {
        each(weir_match_port(WEIR_PROTOCOL_TCP, pcb->local_port), NULL);
    }
    for (const struct tcp_pcb *pcb = tcp_active_pcbs; pcb != NULL; pcb = pcb->next) {
        const struct netconn *conn = pcb->callback_arg;
        each(weir_match_port(WEIR_PROTOCOL_TCP, pcb->local_port), conn == NULL ? NULL : &conn->recvmbox);
    }
}

// A sum: lwIP changes the order of its lists as it looks up sockets.
static void add_fingerprint(weir_match match, const sys_mbox_t *mbox)
{
    fingerprint += (match ^ (uint32_t)(uintptr_t)mbox) * UINT32_C(2654435761);
}

static uint8_t priority_of(uint8_t flow)
{
    uint8_t asked = sockets[flow].asked.priority;
    return asked != 0U ? asked : sockets[flow].receiver_priority;
}

// A task's own, not what it has inherited with the core lock.
static uint8_t own_priority(void)
{
    return (uint8_t)uxTaskBasePriorityGet(NULL);
}

// The IP stack's own packets (ARP and the like) matter as much as those of the most urgent socket that depends on them.
// With the port's lock.
static void system_priority_follows(void)
{
    uint8_t highest = 1;
    for (uint8_t i = 0; i < WEIR_FLOWS; i++) {
        const struct weir_flow *flow = weir_flow(i);
        highest = flow->match != WEIR_MATCH_REFUSED && flow->priority > highest ? flow->priority : highest;
    }
    if (highest != weir_flow(WEIR_FLOW_ADDRESS)->priority) {
        weir_flow_set_priority(WEIR_FLOW_ADDRESS, highest);
        weir_flow_set_priority(WEIR_FLOW_CONTROL, highest);
        WEIR_FLOW_CHANGED(WEIR_FLOW_ADDRESS);
        WEIR_FLOW_CHANGED(WEIR_FLOW_CONTROL);
    }
}

static void flow_open(weir_match match, const sys_mbox_t *mbox)
{
    if (match == weir_match_port(WEIR_PROTOCOL_UDP, 0) || match == weir_match_port(WEIR_PROTOCOL_TCP, 0)) {
        return; // no local port yet
    }
    TaskHandle_t self = xTaskGetCurrentTaskHandle();
    weir_port_state state = weir_port_lock();
    uint8_t flow = weir_flow_find(match);
    if (flow == WEIR_NO_FLOW) {
        flow = weir_flow_add(match, own_priority());
        if (flow != WEIR_NO_FLOW) {
            memset(&sockets[flow], 0, sizeof sockets[flow]);
            sockets[flow].receiver = self;
            sockets[flow].receiver_priority = own_priority();
            WEIR_FLOW_CHANGED(flow);
        }
    }
    weir_port_unlock(state);
    if (flow == WEIR_NO_FLOW) {
        without_flow = true;
        return;
    }
    // A listener's own mailbox, not those of its connections, which come later in lwIP's lists.
    if (!sockets[flow].seen || sockets[flow].mbox == NULL) {
        sockets[flow].mbox = mbox;
    }
    sockets[flow].seen = true;
}

static void flows_close_unseen(void)
{
    for (uint8_t i = 0; i < WEIR_FLOWS; i++) {
        if (weir_flow(i)->match != WEIR_MATCH_REFUSED && !sockets[i].seen) {
            sockets[i].mbox = NULL;
            weir_port_state state = weir_port_lock();
            weir_flow_remove(i);
            weir_port_unlock(state);
            WEIR_FLOW_REMOVED(i);
        }
        sockets[i].seen = false;
    }
}

void weir_lwip_unlock(void)
{
    uint32_t before = fingerprint;
    fingerprint = 0;
    for_each_socket(add_fingerprint);
    if (fingerprint != before || without_flow) { // a flow may have ended in the meantime
        without_flow = false;
        for_each_socket(flow_open);
        flows_close_unseen();
        weir_port_state state = weir_port_lock();
        system_priority_follows();
        weir_port_unlock(state);
    }
    sys_mutex_unlock(&lock_tcpip_core);
}

// The calling task receives from this mailbox, or is about to.
static void received_by_caller(const sys_mbox_t *mbox)
{
    TaskHandle_t self = xTaskGetCurrentTaskHandle();
    uint8_t priority = own_priority();
    for (uint8_t i = 0; i < WEIR_FLOWS; i++) {
        if (sockets[i].mbox == mbox) {
            if (sockets[i].receiver != self || sockets[i].receiver_priority != priority) {
                weir_port_state state = weir_port_lock();
                sockets[i].receiver = self;
                sockets[i].receiver_priority = priority;
                weir_flow_set_priority(i, priority_of(i));
                WEIR_FLOW_CHANGED(i);
                system_priority_follows();
                weir_port_unlock(state);
            }
            return;
        }
    }
}

u32_t weir_lwip_fetch(sys_mbox_t *mbox, void **message, u32_t timeout)
{
    received_by_caller(mbox);
    return sys_arch_mbox_fetch(mbox, message, timeout);
}

u32_t weir_lwip_tryfetch(sys_mbox_t *mbox, void **message)
{
    received_by_caller(mbox);
    return sys_arch_mbox_tryfetch(mbox, message);
}

// The socket's flow, or an errno.
static int flow_of_socket(const struct lwip_sock *sock, uint8_t *flow)
{
    const struct netconn *conn = sock->conn;
    uint16_t port = 0;
    uint8_t protocol = 0;
    if (NETCONNTYPE_GROUP(conn->type) == NETCONN_UDP && conn->pcb.udp != NULL) {
        port = conn->pcb.udp->local_port;
        protocol = WEIR_PROTOCOL_UDP;
    } else if (NETCONNTYPE_GROUP(conn->type) == NETCONN_TCP && conn->pcb.tcp != NULL) {
        port = conn->pcb.tcp->local_port; // where listening ones have it, too
        protocol = WEIR_PROTOCOL_TCP;
    }
    if (port == 0U) {
        return EADDRNOTAVAIL;
    }
    *flow = weir_flow_find(weir_match_port(protocol, port));
    return *flow == WEIR_NO_FLOW ? ENOBUFS : 0;
}

static int set_flow(uint8_t flow, const struct weir_so_flow *asked)
{
    struct weir_server server;
    uint64_t period = (uint64_t)asked->period_us * WEIR_PORT_TICKS_PER_US;
    int error = weir_server_init(&server, (enum weir_server_kind)asked->server, asked->capacity, period);
    if (error != 0 || asked->priority >= WEIR_PRIORITIES ||
        (asked->sender_bytes != 0U && asked->sender_bytes != 4U && asked->sender_bytes != 16U)) {
        return EINVAL;
    }
    uint32_t sender[4];
    memcpy(sender, asked->sender, sizeof sender);
    weir_port_state state = weir_port_lock();
    sockets[flow].asked = *asked;
    weir_flow_set_server(flow, &server);
    weir_flow_set_sender(flow, sender, (uint8_t)(asked->sender_bytes / 4U));
    weir_flow_set_priority(flow, priority_of(flow));
    WEIR_FLOW_CHANGED(flow);
    system_priority_follows();
    weir_port_unlock(state);
    return 0;
}

int weir_lwip_setsockopt(struct lwip_sock *sock, int level, int option, const void *value, uint32_t length, int *error)
{
    if (level != SOL_WEIR) {
        return 0;
    }
    uint8_t flow;
    struct weir_so_flow asked;
    *error = option == WEIR_SO_FLOW ? 0 : ENOPROTOOPT;
    if (*error == 0 && length != sizeof asked) {
        *error = EINVAL;
    }
    if (*error == 0) {
        *error = flow_of_socket(sock, &flow);
    }
    if (*error == 0) {
        memcpy(&asked, value, sizeof asked);
        *error = set_flow(flow, &asked);
    }
    return 1;
}

int weir_lwip_getsockopt(struct lwip_sock *sock, int level, int option, void *value, uint32_t *length, int *error)
{
    if (level != SOL_WEIR) {
        return 0;
    }
    uint8_t flow;
    uint32_t size = option == WEIR_SO_FLOW ? sizeof(struct weir_so_flow) : sizeof(struct weir_so_flow_counters);
    *error = option == WEIR_SO_FLOW || option == WEIR_SO_FLOW_COUNTERS ? 0 : ENOPROTOOPT;
    if (*error == 0 && *length < size) {
        *error = EINVAL;
    }
    if (*error == 0) {
        *error = flow_of_socket(sock, &flow);
    }
    if (*error != 0) {
        return 1;
    }
    const struct weir_flow *f = weir_flow(flow);
    if (option == WEIR_SO_FLOW) {
        struct weir_so_flow now = sockets[flow].asked;
        now.priority = f->priority;
        memcpy(value, &now, size);
    } else {
        struct weir_so_flow_counters now = {
            .limited = f->limited, .recycled = f->recycled, .waiting = f->waiting, .held = f->held};
        memcpy(value, &now, size);
    }
    *length = size;
    return 1;
}
