// SPDX-License-Identifier: Apache-2.0
//
// The application of an I/O device: it reads sensors, drives actuators, and hands both to PLCs through memory that it
// shares with `weir-io`. For Linux; C11, and nothing but the C library.
//
//     struct weir_io *io;
//     enum weir_io_error error = weir_io_open("/dev/shm/weir-io-press-3", &io);
//     if (error)
//         ... weir_io_error_text(error) ...
//     struct weir_io_point pressure = weir_io_input(io, "pressure"), speed = weir_io_output(io, "speed");
//     for (;;) {
//         weir_io_refresh(io);
//         drive(weir_io_get(io, speed));
//         weir_io_set(io, pressure, measure());
//         weir_io_publish(io, true);
//         ... wait for the next cycle ...
//     }
//
// Inputs go from the sensors to the PLCs, outputs from the PLCs to the actuators. All inputs are published together and
// are never seen half. Nothing but weir_io_open waits, allocates memory or calls the kernel (the clock is read
// without). An application that does not publish for the configuration's stale_after_ms is gone for the PLCs.
//
// A `struct weir_io` is used by one thread at a time.

#ifndef WEIR_IO_H
#define WEIR_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum weir_io_error {
    WEIR_IO_OK,
    WEIR_IO_NO_FILE,    // it cannot be opened: is weir-io running, and may you write the file?
    WEIR_IO_NOT_MEMORY, // it is something else
    WEIR_IO_VERSION,    // it belongs to another version of weir-io
    WEIR_IO_DAMAGED,    // what it says of itself does not fit together
    WEIR_IO_TAKEN,      // another application has it, see weir_io_application
    WEIR_IO_NO_MEMORY,  // this process gets no memory
};

// In English, for a message.
const char *weir_io_error_text(enum weir_io_error error);

enum weir_io_type {
    WEIR_IO_BOOL,
    WEIR_IO_U8,
    WEIR_IO_I8,
    WEIR_IO_U16,
    WEIR_IO_I16,
    WEIR_IO_U32,
    WEIR_IO_I32,
    WEIR_IO_F32,
};

struct weir_io;

// A data point by handle. `owner` is negative for an input and for an output that no protocol has.
struct weir_io_point {
    bool exists;
    bool is_output;
    enum weir_io_type type;
    uint32_t offset;
    int32_t owner;
};

// Opens a device's memory, of which there is one application at a time. The kernel takes it back from a process that
// dies. Inputs are 0, and not good, until they are published.
enum weir_io_error weir_io_open(const char *path, struct weir_io **io);
// Gives the memory back. `io` may be null.
void weir_io_close(struct weir_io *io);
// The process that has the memory at `path`, or had it when it was killed; 0 if none.
uint32_t weir_io_application(const char *path);
// Whether the device was started with another configuration: close the memory and open it again.
bool weir_io_is_replaced(const struct weir_io *io);

// What the device consists of. The names hold until weir_io_close; null behind the last.
const char *weir_io_protocol_name(const struct weir_io *io, size_t protocol);
const char *weir_io_input_name(const struct weir_io *io, size_t input);
const char *weir_io_output_name(const struct weir_io *io, size_t output);

// A data point; `exists` is false if there is none of that name.
struct weir_io_point weir_io_input(const struct weir_io *io, const char *name);
struct weir_io_point weir_io_output(const struct weir_io *io, const char *name);

// Sets an input; PLCs see it after weir_io_publish. A `double` has every value of every type exactly. False, and
// nothing is changed, if the value is not one of the point's type or the point is not an input.
bool weir_io_set(struct weir_io *io, struct weir_io_point input, double value);
// Hands all inputs to all PLCs; `good` is what they are told of them.
void weir_io_publish(struct weir_io *io, bool good);

// Bits of weir_io_state.
#define WEIR_IO_VALID 1u // a PLC sends these outputs; without it they are the configuration's safe values
#define WEIR_IO_RUN 2u   // it is in its state "run"

// Takes the newest outputs of all protocols. Those of a protocol that hangs or was killed become their safe values.
void weir_io_refresh(struct weir_io *io);
// The rest is as of the last weir_io_refresh. An output's value, or the safe one; 0 if the point is not an output.
double weir_io_get(const struct weir_io *io, struct weir_io_point output);
// Whether a PLC sends this output.
bool weir_io_is_valid(const struct weir_io *io, struct weir_io_point output);
// What the protocol with that number says; 0 if there is none.
uint32_t weir_io_state(const struct weir_io *io, size_t protocol);

#ifdef __cplusplus
}
#endif

#endif
