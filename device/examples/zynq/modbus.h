// SPDX-License-Identifier: Apache-2.0
//
// firmware/modbus_server.c outside the simulated device: included before it, this header stands for the four of the
// firmware that it would include, and makes their jobs and traces nothing.

#ifndef MODBUS_H
#define MODBUS_H

#include <stddef.h>
#include <stdint.h>

#include "lwip/sockets.h"

#define SCENARIO_H
#define MESSAGE_H
#define TRACE_H
#define WORK_H

struct scenario_task {
    uint8_t unused;
};

struct message {
    const uint8_t *data;
    size_t length;
    int socket;
};

extern struct scenario {
    struct scenario_task tasks[1];
} weir_scenario;

#define trace(kind, value) ((void)(value))
#define message_attach(message) ((void)(message))
#define work_run(task) ((void)(task))

#endif
