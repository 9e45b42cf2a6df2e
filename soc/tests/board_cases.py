# SPDX-License-Identifier: Apache-2.0
"""The whole board as its plug sees it: an image over the serial line into SDRAM, then frames to it and back."""

import os
import random
from pathlib import Path

import cocotb
from cocotb.triggers import FallingEdge, Timer
from litex.tools.litex_term import SFLFrame, sfl_cmd_jump, sfl_cmd_load, sfl_magic_ack, sfl_magic_req
from network_cases import PREAMBLE, Wire, damaged, with_fcs
from weir_nic_tb import udp

BIT_NS = 1e9 / 115200
RAM = 0x40000000
CHUNK = 240
DEADLINE_US = 400_000


class Serial:
    """The serial line's other end."""

    def __init__(self, dut):
        self.dut, self.heard = dut, bytearray()
        dut.serial_rx.value = 1

    async def listen(self):
        while True:
            await FallingEdge(self.dut.serial_tx)
            byte = 0
            await Timer(int(BIT_NS * 1.5 * 1000), "ps")
            for bit in range(8):
                byte |= int(self.dut.serial_tx.value) << bit
                await Timer(int(BIT_NS * 1000), "ps")
            self.heard.append(byte)

    async def say(self, data):
        for byte in data:
            for bit in [0, *(byte >> i & 1 for i in range(8)), 1]:
                self.dut.serial_rx.value = bit
                await Timer(int(BIT_NS * 1000), "ps")

    async def hear(self, what):
        """Waits until that was said; what was before it is returned."""
        for _ in range(DEADLINE_US // 10):
            if what in self.heard:
                before, _, self.heard = self.heard.partition(what)
                return bytes(before)
            await Timer(10, "us")
        raise AssertionError(f"not heard: {what}; but: {bytes(self.heard)}")


def sfl(command, payload):
    """A frame as litex_term makes it."""
    frame = SFLFrame()
    frame.cmd, frame.payload = command, payload
    return frame.encode()


async def upload(serial, image):
    """The boot program starts, finds SDRAM in order, and takes the image."""
    said = await serial.hear(sfl_magic_req)
    assert b"Weir" in said and b"SDRAM" not in said, said
    await serial.say(sfl_magic_ack)
    broken = bytearray(sfl(sfl_cmd_load, RAM.to_bytes(4, "big") + image[:4]))
    broken[-1] ^= 1
    await serial.say(broken)
    await serial.hear(b"C")
    await serial.say(sfl(sfl_cmd_load, (RAM + (8 << 20) - 2).to_bytes(4, "big") + b"1234"))
    await serial.hear(b"E")
    for at in range(0, len(image), CHUNK):
        await serial.say(sfl(sfl_cmd_load, (RAM + at).to_bytes(4, "big") + image[at : at + CHUNK]))
        await serial.hear(b"K")
    await serial.say(sfl(sfl_cmd_jump, RAM.to_bytes(4, "big")))
    await serial.hear(b"K")


@cocotb.test()
async def echoes(dut):
    """Frames of all lengths come back byte for byte with a right FCS; damaged and others' do not."""
    rng = random.Random(5)
    serial, wire = Serial(dut), Wire(dut)
    dut.eth0_rx_ctl.value = dut.eth_clocks0_rx.value = 0
    cocotb.start_soon(serial.listen())
    await upload(serial, Path(os.environ["IMAGE"]).read_bytes())
    cocotb.start_soon(wire.run())
    await Timer(100, "us")
    expected = []
    for size in [*range(60, 76), 1514, *(rng.randrange(60, 300) for _ in range(8))]:
        wire.send(damaged(with_fcs(udp(5005, size, rng=rng)), rng))
        wire.send(with_fcs(udp(9, size, rng=rng)))
        frame = udp(5005, size, rng=rng)
        wire.send(with_fcs(frame))
        expected.append(PREAMBLE + with_fcs(frame))
        for _ in range(100):
            await Timer(10, "us")
            if len(wire.received) == len(expected):
                break
        assert [frame for frame, _ in wire.received] == expected, f"after the frame of {size} bytes"
    dut._log.info("%d frames went through the board", len(expected))
