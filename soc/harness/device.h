// SPDX-License-Identifier: Apache-2.0
//
// The simulated device as a library: a Verilated system on chip, the wire at its MAC, and a passive observer.
//
// All times are cycles of the device since reset, as `mtime` counts them. One device per thread at a time; several
// devices in one process do not share anything. host/src/soc/ffi.rs is the other side of this header.

#ifndef WEIR_DEVICE_H
#define WEIR_DEVICE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_device;

// What the observer saw. `value` by kind.
enum weir_event_kind {
    WEIR_ENTER_ISR = 0,  // 1: the NIC's line was high, 0: not
    WEIR_ENTER_TRAP = 1, // the running task entered the kernel by `ecall`, or an exception
    WEIR_ENTER_TASK = 2, // handle (TCB address) of the task that runs from now on
    WEIR_RX_ACCEPT = 3,  // the frame that just ended is in the NIC
    WEIR_RX_OVERRUN = 4, // it was dropped: no room in the NIC
    WEIR_RX_BAD = 5,     // it was dropped as damaged, or the receiver is off
    WEIR_RX_DONE = 6,    // oldest accepted frame: in RAM; value: buffer address
    WEIR_RX_NODESC = 7,  // oldest accepted frame: dropped, no descriptor, or no room in its queue
    WEIR_RX_ERROR = 8,   // oldest accepted frame: dropped, too long, bus error, or by the filter
    WEIR_WATCH = 9,      // an instruction of `watch` was executed; value: its index
    WEIR_TRACE = 64,     // 64 + kind: a write to the trace port; value: what was written
};

struct weir_event {
    uint64_t cycle;
    uint32_t kind;
    uint32_t value;
};

#define WEIR_WATCH_MAX 2

struct weir_config {
    uint64_t byte_cycles_numerator; // cycles per byte on the wire = numerator / denominator
    uint64_t byte_cycles_denominator;
    uint64_t hang_cycles;           // interrupts off for longer is a hang
    uint32_t current_tcb;           // address of FreeRTOS's pxCurrentTCB
    uint32_t trap_handler;          // address of the trap handler
    uint32_t watch[WEIR_WATCH_MAX]; // instruction addresses; 0: unused
    uint32_t shortcuts;             // 0: evaluate every cycle in full; 1: skip what cannot make a difference
};

// Why weir_device_run() returned.
enum weir_stop {
    WEIR_STOP_CYCLE = 0,  // the cycle asked for is reached
    WEIR_STOP_FRAME = 1,  // the device has sent a frame: weir_device_sent()
    WEIR_STOP_EVENTS = 2, // many events: weir_device_events()
    WEIR_STOP_HANG = 3,   // interrupts were off for too long
    WEIR_STOP_STACK = 4,  // the running task's stack pointer left its stack
    WEIR_STOP_BUS = 5,    // an access to an address where nothing answers: weir_device_fault_address()
};

// A device in reset with empty RAM. Never null.
struct weir_device *weir_device_new(const struct weir_config *config);
void weir_device_free(struct weir_device *device);

// RAM, by device address. Without effect on the device's timing. Returns 0, or -1 if the range is not in RAM.
int weir_device_write(struct weir_device *device, uint32_t address, const void *bytes, uint32_t count);
int weir_device_read(struct weir_device *device, uint32_t address, void *bytes, uint32_t count);

// The lowest address of the stack of the task `tcb`: from now on a stack pointer below it (and below what the kernel
// needs to save a context) stops the run.
void weir_device_set_stack(struct weir_device *device, uint32_t tcb, uint32_t lowest);

// Puts a frame (without frame check sequence) on the wire, first preamble bit at `start`, which is not in the past and
// not before the end of the previous frame. Copied.
void weir_device_receive(struct weir_device *device, const uint8_t *bytes, uint32_t length, uint64_t start);

// Simulates up to cycle `until`, or until something else needs attention.
enum weir_stop weir_device_run(struct weir_device *device, uint64_t until);

uint64_t weir_device_cycle(const struct weir_device *device);

// Events since the last call, oldest first; valid until the next call of any function. Returns their number.
uint64_t weir_device_events(struct weir_device *device, const struct weir_event **events);

// The frame sent last, without frame check sequence; valid until the next run. Returns its length; *end is the cycle
// of its last bit.
uint32_t weir_device_sent(const struct weir_device *device, const uint8_t **bytes, uint64_t *end);

// Hash over (cycle, program counter) of every retired instruction.
uint64_t weir_device_hash(const struct weir_device *device);

// Cycles that were really simulated; the rest was skipped.
uint64_t weir_device_simulated(const struct weir_device *device);

// Longest time with interrupts off since the last call; clears it.
uint64_t weir_device_off_max(struct weir_device *device);

// When the next tick is due: `mtimecmp`.
uint64_t weir_device_next_tick(const struct weir_device *device);

// Byte address of the access that nothing answered.
uint32_t weir_device_fault_address(const struct weir_device *device);

// Program counter of the last instruction that retired outside of traps: what a fault follows.
uint32_t weir_device_task_pc(const struct weir_device *device);

// Program counter of the last retired instruction.
uint32_t weir_device_pc(const struct weir_device *device);

#ifdef __cplusplus
}
#endif

#endif
