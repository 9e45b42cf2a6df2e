# SPDX-License-Identifier: Apache-2.0
"""Builds weir_nic_axi_lite with Verilator and runs weir_nic_axi_lite_cases.py."""

from pathlib import Path

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

HERE = Path(__file__).resolve().parent


def test_weir_nic_axi_lite(tmp_path):
    runner = get_runner("verilator")
    runner.build(
        sources=[HERE.parent / "rtl" / "weir_nic_axi_lite.sv"],
        hdl_toplevel="weir_nic_axi_lite",
        build_args=["-Wall", "--assert"],
        build_dir=tmp_path,
        always=True,
    )
    results = runner.test(
        hdl_toplevel="weir_nic_axi_lite",
        test_module="weir_nic_axi_lite_cases",
        test_dir=tmp_path,
        build_dir=tmp_path,
        extra_env={"PYTHONPATH": str(HERE)},
    )
    tests, failed = get_results(results)
    assert tests and not failed
