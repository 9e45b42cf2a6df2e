# SPDX-License-Identifier: Apache-2.0
"""Testbench of the plain NIC: bus models, driver and scoreboard, all advanced by `Tb.step`.

One step is one clock cycle. It runs at the falling edge: it reads the outputs of the cycle, lets
the models react, and sets the inputs that the next rising edge takes. There is one coroutine and no
concurrency, so a seed is a run.

The scoreboard predicts the fate of every frame (filtered, bad, full or accepted) exactly, the
FIFO's filling included, and checks every bus write against the frame and the descriptor that it
must belong to.
"""

import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

ID, CTRL, IRQ_ENABLE, IRQ_PENDING = 0x00, 0x04, 0x08, 0x0C
RX_RING, RX_INDEX, TX_RING, TX_INDEX, TX_KICK = 0x10, 0x14, 0x18, 0x1C, 0x20
RX_FRAMES, RX_NO_DESCRIPTOR, RX_FIFO_FULL, RX_BAD = 0x24, 0x28, 0x2C, 0x30
TX_FRAMES, BUS_ERRORS, IRQ_COUNT, RX_FILTERED, TX_BAD = 0x34, 0x38, 0x3C, 0x40, 0x44

IRQ_RX, IRQ_MISSED, IRQ_TX = 1, 2, 4
OWN, WRAP = 1 << 31, 1 << 30
RAM_BASE, RAM_BYTES = 0x4000_0000, 0x4_0000
MIN_RX, MAX_RX, MAX_TX = 14, 2048, 1518
IDLE = None  # a cycle without a word on the receive stream


def words_of(data, damaged=False, tail=True):
    """Stream words (data, keep, last, user) of a frame; without `tail` the stream has no last."""
    words = []
    for at in range(0, max(len(data), 1), 4):
        part = data[at : at + 4]
        last = tail and at + 4 >= len(data)
        words.append((int.from_bytes(part, "little"), (1 << len(part)) - 1, last, damaged and last))
    return words


class Bus:
    """Wishbone slave behind the DMA master: memory, wait states, errors and protocol checks."""

    def __init__(self, burst_words, rng):
        self.ram = bytearray(RAM_BYTES)
        self.burst_words = burst_words
        self.rng = rng
        self.first_wait = lambda: 1  # cycles before the first ack of a burst
        self.next_wait = lambda: 0  # before each further ack
        self.fail = lambda adr, we: False  # bus error for this byte address?
        self.hold = False  # no ack at all
        self.on_write = lambda adr, data, sel: None
        self.on_read = lambda adr, data: None
        self.on_error = lambda adr: None
        self.errors = 0
        self.beats = 0
        self.in_burst = False
        self.must_idle = False
        self.held = None

    def word(self, adr):
        return int.from_bytes(self.ram[adr - RAM_BASE : adr - RAM_BASE + 4], "little")

    def set_word(self, adr, value):
        self.ram[adr - RAM_BASE : adr - RAM_BASE + 4] = value.to_bytes(4, "little")

    def bytes(self, adr, length):
        return bytes(self.ram[adr - RAM_BASE : adr - RAM_BASE + length])

    def set_bytes(self, adr, data):
        self.ram[adr - RAM_BASE : adr - RAM_BASE + len(data)] = data

    def step(self, dut):
        """Returns (ack, err, read data) for the coming edge."""
        if not int(dut.wbm_cyc_o.value):
            assert not self.in_burst, "cyc fell within a burst"
            self.must_idle = False
            return 0, 0, self.rng.getrandbits(32)
        assert not self.must_idle, "cyc did not fall after the end of a burst"
        assert int(dut.wbm_stb_o.value)
        assert int(dut.wbm_bte_o.value) == 0
        adr = int(dut.wbm_adr_o.value) << 2
        we = int(dut.wbm_we_o.value)
        cti = int(dut.wbm_cti_o.value)
        sel = int(dut.wbm_sel_o.value)
        dat = int(dut.wbm_dat_o.value)
        now = (adr, we, cti, sel, dat if we else 0)
        if self.held is not None:
            assert now == self.held, "master changed a word before its ack"
        self.held = now
        assert RAM_BASE <= adr < RAM_BASE + RAM_BYTES, hex(adr)
        if not self.in_burst:
            assert cti in (0, 2)
            self.in_burst, self.done, self.start, self.burst_we = True, 0, adr, we
            self.wait = self.first_wait()
        assert adr == self.start + 4 * self.done and we == self.burst_we
        assert (cti == 0) <= (self.done == 0) and cti in (0, 2, 7)
        assert we or sel == 15
        if self.hold or self.wait:
            self.wait = max(self.wait - 1, 0)
            return 0, 0, self.rng.getrandbits(32)
        self.held = None
        self.done += 1
        self.beats += 1
        assert self.done <= self.burst_words
        if cti in (0, 7):
            assert cti == 0 or self.done > 1
            self.in_burst, self.must_idle = False, True
        self.wait = self.next_wait()
        if self.fail(adr, we):
            self.errors += 1
            self.on_error(adr)
            self.in_burst, self.must_idle = False, True
            return self.rng.getrandbits(1), 1, self.rng.getrandbits(32)
        if we:
            self.on_write(adr, dat, sel)
            for lane in range(4):
                if sel >> lane & 1:
                    self.ram[adr - RAM_BASE + lane] = dat >> 8 * lane & 255
            return 1, 0, self.rng.getrandbits(32)
        data = self.word(adr)
        self.on_read(adr, data)
        return 1, 0, data


