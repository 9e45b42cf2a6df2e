// SPDX-License-Identifier: Apache-2.0
//
// The receive library for Eva: a NIC, a clock and a table of flows that can be anything; see eager.c.

#ifndef WEIR_CONFIG_H
#define WEIR_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#define WEIR_BUFFERS 64
#define WEIR_FLOWS 16
#define WEIR_FLOW_LISTS 16

uint64_t weir_port_now(void);
uint32_t weir_port_now_low(void);
void weir_port_poll_at(uint32_t time);
void weir_port_poll_off(void);

int32_t weir_driver_take(uint32_t *length);
void weir_driver_give(uint32_t buffer);
const volatile uint32_t *weir_driver_header(uint32_t buffer);
void weir_driver_interrupt(bool on);
void weir_driver_acknowledge(void);

// Of the deferred half, which is not looked at.
typedef int weir_port_state;
weir_port_state weir_port_lock(void);
void weir_port_unlock(weir_port_state state);
void weir_port_invalidate_all(void);

#endif
