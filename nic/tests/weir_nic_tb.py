# SPDX-License-Identifier: Apache-2.0
"""Testbench of weir_nic: memory, driver and scoreboard, all advanced by `Tb.step`.

One step is one clock cycle, at the falling edge: outputs of the cycle are read, inputs for the next rising edge set.
There is one coroutine and no concurrency, so a seed is a run.

The scoreboard knows every frame that was sent. It checks each memory write against the buffers of a queue, each
delivered frame and its metadata byte by byte, the order within a queue, and at the end that every frame is in exactly
one counter.
"""

import random
import struct
import tomllib
from collections import deque
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

REGISTERS = tomllib.loads((Path(__file__).parents[1] / "weir_nic_registers.toml").read_text())
REG = {r["name"]: r["word"] for r in REGISTERS["global"]}
Q = {r["name"]: r["word"] for r in REGISTERS["queue"]}
ENABLE, PROMISCUOUS, ALL_MULTICAST = 1, 2, 4
TCP, UDP, ARP, ICMP, FRAGMENT, IP, OTHER = range(7)
CAUSES = ("at_once", "frames", "packet", "absolute", "full")
MAC = bytes.fromhex("020000000001")
PEER = bytes.fromhex("020000000002")
IDLE = None  # a cycle without a word on the stream


def words_of(data, damaged=False, tail=True):
    """Stream words (data, keep, last, user) of a frame; without `tail` the stream has no last."""
    words = []
    for at in range(0, max(len(data), 1), 4):
        part = data[at : at + 4]
        last = tail and at + 4 >= len(data)
        words.append((int.from_bytes(part, "little"), (1 << len(part)) - 1, last, damaged and last))
    return words


def udp(port, size=60, sender=0x0A000001, rng=None, dst=MAC, tail=0):
    """A UDP frame of `size` bytes, made without scapy because there are many."""
    payload = (rng or random).randbytes(size - 42 - tail)
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, size - 14 - tail, 0, 0, 64, 17, 0, sender, 0x0A000002)
    head = struct.pack(">HHHH", 1234, port, size - 34 - tail, 0)
    return dst + PEER + b"\x08\x00" + ip + head + payload + bytes(tail)


class Memory:
    """Packet memory: waits before it is ready, answers late, fails; checks the handshake."""

    def __init__(self, words, rng):
        self.data = bytearray(4 * words)
        self.rng = rng
        self.wait = lambda: 0  # cycles before ready
        self.delay = lambda: 1  # cycles from acceptance to answer, at least 1
        self.fail = lambda adr: False
        self.hold = False
        self.left = 0
        self.offered = None
        self.answers = deque()  # (cycle, failed)
        self.writes = 0
        self.on_write = lambda adr, data, sel: None

    def step(self, dut, cycle):
        """Returns (ready, done, err) for the coming edge."""
        done = err = 0
        if self.answers and self.answers[0][0] <= cycle:
            done, err = 1, int(self.answers.popleft()[1])
        if not int(dut.mem_valid_o.value):
            assert self.offered is None, "valid fell before ready"
            return self.rng.getrandbits(1), done, err
        offer = tuple(int(s.value) for s in (dut.mem_adr_o, dut.mem_dat_o, dut.mem_sel_o))
        if self.offered is None:
            self.left = self.wait()
        assert self.offered in (None, offer), "a word changed before ready"
        self.offered = offer
        if self.hold or self.left > 0:
            self.left -= 1
            return 0, done, err
        self.offered = None
        adr, data, sel = offer
        self.writes += 1
        failed = self.fail(adr)
        self.on_write(adr, data, sel)
        if not failed:
            for lane in range(4):
                if sel >> lane & 1:
                    self.data[4 * adr + lane] = data >> 8 * lane & 255
        last = self.answers[-1][0] if self.answers else cycle
        self.answers.append((max(cycle + self.delay(), last + (1 if self.answers or done else 0)), failed))
        return 1, done, err


class Queue:
    """What software knows of a queue."""

    def __init__(self, index, **settings):
        self.index = index
        self.settings = settings
        self.expected = deque()  # committed frames, in order
        self.handed = 0
        self.handed_bytes = 0
        self.discarded = 0
        self.on = False

    @property
    def base(self):
        return self.settings["BASE"]

    @property
    def size(self):
        return self.settings["SIZE"]


