// SPDX-License-Identifier: Apache-2.0

#ifndef LWIPOPTS_H
#define LWIPOPTS_H

// What Weir needs.
#define NO_SYS 0
#define SYS_LIGHTWEIGHT_PROT 1
#define LWIP_TCPIP_CORE_LOCKING 1
#define LWIP_SUPPORT_CUSTOM_PBUF 1
#define ETH_PAD_SIZE 0
#define LWIP_HOOK_FILENAME "weir_hooks.h"
#define LOCK_TCPIP_CORE() sys_mutex_lock(&lock_tcpip_core)
#define UNLOCK_TCPIP_CORE() weir_lwip_unlock()
void weir_lwip_unlock(void);

// What an outsider may make the stack keep of the pool of receive buffers.
#define TCP_OOSEQ_MAX_PBUFS 1
#define IP_REASS_MAX_PBUFS 2
#define MEMP_NUM_REASSDATA 1

// The rest is the product's own.
#define LWIP_SOCKET 1
#define LWIP_NETCONN 1
#define LWIP_COMPAT_SOCKETS 0
#define LWIP_SO_SNDTIMEO 1
#define LWIP_STATS 0
#define LWIP_NOASSERT 1
#define LWIP_IPV4 1
#define LWIP_IPV6 0
#define LWIP_RAW 0
#define LWIP_DHCP 0
#define LWIP_DNS 0
#define LWIP_IGMP 0
#define LWIP_NETIF_API 0
#define MEM_ALIGNMENT 4
#define MEM_SIZE 4096
#define PBUF_POOL_SIZE 2 // received frames have a pool of their own
#define TCPIP_MBOX_SIZE 4
#define DEFAULT_UDP_RECVMBOX_SIZE 4
#define DEFAULT_TCP_RECVMBOX_SIZE 4
#define DEFAULT_ACCEPTMBOX_SIZE 2
#define MEMP_NUM_NETBUF 12
#define MEMP_NUM_NETCONN 6
#define MEMP_NUM_UDP_PCB 4
#define MEMP_NUM_TCP_PCB 2
#define MEMP_NUM_TCP_PCB_LISTEN 1
#define MEMP_NUM_TCP_SEG 8
#define TCP_MSS 1460
#define TCP_WND (2 * TCP_MSS)
#define TCP_SND_BUF (2 * TCP_MSS)
#define TCP_SND_QUEUELEN 8

// lwIP's own thread keeps timers only: as urgent as the most urgent task that receives.
#define TCPIP_THREAD_NAME "tcpip_thread"
#define TCPIP_THREAD_STACKSIZE 1024 // bytes
#define TCPIP_THREAD_PRIO 6
#define DEFAULT_THREAD_STACKSIZE 1024
#define DEFAULT_THREAD_PRIO 1

#endif
