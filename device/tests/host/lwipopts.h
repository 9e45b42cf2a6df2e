// SPDX-License-Identifier: Apache-2.0
//
// The firmware's options, but with lwIP's assertions, and aligned as a 64-bit host wants it.

#ifndef HOST_LWIPOPTS_H
#define HOST_LWIPOPTS_H

#include "../../firmware/include/lwipopts.h"

#undef MEM_ALIGNMENT
#define MEM_ALIGNMENT 8
#undef LWIP_NOASSERT

void host_core_must_be_locked(void);
#define LWIP_ASSERT_CORE_LOCKED() host_core_must_be_locked()

#endif
