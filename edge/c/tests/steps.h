// SPDX-License-Identifier: Apache-2.0
//
// A client's life, as some bytes have it: calls in any order, datagrams that are well-formed, sealed rubbish and
// rubbish, and polls that come or do not. What must hold of any life is checked on the way.

#ifndef STEPS_H
#define STEPS_H

#include <stddef.h>
#include <stdint.h>

// What the steps have seen, over all calls.
struct steps_seen {
    uint64_t accepted, rejected, results, lost, given_up, dropped;
};
extern struct steps_seen steps_seen;

void steps_run(const uint8_t *bytes, size_t length);

#endif
