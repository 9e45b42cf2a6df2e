// SPDX-License-Identifier: Apache-2.0
//
// The library's table of flows, the real source, with a size of its own and names of its own beside the device's. A
// message of N bytes asks: N flows are there; look 1,000 times for one of them. The includer defines LOOKUP_LISTS, and
// PREFIX(name) for the names.

#include "weir_config.h"

#undef WEIR_FLOWS
#undef WEIR_BUFFERS
#define WEIR_FLOWS 64
#define WEIR_BUFFERS 1
#define WEIR_FLOW_LISTS LOOKUP_LISTS

#define weir_flow_table PREFIX(flow_table)
#define weir_slots PREFIX(slots)
#define weir_flow_lists PREFIX(flow_lists)
#define weir_levels PREFIX(levels)
#define weir_levels_waiting PREFIX(levels_waiting)
#define weir_highest_waiting PREFIX(highest_waiting)
#define weir_doomed PREFIX(doomed)
#define weir_flows_init PREFIX(flows_init)
#define weir_flow_add PREFIX(flow_add)
#define weir_flow_remove PREFIX(flow_remove)
#define weir_flow_sent_by PREFIX(flow_sent_by)
#define weir_flow_set_priority PREFIX(flow_set_priority)
#define weir_flow_set_server PREFIX(flow_set_server)
#define weir_flow_set_sender PREFIX(flow_set_sender)
#define weir_flow_put PREFIX(flow_put)
#define weir_flow_take PREFIX(flow_take)
#define weir_flows_highest PREFIX(flows_highest)

#include "../../device/weir/src/flows.c"

#include "weir_job.h"

#define LOOKUPS 1000U

static weir_match port_of(uint32_t flow)
{
    return weir_match_port(WEIR_PROTOCOL_UDP, (uint16_t)(5000U + 37U * flow)); // as a product's ports lie
}

static void look_up(void)
{
    static size_t flows_open;
    size_t asked;
    (void)weir_job_message(&asked);
    if (asked != flows_open) {
        flows_open = asked;
        weir_flows_init(1, 1);
        for (uint32_t i = 0; i < asked; i++) {
            (void)weir_flow_add(port_of(i), 1);
        }
    }
    volatile uint8_t found;
    for (uint32_t i = 0; i < LOOKUPS; i++) {
        found = weir_flow_find(flows[i % asked].match);
    }
    (void)found;
}
