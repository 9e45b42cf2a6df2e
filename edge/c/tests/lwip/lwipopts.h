// SPDX-License-Identifier: Apache-2.0
//
// The least that the client's sockets need of lwIP. Its names without lwip_ are off, as beside another socket library.

#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#define NO_SYS 0
#define LWIP_SOCKET 1
#define LWIP_COMPAT_SOCKETS 0
#define LWIP_SOCKET_SELECT 1
#ifndef LWIP_IPV6
#define LWIP_IPV6 0
#endif

#endif
