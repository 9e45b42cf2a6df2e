# SPDX-License-Identifier: Apache-2.0
"""Test cases of weir_nic_axi_lite; run by test_weir_nic_axi_lite.py."""

import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

PAYLOAD = {"aw": ("awaddr",), "w": ("wdata", "wstrb"), "ar": ("araddr",)}


class Tb:
    """An AXI4-Lite master and, behind the bridge, a memory on the register bus."""

    def __init__(self, dut, seed, pauses):
        self.dut = dut
        self.rng = random.Random(seed)
        self.pauses = pauses
        self.memory = [self.rng.getrandbits(32) for _ in range(1 << 12)]
        self.todo = {name: deque() for name in PAYLOAD}
        self.valid = dict.fromkeys(PAYLOAD, False)
        self.answers = {"b": [], "r": []}  # (cycle, data)
        self.waiting = {}  # answers that were not yet taken
        self.open = None  # access on the register bus, cycles until its ack
        self.accesses = []  # (word, write)
        self.ack = False
        self.cycle = 0
        self.stalled = None  # the channel whose answers the master does not take

    def get(self, name):
        return int(getattr(self.dut, name).value)

    def set(self, name, value):
        getattr(self.dut, name).value = value

    async def start(self):
        for name in PAYLOAD:
            self.set(f"s_axi_{name}valid_i", 0)
        for name in ("s_axi_bready_i", "s_axi_rready_i", "reg_ack_i", "reg_dat_i", "rst_ni"):
            self.set(name, 0)
        cocotb.start_soon(Clock(self.dut.clk_i, 10, unit="ns").start())
        for _ in range(3):
            await FallingEdge(self.dut.clk_i)
        self.set("rst_ni", 1)

    def write(self, adr, data, strobes):
        self.todo["aw"].append((adr,))
        self.todo["w"].append((data, strobes))

    def read(self, adr):
        self.todo["ar"].append((adr,))

    def now(self):
        return not self.pauses or self.rng.random() < 0.5

    async def step(self):
        """One cycle: drives, then looks at the handshakes before the next edge."""
        await FallingEdge(self.dut.clk_i)
        self.cycle += 1
        for name, signals in PAYLOAD.items():
            if not self.valid[name] and self.todo[name] and self.now():
                self.valid[name] = True
                for signal, value in zip(signals, self.todo[name].popleft(), strict=True):
                    self.set(f"s_axi_{signal}_i", value)
            self.set(f"s_axi_{name}valid_i", int(self.valid[name]))
        ready = {name: self.now() and name != self.stalled for name in self.answers}
        for name, value in ready.items():
            self.set(f"s_axi_{name}ready_i", int(value))
        self.register_bus()
        await Timer(1, "ns")
        for name in PAYLOAD:
            if self.get(f"s_axi_{name}ready_o"):
                assert self.valid[name], f"{name} taken without valid"
                self.valid[name] = False
        for name in self.answers:
            if not self.get(f"s_axi_{name}valid_o"):
                assert name not in self.waiting, f"{name} was withdrawn"
                continue
            assert self.get(f"s_axi_{name}resp_o") == 0
            data = self.get("s_axi_rdata_o") if name == "r" else None
            assert self.waiting.setdefault(name, data) == data, "an answer changed"
            if ready[name]:
                self.answers[name].append((self.cycle, data))
                del self.waiting[name]

    def register_bus(self):
        self.set("reg_ack_i", 0)
        if not self.get("reg_stb_o"):
            assert self.open is None, "an access ended without ack"
            return
        assert self.get("reg_cyc_o")
        access = tuple(self.get(f"reg_{name}_o") for name in ("adr", "dat", "sel", "we"))
        if self.open is None:
            self.open = [access, self.rng.choice((0, 0, 1, 3)) if self.pauses else 1]
        assert self.open[0] == access, "an access changed"
        if self.open[1]:
            self.open[1] -= 1
            return
        adr, data, sel, we = access
        self.accesses.append((adr, we))
        self.set("reg_ack_i", 1)
        self.set("reg_dat_i", self.rng.getrandbits(32) if we else self.memory[adr])
        if we:
            mask = sum(0xFF << 8 * lane for lane in range(4) if sel >> lane & 1)
            self.memory[adr] = self.memory[adr] & ~mask | data & mask
        self.open = None


@cocotb.test()
@cocotb.parametrize(pauses=(False, True))
async def accesses(dut, pauses):
    """Reads and writes at once, the master's sides in no step with each other: one right answer to each."""
    tb = Tb(dut, 1, pauses)
    await tb.start()
    number, expected, reads = 500, list(tb.memory), []
    for _ in range(number):
        word, data, strobes = 2 * tb.rng.randrange(64), tb.rng.getrandbits(32), tb.rng.randrange(16)
        tb.write(4 * word + tb.rng.randrange(4), data, strobes)
        mask = sum(0xFF << 8 * lane for lane in range(4) if strobes >> lane & 1)
        expected[word] = expected[word] & ~mask | data & mask
        word = 2 * tb.rng.randrange(2048) + 1  # another one than those that are written
        tb.read(4 * word + tb.rng.randrange(4))
        reads.append(tb.memory[word])
    while len(tb.answers["b"]) < number or len(tb.answers["r"]) < number:
        await tb.step()
        assert tb.cycle < 50 * number
    for _ in range(20):
        await tb.step()
    assert [data for _, data in tb.answers["r"]] == reads and len(tb.answers["b"]) == number
    assert tb.memory == expected and len(tb.accesses) == 2 * number
    if not pauses:  # both wait all the time: they alternate
        kinds = [we for _, we in tb.accesses]
        assert all(a != b for a, b in zip(kinds, kinds[1:], strict=False))


@cocotb.test()
async def alone(dut):
    """What the head of weir_nic_axi_lite says of its cycles, with registers that acknowledge as weir_nic_regs does."""
    tb = Tb(dut, 2, False)
    await tb.start()
    for name, request in (("r", lambda: tb.read(8)), ("b", lambda: tb.write(8, 1, 15))) * 3:
        await tb.step()
        request()
        start = tb.cycle + 1
        for _ in range(8):
            await tb.step()
        assert tb.answers[name][-1][0] - start == ANSWER_CYCLES


ANSWER_CYCLES = 3


@cocotb.test()
async def master_that_stalls(dut):
    """A master that does not take an answer, or leaves half a write, holds back no other direction."""
    for stalled, other in (("b", "r"), ("r", "b"), ("w", "r")):
        tb = Tb(dut, 3, False)
        await tb.start()
        request = {"b": lambda tb=tb: tb.write(8, 1, 15), "r": lambda tb=tb: tb.read(4)}
        if stalled == "w":
            tb.todo["aw"].append((8,))  # its data come later
        else:
            tb.stalled = stalled
            request[stalled]()
        await steps(tb, 10)
        for _ in range(100):
            request[other]()
        await steps(tb, 2000)
        assert len(tb.answers[other]) == 100 and not tb.answers["b" if stalled == "w" else stalled], stalled
        tb.stalled = None
        if stalled == "w":
            tb.todo["w"].append((1, 15))
        await steps(tb, 10)
        assert len(tb.answers["b" if stalled == "w" else stalled]) == 1


async def steps(tb, number):
    for _ in range(number):
        await tb.step()
