# SPDX-License-Identifier: Apache-2.0
"""What the simulated device and the board have in common, so that one firmware runs on both.

Where things lie, the timer, the trace port, and how the NICs hang on the bus. LiteX names signals after the variables
and functions that make them, so that to move one changes the Verilog: signals of the simulated device are made in
weir_soc.py.
"""

from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore
from litex.soc.interconnect import wishbone
from migen import C, Case, Cat, ClockSignal, If, Module, Mux, ResetSignal, Signal

RAM_BASE = 0x4000_0000
PACKET_RAM_BASE = 0x5000_0000
NIC_BASE = 0x9100_0000
QUEUES_BASE = 0x9400_0000
QUEUES = 16
TRACE_BASE = 0x9200_0000
TIMER_BASE = 0x9300_0000
NIC_LINE = 0
RELEASE_LINE = 1
POLL_LINE = 2
# An access to nowhere is answered after this many cycles; longer than any access waits behind a burst of the NIC.
BUS_TIMEOUT_CYCLES = 256


class Timer(Module):
    """CLINT-like timer: `mtimecmp` at +0, `mtime` at +8, other compare registers at +16 and +24; all 64 bits.

    A line is high while `mtime >= compare`. `mtime` counts every cycle from reset and is never written: the harness
    uses it as the device's clock and advances it when it skips idle time.
    """

    def __init__(self):
        self.bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.tick = Signal()
        self.release = Signal()
        self.poll = Signal()
        self.mtime = Signal(64, name_override="weir_mtime")
        self.compare = Signal(64, reset=(1 << 64) - 1)
        self.compare2 = Signal(64, reset=(1 << 64) - 1)
        self.compare3 = Signal(64, reset=(1 << 64) - 1)
        words = [
            self.compare[:32],
            self.compare[32:],
            self.mtime[:32],
            self.mtime[32:],
            self.compare2[:32],
            self.compare2[32:],
            self.compare3[:32],
            self.compare3[32:],
        ]
        select = self.bus.adr[:3]
        access = self.bus.cyc & self.bus.stb & ~self.bus.ack
        self.sync += [
            self.mtime.eq(self.mtime + 1),
            self.tick.eq(self.mtime >= self.compare),
            self.release.eq(self.mtime >= self.compare2),
            self.poll.eq(self.mtime >= self.compare3),
            self.bus.ack.eq(access),
        ]
        cases = {}
        for index, word in enumerate(words):
            cases[index] = [self.bus.dat_r.eq(word)]
            if word is not words[2] and word is not words[3]:
                cases[index].append(If(self.bus.we, word.eq(self.bus.dat_w)))
        self.sync += If(access, Case(select, cases))


class TracePort(Module):
    """A write of `data` to `base + 4 * kind` is an event on the harness pins; nothing waits for it."""

    def __init__(self):
        self.bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.valid = Signal()
        self.kind = Signal(8)
        self.data = Signal(32)
        self.comb += [
            self.bus.ack.eq(self.bus.cyc & self.bus.stb),
            self.valid.eq(self.bus.cyc & self.bus.stb & self.bus.we),
            self.kind.eq(self.bus.adr[:8]),
            self.data.eq(self.bus.dat_w),
        ]


# LiteX's SoC, as far as it is the same.
OPTIONS = {
    "cpu_type": "vexriscv",
    "bus_bursting": True,
    "bus_timeout": BUS_TIMEOUT_CYCLES,
    "ident": "",
    "with_timer": False,
    "with_ctrl": False,
}


