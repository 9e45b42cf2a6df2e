# SPDX-License-Identifier: Apache-2.0
"""The simulated device's system on chip, written as Verilog for Verilator.

Memory map (the firmware's side of it is device/firmware/soc.h):

| address     | what                                                                       |
|-------------|----------------------------------------------------------------------------|
| 0x4000_0000 | RAM, 1 MiB, cached; DMA does not invalidate the caches                     |
| 0x5000_0000 | with the multiqueue NIC: packet RAM, 256 KiB, cached                       |
| 0xc000_0000 | RAM, uncached (VexRiscv does not cache addresses with bit 31 set)          |
| 0xd000_0000 | packet RAM, uncached                                                       |
| 0x9100_0000 | registers of the plain NIC; beside the multiqueue NIC it only sends        |
| 0x9400_0000 | registers of the multiqueue NIC                                            |
| 0x9200_0000 | trace port                                                                 |
| 0x9300_0000 | timer: `mtimecmp`, `mtime` and two more compare registers                  |

Interrupts: the tick is VexRiscv's machine timer interrupt; external line 0 is the NIC, line 1 the second
compare, line 2 the third.
"""

import argparse
from pathlib import Path

import parts
from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
from litex.soc.interconnect import wishbone
from litex.soc.interconnect.csr import CSRStatus
from migen import C, Cat, ClockDomain, Instance, Memory, Mux, Signal

RAM_BYTES = 1 << 20
PACKET_RAM_BYTES = 256 << 10

# Bits of the `events` pin: pulses of one cycle, all on one pin so that the harness looks once per cycle.
EVENTS = ["accept", "overrun", "bad", "done", "nodesc", "error", "trace", "bus_error", "filtered", "full"]
# (name, width) of the pins to and from the harness, see soc/harness/device.cpp.
INPUTS = [
    ("rx_tdata", 32),
    ("rx_tkeep", 4),
    ("rx_tvalid", 1),
    ("rx_tlast", 1),
    ("rx_tuser", 1),
    ("tx_tready", 1),
]
# What the bus tells the NIC leaves the SoC on pins `to_nic_NAME` and comes back, copied by the harness, on `nic_NAME`:
# Verilator evaluates what depends on inputs only when told that they have changed, so that the NIC, a quarter of the
# device, costs nothing while it is quiescent. No output of the NIC but `quiescent` depends on these without a register.
TO_NIC = [
    ("reg_adr", 10),
    ("reg_dat_w", 32),
    ("reg_sel", 4),
    ("reg_cyc", 1),
    ("reg_stb", 1),
    ("reg_we", 1),
    ("dma_dat_r", 32),
    ("dma_ack", 1),
    ("dma_err", 1),
    # To the multiqueue NIC.
    ("queues_adr", 12),
    ("queues_dat_w", 32),
    ("queues_sel", 4),
    ("queues_cyc", 1),
    ("queues_stb", 1),
    ("queues_we", 1),
    ("mtime", 32),
]
OUTPUTS = [
    ("tx_tdata", 32),
    ("tx_tkeep", 4),
    ("tx_tvalid", 1),
    ("tx_tlast", 1),
    ("nic_irq", 1),
    ("nic_quiescent", 1),
    ("nic_due_valid", 1),
    ("nic_due", 32),
    ("events", len(EVENTS)),
    ("rx_addr", 32),
    ("trace_kind", 8),
    ("trace_data", 32),
    ("timer_compare", 64),
    ("release_compare", 64),
    ("poll_compare", 64),
    ("bus_busy", 1),
    ("bus_error_adr", 30),
]


