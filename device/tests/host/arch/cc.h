// SPDX-License-Identifier: Apache-2.0

#ifndef HOST_ARCH_CC_H
#define HOST_ARCH_CC_H

#include "../../../firmware/include/arch/cc.h"

_Noreturn void host_lwip_assertion(const char *message);
#undef LWIP_PLATFORM_ASSERT
#define LWIP_PLATFORM_ASSERT(message) host_lwip_assertion(message)

#endif
