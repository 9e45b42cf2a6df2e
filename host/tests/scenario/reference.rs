// SPDX-License-Identifier: Apache-2.0
//! The reference describes every key, and every key in it is read.

use weir::scenario::keys::{KEYS, Key, Section};

use crate::common::{TASKS, problems};

/// The rows of the table of keys below a heading.
fn rows<'a>(document: &'a str, heading: &str) -> Vec<&'a str> {
    let lines = document.lines().skip_while(|line| *line != heading);
    let table = lines.skip_while(|line| !line.starts_with("| key | takes |")).skip(2);
    table.take_while(|line| line.starts_with('|')).collect()
}

#[test]
fn every_key_has_its_row() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/scenario.md");
    let document = std::fs::read_to_string(path).expect("the reference");
    for (section, heading) in [
        (Section::Scenario, "## Top of the file"),
        (Section::Device, "## [device]"),
        (Section::Task, "## [[task]]"),
        (Section::Flow, "## [task.flow]"),
        (Section::Traffic, "## [[traffic]]"),
        (Section::Nic, "## [nic]"),
        (Section::Limit, "## [limit]"),
        (Section::Mitigation, "## [mitigation]"),
    ] {
        let keys: Vec<String> = KEYS.iter().filter(|key| key.section == section).map(Key::row).collect();
        assert_eq!(
            rows(&document, heading),
            keys,
            "{heading} of docs/reference/scenario.md; expected:\n{}",
            keys.join("\n")
        );
    }
}

/// A scenario in which the key has a value that no key takes.
fn misuse(section: Section, name: &str) -> String {
    let value = "1979-05-27";
    let task = "[[task]]\nname = 'a'\npriority = 1\n";
    match (section, name) {
        (Section::Scenario, "name") => format!("name = {value}"),
        (Section::Scenario, name) => format!("name = 'x'\n{name} = {value}"),
        (Section::Device, name) => format!("name = 'x'\n[device]\n{name} = {value}"),
        (Section::Task, "name" | "priority") => format!("name = 'x'\n{task}background = true")
            .replace(&format!("\n{name} = "), &format!("\n{name} = {value} #")),
        (Section::Task, "period_us") => format!("name = 'x'\n{task}work_us = 1\nperiod_us = {value}"),
        (Section::Task, name @ ("background" | "listen")) => format!("name = 'x'\n{task}{name} = {value}"),
        (Section::Task, name) => format!("name = 'x'\n{task}listen = 'udp/7'\n{name} = {value}"),
        (Section::Flow, name) => format!("name = 'x'\n{task}listen = 'udp/7'\n[task.flow]\n{name} = {value}"),
        (Section::Traffic, name) => format!("{TASKS}[[traffic]]\n{}{name} = {value}", traffic_with(name)),
        (Section::Nic, name) => format!("name = 'x'\n[nic]\n{name} = {value}"),
        (Section::Limit, name) => format!("name = 'x'\n[limit]\n{name} = {value}"),
        (Section::Mitigation, name) => format!("name = 'x'\n[mitigation]\n{name} = {value}"),
    }
}

/// The other keys of traffic that has the key.
fn traffic_with(name: &str) -> &'static str {
    match name {
        "pattern" => "",
        "to" => "pattern = 'arp'\nrate_pps = 1\n",
        "rate_pps" => "pattern = 'arp'\n",
        "burst_ms" | "every_ms" => "pattern = 'burst'\nto = 'udp/9'\nrate_pps = 1\n",
        "steps" => "pattern = 'pyramid'\nto = 'udp/9'\nrate_pps = 1\n",
        "file" => "pattern = 'pcap'\nto = 'device'\n",
        "speed" | "tcp" => "pattern = 'pcap'\nto = 'device'\nfile = 'plant.pcap'\n",
        "registers" => "pattern = 'modbus'\nto = 'tcp/502'\n",
        "timeout_ms" => "pattern = 'request'\nto = 'udp/5005'\nrate_pps = 1\n",
        _ => "pattern = 'uniform'\nto = 'udp/9'\nrate_pps = 1\n",
    }
}

#[test]
fn every_key_is_read() {
    for key in KEYS {
        let text = misuse(key.section, key.name);
        let line = text.lines().position(|line| line.contains("= 1979")).expect("the key") + 1;
        let found = problems(&text);
        assert!(
            found.iter().any(|(at, message, label)| {
                *at == line && message.contains(&format!("`{}`", key.name)) && label == "this is a date or time"
            }),
            "{text}\n{found:?}"
        );
    }
}
