// SPDX-License-Identifier: Apache-2.0
//
// What the library needs of a NIC with a ring of receive descriptors. The driver's own header, included by
// `weir_config.h`, defines these, best as `static inline` functions. The library calls them with the port's lock held
// or from the interrupt, never two at a time.
//
//   int32_t weir_driver_take(uint32_t *length);
//       Takes the oldest filled descriptor off the ring: returns its buffer (0 to WEIR_BUFFERS - 1) and sets *length to
//       the frame's bytes without frame check sequence; -1 if the NIC has filled none. The library does not call it
//       when all that it has given is taken.
//
//   void weir_driver_give(uint32_t buffer);
//       Puts an empty buffer onto the ring. The library gives no more buffers than the ring has descriptors.
//
//   const volatile uint32_t *weir_driver_header(uint32_t buffer);
//       The first bytes of a taken frame as the NIC wrote them: through an uncached window, or after invalidating the
//       cache lines of the first WEIR_HEADER_BYTES bytes. 4-byte aligned.
//
//   void weir_driver_interrupt(bool on);
//       Receive interrupts, all of them: frame received, and frame missed for want of a descriptor. What becomes
//       pending while they are off must still interrupt when they are on again: where the MAC forgets it, mask it at
//       the interrupt controller.
//
//   void weir_driver_acknowledge(void);
//       Clears what is pending, and restarts a MAC that has stopped for want of a descriptor. What arrives after it
//       asks again.

#ifndef WEIR_DRIVER_H
#define WEIR_DRIVER_H

#include "weir/config.h"

#endif
