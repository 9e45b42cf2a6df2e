// SPDX-License-Identifier: Apache-2.0
//
// The least that the client's sockets need of lwIP, and its loop interface for the test that runs. lwIP's names without
// lwip_ are off, as beside another socket library.

#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#define NO_SYS 0
#define SYS_LIGHTWEIGHT_PROT 1
#define LWIP_SOCKET 1
#define LWIP_COMPAT_SOCKETS 0
#define LWIP_SOCKET_SELECT 1
#ifndef LWIP_IPV6
#define LWIP_IPV6 0
#endif

#define MEM_ALIGNMENT 8
#define LWIP_HAVE_LOOPIF 1
#define LWIP_NETIF_LOOPBACK 1
#define TCPIP_MBOX_SIZE 16
#define DEFAULT_UDP_RECVMBOX_SIZE 16

#endif
