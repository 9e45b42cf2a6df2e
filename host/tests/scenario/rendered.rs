// SPDX-License-Identifier: Apache-2.0
//! How problems look: the file, the line, what is wrong, what would be right.

use crate::common::{TASKS, refusal};

#[test]
fn an_unknown_key() {
    assert_eq!(
        refusal("name = 'x'\n[device]\n  rx_bufers = 64 # pool\n"),
        "\
error: unknown key `rx_bufers`
 --> s.toml:3:3
  |
3 |   rx_bufers = 64 # pool
  |   ^^^^^^^^^ not a key of [device]
  |
  = help: did you mean `rx_buffers`?"
    );
}

#[test]
fn a_key_in_the_wrong_table() {
    assert_eq!(
        refusal("name = 'x'\nnet_priority = 3\n"),
        "\
error: unknown key `net_priority`
 --> s.toml:2:1
  |
2 | net_priority = 3
  | ^^^^^^^^^^^^ not a key of the top of the file
  |
  = help: `net_priority` is a key of [device]"
    );
}

#[test]
fn a_key_without_its_unit() {
    let refusal = refusal("name = 'x'\n[[task]]\nname = 'a'\npriority = 1\nbackground = true\ndeadline = 3\n");
    assert!(refusal.contains("did you mean `deadline_us`?"), "{refusal}");
}

#[test]
fn traffic_to_a_task_instead_of_its_port() {
    assert_eq!(
        refusal(format!("{TASKS}[[traffic]]\npattern = \"uniform\"\nrate_pps = 1\nto = \"comand\"\n")),
        "\
error: `comand` is no target
  --> s.toml:23:6
   |
23 | to = \"comand\"
   |      ^^^^^^^^ not understood
   |
   = help: the task `command` listens on `udp/5005`"
    );
}

#[test]
fn a_load_beyond_the_link() {
    assert_eq!(
        refusal("name = 'x'\n[[traffic]]\nname = 'flood'\npattern = 'poisson'\nto = 'udp/9'\nrate_pps = [0, 150000]\n"),
        "\
error: `flood` is more than the link carries
 --> s.toml:6:16
  |
6 | rate_pps = [0, 150000]
  |                ^^^^^^ at most 127551 frames of 78 bytes fit 100 Mbit/s
  |
  = help: lower the rate, or raise `link_mbps` in [device]"
    );
}

#[test]
fn a_missing_key_points_at_its_table() {
    assert_eq!(
        refusal("name = 'x'\n\n[[traffic]]\npattern = 'arp'\n"),
        "\
error: `rate_pps` is missing
 --> s.toml:3:1
  |
3 | [[traffic]]
  | ^^^^^^^^^^^ in this [[traffic]]
  |
  = help: add `rate_pps = ...`: number, 0 to 2000000"
    );
}

#[test]
fn a_modbus_master_without_a_server() {
    assert_eq!(
        refusal(format!("{TASKS}[[traffic]]\npattern = 'modbus'\nto = 'tcp/503'\n")),
        "\
error: no task listens on tcp/503
  --> s.toml:22:6
   |
22 | to = 'tcp/503'
   |      ^^^^^^^^^ modbus waits for answers
   |
   = help: add a task with `listen = \"tcp/503\"`; tasks listen on udp/5005, tcp/502"
    );
}

#[test]
fn not_toml() {
    assert_eq!(
        refusal("name = 'x'\n[device\ncpu_mhz = 100\n"),
        "\
error: not valid TOML: unclosed table, expected `]`
 --> s.toml:2:8
  |
2 | [device
  |        ^"
    );
}

#[test]
fn more_problems_than_anybody_reads_are_counted() {
    let keys: String = (0..30).map(|n| format!("k{n} = 1\n")).collect();
    let refusal = refusal(format!("name = 'x'\n{keys}"));
    assert_eq!(refusal.matches("error: unknown key").count(), 20);
    assert!(refusal.ends_with("and 10 more"), "{refusal}");
}

#[test]
fn columns_count_characters() {
    assert_eq!(
        refusal("name = 'x'\ntask = ['äöü', 3]\n"),
        "\
error: `task` must be a list of tables
 --> s.toml:2:9
  |
2 | task = ['äöü', 3]
  |         ^^^^^ this is a string

error: `task` must be a list of tables
 --> s.toml:2:16
  |
2 | task = ['äöü', 3]
  |                ^ this is a whole number"
    );
}
