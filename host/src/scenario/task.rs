// SPDX-License-Identifier: Apache-2.0
//! `[[task]]` and `[task.flow]`.

use std::path::Path;

use super::keys::Section;
use super::model::{Contract, Listen, Protocol, Server, ServerKind, Task, TaskKind};
use super::network::{self, Network};
use super::reader::Reader;
use super::tree::Table;
use super::{device, nic, target, work};

/// More tasks than this do not fit the firmware.
const TASKS_MAX: usize = 12;

/// A deadline further off than this many periods is a slip of the pen.
const DEADLINE_PERIODS_MAX: u64 = 10;

/// The tasks.
pub(super) struct Tasks<'a> {
    /// Those that could be read, each with the table that it was read from.
    pub read: Vec<(Task, &'a Table)>,
    /// The names of all, so that one mistake in a task does not hide another.
    pub names: Vec<String>,
    /// The ports of all that listen.
    pub ports: Vec<Port>,
    /// Whether some port could not be read.
    pub ports_missing: bool,
}

/// A port with a task behind it.
pub(super) struct Port {
    /// The task.
    pub task: String,
    /// The port.
    pub listen: Listen,
    /// Whether it answers. On TCP it always does.
    pub answers: bool,
}

/// Reads all tasks.
pub(super) fn read_all<'a>(top: &Reader<'a>, network: Option<Network>, folder: &Path) -> Tasks<'a> {
    let tables = top.tables_under("task", TASKS_MAX);
    let mut tasks = Tasks { read: Vec::new(), names: Vec::new(), ports: Vec::new(), ports_missing: false };
    for table in tables {
        let reader = Reader::new(Section::Task, table, top.sink());
        let name = name(&reader, &tasks.names);
        tasks.names.push(name.clone());
        note_port(&reader, &name, &mut tasks);
        let task = read(&reader, name, network, folder);
        tasks.read.extend(task.map(|task| (task, table)));
    }
    tasks
}

/// The name, if it is one; a wrong one is reported and must not hide what else is wrong with the task.
fn name(reader: &Reader<'_>, names: &[String]) -> String {
    reader.require("name");
    let Some(name) = reader.text("name") else { return String::new() };
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if !is_word || !(1..=15).contains(&name.len()) {
        let help = "take letters, digits, `_` and `-`";
        reader.refuse("name", "`name` cannot be a task's name", "must be 1 to 15 of A-Z a-z 0-9 _ -", help);
    } else if names.iter().any(|other| other == name) {
        reader.refuse("name", format!("two tasks are called `{name}`"), "again", "give each task its own name");
    }
    name.to_owned()
}

/// Notes where a task listens, whatever else may be wrong with it.
fn note_port(reader: &Reader<'_>, name: &str, tasks: &mut Tasks<'_>) {
    if !reader.given("listen") {
        return;
    }
    let Some(listen) = target::listen(reader) else {
        tasks.ports_missing = true;
        return;
    };
    if let Some(other) = tasks.ports.iter().find(|other| other.listen == listen) {
        let message = format!("two tasks listen on {}", target::written(listen));
        reader.refuse("listen", message, format!("`{}` listens there", other.task), "give each task its own port");
    }
    let answers = listen.protocol == Protocol::Tcp || reader.u32("reply_bytes") != Some(0);
    tasks.ports.push(Port { task: name.to_owned(), listen, answers });
}

fn read(reader: &Reader<'_>, name: String, network: Option<Network>, folder: &Path) -> Option<Task> {
    reader.require("priority");
    let priority = reader.u32("priority");
    let stack_bytes = reader.u32("stack_bytes");
    let background = reader.flag("background");
    let kinds = [
        ("period_us", reader.given("period_us")),
        ("listen", reader.given("listen")),
        ("background", background == Some(true)),
    ];
    let kinds: Vec<&str> = kinds.into_iter().filter_map(|(kind, given)| given.then_some(kind)).collect();
    if let [first, second, ..] = kinds[..] {
        let message = format!("a task cannot have both `{first}` and `{second}`");
        reader.refuse(second, message, "a second way to be released", "keep one of them, or make two tasks");
        reader.finish(None);
        return None;
    }
    let read = match kinds.first() {
        Some(&"period_us") => periodic(reader, &name, folder),
        Some(&"listen") => receiving(reader, &name, network, folder),
        Some(_) => {
            reader.finish(Some((&["name", "priority", "stack_bytes", "background"], "a background task")));
            Some((TaskKind::Background, super::model::Work::Synthetic { us: 0.0 }))
        }
        None => {
            refuse_unreleased(reader, &name, background);
            None
        }
    };
    let (kind, work) = read?;
    Some(Task { name, priority: priority?, kind, work, stack_bytes: stack_bytes? })
}

