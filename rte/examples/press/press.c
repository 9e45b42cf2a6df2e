// SPDX-License-Identifier: Apache-2.0
//
// A press whose application is a program of its own.
//
//     cc -std=c11 -I rte/c rte/c/weir_io.c rte/examples/press/press.c rte/examples/press/machine.c -o press
//     ./press /dev/shm/weir-io-press

#define _POSIX_C_SOURCE 200809L

#include "machine.h"
#include "weir_io.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>

#define CYCLE_MS 10

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: %s MEMORY, as [application] of the device's configuration names it\n", arguments[0]);
        return 2;
    }
    struct weir_io *io;
    enum weir_io_error error = weir_io_open(arguments[1], &io);
    if (error) {
        fprintf(stderr, "%s: %s\n", arguments[1], weir_io_error_text(error));
        return 1;
    }
    struct weir_io_point position = weir_io_input(io, "position_um"), force = weir_io_input(io, "force_n"),
                         is_closed = weir_io_input(io, "is_closed"), strokes = weir_io_input(io, "strokes"),
                         close = weir_io_output(io, "close"), limit = weir_io_output(io, "force_limit_n");
    if (!position.exists || !force.exists || !is_closed.exists || !strokes.exists || !close.exists || !limit.exists) {
        fprintf(stderr, "%s: it is no press: see press.toml\n", arguments[1]);
        weir_io_close(io);
        return 1;
    }
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    struct machine machine = {0};
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    while (!stopped && !weir_io_is_replaced(io)) {
        weir_io_refresh(io);
        machine_step(&machine, weir_io_get(io, close) != 0, (uint16_t)weir_io_get(io, limit), CYCLE_MS);
        weir_io_set(io, position, machine.position_um);
        weir_io_set(io, force, (double)machine.force_n);
        weir_io_set(io, is_closed, machine.is_closed);
        weir_io_set(io, strokes, machine.strokes);
        weir_io_publish(io, true);
        next.tv_nsec += CYCLE_MS * 1000000;
        if (next.tv_nsec >= 1000000000) {
            next.tv_nsec -= 1000000000;
            next.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    weir_io_close(io);
    return 0;
}
