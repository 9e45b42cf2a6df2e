// SPDX-License-Identifier: Apache-2.0
//
// An application for tests, see rte/tests/application.rs. Exits with 1 and a line if something is wrong.
//
//     exercise points PATH              tells what the device consists of, and every output
//     exercise set PATH NAME VALUE...   sets inputs, publishes once, and stays until its standard input ends
//     exercise write PATH FROM COUNT    publishes COUNT images (0: without end), all of whose inputs are FROM, FROM
//     + 1... exercise read PATH LAST           takes outputs until one is LAST; each image has to be of one value, no
//     older one

#define _GNU_SOURCE

#include "weir_io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int points(struct weir_io *io)
{
    const char *name;
    for (size_t n = 0; (name = weir_io_protocol_name(io, n)); n++)
        printf("protocol %s %u\n", name, (unsigned)weir_io_state(io, n));
    for (size_t n = 0; (name = weir_io_input_name(io, n)); n++)
        printf("input %s %d\n", name, (int)weir_io_input(io, name).type);
    for (size_t n = 0; (name = weir_io_output_name(io, n)); n++) {
        struct weir_io_point point = weir_io_output(io, name);
        printf("output %s %d %d %.10g\n", name, (int)point.type, (int)weir_io_is_valid(io, point),
               weir_io_get(io, point));
    }
    return 0;
}

static int set(struct weir_io *io, int count, char **arguments)
{
    for (int n = 0; n + 1 < count; n += 2) {
        bool done = weir_io_set(io, weir_io_input(io, arguments[n]), strtod(arguments[n + 1], NULL));
        printf("%s %s\n", arguments[n], done ? "set" : "refused");
    }
    weir_io_publish(io, true);
    printf("published\n");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}

static int write_images(struct weir_io *io, uint32_t from, uint32_t count)
{
    struct weir_io_point inputs[64] = {0};
    size_t of = 0;
    const char *name;
    while (of < 64 && (name = weir_io_input_name(io, of)))
        inputs[of++] = weir_io_input(io, name);
    for (uint32_t n = 0; count == 0 || n < count; n++) {
        for (size_t point = 0; point < of; point++)
            weir_io_set(io, inputs[point], from + n);
        weir_io_publish(io, true);
    }
    return 0;
}

static int read_images(struct weir_io *io, double last)
{
    struct weir_io_point outputs[64] = {0};
    size_t of = 0;
    const char *name;
    while (of < 64 && (name = weir_io_output_name(io, of)))
        outputs[of++] = weir_io_output(io, name);
    double before = 0;
    while (before != last) {
        weir_io_refresh(io);
        double first = weir_io_get(io, outputs[0]);
        for (size_t point = 1; point < of; point++)
            if (weir_io_get(io, outputs[point]) != first) {
                printf("torn: %.0f and %.0f\n", first, weir_io_get(io, outputs[point]));
                return 1;
            }
        if (first < before) {
            printf("older: %.0f after %.0f\n", first, before);
            return 1;
        }
        before = first;
    }
    return 0;
}

int main(int count, char **arguments)
{
    struct weir_io *io;
    if (count < 3)
        return 2;
    enum weir_io_error error = weir_io_open(arguments[2], &io);
    if (error) {
        printf("%s: %u\n", weir_io_error_text(error), (unsigned)weir_io_application(arguments[2]));
        return 3;
    }
    int result = 2;
    weir_io_refresh(io);
    if (!strcmp(arguments[1], "points"))
        result = points(io);
    else if (!strcmp(arguments[1], "set"))
        result = set(io, count - 3, arguments + 3);
    else if (!strcmp(arguments[1], "write") && count == 5)
        result = write_images(io, (uint32_t)strtoul(arguments[3], NULL, 10), (uint32_t)strtoul(arguments[4], NULL, 10));
    else if (!strcmp(arguments[1], "read") && count == 4)
        result = read_images(io, strtod(arguments[3], NULL));
    weir_io_close(io);
    return result;
}
