// SPDX-License-Identifier: Apache-2.0
//
// Types of a port to no system: enough to compile what uses lwIP.

#ifndef ARCH_SYS_ARCH_H
#define ARCH_SYS_ARCH_H

typedef void *sys_sem_t;
typedef void *sys_mutex_t;
typedef void *sys_mbox_t;
typedef void *sys_thread_t;
typedef int sys_prot_t;

#endif
