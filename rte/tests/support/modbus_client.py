# SPDX-License-Identifier: Apache-2.0
"""A Modbus/TCP client by pymodbus, see rte/tests/modbus.rs. Says "right" in the end, or fails.

modbus_client.py functions ADDRESS   every function, exceptions, largest quantities, pipelining, many clients
modbus_client.py hold ADDRESS        writes outputs, says "written", and goes on reading until its input ends
"""

import socket
import struct
import sys
import time

from pymodbus.client import ModbusTcpClient
from pymodbus.exceptions import ModbusException

PORT = 502


def client(address):
    one = ModbusTcpClient(address, port=PORT, timeout=3)
    assert one.connect()
    return one


def check(response):
    assert not response.isError(), response
    return response


def refused(code, ask, *arguments, **named):
    response = ask(*arguments, **named)
    assert response.isError() and response.exception_code == code, response


def functions(address):
    one = client(address)
    assert check(one.read_discrete_inputs(0, count=2)).bits[:2] == [True, False]
    assert check(one.read_input_registers(0, count=4)).registers == [0xFFFE, 0x3FC0, 0, 0x1234]
    bits = [n % 3 == 0 for n in range(1968)]
    check(one.write_coils(0, bits))
    assert check(one.read_coils(0, count=2000)).bits == bits + [False] * 32
    check(one.write_coil(1999, True))
    assert check(one.read_coils(1999, count=1)).bits[0]
    registers = [n * 257 & 0xFFFF for n in range(123)]
    check(one.write_registers(0, registers))
    check(one.write_register(124, 7))
    assert check(one.read_holding_registers(0, count=125)).registers == registers + [0, 7]
    both = check(one.readwrite_registers(read_address=0, read_count=2, write_address=1, values=[77])).registers
    assert both == [0, 77], both
    refused(2, one.read_coils, 1999, count=2)
    refused(2, one.write_register, 125, 1)
    refused(2, one.read_input_registers, 4, count=1)
    refused(1, one.mask_write_register, address=0, and_mask=1, or_mask=1)
    refused(1, one.read_device_information)
    pipelined(address)
    crowd(address)
    one.close()


def pipelined(address):
    """A hundred requests at once, then one in bytes; pymodbus does neither."""
    stream = b"".join(struct.pack(">HHHBBHH", n, 0, 6, 1, 3, 124, 1) for n in range(100))
    with socket.create_connection((address, PORT), 3) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.sendall(stream)
        for byte in stream[:12]:
            plain.sendall(bytes([byte]))
            time.sleep(0.002)
        heard = b""
        while len(heard) < 101 * 11:
            more = plain.recv(4096)
            assert more, "closed"
            heard += more
    for n in range(101):
        assert heard[11 * n : 11 * n + 11] == struct.pack(">HHHBBBH", n % 100, 0, 5, 1, 3, 2, 7), n


def crowd(address):
    """Eight at once are served, one of which is there already; not the ninth. The silent keep nobody out."""
    crowd = [client(address) for _ in range(7)]
    for one in crowd:
        assert check(one.read_holding_registers(124, count=1)).registers == [7]
    ninth = ModbusTcpClient(address, port=PORT, timeout=1, retries=0)
    ninth.connect()
    try:
        response = ninth.read_holding_registers(124, count=1)
        assert response.isError(), response
    except ModbusException:
        pass
    for one in crowd:
        one.close()
    silent = [socket.create_connection((address, PORT), 3) for _ in range(20)]
    late = client(address)
    assert check(late.read_holding_registers(124, count=1)).registers == [7]
    for one in [*silent, late]:
        one.close()


def hold(address):
    one = client(address)
    check(one.write_register(0, 4321))
    print("written", flush=True)
    while True:
        check(one.read_holding_registers(0, count=1))
        time.sleep(0.05)


if __name__ == "__main__":
    {"functions": functions, "hold": hold}[sys.argv[1]](sys.argv[2])
    print("right")
