// SPDX-License-Identifier: Apache-2.0
//! A machine's configuration file.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, access};
use rustix::thread::{CpuSet, sched_getaffinity};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::interpreter;
use super::log::Level;
use super::spawn::Program;
use crate::core::auth::SiteKey;
use crate::core::membership::{Role, Timing};
use crate::core::message::PROGRAM_BYTES_MAX;
use crate::core::node;
use crate::core::queue::{Costs, Strategy};

/// Priorities of `SCHED_FIFO` that a program may have: the machine itself has the next higher one.
const PRIORITIES: Range<u8> = 0..99;
/// The priority of programs if the file says nothing.
const PRIORITY: u8 = 50;

/// All that a machine is told.
#[derive(Debug)]
pub struct Config {
    /// The core's part. The address still has the file's port, which may be 0.
    pub node: node::Config,
    /// What the site shares.
    pub key: SiteKey,
    /// The programs, by the name under which tasks ask for them.
    pub programs: BTreeMap<String, Program>,
    /// The workers' CPUs.
    pub cpus: Vec<usize>,
    /// The programs' priority of `SCHED_FIFO`, if it is permitted.
    pub priority: Option<u8>,
    /// Where metrics can be read.
    pub metrics: Option<SocketAddr>,
    /// How much is logged.
    pub log: Level,
    /// What works, but perhaps not as it was meant.
    pub warnings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    address: Spanned<Address>,
    for_clients: Option<Spanned<Address>>,
    metrics: Option<Address>,
    #[serde(default)]
    seeds: Vec<Address>,
    key_file: Spanned<PathBuf>,
    workers: Option<Spanned<usize>>,
    cpus: Option<Spanned<Vec<usize>>>,
    strategy: Option<Strategy>,
    real_time_priority: Option<Spanned<u8>>,
    #[serde(default)]
    log: Level,
    #[serde(default)]
    programs: BTreeMap<Spanned<String>, Spanned<Vec<String>>>,
    limits: Option<Spanned<Limits>>,
    silence: Option<Spanned<Silence>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Limits {
    clients: usize,
    tasks: usize,
    neighbours: usize,
    asked: usize,
    answer: Span,
    overrun_tolerance: Span,
    start_cost: Span,
    preempt_cost: Span,
}

impl Default for Limits {
    fn default() -> Self {
        let core = node::Config::new(SocketAddr::from(([0, 0, 0, 0], 0)));
        Self {
            clients: core.clients_max,
            tasks: core.tasks_max,
            neighbours: core.neighbours,
            asked: core.asked_max,
            answer: Span(core.answer),
            overrun_tolerance: Span(core.overrun_tolerance),
            start_cost: Span(Duration::from_millis(2)),
            preempt_cost: Span(Duration::from_micros(200)),
        }
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Silence {
    probe: Span,
    answer: Span,
    suspicion: Span,
}

impl Default for Silence {
    fn default() -> Self {
        let Timing { probe, answer, suspicion } = Timing::default();
        Self { probe: Span(probe), answer: Span(answer), suspicion: Span(suspicion) }
    }
}

/// A duration with its unit.
#[derive(Clone, Copy)]
struct Span(Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = |text: &dyn fmt::Display| {
            serde::de::Error::custom(format!("{text} is no duration: a number and its unit, as \"100ms\" or \"1s\""))
        };
        let value = toml::Value::deserialize(deserializer)?;
        let text = value.as_str().ok_or_else(|| wrong(&value))?;
        humantime::parse_duration(text).map(Self).map_err(|_| wrong(&value))
    }
}

#[derive(Clone, Copy)]
struct Address(SocketAddr);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || format!("{text:?} is no address: an IP address and a port, as \"192.168.1.10:7400\"");
        text.parse().map(Self).map_err(|_| serde::de::Error::custom(wrong()))
    }
}

