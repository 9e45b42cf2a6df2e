// SPDX-License-Identifier: Apache-2.0
//
// Frames that the carried lwIP (2.2.1) must not see, because it lacks a later fix: TCP options whose length leads out
// of the header, which tcp_parseopt() reads beyond (fixed upstream in 2026), and TCP headers in several IP fragments.
// The other two of that kind cannot be reached here: ND6 is not built in, and nothing that is sent needs fragments.

#ifndef LWIP_GUARD_H
#define LWIP_GUARD_H

#include <stdbool.h>
#include <stdint.h>

// Is the frame, `length` bytes at `frame`, safe to hand to lwIP? Reads nothing behind it. Any context.
bool lwip_guard_passes(const uint8_t *frame, uint32_t length);

#endif
