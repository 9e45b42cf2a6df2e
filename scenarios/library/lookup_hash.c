// SPDX-License-Identifier: Apache-2.0

#define LOOKUP_LISTS 16
#define PREFIX(name) lookup_hash_##name
#include "lookup.h"

void lookup_job(void)
{
    look_up();
}
