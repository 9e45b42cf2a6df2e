// SPDX-License-Identifier: Apache-2.0
//
// What an example can add to the application.

#ifndef APP_H
#define APP_H

// Serves Modbus/TCP on the listening socket; does not return. Absent in images too small for it.
__attribute__((weak)) _Noreturn void app_modbus(int listener);

#endif
