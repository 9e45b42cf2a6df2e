// SPDX-License-Identifier: Apache-2.0
//
// The same press as a plug-in, with `plugin = "libpress.so"` in press.toml.
//
//     cc -std=c11 -shared -fPIC -I rte/c rte/examples/press/press_plugin.c rte/examples/press/machine.c -o libpress.so

#include "machine.h"
#include "weir_io_plugin.h"

static struct machine machine;
static int32_t position_at, force_at, is_closed_at, strokes_at, close_at, limit_at;
static uint64_t before_ns;

int weir_io_plugin_init(const struct weir_io_plugin_host *host, void **state)
{
    *state = &machine;
    if (host->version != WEIR_IO_PLUGIN_VERSION)
        return 1;
    position_at = host->input(host->context, "position_um", WEIR_IO_PLUGIN_I32);
    force_at = host->input(host->context, "force_n", WEIR_IO_PLUGIN_F32);
    is_closed_at = host->input(host->context, "is_closed", WEIR_IO_PLUGIN_BOOL);
    strokes_at = host->input(host->context, "strokes", WEIR_IO_PLUGIN_U32);
    close_at = host->output(host->context, "close", WEIR_IO_PLUGIN_BOOL);
    limit_at = host->output(host->context, "force_limit_n", WEIR_IO_PLUGIN_U16);
    // Negative if there is no such point.
    return (position_at | force_at | is_closed_at | strokes_at | close_at | limit_at) < 0 ? 2 : 0;
}

bool weir_io_plugin_cycle(void *state, const struct weir_io_plugin_images *images)
{
    struct machine *press = state;
    uint8_t close, is_closed;
    uint16_t limit;
    WEIR_IO_PLUGIN_GET(images->outputs, close_at, &close);
    WEIR_IO_PLUGIN_GET(images->outputs, limit_at, &limit);
    int32_t ms = before_ns ? (int32_t)((images->now_ns - before_ns + 500000) / 1000000) : 0;
    before_ns = images->now_ns;
    machine_step(press, close != 0, limit, ms);
    is_closed = press->is_closed;
    WEIR_IO_PLUGIN_SET(images->inputs, position_at, &press->position_um);
    WEIR_IO_PLUGIN_SET(images->inputs, force_at, &press->force_n);
    WEIR_IO_PLUGIN_SET(images->inputs, is_closed_at, &is_closed);
    WEIR_IO_PLUGIN_SET(images->inputs, strokes_at, &press->strokes);
    return true;
}

void weir_io_plugin_exit(void *state)
{
    machine_step(state, false, 0, 0);
}
