// SPDX-License-Identifier: Apache-2.0
//
// lwIP as a product on a device of this size would set it. Where a default is a trap it is named.

#ifndef LWIPOPTS_H
#define LWIPOPTS_H

#include "scenario.h"

#define NO_SYS 0
#define SYS_LIGHTWEIGHT_PROT 1
#define LWIP_TCPIP_CORE_LOCKING 1
// Flows of sockets, see lwip/weir_hooks.h; other variants pay a look at a variable.
#define LWIP_HOOK_FILENAME "weir_hooks.h"
#define LOCK_TCPIP_CORE() sys_mutex_lock(&lock_tcpip_core)
#define UNLOCK_TCPIP_CORE() (WEIR_LWIP_ACTIVE ? weir_lwip_unlock() : sys_mutex_unlock(&lock_tcpip_core))
#define WEIR_LWIP_ACTIVE (weir_scenario.variant >= SCENARIO_DRIVER)
void weir_lwip_unlock(void);
#define LWIP_SOCKET 1
#define LWIP_NETCONN 1
#define LWIP_COMPAT_SOCKETS 0
#define LWIP_SO_SNDTIMEO 1
#define LWIP_STATS 0
#define LWIP_NOASSERT 1

#define LWIP_IPV4 1
#define LWIP_IPV6 0
#define LWIP_ARP 1
#define LWIP_ICMP 1
#define LWIP_UDP 1
#define LWIP_TCP 1
#define LWIP_RAW 0
#define LWIP_DHCP 0
#define LWIP_DNS 0
#define LWIP_IGMP 0
#define LWIP_NETIF_HOSTNAME 0
#define LWIP_NETIF_API 0
#define IP_REASSEMBLY 1

#define LWIP_SUPPORT_CUSTOM_PBUF 1
#define ETH_PAD_SIZE 0
#define MEM_ALIGNMENT 4
#define MEM_SIZE (32 * 1024)
#define PBUF_POOL_SIZE 8 // received frames have a pool of their own, see lwip/stock_netif.c

// A mailbox is only as deep as the message pool behind it: with the pool's default of 8, 64 would be 8.
#define TCPIP_MBOX_SIZE 64
#define MEMP_NUM_TCPIP_MSG_INPKT (TCPIP_MBOX_SIZE + 1) // one more is being worked on
#define MEMP_NUM_TCPIP_MSG_API 16
#define DEFAULT_UDP_RECVMBOX_SIZE 16
#define DEFAULT_TCP_RECVMBOX_SIZE 16
#define DEFAULT_ACCEPTMBOX_SIZE 8
#define MEMP_NUM_NETBUF 64
#define MEMP_NUM_NETCONN 32
#define MEMP_NUM_UDP_PCB 16
#define MEMP_NUM_TCP_PCB 16
#define MEMP_NUM_TCP_PCB_LISTEN 8
#define MEMP_NUM_TCP_SEG 64
#define TCP_MSS 1460
#define TCP_WND (4 * TCP_MSS)
#define TCP_SND_BUF (4 * TCP_MSS)
#define TCP_SND_QUEUELEN 16
// What an outsider may make the stack keep of the pool of receive buffers.
#define TCP_OOSEQ_MAX_PBUFS 4
#define IP_REASS_MAX_PBUFS 4
#define MEMP_NUM_REASSDATA 2

// The word-wise checksum: half the cycles of the default on this CPU.
#define LWIP_CHKSUM_ALGORITHM 3

#define TCPIP_THREAD_NAME "tcpip_thread"
#define TCPIP_THREAD_STACKSIZE 4096 // bytes
#define TCPIP_THREAD_PRIO scenario_tcpip_priority()
#define DEFAULT_THREAD_STACKSIZE 4096
#define DEFAULT_THREAD_PRIO 1

#endif
