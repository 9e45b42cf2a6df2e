// SPDX-License-Identifier: Apache-2.0

#define LOOKUP_LISTS 1
#define PREFIX(name) lookup_list_##name
#include "lookup.h"

void lookup_job(void)
{
    look_up();
}
