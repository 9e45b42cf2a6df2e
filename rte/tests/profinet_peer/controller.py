# SPDX-License-Identifier: Apache-2.0
"""A controller from a package, profinet-py, in a process of its own.

Connects, exchanges data, reads and writes records, takes an alarm, releases, again and again.

    python controller.py INTERFACE STATION REDUCTION_RATIO COUNT

A COUNT of 0 connects and goes on until it is killed.
"""

import struct
import sys
import threading
import time

from profinet import rpc, util
from profinet.cyclic import CyclicController
from profinet.rt import IOCRConfig, IODataObject

PATIENCE = 10
SLOTS = [
    rpc.IOSlot(0, 1, module_ident=1, submodule_ident=1),
    rpc.IOSlot(0, 0x8000, module_ident=1, submodule_ident=0x8000),
    rpc.IOSlot(0, 0x8001, module_ident=1, submodule_ident=0x8001),
    rpc.IOSlot(1, 1, 1, 1, 0x32, 0x132),
    rpc.IOSlot(2, 1, 8, 8, 0x40, 0x140),
]


def until(what, condition):
    """Waits for something that must happen."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"{what}: not within {PATIENCE} s")
        time.sleep(0.002)


def frames(result, ratio):
    """Where everything lies: as the package itself lays it out in its Connect request."""
    inputs = [
        IODataObject(0, 1, 0, 0, 0),
        IODataObject(0, 0x8000, 1, 0, 1),
        IODataObject(0, 0x8001, 2, 0, 2),
        IODataObject(1, 1, 3, 1, 4, 14),
        IODataObject(2, 1, 5, 8, 13, 15),
    ]
    outputs = [IODataObject(1, 1, 0, 1, 1), IODataObject(2, 1, 2, 8, 10)]
    return (
        IOCRConfig(1, 1, result.input_frame_id, 32, ratio, 1, 500 // ratio, 40, inputs),
        IOCRConfig(2, 2, result.output_frame_id, 32, ratio, 1, 500 // ratio, 40, outputs),
    )


def life(interface, mac, info, ratio, number, hold_on=False):
    """A connection from its begin to its end."""
    connection = rpc.RPCCon(info)
    # Half a second: Python's threads do not have their turn at every cycle.
    hold = 500 // ratio
    setup = rpc.IOCRSetup(SLOTS, 32, ratio, hold, hold)
    result = connection.connect(mac, with_alarm_cr=True, iocr_setup=setup)
    alarms = []
    arrived = threading.Event()
    listener = connection.create_alarm_listener(interface)
    listener.add_callback(lambda alarm: (alarms.append(alarm), arrived.set()))
    listener.start()
    cyclic = CyclicController(
        interface, mac, util.s2mac(info.mac) if isinstance(info.mac, str) else info.mac, *frames(result, ratio)
    )
    led, words = bytes([number & 0xFF]), struct.pack(">II", number, number ^ 0xFFFFFFFF)
    cyclic.set_output_data(1, 1, led)
    cyclic.set_output_data(2, 1, words)
    cyclic.start()
    try:
        connection.prm_end()
        connection.application_ready()
        until(
            "outputs come back as inputs",
            lambda: cyclic.get_input_data(1, 1) == led and cyclic.get_input_data(2, 1) == words,
        )
        gain = struct.pack(">I", number)
        connection.write(0, 1, 1, 123, gain)
        if bytes(connection.read(0, 1, 1, 123).payload) != gain:
            raise SystemExit("the record is another than was written")
        if number == 1:
            records(connection)
        if hold_on:
            print("connected", flush=True)
            time.sleep(PATIENCE)
        # The test's application raises an alarm when this record is written.
        connection.write(0, 1, 1, 124, gain)
        if not arrived.wait(PATIENCE):
            raise SystemExit("no alarm")
    finally:
        cyclic.stop()
        listener.stop()
        connection.close()
    return len(alarms)


def records(connection):
    """What a device tells of itself, and several records at once."""
    identification = connection.read_im0()
    assert b"4711" in bytes(identification), identification
    slots = {(slot.slot, slot.subslot) for slot in connection.discover_slots()}
    assert slots >= {(0, 1), (0, 0x8000), (0, 0x8001), (1, 1), (2, 1)}, slots
    assert not connection.read_module_diff().modules
    assert not connection.read_diagnosis(0, 0, 0xF00A).entries


def main():
    """Many lives."""
    interface, station, ratio, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    mac = util.get_mac(interface)
    socket = util.ethernet_socket(interface)
    info = rpc.get_station_info(socket, mac, station)
    if count == 0:
        life(interface, mac, info, ratio, 1, hold_on=True)
    began = time.monotonic()
    alarms = sum(life(interface, mac, info, ratio, number) for number in range(1, count + 1))
    print(f"{count} connections, {alarms} alarms, {time.monotonic() - began:.1f} s")


main()