class WeirSoC(parts.Base):
    """VexRiscv, RAM, timer, trace port and a NIC on one Wishbone bus.

    The multiqueue NIC only receives; beside it the plain one sends, and its receiver is connected to nothing.
    """

    def __init__(self, platform, cpu_variant, nic):
        super().__init__(
            platform,
            clk_freq=100_000_000,  # written into nothing but CSR constants, of which there are none
            cpu_variant=cpu_variant,
            cpu_reset_address=parts.RAM_BASE,
            integrated_rom_size=0,
            integrated_sram_size=0,
            integrated_main_ram_size=RAM_BYTES,
            with_uart=False,
            **parts.OPTIONS,
        )
        pins = platform.request("weir")
        self.cd_sys = ClockDomain()
        clock = platform.request("clock")
        # The NIC's clock is the system's, on a pin of its own: while the NIC says that it is quiescent, an edge changes
        # nothing in it, and the harness spares itself the evaluation.
        self.cd_nic = ClockDomain()
        self.comb += [
            self.cd_sys.clk.eq(clock.clk),
            self.cd_sys.rst.eq(clock.rst),
            self.cd_nic.clk.eq(clock.nic),
            self.cd_nic.rst.eq(clock.rst),
        ]
        # LiteX builds its CSR bridge in any case and fails without a register behind it.
        self.identity = CSRStatus(32, reset=0x57454952)
        self._events = {name: Signal(name=f"event_{name}") for name in EVENTS}
        self.comb += pins.events.eq(Cat(*self._events.values()))
        self._add_uncached_window()
        self._add_timer()
        self.comb += [
            pins.timer_compare.eq(self.timer.compare),
            pins.release_compare.eq(self.timer.compare2),
            pins.poll_compare.eq(self.timer.compare3),
        ]
        self._add_trace()
        self.comb += [
            self._events["trace"].eq(self.trace.valid),
            pins.trace_kind.eq(self.trace.kind),
            pins.trace_data.eq(self.trace.data),
        ]
        self._add_nic(pins, nic == "queues")
        self._add_irqs()
        self._pins = pins

    def _add_nic(self, pins, queues):
        registers = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        dma = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        quiescent = Signal()
        ports = parts.plain_nic_ports(registers, dma, "nic")
        ports |= {
            "i_wbs_adr_i": pins.nic_reg_adr,
            "i_wbs_dat_i": pins.nic_reg_dat_w,
            "i_wbs_sel_i": pins.nic_reg_sel,
            "i_wbs_cyc_i": pins.nic_reg_cyc,
            "i_wbs_stb_i": pins.nic_reg_stb,
            "i_wbs_we_i": pins.nic_reg_we,
            "i_wbm_dat_i": pins.nic_dma_dat_r,
            "i_wbm_ack_i": pins.nic_dma_ack,
            "i_wbm_err_i": pins.nic_dma_err,
            "o_quiescent_o": quiescent,
        }
        self._connect_to_nic(pins, {"reg": registers, "dma": dma})
        # The NIC's own word for it knows of a register access only once the harness has copied the pins.
        at_rest = quiescent & ~(registers.cyc & registers.stb)
        for name in ("tdata", "tkeep", "tvalid", "tlast"):
            ports[f"o_tx_axis_{name}_o"] = getattr(pins, f"tx_{name}")
        ports["i_tx_axis_tready_i"] = pins.tx_tready
        if queues:
            ports["i_rx_axis_tvalid_i"] = 0
            at_rest &= self._add_queues(pins)
        else:
            ports |= self._receiver(pins, ["nodesc", "error"])
        self.comb += pins.nic_quiescent.eq(at_rest)
        self.specials += Instance("nic_plain", **ports)
        self._add_plain_nic(registers, dma, pins.nic_irq)

    def _connect_to_nic(self, pins, buses):
        for name, _ in TO_NIC:
            bus, _, signal = name.partition("_")
            if bus in buses:
                self.comb += getattr(pins, f"to_nic_{name}").eq(getattr(buses[bus], signal))

    def _receiver(self, pins, events):
        """The ports of the NIC that receives."""
        ports = {f"o_ev_rx_{event}_o": self._events[event] for event in ["accept", "overrun", "bad", "done", *events]}
        ports |= {"o_ev_rx_addr_o": pins.rx_addr, "o_irq_o": pins.nic_irq}
        for name in ("tdata", "tkeep", "tvalid", "tlast", "tuser"):
            ports[f"i_rx_axis_{name}_i"] = getattr(pins, f"rx_{name}")
        return ports

    def _add_queues(self, pins):
        """The multiqueue NIC, and its packet RAM. Returns whether it is at rest."""
        registers = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        memory = Memory(32, PACKET_RAM_BYTES // 4, name="packet_ram")
        port = memory.get_port(write_capable=True, we_granularity=8, clock_domain="nic")
        valid, select, done, quiescent = Signal(), Signal(4), Signal(), Signal()
        self.specials += memory, port
        self.comb += port.we.eq(Mux(valid, select, 0))
        self.sync.nic += done.eq(valid)
        ports = parts.weir_nic_ports(registers, port, valid, select, done, pins.nic_mtime, "nic")
        ports |= {
            "i_reg_adr_i": pins.nic_queues_adr,
            "i_reg_dat_i": pins.nic_queues_dat_w,
            "i_reg_sel_i": pins.nic_queues_sel,
            "i_reg_cyc_i": pins.nic_queues_cyc,
            "i_reg_stb_i": pins.nic_queues_stb,
            "i_reg_we_i": pins.nic_queues_we,
            "o_quiescent_o": quiescent,
            "o_next_due_o": pins.nic_due,
            "o_next_due_valid_o": pins.nic_due_valid,
            **self._receiver(pins, ["filtered", "full", "error"]),
        }
        self.comb += pins.to_nic_mtime.eq(self.timer.mtime[:32])
        self._connect_to_nic(pins, {"queues": registers})
        self.specials += Instance("weir_nic", **ports)
        self._add_packet_ram(memory, registers)
        return quiescent & ~done & ~(registers.cyc & registers.stb)

    def do_finalize(self):
        """Watches the shared bus once LiteX has built it."""
        super().do_finalize()
        # LiteX's timeout sits on the shared side of the interconnect; its `wait` input is the shared cycle.
        timeout = self.bus._interconnect.timeout
        self.comb += self._events["bus_error"].eq(timeout.error)
        masters = list(self.bus.masters.values())
        busy, address = C(0), C(0, 30)
        for master in masters:
            busy = busy | master.cyc
            address = Mux(master.cyc & master.stb, master.adr, address)
        self.comb += [self._pins.bus_busy.eq(busy), self._pins.bus_error_adr.eq(address)]


def pads():
    """Top-level pins as LiteX wants them; the harness sees `weir_NAME`."""
    loop = [(f"{side}_{name}", width) for name, width in TO_NIC for side in ("nic", "to_nic")]
    signals = [Subsignal(name, Pins(width)) for name, width in INPUTS + OUTPUTS + loop]
    return [
        ("clock", 0, *(Subsignal(name, Pins(1)) for name in ("clk", "nic", "rst"))),
        ("weir", 0, *signals),
    ]


def main():
    """Writes `OUT/device.v` and `OUT/sources`, the list of Verilog files beside it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cpu", choices=("imac", "full"), default="imac")
    parser.add_argument("--nic", choices=("plain", "queues"), default="plain")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    platform = GenericPlatform("", pads(), name="device")
    soc = WeirSoC(platform, arguments.cpu, arguments.nic)
    soc.finalize()
    arguments.out.mkdir(parents=True, exist_ok=True)
    platform.get_verilog(soc, name="device").write(str(arguments.out / "device.v"))
    sources = "".join(f"{source[0]}\n" for source in platform.sources)
    (arguments.out / "sources").write_text(sources)


if __name__ == "__main__":
    main()
