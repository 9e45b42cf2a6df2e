// SPDX-License-Identifier: Apache-2.0
//! `weir-edge submit`: has a task done, and tells what became of it.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use weir_edge::client::{Client, Exit, Outcome, Task, read_key};
use weir_edge::core::message::PAYLOAD_BYTES_MAX;

use say::say;

/// All results came, in time.
const IN_TIME: u8 = 0;
/// No node answers, or the input is refused.
const REFUSED: u8 = 2;
/// A task was rejected.
const REJECTED: u8 = 3;
/// A task was accepted, and came late or not at all.
const LATE: u8 = 4;
/// A program failed, or exceeded its worst case.
const FAILED: u8 = 5;

/// What `submit` is given.
#[derive(Debug, Args)]
pub struct SubmitArguments {
    /// Nodes to begin with; others are learned from them
    #[arg(long, required = true, num_args = 1.., value_name = "ADDRESS")]
    node: Vec<SocketAddr>,
    /// The site's key file
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The program, by the name under which the nodes have it
    #[arg(long, value_name = "NAME")]
    program: String,
    /// How long the program takes at most, as 100ms
    #[arg(long, value_parser = humantime::parse_duration, value_name = "DURATION")]
    wcet: Duration,
    /// How soon the result is wanted, as 300ms
    #[arg(long, value_parser = humantime::parse_duration, value_name = "DURATION")]
    budget: Duration,
    /// The program's standard input: a text, or @ and a file
    #[arg(long, default_value = "", value_name = "TEXT|@FILE")]
    payload: String,
    /// How many tasks
    #[arg(long, default_value_t = 1, value_name = "N")]
    repeat: u64,
    /// From one submission to the next; without it, each follows the end of the one before
    #[arg(long, value_parser = humantime::parse_duration, value_name = "DURATION")]
    every: Option<Duration>,
}

/// Submits, waits, prints. The status is the worst of all tasks'.
pub fn run(arguments: &SubmitArguments) -> ExitCode {
    match submit_all(arguments) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(REFUSED)
        }
    }
}

fn submit_all(arguments: &SubmitArguments) -> Result<u8, String> {
    let task = Task::new(&arguments.program, arguments.wcet, arguments.budget).payload(payload(&arguments.payload)?);
    let key = read_key(&arguments.key).map_err(|error| error.to_string())?;
    let client = Client::connect(&arguments.node, key).map_err(|error| error.to_string())?;
    let mut worst = IN_TIME;
    let began = Instant::now();
    std::thread::scope(|scope| {
        let mut waiting = Vec::new();
        for count in 0..arguments.repeat {
            let Some(every) = arguments.every else {
                worst = worst.max(one(&client, &task));
                continue;
            };
            let due = every.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
            std::thread::sleep(due.saturating_sub(began.elapsed()));
            waiting.push(scope.spawn(|| one(&client, &task)));
            if waiting.len() >= 64 {
                worst = worst.max(waiting.remove(0).join().unwrap_or(LATE));
            }
        }
        for waiting in waiting {
            worst = worst.max(waiting.join().unwrap_or(LATE));
        }
    });
    Ok(worst)
}

fn payload(argument: &str) -> Result<Vec<u8>, String> {
    let payload = match argument.strip_prefix('@') {
        Some(path) => std::fs::read(path).map_err(|error| format!("--payload {argument}: {error}"))?,
        None => argument.as_bytes().to_vec(),
    };
    if payload.len() > PAYLOAD_BYTES_MAX {
        return Err(format!("--payload: {} bytes; at most {PAYLOAD_BYTES_MAX} fit a task", payload.len()));
    }
    Ok(payload)
}

fn one(client: &Client, task: &Task) -> u8 {
    let submitted = Instant::now();
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    let mut status = LATE;
    let mut ticket = client.submit(task);
    let id = ticket.id();
    for outcome in &mut ticket {
        let took = ms(submitted.elapsed());
        match outcome {
            Outcome::Accepted { holder } => say!("{id} accepted by {holder} after {took:.2} ms"),
            Outcome::Rejected(reason) => {
                say!("{id} rejected after {took:.2} ms: {}", why(reason));
                status = REJECTED;
            }
            Outcome::Result { exit, output, execution, lateness } => {
                let early = -(lateness as f64) / 1e6;
                let early =
                    if early >= 0.0 { format!("{early:.2} ms early") } else { format!("{:.2} ms late", -early) };
                say!("{id} {exit} after {took:.2} ms, {early}, executed {:.2} ms", ms(execution));
                show(&output);
                status = match exit {
                    Exit::Overrun | Exit::Failed => FAILED,
                    Exit::Done if lateness > 0 => LATE,
                    Exit::Done => IN_TIME,
                };
            }
            Outcome::Lost => say!("{id} lost: accepted, and not back {took:.0} ms after its submission"),
        }
    }
    status
}

fn why(reason: weir_edge::client::Refusal) -> &'static str {
    use weir_edge::client::Refusal;
    match reason {
        Refusal::NoTime => "no node can finish it in time",
        Refusal::NoNode => "no node answers",
        Refusal::NoProgram => "the nodes have no program of this name",
        Refusal::TooLarge => "its payload is longer than 1,200 bytes",
        Refusal::Full => "too many tasks are under way",
        Refusal::Lost => "the machine that ran it was lost, and no other can finish it in time",
    }
}

fn show(output: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    // As it is, but a reader that went away is none of our business.
    let _ = stdout.write_all(output);
    if !output.is_empty() && !output.ends_with(b"\n") {
        let _ = stdout.write_all(b"\n");
    }
    let _ = stdout.flush();
}
