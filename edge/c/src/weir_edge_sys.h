// SPDX-License-Identifier: Apache-2.0
//
// Whose sockets: lwIP's by their own names, which are there with and without LWIP_COMPAT_SOCKETS, or the system's.

#ifndef WEIR_EDGE_SYS_H
#define WEIR_EDGE_SYS_H

#ifdef WEIR_EDGE_LWIP

#include <errno.h>
#include <lwip/sockets.h>

#define WEIR_EDGE_SYS(function) lwip_##function
#define WEIR_EDGE_IPV6 LWIP_IPV6

#else

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#define WEIR_EDGE_SYS(function) function
#define WEIR_EDGE_IPV6 1

#endif

#endif
