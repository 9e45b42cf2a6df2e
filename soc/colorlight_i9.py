# SPDX-License-Identifier: Apache-2.0
"""The system on chip for a board: Colorlight i9 v7.2 (ECP5 LFE5U-45F, 8 MiB SDRAM, gigabit Ethernet).

Where things lie is in parts.py, as in the simulated device. What differs:

| address     | what                                                                       |
|-------------|----------------------------------------------------------------------------|
| 0x0000_0000 | boot ROM, 4 KiB (board/boot.c)                                             |
| 0x1000_0000 | the boot program's stack, 4 KiB                                            |
| 0x4000_0000 | SDRAM, 8 MiB, cached; and uncached at 0xc000_0000                          |
| 0x5000_0000 | packet RAM, 128 KiB: 8 KiB for each queue; and uncached at 0xd000_0000     |
| 0xf000_0000 | LiteX's registers: UART, SDRAM, Ethernet PHY and MAC (listed in csr.csv)   |
"""

import argparse
import subprocess
from pathlib import Path

import parts
from litedram.init import get_sdram_phy_c_header
from litedram.modules import M12L64322A
from litedram.phy import GENSDRPHY
from liteeth.mac.core import LiteEthMACCore
from liteeth.phy.ecp5rgmii import LiteEthPHYRGMII
from litex.build.io import DDROutput
from litex.gen import LiteXModule
from litex.soc.cores import uart
from litex.soc.cores.clock import ECP5PLL
from litex.soc.integration import export
from litex.soc.integration.common import get_mem_data
from litex.soc.interconnect import wishbone
from litex_boards.platforms import colorlight_i5
from migen import ClockDomain, ClockSignal, If, Instance, Memory, Mux, ResetSignal, Signal

HERE = Path(__file__).resolve().parent
SYSTEM_HZ = 40_000_000
OSCILLATOR_HZ = 25_000_000
BAUD = 115200
PACKET_RAM_BYTES = 128 << 10
ROM_BYTES = 4096
SRAM_BYTES = 4096
# The NICs' streams: name and width.
STREAM = {"tdata": 32, "tkeep": 4, "tvalid": 1, "tlast": 1}
ETHERNET = 0  # which of the board's two


class Clocks(LiteXModule):
    """The system's clock, and the SDRAM's: half a period later, so that what the FPGA drives is stable at its edges."""

    def __init__(self, platform):
        self.cd_sys = ClockDomain()
        self.cd_sdram = ClockDomain(reset_less=True)
        self.pll = pll = ECP5PLL()
        self.comb += pll.reset.eq(~platform.request("cpu_reset_n"))
        pll.register_clkin(platform.request("clk25"), OSCILLATOR_HZ)
        pll.create_clkout(self.cd_sys, SYSTEM_HZ, margin=0)
        pll.create_clkout(self.cd_sdram, SYSTEM_HZ, margin=0, phase=180, with_reset=False)
        self.specials += DDROutput(1, 0, platform.request("sdram_clock"), ClockSignal("sdram"))


class BusSlice(LiteXModule):
    """Registers between the bus and a slave, both ways: two cycles more for each access.

    The cache in front of SDRAM compares its tag in the cycle in which it answers, and the answer goes to every master.
    """

    def __init__(self, slave):
        self.bus = bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        busy = Signal()
        self.comb += [slave.cyc.eq(busy), slave.stb.eq(busy)]
        self.sync += [
            bus.ack.eq(busy & slave.ack),
            bus.dat_r.eq(slave.dat_r),
            If(busy, busy.eq(~slave.ack)).Elif(
                bus.cyc & bus.stb & ~bus.ack,
                busy.eq(1),
                [getattr(slave, name).eq(getattr(bus, name)) for name in ("adr", "dat_w", "sel", "we")],
            ),
        ]


class Network(LiteXModule):
    """The board's PHY, LiteEth's MAC, and the streams as the NICs have them: `rx` comes, `tx` goes."""

    def __init__(self, platform):
        clocks, pads = platform.request("eth_clocks", ETHERNET), platform.request("eth", ETHERNET)
        # The PHY delays the clock that it is sent by itself; the FPGA delays what it receives.
        self.ethphy = LiteEthPHYRGMII(clocks, pads, tx_delay=0)
        platform.add_period_constraint(clocks.rx, 1e9 / 125e6)
        # FCS and preamble in the system's clock, four bytes at a time: they are too slow for the PHY's 125 MHz. The
        # adapter pads.
        options = {
            "with_sys_datapath": True,
            "with_padding": False,
            "tx_cdc_buffered": True,
            "rx_cdc_buffered": True,
            # 16 words are one row of LUT RAM: with more, what selects the row is too slow.
            "tx_cdc_depth": 16,
            "rx_cdc_depth": 16,
        }
        self.mac = mac = LiteEthMACCore(self.ethphy, 32, **options)
        self.rx = {name: Signal(width, name=f"rx_{name}") for name, width in (STREAM | {"tuser": 1}).items()}
        self.tx = {name: Signal(width, name=f"tx_{name}") for name, width in (STREAM | {"tready": 1}).items()}
        ports = {"i_clk_i": ClockSignal(), "i_rst_ni": ~ResetSignal()}
        for field in ("valid", "last", "data", "last_be", "error"):
            ports[f"i_mac_rx_{field}_i"] = getattr(mac.source, field)
            ports[f"o_mac_tx_{field}_o"] = getattr(mac.sink, field)
        ports |= {"o_mac_rx_ready_o": mac.source.ready, "i_mac_tx_ready_i": mac.sink.ready}
        ports |= {f"o_rx_axis_{name}_o": signal for name, signal in self.rx.items()}
        ports |= {f"i_tx_axis_{name}_i": self.tx[name] for name in STREAM}
        self.specials += Instance("weir_nic_liteeth", **ports, o_tx_axis_tready_o=self.tx["tready"])


