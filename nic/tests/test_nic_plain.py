# SPDX-License-Identifier: Apache-2.0
"""Builds the plain NIC with Verilator and runs nic_plain_cases.py, once per configuration."""

from pathlib import Path

import pytest
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

HERE = Path(__file__).resolve().parent
RTL = HERE.parent / "rtl"
SOURCES = [RTL / name for name in (RTL / "nic_plain.f").read_text().split()]


@pytest.mark.parametrize(("fifo_words", "burst_words"), [(1024, 8), (64, 3), (32, 1)], ids=["usual", "small", "single"])
def test_nic_plain(tmp_path, fifo_words, burst_words):
    runner = get_runner("verilator")
    runner.build(
        sources=SOURCES,
        hdl_toplevel="nic_plain",
        parameters={"RxFifoWords": fifo_words, "BurstWords": burst_words},
        build_args=["-Wall", "--assert"],
        build_dir=tmp_path,
        always=True,
    )
    results = runner.test(
        hdl_toplevel="nic_plain",
        test_module="nic_plain_cases",
        test_dir=tmp_path,
        build_dir=tmp_path,
        extra_env={
            "RX_FIFO_WORDS": str(fifo_words),
            "BURST_WORDS": str(burst_words),
            "PYTHONPATH": str(HERE),
        },
    )
    tests, failed = get_results(results)
    assert tests and not failed
