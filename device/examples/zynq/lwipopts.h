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
#define TCP_OOSEQ_MAX_PBUFS 4
#define IP_REASS_MAX_PBUFS 4
#define MEMP_NUM_REASSDATA 2

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
#define MEM_SIZE (64 * 1024)
#define PBUF_POOL_SIZE 8 // received frames have a pool of their own
#define TCPIP_MBOX_SIZE 16
#define DEFAULT_UDP_RECVMBOX_SIZE 16
#define DEFAULT_TCP_RECVMBOX_SIZE 16
#define DEFAULT_ACCEPTMBOX_SIZE 8
#define MEMP_NUM_NETBUF 48
#define MEMP_NUM_NETCONN 16
#define MEMP_NUM_UDP_PCB 8
#define MEMP_NUM_TCP_PCB 8
#define MEMP_NUM_TCP_PCB_LISTEN 4
#define MEMP_NUM_TCP_SEG 32
#define TCP_MSS 1460
#define TCP_WND (4 * TCP_MSS)
#define TCP_SND_BUF (4 * TCP_MSS)
#define TCP_SND_QUEUELEN 16

// lwIP's own thread keeps timers only: as urgent as the most urgent task that receives.
#define TCPIP_THREAD_NAME "tcpip_thread"
#define TCPIP_THREAD_STACKSIZE 4096 // bytes
#define TCPIP_THREAD_PRIO 6
#define DEFAULT_THREAD_STACKSIZE 4096
#define DEFAULT_THREAD_PRIO 1

#endif
