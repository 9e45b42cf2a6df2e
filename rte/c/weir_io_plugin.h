// SPDX-License-Identifier: Apache-2.0
//
// An application that is a shared library: `weir-io` loads it into a process of its own and calls it in a cycle, so
// that there is no main loop to write, and a crash stops no PLC's cycle. In the configuration:
//
//     [application]
//     plugin = "libpress.so"     # cc -shared -fPIC -I rte/c press.c -o libpress.so
//     cycle_ms = 10
//
// The library has the three functions at the end of this header. A plug-in that crashes is started again; one that
// hangs does not publish inputs any more, and its PLCs are told so.

#ifndef WEIR_IO_PLUGIN_H
#define WEIR_IO_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_IO_PLUGIN_VERSION 1u

enum weir_io_plugin_type {
    WEIR_IO_PLUGIN_BOOL, // uint8_t, 0 or 1
    WEIR_IO_PLUGIN_U8,
    WEIR_IO_PLUGIN_I8,
    WEIR_IO_PLUGIN_U16,
    WEIR_IO_PLUGIN_I16,
    WEIR_IO_PLUGIN_U32,
    WEIR_IO_PLUGIN_I32,
    WEIR_IO_PLUGIN_F32, // float
};

// What the plug-in may ask in weir_io_plugin_init.
struct weir_io_plugin_host {
    uint32_t version; // WEIR_IO_PLUGIN_VERSION
    const void *context;
    // Where an input or output of that name and type lies in its image, in bytes; negative if there is none.
    int32_t (*input)(const void *context, const char *name, enum weir_io_plugin_type type);
    int32_t (*output)(const void *context, const char *name, enum weir_io_plugin_type type);
    // The number of a protocol ("modbus") in `states`; negative if there is none.
    int32_t (*protocol)(const void *context, const char *name);
};

// What a cycle works with.
struct weir_io_plugin_images {
    uint64_t now_ns;        // CLOCK_MONOTONIC
    const uint8_t *outputs; // from the PLCs; safe values where none sends them
    uint8_t *inputs;        // to the PLCs; as the last cycle left them
    const uint32_t *states; // of each protocol: bit 0: a PLC sends its outputs; bit 1: it is in its state "run"
};

// Reads `*value` from an image, or writes it into one.
#define WEIR_IO_PLUGIN_GET(image, offset, value) ((void)memcpy((value), (image) + (offset), sizeof *(value)))
#define WEIR_IO_PLUGIN_SET(image, offset, value) ((void)memcpy((image) + (offset), (value), sizeof *(value)))

// The plug-in's functions. All are called by one thread.

// Once, at the start. `*state` comes back in each call. Anything but 0 is an error, and the plug-in is not used.
int weir_io_plugin_init(const struct weir_io_plugin_host *host, void **state);
// In each cycle. Answers whether the inputs are good.
bool weir_io_plugin_cycle(void *state, const struct weir_io_plugin_images *images);
// At the end. Outputs of the machine are to be safe then.
void weir_io_plugin_exit(void *state);

#ifdef __cplusplus
}
#endif

#endif
