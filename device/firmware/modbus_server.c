// SPDX-License-Identifier: Apache-2.0

#include "modbus_server.h"

#include <stdbool.h>
#include <string.h>

#include "message.h"
#include "trace.h"
#include "work.h"

//  MBAP header:  0        2          4        6       7
//               | transaction | protocol 0 | length | unit |  PDU ...        length counts from `unit` on
#define MBAP_BYTES 7
#define ADU_BYTES_MAX 260

enum { READ_HOLDING = 3, WRITE_SINGLE = 6, WRITE_MULTIPLE = 16, EXCEPTION = 0x80 };
enum { ILLEGAL_FUNCTION = 1, ILLEGAL_ADDRESS = 2, ILLEGAL_VALUE = 3 };

struct connection {
    int fd; // -1: free
    size_t filled;
    uint8_t adu[ADU_BYTES_MAX];
};

static uint16_t registers[MODBUS_REGISTERS];
static struct connection connections[MODBUS_CONNECTIONS];

static uint16_t get16(const uint8_t *bytes)
{
    return (uint16_t)((bytes[0] << 8) | bytes[1]);
}

static void put16(uint8_t *bytes, uint16_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

static size_t exception(uint8_t *pdu, uint8_t code)
{
    pdu[0] |= EXCEPTION;
    pdu[1] = code;
    return 2;
}

static bool in_range(uint16_t first, uint16_t count)
{
    return (uint32_t)first + count <= MODBUS_REGISTERS;
}

static size_t read_holding(uint8_t *pdu)
{
    uint16_t first = get16(&pdu[1]);
    uint16_t count = get16(&pdu[3]);
    if (count == 0U || count > 125U) {
        return exception(pdu, ILLEGAL_VALUE);
    }
    if (!in_range(first, count)) {
        return exception(pdu, ILLEGAL_ADDRESS);
    }
    pdu[1] = (uint8_t)(2U * count);
    for (uint16_t i = 0; i < count; i++) {
        put16(&pdu[2U + 2U * i], registers[first + i]);
    }
    return 2U + 2U * count;
}

static size_t write_multiple(uint8_t *pdu, size_t length)
{
    uint16_t first = get16(&pdu[1]);
    uint16_t count = get16(&pdu[3]);
    if (count == 0U || count > 123U || length != 6U + 2U * count || pdu[5] != 2U * count) {
        return exception(pdu, ILLEGAL_VALUE);
    }
    if (!in_range(first, count)) {
        return exception(pdu, ILLEGAL_ADDRESS);
    }
    for (uint16_t i = 0; i < count; i++) {
        registers[first + i] = get16(&pdu[6U + 2U * i]);
    }
    return 5;
}

// Turns the request in `pdu` into its response; returns the response's length.
static size_t serve_pdu(uint8_t *pdu, size_t length)
{
    if (pdu[0] == READ_HOLDING && length == 5U) {
        return read_holding(pdu);
    }
    if (pdu[0] == WRITE_SINGLE && length == 5U) {
        if (!in_range(get16(&pdu[1]), 1)) {
            return exception(pdu, ILLEGAL_ADDRESS);
        }
        registers[get16(&pdu[1])] = get16(&pdu[3]);
        return length;
    }
    if (pdu[0] == WRITE_MULTIPLE && length >= 6U) {
        return write_multiple(pdu, length);
    }
    bool known = pdu[0] == READ_HOLDING || pdu[0] == WRITE_SINGLE || pdu[0] == WRITE_MULTIPLE;
    return exception(pdu, known ? ILLEGAL_VALUE : ILLEGAL_FUNCTION);
}

static void connection_close(struct connection *connection)
{
    (void)lwip_close(connection->fd);
    connection->fd = -1;
}

// Length of the whole message at the front of the buffer; 0: not yet known; -1: this is not Modbus/TCP.
static int adu_length(const struct connection *connection)
{
    if (connection->filled < MBAP_BYTES) {
        return 0;
    }
    uint16_t length = get16(&connection->adu[4]);
    if (get16(&connection->adu[2]) != 0U || length < 2U || length > ADU_BYTES_MAX - 6) {
        return -1;
    }
    return 6 + length;
}

static void serve_adu(struct connection *connection, size_t length, const struct scenario_task *task,
                      struct message *message)
{
    uint32_t index = (uint32_t)(task - weir_scenario.tasks);
    trace(TRACE_JOB_START, index);
    message->socket = connection->fd;
    message->data = connection->adu;
    message->length = length;
    work_run(task);
    uint8_t response[ADU_BYTES_MAX];
    memcpy(response, connection->adu, length);
    size_t pdu_length = serve_pdu(&response[MBAP_BYTES], length - MBAP_BYTES);
    put16(&response[4], (uint16_t)(pdu_length + 1U));
    bool sent = lwip_send(connection->fd, response, MBAP_BYTES + pdu_length, 0) >= 0;
    trace(TRACE_JOB_END, index);
    if (!sent) {
        connection_close(connection);
    }
}

static void connection_read(struct connection *connection, const struct scenario_task *task, struct message *message)
{
    ssize_t got = lwip_recv(connection->fd, &connection->adu[connection->filled], ADU_BYTES_MAX - connection->filled,
                            0);
    if (got <= 0) {
        connection_close(connection);
        return;
    }
    connection->filled += (size_t)got;
    int length;
    while (connection->fd >= 0 && (length = adu_length(connection)) != 0) {
        if (length < 0) {
            connection_close(connection);
            return;
        }
        if (connection->filled < (size_t)length) {
            return;
        }
        serve_adu(connection, (size_t)length, task, message);
        connection->filled -= (size_t)length;
        memmove(connection->adu, &connection->adu[length], connection->filled);
    }
}

static void connection_accept(int listener)
{
    int fd = lwip_accept(listener, NULL, NULL);
    if (fd < 0) {
        return;
    }
    int on = 1;
    (void)lwip_setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // A client that does not read its answers must not stop the others.
    struct timeval patience = {.tv_sec = 0, .tv_usec = 500 * 1000};
    (void)lwip_setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    for (size_t i = 0; i < MODBUS_CONNECTIONS; i++) {
        if (connections[i].fd < 0) {
            connections[i] = (struct connection){.fd = fd};
            return;
        }
    }
    (void)lwip_close(fd); // full
}

_Noreturn void modbus_server(int listener, const struct scenario_task *task)
{
    struct message message = {.socket = -1};
    message_attach(&message);
    for (size_t i = 0; i < MODBUS_CONNECTIONS; i++) {
        connections[i].fd = -1;
    }
    for (;;) {
        fd_set readable;
        FD_ZERO(&readable);
        FD_SET(listener, &readable);
        int highest = listener;
        for (size_t i = 0; i < MODBUS_CONNECTIONS; i++) {
            if (connections[i].fd >= 0) {
                FD_SET(connections[i].fd, &readable);
                highest = (connections[i].fd > highest) ? connections[i].fd : highest;
            }
        }
        if (lwip_select(highest + 1, &readable, NULL, NULL, NULL) <= 0) {
            continue;
        }
        for (size_t i = 0; i < MODBUS_CONNECTIONS; i++) {
            if (connections[i].fd >= 0 && FD_ISSET(connections[i].fd, &readable)) {
                connection_read(&connections[i], task, &message);
            }
        }
        if (FD_ISSET(listener, &readable)) {
            connection_accept(listener);
        }
    }
}