class Tb:
    """The NIC with its surroundings."""

    def __init__(self, dut, queues, fifo_words, seed=1):
        self.dut = dut
        self.rng = random.Random(seed)
        self.fifo_words = fifo_words
        self.memory = Memory(1 << 14, self.rng)
        self.memory.on_write = self._memory_write
        self.queues = [Queue(i, BASE=0, SIZE=0) for i in range(queues)]
        self.cycle = 0
        self.time = self.rng.choice((0, 1000, 0xFFFFF000))
        self.headroom = 4
        self.inputs = {}
        self.stream = deque()
        self.current = bytearray()
        self.ended = deque()  # whose verdict comes: (bytes, damaged, TIME, receiver was off)
        self.accepted = deque()  # (bytes, TIME)
        self.enabled = self.off = False
        self.off_frames = 0
        self.sent = 0
        self.count = dict.fromkeys(("accept", "overrun", "bad", "filtered", "done", "full", "error"), 0)
        self.done = []  # (bytes, cycle)
        self.last_done_cycle = self.last_word_cycle = None
        self.irqs = []  # cycles in which the line rose
        self.irq = 0
        self.watch = None

    # ------------------------------------------------------------------ start

    async def start(self, ctrl=ENABLE, **ready):
        """Clock, reset, station address; then the receiver is on."""
        cocotb.start_soon(Clock(self.dut.clk_i, 10, unit="ns").start())
        self._set(rst_ni=0, rx_axis_tvalid_i=0, rx_axis_tlast_i=0, rx_axis_tdata_i=0, rx_axis_tkeep_i=0)
        self._set(rx_axis_tuser_i=0, reg_adr_i=0, reg_dat_i=0, reg_sel_i=0, reg_cyc_i=0, reg_stb_i=0, reg_we_i=0)
        self._set(time_i=self.time, mem_ready_i=0, mem_done_i=0, mem_err_i=0)
        for _ in range(3):
            await FallingEdge(self.dut.clk_i)
        self._set(rst_ni=1)
        await FallingEdge(self.dut.clk_i)
        await self.write("MAC_LO", int.from_bytes(MAC[:4], "little"))
        await self.write("MAC_HI", int.from_bytes(MAC[4:], "little"))
        await self.write("IRQ_ENABLE", 1)
        await self.write("CTRL", ctrl)

    def _set(self, **values):
        for name, value in values.items():
            if self.inputs.get(name) != value:
                self.inputs[name] = value
                getattr(self.dut, name).value = value

    # ------------------------------------------------------------------- step

    async def step(self, cycles=1):
        for _ in range(cycles):
            await FallingEdge(self.dut.clk_i)
            self.cycle += 1
            self.time = self.time + 1 & 0xFFFFFFFF
            self._set(time_i=self.time)
            if self.watch:
                self.watch.next_cycle()
            self._events()
            irq = int(self.dut.irq_o.value)
            if irq and not self.irq:
                self.irqs.append(self.cycle)
            self.irq = irq
            ready, done, err = self.memory.step(self.dut, self.cycle)
            if done:
                self.last_done_cycle = self.cycle
            self._set(mem_ready_i=ready, mem_done_i=done, mem_err_i=err)
            self._receive()
            if self.watch:
                await Timer(1, "ns")
                self.watch.settled()

    async def until(self, condition, limit=100_000):
        for _ in range(limit):
            if condition():
                return
            await self.step()
        raise AssertionError("condition did not come true")

    async def drain(self):
        """Until all frames have met their fate."""
        await self.until(lambda: not self.stream and not self.ended and not self.accepted)
        await self.step(4)

    # -------------------------------------------------------------- registers

    async def _access(self, adr, we, value=0, sel=15):
        self._set(reg_adr_i=adr, reg_dat_i=value, reg_sel_i=sel, reg_we_i=we, reg_cyc_i=1, reg_stb_i=1)
        if adr == REG["CTRL"] and we and sel == 15:
            self.enabled = bool(value & ENABLE)
        waited = 0
        while True:
            await self.step()
            if int(self.dut.reg_ack_o.value):
                break
            waited += 1
            assert waited < 20_000, "no ack"
        data = int(self.dut.reg_dat_o.value)
        self.waited = waited
        self._set(reg_cyc_i=0, reg_stb_i=0)
        await self.step()
        assert not int(self.dut.reg_ack_o.value)
        return data

    def _adr(self, name, queue):
        return REG[name] if queue is None else REGISTERS["queue_base"] + 32 * queue + Q[name]

    async def write(self, name, value, queue=None, sel=15):
        await self._access(self._adr(name, queue), 1, value, sel)

    async def read(self, name, queue=None):
        return await self._access(self._adr(name, queue), 0)

    async def setup(self, index, port=0, classes=(UDP,), enable=1, **settings):
        """Writes a queue's settings and CTRL; waits until they are in force."""
        queue = self.queues[index]
        if port is not None:
            settings["MATCH"] = port | sum(1 << c for c in classes) << 16
        geometry = queue.on and not ({"BASE", "SIZE"} <= settings.keys())
        for name, value in settings.items():
            await self.write(name, value, index)
        if not queue.on or geometry:
            queue.settings.update(settings)
        else:
            queue.settings.update({k: v for k, v in settings.items() if k not in ("BASE", "SIZE")})
        await self.write("CTRL", enable, index)
        await self.until_loaded()
        if not enable and queue.on:
            await self.take(index)  # a buffer that was handed over stays software's
            queue.discarded += len(queue.expected)
            queue.expected.clear()
        queue.on = bool(enable)

    async def until_loaded(self):
        while await self.read("CTRL") & 1 << 8:
            pass

    async def take(self, index):
        """Reads READY, checks what is in the buffer, releases it; returns the frames."""
        queue = self.queues[index]
        ready = await self.read("READY", index)
        if not ready >> 31:
            return None
        frames, words, buffer = ready >> 16 & 0x3FFF, ready & 0xFFFF, ready >> 30 & 1
        assert frames > 0, "interrupt without a frame"
        at = queue.base + buffer * queue.size
        end = at + words
        assert words <= queue.size
        got = []
        for _ in range(frames):
            data, stamp, class_id = queue.expected.popleft()
            at += self.headroom - 4
            meta = struct.unpack_from("<4I", self.memory.data, 4 * at)
            assert meta[0] & 0xFFFF == len(data), (meta, len(data))
            assert meta[0] >> 24 == 0
            if class_id is not None:
                assert meta[0] >> 16 & 0xFF == class_id, (meta[0] >> 16, class_id)
            assert meta[1] == index | queue.settings.get("PRIORITY", 0) << 8
            assert meta[2] == stamp
            assert bytes(self.memory.data[4 * at + 16 : 4 * at + 16 + len(data)]) == data
            got.append((data, meta))
            at += (4 + (len(data) + 3) // 4 + 3) // 4 * 4
        assert at == end
        queue.handed += frames
        queue.handed_bytes += sum(len(data) for data, _ in got)
        await self.write("RELEASE", 0, index)
        return got

    async def acknowledge(self):
        """NEXT and TAKE until nothing is active; the buffers stay software's."""
        taken = []
        while (value := await self.read("NEXT")) >> 31:
            taken.append(value & 63)
            await self.write("TAKE", value & 63)
        return taken

    async def handle(self):
        """The interrupt handler: NEXT until nothing is active."""
        taken = []
        while True:
            value = await self.read("NEXT")
            if not value >> 31:
                return taken
            taken.append(value & 63)
            assert await self.take(value & 63), "NEXT without a buffer"

    # ---------------------------------------------------------------- receive

    def send(self, data, damaged=False, gap=lambda: 0, after=0, class_id=None):
        """Queues a frame; `gap` gives the idle cycles before each word."""
        self.send_words(words_of(data, damaged), gap, after)
        self.classes[data] = class_id

    classes = {}  # of a frame, where the test knows it

    def send_words(self, words, gap=lambda: 0, after=0):
        for word in words:
            self.stream.extend([IDLE] * gap())
            self.stream.append(word)
        self.stream.extend([IDLE] * after)

    def _receive(self):
        word = self.stream.popleft() if self.stream else IDLE
        if word is IDLE:
            self._set(rx_axis_tvalid_i=0)
            return
        data, keep, last, user = word
        self._set(rx_axis_tvalid_i=1, rx_axis_tdata_i=data, rx_axis_tkeep_i=keep)
        self._set(rx_axis_tlast_i=int(last), rx_axis_tuser_i=int(user))
        self.off |= not self.enabled
        self.current += data.to_bytes(4, "little")[: keep.bit_count()]
        if last:
            self.sent += 1
            self.last_word_cycle = self.cycle
            self.ended.append((bytes(self.current), user, self.time, self.off))
            self.off = False
            self.current.clear()

    def _events(self):
        dut = self.dut
        first = [n for n in ("accept", "overrun", "bad") if int(getattr(dut, f"ev_rx_{n}_o").value)]
        assert len(first) <= 1
        assert bool(first) == bool(self.ended), "each frame has its event in the cycle after tlast"
        if first:
            data, user, stamp, off = self.ended.popleft()
            self.count[first[0]] += 1
            self.off_frames += off
            good = not user and 14 <= len(data) <= 2048
            assert (first[0] == "bad") == (off or not good), (first, len(data), off)
            if first[0] == "accept":
                self.accepted.append((data, stamp))
        second = [n for n in ("done", "full", "filtered", "error") if int(getattr(dut, f"ev_rx_{n}_o").value)]
        assert len(second) <= 1
        if second:
            data, stamp = self.accepted.popleft()
            self.count[second[0]] += 1
            self.done.append((second[0], data, self.cycle))
            if second[0] == "done":
                adr = int(dut.ev_rx_addr_o.value)
                index = int.from_bytes(self.memory.data[adr - 12 : adr - 11], "little")
                assert bytes(self.memory.data[adr : adr + len(data)]) == data
                self.queues[index].expected.append((data, stamp, self.classes.get(data)))

    def _memory_write(self, adr, data, sel):
        assert self.accepted, "a write without a frame"
        inside = [q for q in self.queues if q.on and q.base <= adr < q.base + 2 * q.size]
        assert inside, f"write outside of all buffers: {adr:#x}"

    # ---------------------------------------------------------------- balance

    async def balance(self):
        """Every frame sent is in exactly one counter, and the counters are what was seen."""
        await self.drain()
        for queue in self.queues:  # software takes all, then what still waits is discarded
            while await self.take(queue.index):
                pass
        for queue in self.queues:
            if queue.on:
                await self.setup(queue.index, port=None, enable=0)
        await self.step(30 * len(self.queues))
        total = {}
        for name in ("FRAMES_IN", "BYTES_IN", "FULL", "DISCARDED"):
            total[name] = [await self.read(name, q.index) for q in self.queues]
        for queue in self.queues:
            assert total["FRAMES_IN"][queue.index] == queue.handed
            assert total["BYTES_IN"][queue.index] == queue.handed_bytes
            assert total["DISCARDED"][queue.index] == queue.discarded
            irqs = [await self.read(f"IRQS_{cause.upper()}", queue.index) for cause in CAUSES]
            assert sum(irqs) <= queue.handed
        value = {n: await self.read(n) for n in ("ACCEPTED", "BAD", "OVERRUN", "FILTERED", "BUS_ERRORS", "IRQ_COUNT")}
        c = self.count
        off = self.off_frames
        assert value["ACCEPTED"] == c["accept"] == c["done"] + c["full"] + c["filtered"] + c["error"]
        assert value["BAD"] == c["bad"] - off
        assert value["OVERRUN"] == c["overrun"]
        assert value["FILTERED"] == c["filtered"] + off
        assert value["BUS_ERRORS"] == c["error"]
        assert sum(total["FULL"]) == c["full"]
        assert sum(total["FRAMES_IN"]) + sum(total["DISCARDED"]) == c["done"]
        assert value["IRQ_COUNT"] == len(self.irqs)
        in_queues = sum(sum(total[n]) for n in ("FRAMES_IN", "FULL", "DISCARDED"))
        lost = sum(value[n] for n in ("BAD", "OVERRUN", "FILTERED", "BUS_ERRORS"))
        assert in_queues + lost == self.sent
        return value
