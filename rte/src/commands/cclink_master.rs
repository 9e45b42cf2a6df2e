// SPDX-License-Identifier: Apache-2.0
//! `weir-io cclink-master`: a master of CC-Link IE Field Basic, for commissioning and tests.

use std::io::{IsTerminal, Write, stdout};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use say::say;
use signal_hook::consts::{SIGINT, SIGTERM};
use weir_io::fitting::driver::Event;
use weir_io::fitting::interface::Interface;
use weir_io::fitting::running::{self, Running};
use weir_io::fitting::system;
use weir_io::protocol::cclink::STATIONS_PER_GROUP_MAX;
use weir_io::protocol::cclink::master::{
    Commission, Commissioner, Outcome, Phase, Report, Scan, Settings, SlaveSettings, master,
};
use weir_io::protocol::{Address, Mac, Nanos};

/// A master of CC-Link IE Field Basic, for commissioning and tests
#[derive(Debug, Args)]
pub struct CclinkMasterArguments {
    #[command(subcommand)]
    which: Which,
}

#[derive(Debug, Subcommand)]
enum Which {
    /// Exchanges data with slaves and shows how it goes, until SIGINT
    Scan(ScanArguments),
    /// Finds all slaves
    Search {
        /// The interface; its address is used as it is
        interface: String,
    },
    /// Gives a slave an address
    SetAddress {
        /// The interface; its address is used as it is
        interface: String,
        /// The slave's Ethernet address, as 02:00:00:00:00:01
        #[arg(value_parser = mac)]
        slave: Mac,
        /// The new address with its prefix, as 192.168.3.20/24
        #[arg(value_parser = address)]
        address: Address,
    },
}

#[derive(Debug, Args)]
struct ScanArguments {
    /// The interface; its address is used as it is
    interface: String,
    /// The slaves, each with its stations unless it has one: 192.168.3.1 192.168.3.2:4
    #[arg(required = true, value_parser = slave)]
    slaves: Vec<SlaveSettings>,
    /// Constant cycle in milliseconds; left out: as fast as the slaves answer
    #[arg(long)]
    cycle_ms: Option<u16>,
    /// How long answers are waited for, in milliseconds, without a constant cycle
    #[arg(long, default_value_t = 500)]
    timeout_ms: u16,
    /// After how many missing answers a slave gets no data
    #[arg(long, default_value_t = 3)]
    timeout_count: u16,
    /// Protocol version
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=2))]
    version: u16,
    /// What every byte of RY and RWw is: outputs of machines move
    #[arg(long, default_value_t = 0)]
    fill: u8,
    /// Ends after so many seconds
    #[arg(long)]
    seconds: Option<u64>,
}

fn slave(text: &str) -> Result<SlaveSettings, String> {
    let wrong = || "a slave is its address, and its stations behind a colon: 192.168.3.1:4".to_owned();
    let (ip, stations) = text.split_once(':').unwrap_or((text, "1"));
    Ok(SlaveSettings { ip: ip.parse().map_err(|_| wrong())?, stations: stations.parse().map_err(|_| wrong())? })
}

fn mac(text: &str) -> Result<Mac, String> {
    let bytes: Option<Vec<u8>> = text.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
    bytes.map(Mac).ok_or_else(|| "an Ethernet address is written as 02:00:00:00:00:01".to_owned())
}

fn address(text: &str) -> Result<Address, String> {
    let wrong = || "an address is written with its prefix, as 192.168.3.20/24".to_owned();
    let (ip, prefix) = text.split_once('/').ok_or_else(wrong)?;
    let prefix: u32 = prefix.parse().ok().filter(|prefix| (1..=30).contains(prefix)).ok_or_else(wrong)?;
    let mask = Ipv4Addr::from(u32::MAX << (32 - prefix));
    Ok(Address { ip: ip.parse().map_err(|_| wrong())?, mask, gateway: Ipv4Addr::UNSPECIFIED })
}

/// Slaves in groups of up to 16 stations, in their order.
fn grouped(slaves: &[SlaveSettings]) -> Vec<Vec<SlaveSettings>> {
    let mut groups: Vec<Vec<SlaveSettings>> = Vec::new();
    for slave in slaves {
        let used = |group: &Vec<SlaveSettings>| group.iter().map(|slave| slave.stations).sum::<usize>();
        match groups.last_mut() {
            Some(group) if used(group) + slave.stations <= STATIONS_PER_GROUP_MAX => group.push(*slave),
            _ => groups.push(vec![*slave]),
        }
    }
    groups
}

/// Does what was asked for.
pub fn run(arguments: &CclinkMasterArguments) -> Result<(), String> {
    match &arguments.which {
        Which::Scan(arguments) => scan(arguments),
        Which::Search { interface } => commission(interface, Commission::Search),
        Which::SetAddress { interface, slave, address } => commission(interface, Commission::Set(*slave, *address)),
    }
}

