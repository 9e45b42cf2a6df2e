// SPDX-License-Identifier: Apache-2.0
//
// The receive library on the host: driver, port and events are the simulation's, see sim.h. Small sizes, so that
// everything is full at times.

#ifndef WEIR_CONFIG_H
#define WEIR_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#define WEIR_BUFFERS 24
#define WEIR_FLOWS 6
#define WEIR_PRIORITIES 8
#define WEIR_SPORADIC_MAX 5
#define WEIR_FLOW_RESERVE 2
// WEIR_FLOW_LISTS: by the compiler's command line.

typedef int weir_port_state;
uint64_t weir_port_now(void);
uint32_t weir_port_now_low(void);
weir_port_state weir_port_lock(void);
void weir_port_unlock(weir_port_state state);
void weir_port_poll_at(uint32_t time);
void weir_port_poll_off(void);
void weir_port_invalidate_all(void);

int32_t weir_driver_take(uint32_t *length);
void weir_driver_give(uint32_t buffer);
const volatile uint32_t *weir_driver_header(uint32_t buffer);
void weir_driver_interrupt(bool on);
void weir_driver_acknowledge(void);

int32_t weir_mq_driver_take(uint32_t *half, uint32_t *frames);
void weir_mq_driver_release(uint32_t queue);
void weir_mq_driver_open(uint32_t queue);
void weir_mq_driver_close(uint32_t queue);
uint32_t weir_mq_driver_first(uint32_t buffer);
uint32_t weir_mq_driver_buffer(uint32_t frame);
uint32_t weir_mq_driver_length(uint32_t frame);
uint32_t weir_mq_driver_units(uint32_t length);

void model_queued(uint32_t buffer);
void model_dropped(uint32_t buffer, int why);
void model_discarded(uint32_t buffer);
void model_abandoned(uint32_t buffer);
void model_given(uint32_t buffer);
#define WEIR_ON_QUEUED(buffer) model_queued((uint32_t)(buffer))
#define WEIR_ON_DROPPED(buffer, why) model_dropped((uint32_t)(buffer), (int)(why))
#define WEIR_ON_DISCARDED(buffer) model_discarded((uint32_t)(buffer))
#define WEIR_ON_ABANDONED(buffer) model_abandoned((uint32_t)(buffer))
#define WEIR_ON_GIVEN(buffer) model_given((uint32_t)(buffer))

void mq_model_closed(uint32_t queue);
#define WEIR_ON_CLOSED(flow) mq_model_closed((uint32_t)(flow))

#endif
