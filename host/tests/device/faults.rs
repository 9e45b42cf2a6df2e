// SPDX-License-Identifier: Apache-2.0
//! Software that fails on the device is reported with task and address, and the user's mistakes in the user's words.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::folder;

/// Runs a scenario whose one task is the C file `code`.
fn run_source(folder: &Path, code: &str) -> Output {
    fs::write(folder.join("axis.c"), code).unwrap();
    let scenario = "name = 'x'
        duration_ms = 30
        [[task]]
        name = 'axis'
        priority = 6
        period_us = 1000
        stack_bytes = 1024
        source = 'axis.c'\n";
    let file = folder.join("scenario.toml");
    fs::write(&file, scenario).unwrap();
    Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["run", "scenario.toml", "--out", "out"])
        .current_dir(folder)
        .output()
        .unwrap()
}

/// Exit status and what is said; nothing is left behind.
#[track_caller]
fn fails(code: &str, status: i32, words: &[&str]) {
    let folder = folder();
    let output = run_source(folder.path(), code);
    let said = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(status), "{said}");
    for word in words {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
    assert!(!folder.path().join("out").exists(), "half a result");
}

#[test]
fn a_file_that_does_not_compile_is_shown_as_the_compiler_shows_it() {
    fails("void axis_job(void) { int x = ; }\n", 2, &["axis.c:1:31: error: expected expression"]);
}

#[test]
fn a_file_without_the_job_says_what_it_needs() {
    fails("void other(void) {}\n", 2, &["no function for task `axis`", "`void axis_job(void)`"]);
}

#[test]
fn a_call_to_nothing_is_named() {
    fails("void nowhere(void); void axis_job(void) { nowhere(); }\n", 2, &["undefined: nowhere"]);
    let code = "#include <stdio.h>\nvoid axis_job(void) { printf(\"%d\", 1); }\n";
    fails(code, 2, &["the device has no console"]);
}

#[test]
fn a_job_of_another_type_does_not_compile() {
    fails("int axis_job(int x) { return x; }\n", 2, &["axis.c:1:5: error: conflicting types for 'axis_job'"]);
}

#[test]
fn a_failed_assertion_is_reported() {
    let code = "#include \"FreeRTOS.h\"\nvoid axis_job(void)\n{\n    configASSERT(0);\n}\n";
    fails(code, 1, &["an assertion of `axis` failed: configASSERT in line 4"]);
}

#[test]
fn an_exception_is_reported_with_task_function_and_line() {
    let code = "void axis_job(void)\n{\n    __builtin_trap();\n}\n";
    fails(code, 1, &["`axis` caused an exception: illegal instruction", "axis_job", "axis.c:3"]);
}

#[test]
fn a_misaligned_access_is_reported() {
    let code = "void axis_job(void) { __asm volatile(\"lw t0, 1(sp)\" ::: \"t0\"); }\n";
    fails(code, 1, &["misaligned load", "axis_job"]);
}

#[test]
fn a_null_pointer_is_reported() {
    let code = "void axis_job(void) { *(volatile int *)0 = 1; for (volatile int i = 0; i < 100; i++) {} }\n";
    fails(code, 1, &["`axis` accessed an address at or after 0x00000000, where there is nothing", "axis_job"]);
}

#[test]
fn a_stack_overrun_is_reported() {
    let code = "#include <string.h>\nextern char sink;\nchar sink;\nvoid axis_job(void)\n{\n    volatile char big[4000];\n    \
                memset((char *)big, 1, sizeof big);\n    sink = big[17];\n}\n";
    fails(code, 1, &["task `axis` overran its stack", "axis_job", "stack_bytes"]);
}

#[test]
fn a_job_that_never_ends_is_reported() {
    fails("void axis_job(void) { for (;;) { __asm volatile(\"\"); } }\n", 1, &["task `axis` hangs", "axis_job"]);
}

#[test]
fn interrupts_that_stay_off_are_reported() {
    let code = "void axis_job(void) { __asm volatile(\"csrci mstatus, 8\"); for (;;) { __asm volatile(\"\"); } }\n";
    fails(code, 1, &["the device hangs: `axis` has had interrupts off", "axis_job"]);
}

#[test]
fn a_good_file_runs() {
    let folder = folder();
    let code =
        "#include \"weir_job.h\"\nstatic volatile uint64_t last;\nvoid axis_job(void) { last = weir_cycles(); }\n";
    let output = run_source(folder.path(), code);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(folder.path().join("out/results.json").exists());
}
