// SPDX-License-Identifier: Apache-2.0
//! `weir check`: says what a scenario asks for, without running it.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::check_nic;
use crate::scenario::{
    CaptureTcp, Checked, Listen, Pattern, Protocol, Scenario, Target, Task, TaskKind, Traffic, Work,
};

/// Number of runs that a scenario makes.
pub fn runs(checked: &Checked) -> usize {
    checked.cases.iter().map(|case| case.scenario.variants.len()).sum()
}

/// What a checked scenario asks for. Tables show the first case; the sweeps are listed below.
pub fn describe(checked: &Checked) -> String {
    let Some(first) = checked.cases.first() else {
        return String::new();
    };
    let scenario = &first.scenario;
    let mut parts = vec![format!("{}\n", scenario.name), tasks(scenario)];
    if !scenario.traffic.is_empty() {
        parts.push(traffic(scenario));
    }
    parts.extend(check_nic::table(scenario));
    parts.extend(sweeps(checked));
    if !checked.warnings.is_empty() {
        parts.push(format!("{}\n", checked.warnings));
    }
    let run_ms = u64::from(scenario.warmup_ms) + u64::from(scenario.duration_ms);
    let cases = counted(checked.cases.len(), "case");
    let variants = counted(scenario.variants.len(), "variant");
    let runs = counted(runs(checked), "run");
    parts.push(format!("scenario is valid: {runs} ({cases}, {variants}) of {run_ms} ms each\n"));
    parts.join("\n")
}

/// `1 run`, `2 runs`.
pub(super) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn tasks(scenario: &Scenario) -> String {
    let mut rows = vec![["task", "priority", "released", "deadline", "job"].map(str::to_owned)];
    rows.extend(scenario.tasks.iter().map(task_row));
    let network = ["(network)", &scenario.device.net_priority.to_string(), "by frames", "none", "receive path"];
    rows.push(network.map(str::to_owned));
    aligned(&rows)
}

fn task_row(task: &Task) -> [String; 5] {
    let (released, deadline_us) = match &task.kind {
        TaskKind::Periodic { period_us, deadline_us } => (format!("every {period_us} us"), Some(*deadline_us)),
        TaskKind::Background => ("always".to_owned(), None),
        TaskKind::Receiving { listen, deadline_us, .. } => (format!("by {}", port(*listen)), *deadline_us),
    };
    let deadline = deadline_us.map_or("none".to_owned(), |deadline_us| format!("{deadline_us} us"));
    [task.name.clone(), task.priority.to_string(), released, deadline, job(task)]
}

fn job(task: &Task) -> String {
    let work = match &task.work {
        _ if matches!(task.kind, TaskKind::Background) => "counts its loops".to_owned(),
        Work::Synthetic { us } => format!("{us} us of work"),
        Work::Binomial { n, k } => format!("binomial coefficients up to C({n}, {k})"),
        Work::Source { path } => {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            format!("{}_job in {file}", task.name)
        }
    };
    match task.kind {
        TaskKind::Receiving { reply_bytes: 1.., .. } => format!("{work}, and an answer"),
        _ => work,
    }
}

fn traffic(scenario: &Scenario) -> String {
    let mut rows = vec![["traffic", "from", "to", "pattern"].map(str::to_owned)];
    rows.extend(scenario.traffic.iter().map(|traffic| {
        let from = if traffic.to == Target::AsIs { "its own".to_owned() } else { traffic.from.to_string() };
        [traffic.name.clone(), from, target(traffic.to), pattern(traffic)]
    }));
    aligned(&rows)
}

fn port(listen: Listen) -> String {
    let protocol = match listen.protocol {
        Protocol::Udp => "udp",
        Protocol::Tcp => "tcp",
    };
    format!("{protocol}/{}", listen.port)
}

fn target(target: Target) -> String {
    match target {
        Target::Port(listen) => port(listen),
        Target::Device => "device".to_owned(),
        Target::AsIs => "as-is".to_owned(),
        Target::Broadcast(port) => format!("broadcast/{port}"),
        Target::Multicast(port) => format!("multicast/{port}"),
        Target::Fragments(port) => format!("fragments/{port}"),
    }
}

