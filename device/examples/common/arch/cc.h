// SPDX-License-Identifier: Apache-2.0
//
// What lwIP asks of the compiler and the C library.

#ifndef ARCH_CC_H
#define ARCH_CC_H

#include <stdint.h>

#define LWIP_ERRNO_STDINCLUDE 1
#define LWIP_TIMEVAL_PRIVATE 0
#include <sys/time.h>

// For ports and sequence numbers. An example's; a product has a source of its own that strangers cannot foretell.
uint32_t board_random(void);
#define LWIP_RAND() board_random()

#define LWIP_PLATFORM_DIAG(message)
#define LWIP_PLATFORM_ASSERT(message)

#endif
