// SPDX-License-Identifier: Apache-2.0
//! Ports and targets: `udp/5005`, `tcp/502`, `broadcast/67`, `multicast/5353`, `fragments/5005`, `device`, `as-is`.

use super::model::{Listen, Protocol, Target};
use super::reader::Reader;
use super::suggest;
use super::task::Tasks;

/// Reads `listen`.
pub(super) fn listen(reader: &Reader<'_>) -> Option<Listen> {
    let text = reader.text("listen")?;
    let listen = port(text).and_then(|(scheme, port)| Some(Listen { protocol: protocol(scheme)?, port }));
    if listen.is_none() {
        let help = "write `udp/PORT` or `tcp/PORT`, with PORT from 1 to 65535";
        reader.refuse("listen", format!("`{text}` is no port to listen on"), "not understood", help);
    }
    listen
}

/// Splits `udp/5005`. Port 0 is no port.
fn port(text: &str) -> Option<(&str, u16)> {
    let (scheme, port) = text.split_once('/')?;
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    port.parse().ok().filter(|port| *port != 0).map(|port| (scheme, port))
}

fn protocol(scheme: &str) -> Option<Protocol> {
    match scheme {
        "udp" => Some(Protocol::Udp),
        "tcp" => Some(Protocol::Tcp),
        _ => None,
    }
}

/// The port as one writes it.
pub(super) fn written(listen: Listen) -> String {
    match listen.protocol {
        Protocol::Udp => format!("udp/{}", listen.port),
        Protocol::Tcp => format!("tcp/{}", listen.port),
    }
}

/// The targets that fit a pattern.
fn fitting(pattern: &str) -> &'static [&'static str] {
    match pattern {
        "arp" | "icmp" => &["device"],
        "pcap" => &["device", "as-is"],
        "modbus" => &["tcp/PORT"],
        "request" => &["udp/PORT"],
        _ => &["udp/PORT", "tcp/PORT", "broadcast/PORT", "multicast/PORT", "fragments/PORT"],
    }
}

/// Reads `to`: a target that fits the pattern and, where it needs an answer, a task that gives one.
pub(super) fn read(reader: &Reader<'_>, pattern: &str, tasks: &Tasks<'_>) -> Option<Target> {
    let fitting = fitting(pattern);
    if !reader.given("to") && fitting == ["device"] {
        return Some(Target::Device);
    }
    reader.require("to");
    let text = reader.text("to")?;
    let Some((form, target)) = parse(text) else {
        refuse_unknown(reader, text, fitting, tasks);
        return None;
    };
    if !fitting.contains(&form) {
        let label = format!("{pattern} does not go there");
        reader.refuse("to", format!("`{text}` does not fit the pattern `{pattern}`"), label, one_of(fitting));
        return None;
    }
    if let Target::Port(listen) = target {
        check_answer(reader, pattern, listen, tasks);
    }
    Some(target)
}

/// A target, with the form that it has.
fn parse(text: &str) -> Option<(&'static str, Target)> {
    match text {
        "device" => return Some(("device", Target::Device)),
        "as-is" => return Some(("as-is", Target::AsIs)),
        _ => {}
    }
    let (scheme, port) = port(text)?;
    match scheme {
        "udp" => Some(("udp/PORT", Target::Port(Listen { protocol: Protocol::Udp, port }))),
        "tcp" => Some(("tcp/PORT", Target::Port(Listen { protocol: Protocol::Tcp, port }))),
        "broadcast" => Some(("broadcast/PORT", Target::Broadcast(port))),
        "multicast" => Some(("multicast/PORT", Target::Multicast(port))),
        "fragments" => Some(("fragments/PORT", Target::Fragments(port))),
        _ => None,
    }
}

/// Not a target. Perhaps a task, or nearly one: traffic goes to the port where a task listens.
fn refuse_unknown(reader: &Reader<'_>, text: &str, fitting: &[&str], tasks: &Tasks<'_>) {
    let meant = suggest::closest(text, tasks.names.iter().map(String::as_str));
    let port = tasks.ports.iter().find(|port| Some(port.task.as_str()) == meant);
    let help = match (meant, port) {
        (Some(name), Some(port)) => format!("the task `{name}` listens on `{}`", written(port.listen)),
        (Some(name), None) => format!("the task `{name}` does not listen on a port"),
        (None, _) => one_of(fitting),
    };
    reader.refuse("to", format!("`{text}` is no target"), "not understood", help);
}

fn one_of(fitting: &[&str]) -> String {
    let quoted: Vec<String> = fitting.iter().map(|form| format!("`{form}`")).collect();
    let ports = if fitting.iter().any(|form| form.contains("PORT")) { ", with PORT from 1 to 65535" } else { "" };
    format!("write {}{ports}", quoted.join(" or "))
}

/// A closed loop needs a task at the other end.
fn check_answer(reader: &Reader<'_>, pattern: &str, target: Listen, tasks: &Tasks<'_>) {
    if !matches!(pattern, "modbus" | "request") || tasks.ports_missing {
        return;
    }
    let Some(port) = tasks.ports.iter().find(|port| port.listen == target) else {
        let target = written(target);
        let ports: Vec<String> = tasks.ports.iter().map(|port| written(port.listen)).collect();
        let known =
            if ports.is_empty() { "none listens".to_owned() } else { format!("tasks listen on {}", ports.join(", ")) };
        let label = format!("{pattern} waits for answers");
        let help = format!("add a task with `listen = \"{target}\"`; {known}");
        return reader.refuse("to", format!("no task listens on {target}"), label, help);
    };
    if !port.answers {
        let message = format!("the task `{}` does not answer", port.task);
        reader.refuse("to", message, "request waits for answers", "give the task `reply_bytes`, or use `uniform`");
    }
}
