// SPDX-License-Identifier: Apache-2.0
//
// lwIP's sys_arch on the host: one mailbox (tcpip_thread's), locks that only count.

#ifndef HOST_SYS_H
#define HOST_SYS_H

#include <stdbool.h>
#include <stdint.h>

// Provided by the bench.
void host_sys_protect(void);
void host_sys_unprotect(void);
bool host_sys_post(uint32_t filled); // may a message be posted, with so many in the mailbox?

bool host_sys_core_locked(void);
uint32_t host_sys_mailbox_filled(void);

#endif
