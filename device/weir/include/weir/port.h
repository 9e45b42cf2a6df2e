// SPDX-License-Identifier: Apache-2.0
//
// What the library needs of the RTOS and the CPU. The port's own header, included by `weir_config.h`, defines these,
// best as `static inline` functions.
//
//   uint64_t weir_port_now(void);
//   uint32_t weir_port_now_low(void);
//       Time in ticks of any clock that never goes back, and its low half, which may be cheaper. ISR; with
//       weir/multiqueue.h also in tasks, with the lock.
//
//   weir_port_state weir_port_lock(void);
//   void weir_port_unlock(weir_port_state state);
//       Keeps the receive interrupt and the poll timer away. Task context; nests; the library holds it for a bounded
//       number of instructions that does not depend on what is received.
//
//   void weir_port_poll_at(uint32_t time);
//   void weir_port_poll_off(void);
//       One-shot timer: calls weir_rx_interrupt(true), or weir_mq_timer(), when the low half of the time is `time`,
//       less than 2^31 ticks from now; at once if that has passed. As above.
//
//   void weir_port_invalidate_all(void);
//       Makes the data cache forget what it holds of packet buffers that the library is about to give to the NIC. Task
//       context, with the lock, so that its time is one with interrupts off. Nothing to do without a data cache. A
//       write-back cache cannot forget all: there leave it empty, and invalidate by address before weir_rx_free(), and
//       again when the network task begins with a frame if the CPU reads ahead (device/examples/common/weir_lwip.c).
//
// The receive interrupt and the poll timer's must not interrupt each other: give them one priority.

#ifndef WEIR_PORT_H
#define WEIR_PORT_H

#include "weir/config.h"

#endif
