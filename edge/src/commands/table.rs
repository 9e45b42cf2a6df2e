// SPDX-License-Identifier: Apache-2.0
//! The table of machines, which `status` and `demo` show: read from the machines' metrics.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long a machine may take to answer.
const PATIENCE: Duration = Duration::from_millis(500);
const RESPONSE_BYTES_MAX: u64 = 1 << 20;

/// The values of one machine, by their names with labels.
pub type Metrics = BTreeMap<String, String>;

/// Asks a machine for its metrics.
pub fn fetch(address: SocketAddr) -> io::Result<Metrics> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes())?;
    let mut response = String::new();
    stream.take(RESPONSE_BYTES_MAX).read_to_string(&mut response)?;
    let body = response.strip_prefix("HTTP/1.1 200 OK\r\n").and_then(|rest| rest.split_once("\r\n\r\n"));
    let (_, body) = body.ok_or_else(|| io::Error::other("what answers there is no machine of weir-edge"))?;
    let lines = body.lines().filter(|line| !line.starts_with('#'));
    let metrics: Metrics = lines.filter_map(|l| l.rsplit_once(' ')).map(|(n, v)| (n.into(), v.into())).collect();
    if !metrics.keys().any(|name| name.starts_with("weir_edge_info")) {
        return Err(io::Error::other("what answers there is no machine of weir-edge"));
    }
    Ok(metrics)
}

/// Columns: the heading and the metric.
const COLUMNS: [(&str, &str); 11] = [
    ("density", "density"),
    ("members", "members"),
    ("clients", "clients"),
    ("jobs", "jobs"),
    ("submitted", "submitted_total"),
    ("accepted", "accepted_total"),
    ("refused", "refused_total"),
    ("taken over", "taken_over_total"),
    ("done", "done_total"),
    ("overrun", "overrun_total"),
    ("failed", "failed_total"),
];

/// The heading's line.
pub fn heading() -> String {
    let mut line = format!("{:<21} {:<9}", "machine", "role");
    for (heading, _) in COLUMNS {
        line += &format!(" {heading:>w$}", w = heading.len().max(7));
    }
    line + "  dropped"
}

/// A machine's line.
pub fn row(address: SocketAddr, fetched: &io::Result<Metrics>) -> String {
    let metrics = match fetched {
        Ok(metrics) => metrics,
        Err(error) => return format!("{address:<21} {error}"),
    };
    let info = metrics.keys().find(|name| name.starts_with("weir_edge_info")).map_or("", String::as_str);
    let machine = label(info, "address").unwrap_or_default();
    let mut line = format!("{machine:<21} {:<9}", label(info, "role").unwrap_or_default());
    for (heading, name) in COLUMNS {
        let value = metrics.get(&format!("weir_edge_{name}")).map_or("?", String::as_str);
        let value = match name {
            "density" => value.parse().map_or_else(|_| value.to_owned(), |density: f64| format!("{density:.2}")),
            _ => value.to_owned(),
        };
        line += &format!(" {value:>w$}", w = heading.len().max(7));
    }
    let dropped = metrics.iter().filter_map(|(name, count)| {
        let reason = label(name.strip_prefix("weir_edge_dropped_total")?, "reason")?;
        Some(format!("{reason} {count}"))
    });
    let dropped: Vec<String> = dropped.collect();
    line + "  " + if dropped.is_empty() { "none".to_owned() } else { dropped.join(", ") }.as_str()
}

/// The value of one label of a metric.
fn label<'a>(metric: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = metric.split_once(&format!("{name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// How long a line of the terminal is.
pub fn width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout()).map_or(80, |size| usize::from(size.ws_col).max(20))
}

/// What of a line fits the terminal: one that is longer would take two.
pub fn cut(line: &str, width: usize) -> String {
    line.chars().take(width).collect()
}
