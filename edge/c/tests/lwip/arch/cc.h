// SPDX-License-Identifier: Apache-2.0

#ifndef ARCH_CC_H
#define ARCH_CC_H

#define LWIP_ERRNO_STDINCLUDE 1
#define LWIP_TIMEVAL_PRIVATE 0
#include <sys/time.h>

#endif
