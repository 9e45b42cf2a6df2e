// SPDX-License-Identifier: Apache-2.0
//
// lwIP's hooks (LWIP_HOOK_FILENAME) for flows of sockets. `lwipopts.h` needs, besides:
//
//   #define LWIP_HOOK_FILENAME "weir_hooks.h"
//   #define LOCK_TCPIP_CORE() sys_mutex_lock(&lock_tcpip_core)
//   #define UNLOCK_TCPIP_CORE() weir_lwip_unlock()
//   void weir_lwip_unlock(void);
//
// lwIP has no hook at bind and close. But whoever changes a socket holds the core lock, and lets go of it by a macro
// that is the port's to define: there the flows are compared with lwIP's lists of sockets.

#ifndef WEIR_HOOKS_H
#define WEIR_HOOKS_H

#include <stdint.h>

#include "lwip/arch.h"
#include "lwip/sys.h"

// One image may have other receive paths, too, and choose at run time.
#ifndef WEIR_LWIP_ACTIVE
#define WEIR_LWIP_ACTIVE 1
#endif

struct lwip_sock;

int weir_lwip_setsockopt(struct lwip_sock *sock, int level, int option, const void *value, uint32_t length, int *error);
int weir_lwip_getsockopt(struct lwip_sock *sock, int level, int option, void *value, uint32_t *length, int *error);
u32_t weir_lwip_fetch(sys_mbox_t *mbox, void **message, u32_t timeout);
u32_t weir_lwip_tryfetch(sys_mbox_t *mbox, void **message);

#define LWIP_HOOK_SOCKETS_SETSOCKOPT(s, sock, level, optname, optval, optlen, err)                                     \
    weir_lwip_setsockopt(sock, level, optname, optval, optlen, err)
#define LWIP_HOOK_SOCKETS_GETSOCKOPT(s, sock, level, optname, optval, optlen, err)                                     \
    weir_lwip_getsockopt(sock, level, optname, optval, optlen, err)

// api_lib.c, which includes this file after its declarations, fetches what sockets receive: the one place where it
// shows which task that is.
#ifdef LWIP_HDR_API_H
#define sys_arch_mbox_fetch(mbox, message, timeout)                                                                    \
    (WEIR_LWIP_ACTIVE ? weir_lwip_fetch(mbox, message, timeout) : sys_arch_mbox_fetch(mbox, message, timeout))
#define sys_arch_mbox_tryfetch(mbox, message)                                                                          \
    (WEIR_LWIP_ACTIVE ? weir_lwip_tryfetch(mbox, message) : sys_arch_mbox_tryfetch(mbox, message))
#endif

#endif
