// SPDX-License-Identifier: Apache-2.0

#include "modbus.h"

#include "app.h"
#include "modbus_server.h"

struct scenario weir_scenario;

_Noreturn void app_modbus(int listener)
{
    modbus_server(listener, &weir_scenario.tasks[0]);
}
