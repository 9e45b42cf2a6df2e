# SPDX-License-Identifier: Apache-2.0
"""Frames through the board's network path, bit for bit as on the PHY's pins (RGMII, 1 Gbit/s), both ways."""

import random
import zlib
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from weir_nic_tb import ENABLE, MAC, REG, REGISTERS, UDP, Q, udp, words_of

PREAMBLE = b"\x55" * 7 + b"\xd5"
GAP_BYTES = 12
PORT, OTHERS_PORT = 5005, 9
HALF_WORDS = 4096  # size of each of the queue's two buffers
META_WORDS = 4
QUEUE_WORD = REGISTERS["queue_base"]  # address of the registers of queue 0


def with_fcs(frame):
    return frame + zlib.crc32(frame).to_bytes(4, "little")


class Wire:
    """The PHY's side of the pins, which drives the receive clock; each step is a byte both ways."""

    def __init__(self, dut):
        self.dut = dut
        self.to_send = deque()  # bytes, None: idle
        self.received = []  # (frame with preamble and FCS, idle bytes before it)
        self.under_way, self.idle = bytearray(), 0

    def send(self, frame, gap=GAP_BYTES, preamble=PREAMBLE):
        self.to_send.extend(preamble + frame)
        self.to_send.extend([None] * gap)

    def take(self, ctl, byte):
        if ctl:
            self.under_way.append(byte)
            return
        if self.under_way:
            self.received.append((bytes(self.under_way), self.idle))
            self.under_way, self.idle = bytearray(), 0
        self.idle += 1

    async def run(self):
        dut = self.dut
        while True:
            byte = self.to_send.popleft() if self.to_send else None
            # Data change while the clock is low and while it is high, 2 ns before its edges.
            dut.eth0_rx_ctl.value = int(byte is not None)
            dut.eth0_rx_data.value = 0 if byte is None else byte & 15
            await Timer(2, "ns")
            dut.eth_clocks0_rx.value = 1
            await Timer(2, "ns")
            low, ctl = int(dut.eth0_tx_data.value), int(dut.eth0_tx_ctl.value)
            dut.eth0_rx_data.value = 0 if byte is None else byte >> 4
            await Timer(2, "ns")
            dut.eth_clocks0_rx.value = 0
            await Timer(2, "ns")
            self.take(ctl, int(dut.eth0_tx_data.value) << 4 | low)


