// SPDX-License-Identifier: Apache-2.0
//
// The firmware's options, but with lwIP's assertions, and aligned as a 64-bit host wants it.

#ifndef HOST_LWIPOPTS_H
#define HOST_LWIPOPTS_H

#include "../../firmware/include/lwipopts.h"

#undef MEM_ALIGNMENT
#define MEM_ALIGNMENT 8
#undef LWIP_NOASSERT
// The stock path only.
#undef LWIP_HOOK_FILENAME
#undef UNLOCK_TCPIP_CORE
#define UNLOCK_TCPIP_CORE() sys_mutex_unlock(&lock_tcpip_core)

void host_core_must_be_locked(void);
#define LWIP_ASSERT_CORE_LOCKED() host_core_must_be_locked()

#endif
