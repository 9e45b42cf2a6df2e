// SPDX-License-Identifier: Apache-2.0
//! What the demo could do with more privileges, and on another kernel: tried, not assumed.

use std::io;
use std::net::UdpSocket;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// What netem is asked for, on the way there and on the way back.
const DELAY_MS: u64 = 20;
const ROUNDS: usize = 5;

/// One line on each.
pub fn lines(real_time: &io::Result<()>) -> Vec<String> {
    let real_time = match real_time {
        Ok(()) => "real-time priority: yes, programs ran under SCHED_FIFO".to_owned(),
        Err(error) => format!("real-time priority: no ({error}); with CAP_SYS_NICE nothing else delays programs"),
    };
    vec![real_time, link()]
}

/// Whether the kernel's own link emulation could be used: in a network namespace of its own.
fn link() -> String {
    let Ok(own) = std::env::current_exe() else { return "namespaces: not tried".to_owned() };
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "--"]).arg(own).arg("probe-netem");
    match command.output() {
        Ok(output) if output.status.success() => {
            format!("namespaces: yes; netem: {}", String::from_utf8_lossy(&output.stdout).trim())
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
    println!("{answer}");
    ExitCode::SUCCESS
}

fn probe_netem() -> Result<String, String> {
    run("ip", &["link", "set", "lo", "up"]).map_err(|error| format!("not tried ({error})"))?;
    let before = round_trip().map_err(|error| format!("not tried ({error})"))?;
    let delay = format!("{DELAY_MS}ms");
    run("tc", &["qdisc", "add", "dev", "lo", "root", "netem", "delay", &delay])
        .map_err(|error| format!("no ({error}): the relay stands in"))?;
    let after = round_trip().map_err(|error| format!("no ({error})"))?;
    let added = after.saturating_sub(before).as_secs_f64() * 1e3;
    if added < 1.5 * DELAY_MS as f64 {
        return Err(format!(
            "no (tc reports success, but of {} ms only {added:.1} come): the relay stands in",
            2 * DELAY_MS
        ));
    }
    Ok(format!("yes (round trip of {} ms measured as {added:.1} ms)", 2 * DELAY_MS))
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    let complaint = complaint.lines().next().unwrap_or("no reason given");
    if output.status.success() { Ok(()) } else { Err(format!("{program}: {complaint}")) }
}

/// The shortest of some round trips on the loopback device.
fn round_trip() -> io::Result<Duration> {
    let (near, far) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    for socket in [&near, &far] {
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