/// The interface and the address that it has.
fn open(name: &str) -> Result<(Interface, Address), String> {
    let interface = Interface::open(name).map_err(|error| error.to_string())?;
    let address = interface.address();
    if address.ip.is_unspecified() {
        return Err(format!("interface \"{name}\" has no address: ip address add 192.168.3.100/24 dev {name}"));
    }
    Ok((interface, address))
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

fn scan(arguments: &ScanArguments) -> Result<(), String> {
    let (interface, address) = open(&arguments.interface)?;
    let unix_ms = unix_ms();
    let settings = Settings {
        groups: grouped(&arguments.slaves),
        version: arguments.version,
        scan: arguments.cycle_ms.map_or(Scan::Fast(arguments.timeout_ms), Scan::Constant),
        timeout_count: arguments.timeout_count,
        // Another one after each start.
        parameter: (unix_ms / 100) as u16,
        clock_zero_ms: unix_ms.checked_sub(system::now() / 1_000_000),
    };
    let (lane, mut desk) = master(settings)?;
    desk.orders.publish(|orders| {
        orders.ry.fill(arguments.fill);
        orders.rww.fill(arguments.fill);
    });
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stopped.clone()).map_err(|error| format!("signals: {error}"))?;
    }
    let running = running::start(&interface, address, vec![Box::new(lane)]).map_err(|error| error.to_string())?;
    let end = arguments.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let is_live = stdout().is_terminal();
    let mut lines = 0;
    loop {
        let ended = listen(&running);
        let report = desk.report.newest(|report, _| report.clone());
        let gave_up = matches!(report.phase, Phase::OtherMaster(_) | Phase::SlaveHasOther(_));
        let is_last = stopped.load(Ordering::Relaxed) || end.is_some_and(|end| Instant::now() >= end);
        if is_live || is_last || gave_up || ended.is_err() {
            lines = show(&report, if is_live { lines } else { 0 });
        }
        ended?;
        if gave_up {
            running.stop();
            return Err("there is another master".to_owned());
        }
        if is_last {
            running.stop();
            return Ok(());
        }
    }
}

/// Prints what lanes tell for a second.
fn listen(running: &Running) -> Result<(), String> {
    let until = Instant::now() + Duration::from_secs(1);
    while let Some(event) = running.event(until.saturating_duration_since(Instant::now())) {
        match event {
            Event::Told { line, .. } => eprintln!("{line}"),
            Event::Ended { reason: Some(reason), .. } => return Err(reason),
            Event::AddressWanted(_) | Event::Ended { reason: None, .. } => {}
        }
    }
    Ok(())
}

fn us(time: Nanos) -> String {
    format!("{:.1}", time as f64 / 1000.0)
}

/// Prints a table over the one before, which had so many lines; answers how many this one has.
fn show(report: &Report, before: usize) -> usize {
    let mut text = format!("{:?}\n", report.phase);
    for (group, cycle) in (1..).zip(&report.cycles) {
        let (mean, max) = (us(cycle.mean()), us(cycle.max));
        text += &format!("group {group}: {} cycles, mean {mean} us, max {max} us\n", cycle.count);
    }
    text += "slave            group station state     missed   lost  response us: mean        max  error\n";
    for slave in &report.slaves {
        let state = if slave.connected { "connected" } else { "-" };
        let (mean, max) = (us(slave.response.mean()), us(slave.response.max));
        let stations = format!("{}-{}", slave.station, slave.station + slave.stations - 1);
        text += &format!(
            "{:<15}  {:>5} {stations:>7} {state:<9} {:>6} {:>6} {mean:>18} {max:>10}  {:#06x} {:#06x}\n",
            slave.ip, slave.group, slave.missed, slave.lost, slave.end_code, slave.error
        );
    }
    let up = if before > 0 { format!("\x1b[{before}A\x1b[J") } else { String::new() };
    let mut out = stdout().lock();
    // A closed pipe is no reason to stop slaves.
    let _ = write!(out, "{up}{text}").and_then(|()| out.flush());
    text.matches('\n').count()
}

fn commission(interface: &str, commission: Commission) -> Result<(), String> {
    let (interface, address) = open(interface)?;
    let (lane, mut findings) = Commissioner::new(commission, unix_ms() as u16);
    let running = running::start(&interface, address, vec![Box::new(lane)]).map_err(|error| error.to_string())?;
    let findings = loop {
        listen(&running)?;
        let findings = findings.newest(|findings, _| findings.clone());
        if findings.outcome != Outcome::Open {
            break findings;
        }
    };
    running.stop();
    for slave in &findings.slaves {
        let Address { ip, mask, .. } = slave.address;
        let prefix = u32::from(mask).leading_ones();
        let (vendor, model, version) = (slave.vendor, slave.model, slave.equipment_version);
        say!("{}  {ip}/{prefix}  vendor {vendor:#06x}  model {model:#010x}  version {version}", slave.mac);
    }
    match (findings.outcome, commission) {
        (Outcome::Refused(end_code), _) => Err(format!("the slave refused the address: {end_code:#06x}")),
        (Outcome::Silent, Commission::Set(mac, _)) => Err(format!("no slave {mac} has answered")),
        (_, Commission::Set(mac, address)) => {
            say!("{mac} has the address {}", address.ip);
            Ok(())
        }
        (_, Commission::Search) => {
            say!("{} slaves", findings.slaves.len());
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slaves_are_packed_into_groups_in_their_order() {
        let slaves: Vec<_> =
            ["10.0.0.1:8", "10.0.0.2:8", "10.0.0.3", "10.0.0.4:16"].map(|text| slave(text).unwrap()).into();
        assert_eq!(grouped(&slaves), [&slaves[..2], &slaves[2..3], &slaves[3..]]);
        assert!(slave("10.0.0:1").is_err() && slave("10.0.0.1:a").is_err());
        assert_eq!(mac("02:00:00:00:00:0a"), Ok(Mac([2, 0, 0, 0, 0, 10])));
        assert!(mac("02:00").is_err() && address("10.0.0.1").is_err());
    }
}
