// SPDX-License-Identifier: Apache-2.0
//
// Stands in for firmware/include/soc.h on the host (included before everything else, see Makefile): the hardware is
// functions of the test, which are told of each access before it happens.

#ifndef SOC_H
#define SOC_H

#include <stdint.h>

#include "plain_nic.h"

struct plain_nic_registers *host_nic(void);
volatile uint32_t *host_trace(void);
void host_dcache_invalidate(void);

#define SOC_NIC host_nic()
#define SOC_TRACE host_trace()
#define SOC_UNCACHED(pointer) ((void *)(pointer))
#define SOC_CACHE_LINE 32

// No clock: only the mitigations have a use for one.
extern const uint32_t host_mtime[2];
#define SOC_MTIME ((uintptr_t)host_mtime)

static inline uint64_t soc_mtime(void)
{
    return 0;
}

static inline void soc_poll_at(uint32_t time)
{
    (void)time;
}

static inline void soc_poll_off(void) {}

static inline void soc_dcache_invalidate(void)
{
    host_dcache_invalidate();
}

#endif