class Base(SoCCore):
    """Timer, trace port and the NICs' places on the bus. Memory, clocks and the NICs' streams are the child's."""

    def _add_uncached_window(self):
        """RAM and packet RAM again, 0x8000_0000 higher: VexRiscv does not cache addresses with bit 31 set."""
        address = Signal(30)
        self.cpu.cpu_params["o_dBusWishbone_ADR"] = address
        uncached = address[27:30] == 0b110
        self.comb += self.cpu.dbus.adr.eq(Mux(uncached, Cat(address[:27], C(0b010, 3)), address))

    def _add_timer(self):
        self.submodules.timer = timer = Timer()
        self.bus.add_slave("timer", timer.bus, SoCRegion(TIMER_BASE, 0x100, cached=False))
        self.cpu.cpu_params["i_timerInterrupt"] = timer.tick
        self.comb += [
            self.cpu.interrupt[RELEASE_LINE].eq(timer.release),
            self.cpu.interrupt[POLL_LINE].eq(timer.poll),
        ]

    def _add_trace(self):
        self.submodules.trace = trace = TracePort()
        self.bus.add_slave("trace", trace.bus, SoCRegion(TRACE_BASE, 0x400, cached=False))

    def _add_packet_ram(self, memory, registers):
        """The multiqueue NIC's packet RAM and registers, for the CPU."""
        self.submodules.packet_ram = ram = wishbone.SRAM(memory, bus=self._bursting_bus())
        self.bus.add_slave("packet_ram", ram.bus, SoCRegion(PACKET_RAM_BASE, memory.depth * 4))
        self.bus.add_slave("queues", registers, SoCRegion(QUEUES_BASE, 0x4000, cached=False))

    def _bursting_bus(self):
        return wishbone.Interface(data_width=32, address_width=32, addressing="word", bursting=True)

    def _add_plain_nic(self, registers, dma, irq):
        """The plain NIC's buses, and the interrupt of the NIC that receives."""
        self.bus.add_slave("nic", registers, SoCRegion(NIC_BASE, 0x1000, cached=False))
        self.bus.add_master("nic", master=dma)
        self.comb += self.cpu.interrupt[NIC_LINE].eq(irq)

    def _add_irqs(self):
        """The numbers of the interrupt lines."""
        self.irq.add("nic", n=NIC_LINE)
        self.irq.add("release", n=RELEASE_LINE)
        self.irq.add("poll", n=POLL_LINE)


def plain_nic_ports(registers, dma, domain):
    """The ports of `nic_plain` but for its streams, interrupt and events."""
    return {
        "i_clk_i": ClockSignal(domain),
        "i_rst_ni": ~ResetSignal(domain),
        "i_wbs_adr_i": registers.adr[:10],
        "i_wbs_dat_i": registers.dat_w,
        "o_wbs_dat_o": registers.dat_r,
        "i_wbs_sel_i": registers.sel,
        "i_wbs_cyc_i": registers.cyc,
        "i_wbs_stb_i": registers.stb,
        "i_wbs_we_i": registers.we,
        "o_wbs_ack_o": registers.ack,
        "o_wbs_err_o": registers.err,
        "o_wbm_adr_o": dma.adr,
        "o_wbm_dat_o": dma.dat_w,
        "i_wbm_dat_i": dma.dat_r,
        "o_wbm_sel_o": dma.sel,
        "o_wbm_cyc_o": dma.cyc,
        "o_wbm_stb_o": dma.stb,
        "o_wbm_we_o": dma.we,
        "o_wbm_cti_o": dma.cti,
        "o_wbm_bte_o": dma.bte,
        "i_wbm_ack_i": dma.ack,
        "i_wbm_err_i": dma.err,
    }


def weir_nic_ports(registers, port, valid, select, done, time, domain):
    """The ports and parameters of `weir_nic` but for its stream, interrupt and events.

    Packet RAM is a `port` that takes a word in each cycle: `valid` and `select` are the request, `done` is it a cycle
    later.
    """
    return {
        "p_Queues": QUEUES,
        "p_AddrWidth": len(port.adr),
        "i_clk_i": ClockSignal(domain),
        "i_rst_ni": ~ResetSignal(domain),
        "i_time_i": time,
        "i_reg_adr_i": registers.adr[:12],
        "i_reg_dat_i": registers.dat_w,
        "o_reg_dat_o": registers.dat_r,
        "i_reg_sel_i": registers.sel,
        "i_reg_cyc_i": registers.cyc,
        "i_reg_stb_i": registers.stb,
        "i_reg_we_i": registers.we,
        "o_reg_ack_o": registers.ack,
        "o_mem_valid_o": valid,
        "i_mem_ready_i": 1,
        "o_mem_adr_o": port.adr,
        "o_mem_dat_o": port.dat_w,
        "o_mem_sel_o": select,
        "i_mem_done_i": done,
        "i_mem_err_i": 0,
    }