fn refuse_unreleased(reader: &Reader<'_>, name: &str, background: Option<bool>) {
    reader.finish(None);
    // A background that is neither true nor false is reported already.
    if background.is_some() {
        let help = "give `period_us`, `listen` or `background = true`";
        reader.refuse("name", format!("the task `{name}` is never released"), "nothing says when it runs", help);
    }
}

fn periodic(reader: &Reader<'_>, name: &str, folder: &Path) -> Option<(TaskKind, super::model::Work)> {
    let keys =
        ["name", "priority", "stack_bytes", "background", "period_us", "deadline_us", "work_us", "binomial", "source"];
    reader.finish(Some((&keys, "a periodic task")));
    let period_us = reader.u32("period_us");
    let work = work::read(reader, name, period_us, folder);
    let deadline_us = if reader.given("deadline_us") { reader.u32("deadline_us") } else { period_us };
    let (period_us, deadline_us) = (period_us?, deadline_us?);
    if u64::from(deadline_us) > u64::from(period_us) * DEADLINE_PERIODS_MAX {
        let label = format!(
            "must be at most {DEADLINE_PERIODS_MAX} periods, {} us",
            u64::from(period_us) * DEADLINE_PERIODS_MAX
        );
        reader.refuse("deadline_us", "the deadline is too far off", label, "the usual deadline is the period");
    }
    Some((TaskKind::Periodic { period_us, deadline_us }, work?))
}

fn receiving(
    reader: &Reader<'_>,
    name: &str,
    network: Option<Network>,
    folder: &Path,
) -> Option<(TaskKind, super::model::Work)> {
    let listen = target::listen(reader);
    let keys = [
        "name",
        "priority",
        "stack_bytes",
        "background",
        "listen",
        "deadline_us",
        "work_us",
        "binomial",
        "source",
        "flow",
        "reply_bytes",
    ];
    match listen.map(|listen| listen.protocol) {
        Some(Protocol::Tcp) => reader.finish(Some((&keys[..keys.len() - 1], "a task that listens on TCP"))),
        _ => reader.finish(Some((&keys, "a receiving task"))),
    }
    let deadline_us = reader.u32("deadline_us");
    let reply_bytes = reader.u32("reply_bytes");
    let flow = flow(reader, network);
    let work = work::read(reader, name, None, folder);
    let kind = TaskKind::Receiving { listen: listen?, deadline_us, reply_bytes: reply_bytes?, flow: flow? };
    Some((kind, work?))
}

/// Largest capacity of a sporadic server: the library remembers each packet of a period (`WEIR_SPORADIC_MAX`).
const SPORADIC_CAPACITY_MAX: u32 = 8;

/// `[task.flow]`.
fn flow(task: &Reader<'_>, network: Option<Network>) -> Option<Contract> {
    if !task.given("flow") {
        return Some(Contract::default());
    }
    let reader = Reader::new(Section::Flow, task.table_under("flow")?, task.sink());
    let (capacity, period_us) = (reader.u32("capacity"), reader.u32("period_us"));
    let server = reader.choice("server");
    let kind = if server == Some("sporadic") { ServerKind::Sporadic } else { ServerKind::Deferrable };
    if server.is_some() && reader.given("server") && !reader.given("capacity") && !reader.given("period_us") {
        reader.refuse("server", "`server` without `capacity`", "a server of what?", "add `capacity` and `period_us`");
    }
    let server =
        device::both(&reader, capacity, period_us).map(|(capacity, period_us)| Server { kind, capacity, period_us });
    if let Some(Server { kind: ServerKind::Sporadic, capacity, .. }) = server
        && capacity > SPORADIC_CAPACITY_MAX
    {
        let label = format!("must be at most {SPORADIC_CAPACITY_MAX}: a sporadic server remembers each packet");
        reader.refuse("capacity", "the capacity is too large for a sporadic server", label, "or take `deferrable`");
    }
    let priority = reader.given("priority").then(|| reader.u32("priority")).flatten();
    let queue = nic::overrides(&reader);
    reader.finish(None);
    let from = network::sender(&reader, network).ok()?;
    Some(Contract { from, server, priority, queue })
}