/// Reads a file for a machine of this role.
pub fn read(path: &Path, role: Role) -> Result<Config, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let line = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let at = |span: Range<usize>, what: String| format!("{}:{}: {what}", path.display(), line(span.start));
    let file: File = toml::from_str(&text).map_err(|error| {
        let what = error.message().replace('\n', " ").replace("expected usize", "expected a whole number");
        match error.span() {
            // A field that is missing is missing everywhere.
            Some(span) if !what.starts_with("missing field") => at(span, what),
            _ => format!("{}: {what}", path.display()),
        }
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    check(file, folder, role).map_err(|(span, what)| at(span, what))
}

type Checked<T> = Result<T, (Range<usize>, String)>;

fn check(file: File, folder: &Path, role: Role) -> Checked<Config> {
    let address = named("address", "others", &file.address)?;
    let for_clients = file.for_clients.as_ref().map(|address| named("for_clients", "devices", address)).transpose()?;
    let limits = limits(&file)?;
    let timing = timing(&file)?;
    let available = available_cpus();
    let workers = workers(&file, role, available.len())?;
    let mut warnings = Vec::new();
    if workers > available.len() {
        let have = available.len();
        warnings.push(format!("{workers} workers share {have} CPUs: what is accepted may be late; give cpus or fewer"));
    }
    let cpus = cpus(&file, workers, &available)?;
    if let Some(shared) = cpus.iter().enumerate().find_map(|(i, cpu)| (cpus[..i].contains(cpu)).then_some(cpu))
        && file.cpus.is_some()
    {
        warnings.push(format!("cpus: workers share CPU {shared}: what is accepted may be late"));
    }
    let programs = match role {
        Role::Scheduler => BTreeMap::new(),
        Role::Node | Role::Worker => programs(&file, folder)?,
    };
    if programs.is_empty() && role != Role::Scheduler {
        warnings.push("no [programs]: every task is refused".to_owned());
    }
    let key = read_key(&folder.join(file.key_file.as_ref())).map_err(|what| (file.key_file.span(), what))?;
    let priority = match &file.real_time_priority {
        None => PRIORITY,
        Some(given) if PRIORITIES.contains(given.as_ref()) => *given.as_ref(),
        Some(given) => return Err((given.span(), "real_time_priority: from 1 to 98, or 0 for none".to_owned())),
    };
    let costs = Costs { start: limits.start_cost.0, preempt: limits.preempt_cost.0 };
    let node = node::Config {
        for_clients,
        role,
        workers,
        strategy: file.strategy.unwrap_or(Strategy::WorstFit),
        programs: programs.keys().cloned().collect(),
        costs,
        overrun_tolerance: limits.overrun_tolerance.0,
        asked_max: limits.asked,
        answer: limits.answer.0,
        neighbours: limits.neighbours,
        clients_max: limits.clients,
        tasks_max: limits.tasks,
        seeds: file.seeds.iter().map(|address| address.0).collect(),
        timing,
        ..node::Config::new(address)
    };
    let (metrics, log) = (file.metrics.map(|address| address.0), file.log);
    Ok(Config { node, key, programs, cpus, priority: (priority > 0).then_some(priority), metrics, log, warnings })
}

/// An address that is told to others: one of all of a machine's would name the one that reads it.
fn named(key: &str, whom: &str, address: &Spanned<Address>) -> Checked<SocketAddr> {
    let given = address.as_ref().0;
    if given.ip().is_unspecified() {
        let what = format!("{key} = {:?} is told to the {whom}: it has to name this machine", given.to_string());
        return Err((address.span(), what));
    }
    Ok(given)
}

fn limits(file: &File) -> Checked<Limits> {
    let Some(given) = &file.limits else { return Ok(Limits::default()) };
    let limits = *given.as_ref();
    let wrong = |what: &str| Err((given.span(), format!("limits.{what}")));
    match limits {
        Limits { clients: 0, .. } => wrong("clients = 0: must be at least 1"),
        Limits { tasks: 0, .. } => wrong("tasks = 0: must be at least 1"),
        Limits { neighbours: 0 | 1, .. } => wrong("neighbours: must be at least 2, one to each side"),
        Limits { answer, .. } if answer.0.is_zero() => wrong("answer: must be longer than nothing"),
        limits => Ok(limits),
    }
}

fn timing(file: &File) -> Checked<Timing> {
    let Some(given) = &file.silence else { return Ok(Timing::default()) };
    let Silence { probe: Span(probe), answer: Span(answer), suspicion: Span(suspicion) } = *given.as_ref();
    if answer.is_zero() || answer > probe / 2 {
        return Err((given.span(), "silence: answer must be above 0 and at most half of probe".to_owned()));
    }
    Ok(Timing { probe, answer, suspicion })
}

fn workers(file: &File, role: Role, cpus: usize) -> Checked<usize> {
    let given = file.workers.as_ref().map(|workers| (*workers.as_ref(), workers.span()));
    match (role, given) {
        (Role::Scheduler, Some((1.., span))) => Err((span, "workers: a scheduler has none of its own".to_owned())),
        (Role::Scheduler, _) => Ok(0),
        (_, Some((0, span))) => Err((span, "workers = 0: must be at least 1".to_owned())),
        (_, Some((1025.., span))) => Err((span, "workers: at most 1024".to_owned())),
        (_, Some((workers, _))) => Ok(workers),
        (_, None) => Ok(cpus.saturating_sub(1).max(1)),
    }
}

/// Each worker's CPU; the last ones if not given, so that the first is left for everything else.
fn cpus(file: &File, workers: usize, available: &[usize]) -> Checked<Vec<usize>> {
    let Some(given) = &file.cpus else {
        return Ok(available.iter().rev().cycle().take(workers).copied().collect());
    };
    let cpus = given.as_ref();
    if let Some(absent) = cpus.iter().find(|cpu| !available.contains(cpu)) {
        let have: Vec<String> = available.iter().map(usize::to_string).collect();
        return Err((given.span(), format!("cpus: there is no CPU {absent} for us; there are {}", have.join(", "))));
    }
    if cpus.len() != workers {
        return Err((given.span(), format!("cpus: {} for {workers} workers; must be one for each", cpus.len())));
    }
    Ok(cpus.clone())
}

fn available_cpus() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect(),
        Err(_) => vec![0],
    }
}

