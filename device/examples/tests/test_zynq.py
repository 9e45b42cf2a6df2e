# SPDX-License-Identifier: Apache-2.0
"""The Zynq example under QEMU: no times, which QEMU does not know, but everything else."""

import socket

import pytest
import raw_peer
from machine import Cable, Machine
from pymodbus.client import ModbusTcpClient

MACHINE = "xilinx-zynq-a9"
BUFFERS = 256
FRAMES_PER_BURST = 60


@pytest.fixture
def cable(image):
    """A booted machine's cable and its MAC address."""
    with Cable() as cable, Machine(image, MACHINE, *cable.network):
        yield cable, cable.plug()


def test_answers_ping(cable):
    raw_peer.pings(*cable)


@pytest.mark.parametrize("kind", ["slow reader", "closed port", "ARP broadcast"])
def test_high_priority_flow_survives_flood(cable, kind):
    raw_peer.flood(*cable, kind, FRAMES_PER_BURST)
    books = raw_peer.books_balance(*cable, BUFFERS)
    assert books["refused"] == 0
    assert (books["discarded"] > 0) == (kind != "ARP broadcast")
    raw_peer.pings(*cable)


def test_recovers(cable):
    raw_peer.more_than_the_ring_holds(*cable)
    raw_peer.books_balance(*cable, BUFFERS)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_serves_modbus(image):
    port = free_port()
    with Machine(image, MACHINE, "-nic", f"user,hostfwd=tcp:127.0.0.1:{port}-:502"):
        clients = [ModbusTcpClient("127.0.0.1", port=port, timeout=10) for _ in range(3)]
        for client in clients:
            assert client.connect()
        values = [(7919 * i) % 65536 for i in range(100)]
        for turn in range(20):
            writer, reader = clients[turn % 3], clients[(turn + 1) % 3]
            assert not writer.write_registers(0, values).isError()
            assert reader.read_holding_registers(0, count=100).registers == values
            assert not writer.write_register(127, turn).isError()
            assert reader.read_holding_registers(127, count=1).registers == [turn]
            values.reverse()
        answer = clients[0].read_holding_registers(120, count=20)
        assert answer.isError() and answer.exception_code == 2
        for client in clients:
            client.close()