class BoardSoC(parts.Base):
    """VexRiscv with SDRAM and both NICs between LiteEth's MAC and the bus: one receives, the other sends."""

    def __init__(self, platform):
        super().__init__(
            platform,
            clk_freq=SYSTEM_HZ,
            cpu_variant="imac",
            integrated_rom_size=ROM_BYTES,
            integrated_sram_size=SRAM_BYTES,
            with_uart=False,
            **parts.OPTIONS,
        )
        self.submodules.clocks = Clocks(platform)
        self._add_uart(platform)
        self._add_ram(platform)
        self._add_uncached_window()
        self._add_timer()
        self._add_trace()
        self._add_network(platform)
        self._add_irqs()

    def _add_uart(self, platform):
        # LiteX's own way to a UART would give it the NIC's interrupt line.
        self.submodules.uart_phy = uart.RS232PHY(platform.request("serial"), SYSTEM_HZ, BAUD)
        self.submodules.uart = uart.UART(self.uart_phy)

    def _add_ram(self, platform):
        self.submodules.sdrphy = GENSDRPHY(platform.request("sdram"), SYSTEM_HZ)
        # The cache is no luxury: the SDRAM's byte masks are not wired, and it writes whole words.
        self.sdram_module = M12L64322A(SYSTEM_HZ, "1:1")
        self.add_sdram("sdram", phy=self.sdrphy, module=self.sdram_module, l2_cache_size=8192)
        self.submodules.slice = BusSlice(self.bus.slaves["main_ram"])
        self.bus.slaves["main_ram"] = self.slice.bus

    def _add_network(self, platform):
        self.submodules.network = network = Network(platform)
        self._add_sender(network.tx)
        self._add_receiver(network.rx)

    def _add_sender(self, tx):
        registers = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        dma = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.nic_irq = Signal()
        ports = parts.plain_nic_ports(registers, dma, "sys") | {"i_rx_axis_tvalid_i": 0}
        ports |= {f"o_tx_axis_{name}_o": tx[name] for name in STREAM} | {"i_tx_axis_tready_i": tx["tready"]}
        self.specials += Instance("nic_plain", **ports)
        self._add_plain_nic(registers, dma, self.nic_irq)

    def _add_receiver(self, rx):
        registers = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        memory = Memory(32, PACKET_RAM_BYTES // 4, name="packet_ram")
        port = memory.get_port(write_capable=True, we_granularity=8)
        valid, select, done = Signal(), Signal(4), Signal()
        self.specials += memory, port
        self.comb += port.we.eq(Mux(valid, select, 0))
        self.sync += done.eq(valid)
        ports = parts.weir_nic_ports(registers, port, valid, select, done, self.timer.mtime[:32], "sys")
        ports |= {f"i_rx_axis_{name}_i": signal for name, signal in rx.items()} | {"o_irq_o": self.nic_irq}
        self.specials += Instance("weir_nic", **ports)
        self._add_packet_ram(memory, registers)


def compile_boot(soc, out):
    """The boot program's words; it starts SDRAM with the sequence that LiteDRAM gives for the module."""
    phy, module = soc.sdrphy, soc.sdram_module
    generated = out / "generated"
    generated.mkdir(exist_ok=True)
    csr = export.get_csr_header(soc.csr_regions, soc.constants, with_access_functions=True)
    (generated / "csr.h").write_text(csr)
    (generated / "soc.h").write_text(export.get_soc_header(soc.constants))
    (generated / "mem.h").write_text(export.get_mem_header(soc.mem_regions))
    sdram = get_sdram_phy_c_header(phy.settings, module.timing_settings, module.geom_settings)
    (generated / "sdram_phy.h").write_text(sdram)
    import litex.soc.software as software

    include = Path(software.__path__[0]) / "include"
    cpu = Path(soc.cpu.__init__.__code__.co_filename).parent
    command = [
        *("riscv64-unknown-elf-gcc", "-march=rv32imac", "-misa-spec=2.2", "-mabi=ilp32", "-Os", "-ffreestanding"),
        *("-nostdlib", "-Wall", "-Wextra", "-Werror", "-Wl,--build-id=none", f"-I{out}", "-isystem", include),
        *("-isystem", cpu, "-T", HERE / "board" / "boot.ld", "-o", out / "boot.elf", HERE / "board" / "boot.c"),
    ]
    subprocess.run(command, check=True)
    subprocess.run(["riscv64-unknown-elf-objcopy", "-O", "binary", out / "boot.elf", out / "boot.bin"], check=True)
    return get_mem_data(str(out / "boot.bin"), endianness="little", data_width=32)


def main():
    """Writes the Verilog, the pins and clocks (.lpf), the boot program and the list of registers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    platform = colorlight_i5.Platform(board="i9", revision="7.2")
    soc = BoardSoC(platform)
    soc.finalize()
    soc.init_rom("rom", compile_boot(soc, out))
    (out / "csr.csv").write_text(export.get_csr_csv(soc.csr_regions, soc.constants, soc.mem_regions))
    platform.build(soc, build_dir=str(out), build_name="board", run=False)
    (out / "sources").write_text("".join(f"{source[0]}\n" for source in platform.sources))


if __name__ == "__main__":
    main()