class Tb:
    """The NIC with its surroundings. Rings and buffers are laid out by `rx_ring` and `tx_ring`."""

    def __init__(self, dut, fifo_words, burst_words, seed=1):
        self.dut = dut
        self.rng = random.Random(seed)
        self.fifo_words = fifo_words
        self.bus = Bus(burst_words, self.rng)
        self.bus.on_write = self._bus_write
        self.bus.on_read = self._bus_read
        self.bus.on_error = self._bus_error
        self.cycle = 0
        self.inputs = {}
        # receive stream and prediction
        self.stream = deque()
        self.current = bytearray()
        self.sent = 0
        self.enabled = self.enabled_before = False
        self.restart = False  # turned off while a frame was under way: after it, the index is 0
        self.filling = 0  # words in the FIFO, as the judge of the next word sees them
        self._reset_frame()
        self.verdict = None
        self.accepted = deque()
        self.count = dict.fromkeys(("filtered", "bad", "full", "done", "nodesc", "error"), 0)
        self.delivered = []  # (index, frame bytes)
        self.last_word_cycle = self.irq_cycle = None
        # receive ring
        self.ring_base = self.ring_size = 0
        self.index = 0
        self.fetched = None
        self.written = 0  # bytes of the front frame written so far
        self.returned = False
        self.failed = False  # bus error in the front frame's transfers
        self.on_done = lambda index: None
        # transmit
        self.ready = lambda: 1
        self.tx_now = bytearray()
        self.tx_held = None
        self.tx_open = False
        self.tx_frames = []
        self.tx_areas = []
        self.watch = None  # compares cycles, see the case `quiescence`

    # ------------------------------------------------------------------ start

    async def start(self):
        """Clock, reset, all inputs idle."""
        cocotb.start_soon(Clock(self.dut.clk_i, 10, unit="ns").start())
        self._set(rst_ni=0, rx_axis_tvalid_i=0, rx_axis_tlast_i=0, rx_axis_tdata_i=0)
        self._set(rx_axis_tkeep_i=0, rx_axis_tuser_i=0, tx_axis_tready_i=0)
        self._set(wbs_adr_i=0, wbs_dat_i=0, wbs_sel_i=0, wbs_cyc_i=0, wbs_stb_i=0, wbs_we_i=0)
        self._set(wbm_dat_i=0, wbm_ack_i=0, wbm_err_i=0)
        for _ in range(3):
            await FallingEdge(self.dut.clk_i)
        self._set(rst_ni=1)
        await FallingEdge(self.dut.clk_i)

    def _set(self, **values):
        for name, value in values.items():
            if self.inputs.get(name) != value:
                self.inputs[name] = value
                getattr(self.dut, name).value = value

    # ------------------------------------------------------------------- step

    async def step(self, cycles=1):
        """Advances by clock cycles."""
        for _ in range(cycles):
            await FallingEdge(self.dut.clk_i)
            self.cycle += 1
            if self.watch:
                self.watch.next_cycle()
            self._events()
            self._transmit()
            ack, err, data = self.bus.step(self.dut)
            self._set(wbm_ack_i=ack, wbm_err_i=err)
            if ack:
                self._set(wbm_dat_i=data)
            self._receive()
            self.enabled_before = self.enabled
            if self.watch:
                await Timer(1, "ns")  # let the new inputs settle
                self.watch.settled()

    async def until(self, condition, limit=200_000):
        """Steps until the condition holds."""
        for _ in range(limit):
            if condition():
                return
            await self.step()
        raise AssertionError("condition did not come true")

    async def drain(self):
        """Until all frames have met their fate and the NIC is quiet, whatever tready does."""
        await self.until(lambda: not self.stream and not self.accepted)
        await self.step(4)
        quiet = 0
        while quiet < 8:
            await self.step()
            busy = int(self.dut.wbm_cyc_o.value) or int(self.dut.tx_axis_tvalid_o.value)
            quiet = 0 if busy else quiet + 1

    # -------------------------------------------------------------- registers

    async def _access(self, offset, we, value, sel):
        self._set(wbs_adr_i=offset >> 2, wbs_dat_i=value, wbs_sel_i=sel, wbs_we_i=we)
        self._set(wbs_cyc_i=1, wbs_stb_i=1)
        if we and offset == CTRL and sel & 1:
            self.enabled = bool(value & 1)
        await self.step()
        if not self.enabled:
            self.restart = int(self.dut.u_rx.u_dma.state_q.value) != 0
            self.index = self.index if self.restart else 0
        assert int(self.dut.wbs_ack_o.value) and not int(self.dut.wbs_err_o.value)
        data = int(self.dut.wbs_dat_o.value)
        self._set(wbs_cyc_i=0, wbs_stb_i=0)
        await self.step()
        assert not int(self.dut.wbs_ack_o.value)
        return data

    async def write(self, offset, value, sel=15):
        await self._access(offset, 1, value, sel)

    async def read(self, offset):
        return await self._access(offset, 0, 0, 15)

    # ---------------------------------------------------------------- receive

    def send(self, data, damaged=False, gap=lambda: 0, after=0):
        """Queues a frame; `gap` gives the idle cycles before each word."""
        self.send_words(words_of(data, damaged), gap, after)

    def send_words(self, words, gap=lambda: 0, after=0):
        for word in words:
            self.stream.extend([IDLE] * gap())
            self.stream.append(word)
        self.stream.extend([IDLE] * after)

    def _reset_frame(self):
        self.off = self.giant = self.no_room = False
        self.frame_words = 0

    def _receive(self):
        word = self.stream.popleft() if self.stream else IDLE
        if word is IDLE:
            self._set(rx_axis_tvalid_i=0)
            return
        data, keep, last, user = word
        self._set(rx_axis_tvalid_i=1, rx_axis_tdata_i=data, rx_axis_tkeep_i=keep)
        self._set(rx_axis_tlast_i=int(last), rx_axis_tuser_i=int(user))
        self.current += data.to_bytes(4, "little")[: keep.bit_count()]
        self.off |= not self.enabled
        self.giant |= len(self.current) > MAX_RX
        self.no_room |= keep != 0 and self.filling + self.frame_words >= self.fifo_words
        self.frame_words += keep != 0
        if not last:
            return
        self.sent += 1
        bad = user or self.giant or len(self.current) < MIN_RX
        self.verdict = "filtered" if self.off else "bad" if bad else "full" if self.no_room else "accepted"
        if self.verdict == "accepted":
            self.accepted.append(bytes(self.current))
            self.filling += self.frame_words
            self.last_word_cycle = self.cycle
        else:
            self.count[self.verdict] += 1
        self.current.clear()
        self._reset_frame()

    def _events(self):
        dut = self.dut
        shown = {
            "accepted": int(dut.ev_rx_accept_o.value),
            "full": int(dut.ev_rx_overrun_o.value),
            "bad": int(dut.ev_rx_bad_o.value),
        }
        want = "bad" if self.verdict == "filtered" else self.verdict
        assert [name for name, on in shown.items() if on] == ([want] if want else []), (shown, want)
        self.verdict = None
        done, nodesc = int(dut.ev_rx_done_o.value), int(dut.ev_rx_nodesc_o.value)
        error = int(dut.ev_rx_error_o.value)
        assert done + nodesc + error <= 1
        if not (done or nodesc or error):
            return
        frame = self.accepted.popleft()
        self.filling -= (len(frame) + 3) // 4
        if done:
            assert self.returned and self.written == len(frame) and not self.failed
            ctl, buffer = self.fetched
            assert int(dut.ev_rx_addr_o.value) == buffer & ~3
            assert self.bus.bytes(buffer & ~3, len(frame)) == frame
            assert self.bus.word(self.desc(self.index)) == (ctl & WRAP) | len(frame)
            self.count["done"] += 1
            self.delivered.append((self.index, frame))
            self.on_done(self.index)
            self.index = 0 if ctl & WRAP else self.index + 1
        elif nodesc:
            no_owner = self.fetched and not self.fetched[0] & OWN
            assert no_owner or not self.enabled_before
            assert self.written == 0 and not self.failed
            self.count["nodesc"] += 1
        else:
            too_long = self.fetched and (self.fetched[0] & 0xFFFF) < len(frame)
            assert self.failed or too_long
            assert not too_long or self.written == 0
            self.count["error"] += 1
        if self.restart:
            self.index, self.restart = 0, False
        self.fetched, self.written, self.returned = None, 0, False
        self.failed = False

    def desc(self, index):
        return self.ring_base + 8 * index

    def rx_ring(self, base, size, buffers, capacity, room=2048):
        """Lays out a receive ring, all descriptors still owned by software."""
        self.ring_base, self.ring_size, self.capacity = base, size, capacity
        self.buffers = (buffers, buffers + room * size)
        for i in range(size):
            self.bus.set_word(self.desc(i), WRAP if i == size - 1 else 0)
            self.bus.set_word(self.desc(i) + 4, buffers + room * i)

    def give(self, index, capacity=None):
        """Hands a receive descriptor to the NIC."""
        capacity = self.capacity if capacity is None else capacity
        wrap = self.bus.word(self.desc(index)) & WRAP
        self.bus.set_word(self.desc(index), OWN | wrap | capacity)

    def _in_ring(self, adr):
        return self.ring_base <= adr < self.ring_base + 8 * self.ring_size

    def _bus_read(self, adr, data):
        if not self._in_ring(adr):
            return
        assert self.accepted, "descriptor read without a whole frame"
        assert adr & ~7 == self.desc(self.index), "wrong descriptor"
        if adr & 4:
            self.fetched = (self.fetched[0], data)
        else:
            self.fetched = (data, 0)

    def _bus_error(self, adr):
        if self._in_ring(adr) or self.buffers[0] <= adr < self.buffers[1]:
            self.failed = True

    def _bus_write(self, adr, data, sel):
        for low, high in self.tx_areas:
            if low <= adr < high:
                assert sel == 15 and not adr & 4 and not data & OWN
                return
        assert self.accepted and self.fetched and self.fetched[0] & OWN, "write without descriptor"
        frame = self.accepted[0]
        if self._in_ring(adr):
            assert adr == self.desc(self.index) and sel == 15
            assert self.written == len(frame), "descriptor returned before the data"
            self.returned = True
            return
        assert adr == (self.fetched[1] & ~3) + self.written, "write outside the buffer"
        part = frame[self.written : self.written + 4]
        assert sel == (1 << len(part)) - 1
        assert data.to_bytes(4, "little")[: len(part)] == part
        self.written += len(part)

    # --------------------------------------------------------------- transmit

    def tx_ring(self, base, size):
        """Lays out a transmit ring, all descriptors owned by software."""
        self.tx_base, self.tx_size = base, size
        self.tx_areas = [(base, base + 8 * size)]
        for i in range(size):
            self.bus.set_word(base + 8 * i, WRAP if i == size - 1 else 0)

    def tx_give(self, index, buffer, data, length=None):
        """Hands a transmit descriptor to the NIC; the caller kicks."""
        self.bus.set_bytes(buffer, data)
        adr = self.tx_base + 8 * index
        self.bus.set_word(adr + 4, buffer)
        length = len(data) if length is None else length
        self.bus.set_word(adr, OWN | self.bus.word(adr) & WRAP | length)

    def tx_owned(self, index):
        return bool(self.bus.word(self.tx_base + 8 * index) & OWN)

    def _transmit(self):
        dut = self.dut
        valid = int(dut.tx_axis_tvalid_o.value)
        assert valid or not self.tx_open, "transmit underrun"
        now = None
        if valid:
            offer = (dut.tx_axis_tdata_o, dut.tx_axis_tkeep_o, dut.tx_axis_tlast_o)
            now = tuple(int(signal.value) for signal in offer)
        # What was offered without ready must still be there.
        assert self.tx_held is None or now == self.tx_held
        ready = self.ready()
        self._set(tx_axis_tready_i=ready)
        self.tx_held = now if valid and not ready else None
        if not (valid and ready):
            return
        data, keep, last = now
        assert keep in ((1, 3, 7, 15) if last else (15,))
        self.tx_now += data.to_bytes(4, "little")[: keep.bit_count()]
        self.tx_open = not last
        if last:
            self.tx_frames.append(bytes(self.tx_now))
            self.tx_now.clear()

    # ---------------------------------------------------------------- balance

    async def balance(self):
        """Every frame sent is in exactly one counter, and the counters are what was predicted."""
        assert not self.accepted and not self.current
        value = {
            reg: await self.read(reg)
            for reg in (RX_FRAMES, RX_NO_DESCRIPTOR, RX_FIFO_FULL, RX_BAD, RX_FILTERED, BUS_ERRORS)
        }
        c = self.count
        assert value[RX_FRAMES] == c["done"] == len(self.delivered)
        assert value[RX_NO_DESCRIPTOR] == c["nodesc"]
        assert value[RX_FIFO_FULL] == c["full"]
        assert value[RX_FILTERED] == c["filtered"]
        assert value[BUS_ERRORS] == self.bus.errors
        too_long = value[RX_BAD] - c["bad"]
        assert 0 <= too_long <= c["error"]
        assert sum(c.values()) == self.sent
        if not self.bus.errors:
            assert too_long == c["error"]
            del value[BUS_ERRORS]
            assert sum(value.values()) == self.sent
        return value
