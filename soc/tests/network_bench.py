# SPDX-License-Identifier: Apache-2.0
"""Writes the board's network path as Verilog for simulation: from the PHY's pins to packet RAM.

PHY, MAC and adapter are the objects that the board is made of; the bus is replaced by pins.

network_bench.py OUT
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import parts
from colorlight_i9 import PACKET_RAM_BYTES, STREAM, Network
from litex.build.generic_platform import Pins, Subsignal
from litex.soc.interconnect import wishbone
from litex_boards.platforms import colorlight_i5
from migen import ClockDomain, Instance, Memory, Module, Mux, Signal

REGISTERS = {"adr": 12, "dat_w": 32, "dat_r": 32, "sel": 4, "cyc": 1, "stb": 1, "we": 1, "ack": 1}
RAM = {"adr": 15, "dat": 32}


def pins(widths):
    """Subsignals of these names and widths."""
    return [Subsignal(name, Pins(width)) for name, width in widths.items()]


class Bench(Module):
    """Network path with registers, packet RAM and transmit stream on pins."""

    def __init__(self, platform):
        clock = platform.request("clock")
        self.clock_domains.cd_sys = ClockDomain()
        self.comb += [self.cd_sys.clk.eq(clock.clk), self.cd_sys.rst.eq(clock.rst)]
        self.submodules.network = network = Network(platform)
        registers = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        memory = Memory(32, PACKET_RAM_BYTES // 4, name="packet_ram")
        port = memory.get_port(write_capable=True, we_granularity=8)
        look = memory.get_port()
        valid, select, done, time = Signal(), Signal(4), Signal(), Signal(32)
        self.specials += memory, port, look
        self.comb += port.we.eq(Mux(valid, select, 0))
        self.sync += [done.eq(valid), time.eq(time + 1)]
        ports = parts.weir_nic_ports(registers, port, valid, select, done, time, "sys")
        ports |= {f"i_rx_axis_{name}_i": signal for name, signal in network.rx.items()}
        ports["o_irq_o"] = platform.request("irq")
        self.specials += Instance("weir_nic", **ports)
        wanted = platform.request("registers")
        for name in ("adr", "dat_w", "sel", "cyc", "stb", "we"):
            self.comb += getattr(registers, name).eq(getattr(wanted, name))
        self.comb += [wanted.dat_r.eq(registers.dat_r), wanted.ack.eq(registers.ack)]
        ram = platform.request("ram")
        self.comb += [look.adr.eq(ram.adr), ram.dat.eq(look.dat_r)]
        tx = platform.request("tx")
        self.comb += [network.tx[name].eq(getattr(tx, name)) for name in STREAM]
        self.comb += tx.tready.eq(network.tx["tready"])


def main():
    """Writes OUT/bench.v."""
    platform = colorlight_i5.Platform(board="i9", revision="7.2")
    platform.add_extension(
        [
            ("clock", 0, *pins({"clk": 1, "rst": 1})),
            ("irq", 0, Pins(1)),
            ("registers", 0, *pins(REGISTERS)),
            ("ram", 0, *pins(RAM)),
            ("tx", 0, *pins(STREAM | {"tready": 1})),
        ]
    )
    platform.get_verilog(Bench(platform), name="bench").write(f"{sys.argv[1]}/bench.v")


if __name__ == "__main__":
    main()
