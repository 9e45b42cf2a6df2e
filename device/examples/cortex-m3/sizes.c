// SPDX-License-Identifier: Apache-2.0
//
// For the size table: objects as large as what is asked for. Compiled, not linked.

#include "lwip/pbuf.h"
#include "weir/flows.h"

extern char size_flow[], size_slot[], size_level[], size_pbuf[], count_flows[];
char size_flow[sizeof(struct weir_flow)];
char size_slot[sizeof(struct weir_slot)];
char size_level[sizeof(struct weir_level)];
char size_pbuf[sizeof(struct pbuf_custom)];
char count_flows[WEIR_FLOWS];
