// SPDX-License-Identifier: Apache-2.0

#include "machine.h"

#define SPEED_UM_PER_MS 200
#define WORKPIECE_UM 90000
#define END_UM 100000

void machine_step(struct machine *machine, bool close, uint16_t force_limit_n, int32_t ms)
{
    int32_t position = machine->position_um;
    if (!close)
        position -= SPEED_UM_PER_MS * ms;
    else if (machine->force_n < (float)force_limit_n)
        position += SPEED_UM_PER_MS * ms;
    position = position < 0 ? 0 : position > END_UM ? END_UM : position;
    bool is_closed = position >= WORKPIECE_UM;
    if (is_closed && !machine->is_closed)
        machine->strokes++;
    machine->position_um = position;
    machine->force_n = is_closed ? (float)(position - WORKPIECE_UM) : 0;
    machine->is_closed = is_closed;
}
