// SPDX-License-Identifier: Apache-2.0
//
// What lwIP asks of the compiler and the C library.

#ifndef ARCH_CC_H
#define ARCH_CC_H

#include <stdint.h>

#define LWIP_ERRNO_STDINCLUDE 1
#define LWIP_NO_CTYPE_H 0
#define LWIP_TIMEVAL_PRIVATE 0
#include <sys/time.h>

uint32_t weir_random(void); // from the scenario's seed
#define LWIP_RAND() weir_random()

#define LWIP_PLATFORM_DIAG(message)
#define LWIP_PLATFORM_ASSERT(message)

#endif