class Bench:
    """Clocks, register accesses, packet RAM."""

    def __init__(self, dut, seed):
        self.dut, self.rng = dut, random.Random(seed)
        self.wire = Wire(dut)
        for name in ("cyc", "stb", "we", "adr", "dat_w"):
            getattr(dut, f"registers_{name}").value = 0
        dut.registers_sel.value = 15
        dut.tx_tvalid.value = 0
        dut.eth0_mdio.value = 0
        dut.eth_clocks0_rx.value = 0

    async def start(self, period_ns):
        self.dut.clock_rst.value = 1
        cocotb.start_soon(Clock(self.dut.clock_clk, period_ns, unit="ns").start())
        cocotb.start_soon(self.wire.run())
        await self.cycles(20)
        self.dut.clock_rst.value = 0
        await self.cycles(600)  # the PHY's reset takes 256

    async def cycles(self, count):
        for _ in range(count):
            await FallingEdge(self.dut.clock_clk)

    async def access(self, word, data=None):
        dut = self.dut
        dut.registers_adr.value = word
        dut.registers_we.value = int(data is not None)
        dut.registers_dat_w.value = data or 0
        dut.registers_cyc.value = dut.registers_stb.value = 1
        while True:
            await FallingEdge(dut.clock_clk)
            if int(dut.registers_ack.value):
                break
        value = int(dut.registers_dat_r.value)
        dut.registers_cyc.value = dut.registers_stb.value = 0
        await FallingEdge(dut.clock_clk)
        return value

    async def open_queue(self):
        """Queue 0 for UDP to PORT, not moderated, and the receiver on."""
        await self.access(REG["MAC_LO"], int.from_bytes(MAC[:4], "little"))
        await self.access(REG["MAC_HI"], int.from_bytes(MAC[4:], "little"))
        for name, value in (("MATCH", PORT | 1 << 16 + UDP), ("SIZE", HALF_WORDS), ("CTRL", 1)):
            await self.access(QUEUE_WORD + Q[name], value)
        await self.access(REG["CTRL"], ENABLE)
        await self.access(REG["IRQ_ENABLE"], 1)

    async def ram(self, word):
        self.dut.ram_adr.value = word
        await self.cycles(2)
        return int(self.dut.ram_dat.value)

    async def collect(self):
        """The frames of the buffer that is software's; it is given back."""
        ready = await self.access(QUEUE_WORD + Q["READY"])
        if not ready >> 31:
            return []
        await self.access(REG["TAKE"], 0)
        at = HALF_WORDS if ready >> 30 & 1 else 0
        frames = []
        for _ in range(ready >> 16 & 0x3FFF):
            length = await self.ram(at) & 0xFFFF
            words = [await self.ram(at + META_WORDS + i) for i in range((length + 3) // 4)]
            frames.append(b"".join(word.to_bytes(4, "little") for word in words)[:length])
            at += META_WORDS + (length + 15) // 16 * 4
        await self.access(QUEUE_WORD + Q["RELEASE"], 1)
        return frames

    async def counters(self):
        return {name: await self.access(REG[name]) for name in ("ACCEPTED", "BAD", "OVERRUN", "FILTERED")}


def damaged(frame, rng):
    """One bit of it is another."""
    at = rng.randrange(len(frame))
    return frame[:at] + bytes([frame[at] ^ 1 << rng.randrange(8)]) + frame[at + 1 :]


async def sent_is_received(dut, period_ns, seed):
    """Every length; damaged ones, others' and fragments between them, at the smallest gap that Ethernet knows."""
    bench = Bench(dut, seed)
    await bench.start(period_ns)
    await bench.open_queue()
    rng = bench.rng
    expected, bad, others = [], 0, 0
    for size in [*range(60, 80), 1513, 1514, *(rng.randrange(60, 400) for _ in range(30))]:
        frame = udp(PORT, size, rng=rng)
        kind = rng.choice(("good", "good", "damaged", "others", "fragment", "short"))
        if kind == "damaged":
            bench.wire.send(damaged(with_fcs(frame), rng))
            bad += 1
        elif kind == "others":
            bench.wire.send(with_fcs(udp(OTHERS_PORT, size, rng=rng)))
            others += 1
        elif kind == "fragment":  # of a collision, cut off
            bench.wire.send(with_fcs(frame)[: rng.randrange(20, 60)])
            bad += 1
        elif kind == "short":  # with a right FCS, but no header
            bench.wire.send(with_fcs(frame[: rng.randrange(1, 14)]))
            bad += 1
        bench.wire.send(with_fcs(frame))
        expected.append(frame)
    got = []
    while bench.wire.to_send:
        await bench.cycles(200)
        got += await bench.collect()
    await bench.cycles(400)
    for _ in range(2):
        got += await bench.collect()
        await bench.cycles(50)
    assert len(got) == len(expected), f"{len(got)} frames in packet RAM, {len(expected)} sent"
    assert got == expected
    counters = await bench.counters()
    assert counters == {"ACCEPTED": len(expected) + others, "BAD": bad, "OVERRUN": 0, "FILTERED": others}
    dut._log.info("%d frames byte for byte in packet RAM, %d bad ones and %d others' counted", len(got), bad, others)


@cocotb.test()
async def receives(dut):
    """At the board's 40 MHz."""
    await sent_is_received(dut, 25, seed=1)


@cocotb.test()
async def receives_at_an_odd_clock(dut):
    """Slow as it may be: 34 MHz, 4 bytes each, for 125 MHz of one byte."""
    await sent_is_received(dut, 29.4, seed=2)


@cocotb.test()
async def counts_nothing_without_preamble(dut):
    """The MAC passes nothing on that it did not see begin, and goes on with the next."""
    bench = Bench(dut, 3)
    await bench.start(25)
    await bench.open_queue()
    frame = udp(PORT, 100, rng=bench.rng)
    bench.wire.send(with_fcs(frame), preamble=b"")
    bench.wire.send(with_fcs(frame))
    await bench.cycles(600)
    assert await bench.collect() == [frame]
    assert await bench.counters() == {"ACCEPTED": 1, "BAD": 0, "OVERRUN": 0, "FILTERED": 0}


@cocotb.test()
async def sends(dut):
    """What the NIC gives to the MAC is on the wire: preamble, padding to 60 bytes, FCS, a gap of 12 bytes or more."""
    bench = Bench(dut, 4)
    await bench.start(25)
    frames = [
        bench.rng.randbytes(size)
        for size in [*range(14, 70), 1513, 1514, *(14 + bench.rng.randrange(50) for _ in range(20))]
    ]
    for frame in frames:
        for data, keep, last, _ in words_of(frame):
            dut.tx_tdata.value, dut.tx_tkeep.value, dut.tx_tlast.value = data, keep, int(last)
            dut.tx_tvalid.value = 1
            await Timer(1, "ns")
            while not int(dut.tx_tready.value):
                await FallingEdge(dut.clock_clk)
            await FallingEdge(dut.clock_clk)
        dut.tx_tvalid.value = 0
    await bench.cycles(1000)
    assert len(bench.wire.received) == len(frames)
    for (got, _), frame in zip(bench.wire.received, frames, strict=True):
        assert got == PREAMBLE + with_fcs(frame.ljust(60, b"\0")), f"frame of {len(frame)} bytes"
    gaps = [idle for _, idle in bench.wire.received[1:]]
    assert min(gaps) >= GAP_BYTES, gaps