fn pattern(traffic: &Traffic) -> String {
    let bytes = traffic.payload_bytes;
    match &traffic.pattern {
        Pattern::Uniform { rate_pps } => format!("uniform, {rate_pps} frames/s, {bytes} bytes"),
        Pattern::Poisson { rate_pps } => format!("poisson, {rate_pps} frames/s, {bytes} bytes"),
        Pattern::Burst { rate_pps, burst_ms, every_ms } => {
            format!("burst, {rate_pps} frames/s for {burst_ms} ms every {every_ms} ms, {bytes} bytes")
        }
        Pattern::Pyramid { rate_pps, steps } => {
            format!("pyramid, up to {rate_pps} frames/s in {steps} steps, {bytes} bytes")
        }
        Pattern::LineRate => format!("line-rate, {bytes} bytes"),
        Pattern::Pcap { path, speed, tcp } => {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let tcp = match tcp {
                CaptureTcp::Live => "live",
                CaptureTcp::Frames => "frames",
            };
            format!("pcap, {file} at speed {speed}, TCP {tcp}")
        }
        Pattern::Modbus { rate_pps, registers } => format!("modbus, {rate_pps} requests/s of {registers} registers"),
        Pattern::Request { rate_pps, timeout_ms } => {
            format!("request, {rate_pps} requests/s, {bytes} bytes, timeout {timeout_ms} ms")
        }
        Pattern::Arp { rate_pps } => format!("arp, {rate_pps} frames/s"),
        Pattern::Icmp { rate_pps } => format!("icmp, {rate_pps} frames/s, {bytes} bytes"),
    }
}

/// The swept keys, by name, each with its values.
fn sweeps(checked: &Checked) -> Option<String> {
    let mut values: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (key, value) in checked.cases.iter().flat_map(|case| &case.loads) {
        let seen = values.entry(key).or_default();
        let value = value.to_string();
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    let mut rows = vec![["sweep", "values"].map(str::to_owned)];
    rows.extend(values.into_iter().map(|(key, values)| [key.to_owned(), values.join(", ")]));
    (rows.len() > 1).then(|| aligned(&rows))
}

/// Rows with their columns below one another.
pub(super) fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            write!(line, "{cell:width$}  ").expect("a String takes everything");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{self, Overrides};

    /// A scenario with one task of each kind.
    const TASKS: &str = r#"name = "test"
[[task]]
name = "axis"
priority = 6
period_us = 1000
work_us = 300
[[task]]
name = "worker"
priority = 1
background = true
[[task]]
name = "command"
priority = 5
listen = "udp/5005"
reply_bytes = 4
[[task]]
name = "plc"
priority = 4
listen = "tcp/502"
"#;

    /// What `weir check` prints for a valid scenario.
    fn checked(text: String) -> String {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("s.toml");
        std::fs::write(&path, text).expect("a file");
        describe(&scenario::check(&path, &Overrides::default()).expect("valid"))
    }

    #[test]
    fn check_shows_what_was_understood() {
        let text = checked(format!(
            "{TASKS}[[traffic]]\nname = 'flood'\nto = 'udp/9'\npattern = 'poisson'\nrate_pps = [0, 1000]\n\
         [[traffic]]\npattern = 'modbus'\nto = 'tcp/502'\n"
        ));
        assert_eq!(
            text,
            "\
test

task       priority  released       deadline  job
axis       6         every 1000 us  1000 us   300 us of work
worker     1         always         none      counts its loops
command    5         by udp/5005    none      0 us of work, and an answer
plc        4         by tcp/502     none      0 us of work
(network)  7         by frames      none      receive path

traffic  from      to       pattern
flood    10.0.0.2  udp/9    poisson, 0 frames/s, 32 bytes
modbus   10.0.0.2  tcp/502  modbus, 50 requests/s of 10 registers

sweep  values
flood  0, 1000

scenario is valid: 2 runs (2 cases, 1 variant) of 220 ms each
"
        );
    }

    #[test]
    fn check_shows_warnings() {
        let text = checked(format!("{TASKS}[[task]]\nname = 'b'\npriority = 2\nperiod_us = 1000\nwork_us = 800\n"));
        assert!(text.contains("warning: the periodic tasks ask for more than the whole CPU"), "{text}");
        assert!(text.contains("scenario is valid: 1 run (1 case, 1 variant)"), "{text}");
    }
}
