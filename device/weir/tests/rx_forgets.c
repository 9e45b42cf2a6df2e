// SPDX-License-Identifier: Apache-2.0
//
// The receive path, which a device sets up once, and tests many times.

#include "../src/rx.c"

#include "rx_forgets.h"

void rx_forget(void)
{
    weir_rx = (typeof(weir_rx)){.polling = false};
    weir_doomed = (struct weir_doomed){.match = WEIR_MATCH_REFUSED};
}
