// SPDX-License-Identifier: Apache-2.0
//
// A press that is not there: a plate that moves at 200 mm/s and meets a workpiece at 90 mm, on which the force rises by
// 1 kN per mm. A real one would read its sensors and switch its valve here.

#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stdint.h>

struct machine {
    int32_t position_um;
    float force_n;
    bool is_closed;
    uint32_t strokes;
};

// Lets `ms` pass. The plate goes down while `close` is set and the force is below its limit, and up without `close`.
void machine_step(struct machine *machine, bool close, uint16_t force_limit_n, int32_t ms);

#endif