fn programs(file: &File, folder: &Path) -> Checked<BTreeMap<String, Program>> {
    let mut programs = BTreeMap::new();
    for (name, words) in &file.programs {
        if name.as_ref().is_empty() || name.as_ref().len() > PROGRAM_BYTES_MAX {
            let what = format!("programs: {:?}: a name has 1 to {PROGRAM_BYTES_MAX} bytes", name.as_ref());
            return Err((name.span(), what));
        }
        let wrong = |what: String| (words.span(), format!("programs: {}: {what}", name.as_ref()));
        let Some((executable, arguments)) = words.as_ref().split_first() else {
            return Err(wrong("the list begins with an executable: [\"/usr/lib/weir/resize\", \"--fast\"]".to_owned()));
        };
        let path = find(executable, folder).map_err(wrong)?;
        if let Some(what) = interpreter::missing(&path) {
            return Err(wrong(what));
        }
        programs.insert(name.as_ref().clone(), Program { path, arguments: arguments.to_vec() });
    }
    Ok(programs)
}

/// An executable: by its name alone in the search path, else from the folder of the configuration file.
fn find(executable: &str, folder: &Path) -> Result<PathBuf, String> {
    let runs = |path: &Path| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if executable.contains('/') {
        let path = std::path::absolute(folder.join(executable)).map_err(|error| format!("{executable}: {error}"))?;
        return match std::fs::metadata(&path) {
            Err(error) => Err(format!("{}: {error}", path.display())),
            Ok(_) if runs(&path) => Ok(path),
            Ok(_) => Err(format!("{} is not executable: chmod +x it", path.display())),
        };
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&search).map(|folder| folder.join(executable)).find(|path| runs(path));
    found.ok_or_else(|| format!("{executable:?} is not in the search path; a path has a slash: \"./{executable}\""))
}

/// Reads a key file: 64 hexadecimal digits.
pub fn read_key(path: &Path) -> Result<SiteKey, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    SiteKey::from_hex(&text).map_err(|what| format!("{}: {what}; `weir-edge key` makes one", path.display()))
}
