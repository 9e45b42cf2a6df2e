// SPDX-License-Identifier: Apache-2.0
//! What the demo could do with more privileges, and on another kernel: tried, not assumed.

use std::io;
use std::net::UdpSocket;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use say::say;

/// What netem is asked for, on the way there and on the way back.
const DELAY_MS: u64 = 20;
const ROUNDS: usize = 5;

/// One line on each; on namespaces only if the demo did without them.
pub fn lines(real_time: &io::Result<()>, in_namespaces: bool) -> Vec<String> {
    let real_time = match real_time {
        Ok(()) => "real-time priority: yes, programs ran under SCHED_FIFO".to_owned(),
        Err(error) => format!("real-time priority: no ({error}); with CAP_SYS_NICE nothing else delays programs"),
    };
    if in_namespaces { vec![real_time] } else { vec![real_time, link()] }
}

/// Whether the kernel's own link emulation could be used: in a network namespace of its own.
fn link() -> String {
    let Ok(own) = std::env::current_exe() else { return "namespaces: not tried".to_owned() };
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "--"]).arg(own).arg("probe-netem");
    match command.output() {
        Ok(output) if output.status.success() => {
            let netem = String::from_utf8_lossy(&output.stdout);
            let netem = netem.trim();
            format!("namespaces: yes, with --namespaces each node has one, and a cable that is pulled; netem: {netem}")
        }
        Ok(output) => format!("namespaces: no ({})", String::from_utf8_lossy(&output.stderr).trim()),
        Err(error) => format!("namespaces: not tried (unshare: {error})"),
    }
}

/// `weir-edge probe-netem`: within a fresh network namespace, asks for a delay and measures whether there is one.
pub fn probe() -> ExitCode {
    let answer = match probe_netem() {
        Ok(answer) | Err(answer) => answer,
    };
    say!("{answer}");
    ExitCode::SUCCESS
}

fn probe_netem() -> Result<String, String> {
    run("ip", &["link", "set", "lo", "up"]).map_err(|error| format!("not tried ({error})"))?;
    let before = loopback_round_trip().map_err(|error| format!("not tried ({error})"))?;
    let delay = format!("{DELAY_MS}ms");
    run("tc", &["qdisc", "add", "dev", "lo", "root", "netem", "delay", &delay])
        .map_err(|error| format!("no ({error}): the relay stands in"))?;
    let after = loopback_round_trip().map_err(|error| format!("no ({error})"))?;
    let added = after.saturating_sub(before).as_secs_f64() * 1e3;
    if added < 1.5 * DELAY_MS as f64 {
        return Err(format!(
            "no (tc reports success, but of {} ms only {added:.1} come): the relay stands in",
            2 * DELAY_MS
        ));
    }
    Ok(format!("yes (round trip of {} ms measured as {added:.1} ms)", 2 * DELAY_MS))
}

/// Runs `ip` or `tc`.
pub fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    // Not everybody has the administrator's folders in PATH, where `tc` is.
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let output =
        Command::new(program).args(arguments).env("PATH", path).output().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!("{program} is missing: install iproute2"),
            _ => format!("{program}: {error}"),
        })?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    let complaint = complaint.lines().next().unwrap_or("no reason given");
    if output.status.success() { Ok(()) } else { Err(format!("{program}: {complaint}")) }
}

fn loopback_round_trip() -> io::Result<Duration> {
    round_trip(&UdpSocket::bind("127.0.0.1:0")?, &UdpSocket::bind("127.0.0.1:0")?)
}

/// The shortest of some round trips between two sockets.
pub fn round_trip(near: &UdpSocket, far: &UdpSocket) -> io::Result<Duration> {
    for socket in [near, far] {
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    }
    let mut shortest = Duration::MAX;
    for _ in 0..ROUNDS {
        let sent = Instant::now();
        near.send_to(b"there", far.local_addr()?)?;
        far.recv_from(&mut [0; 8])?;
        far.send_to(b"back", near.local_addr()?)?;
        near.recv_from(&mut [0; 8])?;
        shortest = shortest.min(sent.elapsed());
    }
    Ok(shortest)
}
