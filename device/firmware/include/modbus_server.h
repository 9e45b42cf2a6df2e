// SPDX-License-Identifier: Apache-2.0
//
// A Modbus/TCP server (MODBUS Messaging on TCP/IP Implementation Guide V1.0b) with 128 holding registers.

#ifndef MODBUS_SERVER_H
#define MODBUS_SERVER_H

#include "scenario.h"

#define MODBUS_REGISTERS 128
#define MODBUS_CONNECTIONS 4

// Serves up to MODBUS_CONNECTIONS clients on the listening socket; each request is one job of `task`. Functions 3
// (read holding registers), 6 (write one) and 16 (write several); exception 1 for others, 2 and 3 for bad addresses
// and values. A client that breaks the framing is disconnected. Does not return.
_Noreturn void modbus_server(int listener, const struct scenario_task *task);

#endif
