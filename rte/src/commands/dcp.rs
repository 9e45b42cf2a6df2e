// SPDX-License-Identifier: Apache-2.0
//! `weir-io dcp`: finds, names and addresses PROFINET stations.

use std::net::Ipv4Addr;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use say::say;
use weir_io::fitting::interface::Interface;
use weir_io::fitting::running;
use weir_io::protocol::profinet::finder::{Answer, Finder, Found, Question};
use weir_io::protocol::profinet::name::StationName;
use weir_io::protocol::profinet::wire::dcp::Outcome;
use weir_io::protocol::{Address, Mac};

/// Finds, names and addresses PROFINET stations
#[derive(Debug, Args)]
pub struct DcpArguments {
    /// The interface
    #[arg(long, global = true, default_value = "eth0")]
    interface: String,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Lists the stations
    Identify,
    /// Names a station
    SetName {
        /// The station's Ethernet address
        #[arg(value_parser = mac)]
        station: Mac,
        /// Its name; "" takes it away
        #[arg(value_parser = name)]
        name: StationName,
        /// Only until it is started again
        #[arg(long)]
        temporary: bool,
    },
    /// Gives a station an address
    SetIp {
        /// The station's Ethernet address
        #[arg(value_parser = mac)]
        station: Mac,
        /// Its address, as 192.168.0.50/24
        #[arg(value_parser = address)]
        address: Address,
        /// Its gateway
        #[arg(long, default_value = "0.0.0.0")]
        gateway: Ipv4Addr,
        /// Only until it is started again
        #[arg(long)]
        temporary: bool,
    },
    /// Has a station blink
    Blink {
        /// The station's Ethernet address
        #[arg(value_parser = mac)]
        station: Mac,
    },
}

fn mac(text: &str) -> Result<Mac, String> {
    let parts: Option<Vec<u8>> =
        text.split(':').map(|part| if part.len() == 2 { u8::from_str_radix(part, 16).ok() } else { None }).collect();
    let bytes = parts.and_then(|parts| <[u8; 6]>::try_from(parts).ok());
    bytes.map(Mac).ok_or_else(|| "an Ethernet address is written as 02:00:00:00:00:01".to_owned())
}

fn name(text: &str) -> Result<StationName, &'static str> {
    StationName::new(text.as_bytes())
}

/// An address with its prefix, without a gateway.
pub fn address(text: &str) -> Result<Address, String> {
    let wrong = || "an address is written with its prefix, as 192.168.0.50/24".to_owned();
    let (ip, prefix) = text.split_once('/').ok_or_else(wrong)?;
    let prefix: u32 = prefix.parse().ok().filter(|prefix| (1..=30).contains(prefix)).ok_or_else(wrong)?;
    let ip = ip.parse().map_err(|_| wrong())?;
    Ok(Address { ip, mask: Ipv4Addr::from(u32::MAX << (32 - prefix)), gateway: Ipv4Addr::UNSPECIFIED })
}

/// Asks, and prints the answers.
pub fn run(arguments: &DcpArguments) -> Result<(), String> {
    let question = match &arguments.what {
        What::Identify => Question::Who,
        What::SetName { station, name, temporary } => Question::Name(*station, name.clone(), !temporary),
        What::SetIp { station, address, gateway, temporary } => {
            Question::Address(*station, Address { gateway: *gateway, ..*address }, !temporary)
        }
        What::Blink { station } => Question::Blink(*station),
    };
    let interface = Interface::open(&arguments.interface).map_err(|error| error.to_string())?;
    let (answers, heard) = sync_channel(4096);
    let transaction = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.subsec_nanos());
    let finder = Finder::new(question.clone(), transaction, answers);
    let running =
        running::start(&interface, interface.address(), vec![Box::new(finder)]).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    let mut outcome = None;
    while let Ok(answer) = heard.recv_timeout(Duration::from_secs(10)) {
        match answer {
            Answer::Found(station) if !found.contains(&station) => found.push(station),
            Answer::Found(_) => {}
            Answer::Outcome(code) => outcome = Some(code),
            Answer::End => break,
        }
    }
    running.stop();
    match (question, outcome) {
        (Question::Who, _) => {
            print_table(&mut found);
            Ok(())
        }
        (_, Some(0)) => {
            say!("done");
            Ok(())
        }
        (_, Some(code)) => Err(format!("not done: {}", Outcome::text(code))),
        (_, None) => Err("no answer: is it the right interface and address? weir-io dcp identify lists all".into()),
    }
}

fn print_table(found: &mut [Found]) {
    found.sort_by_key(|station| station.mac);
    say!("{:17}  {:15}  {:15}  {:11}  {:25}  name", "station", "address", "mask", "vendor:dev", "product");
    for Found { mac, name, address, product, device } in found.iter() {
        let device = device.map_or(String::new(), |(vendor, device)| format!("{vendor:04x}:{device:04x}"));
        let (ip, mask) = (address.ip.to_string(), address.mask.to_string());
        say!("{:17}  {ip:15}  {mask:15}  {device:11}  {product:25}  {name}", mac.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_or_told_how() {
        assert_eq!(mac("02:00:00:00:00:0a"), Ok(Mac([2, 0, 0, 0, 0, 10])));
        for wrong in ["", "02:00", "02:00:00:00:00:0", "02:00:00:00:00:0g", "02:00:00:00:00:00:00"] {
            assert!(mac(wrong).is_err(), "{wrong}");
        }
        assert_eq!(address("10.0.0.1/8").unwrap().mask, Ipv4Addr::new(255, 0, 0, 0));
        assert!(address("10.0.0.1").is_err() && address("10.0.0.1/31").is_err() && address("x/8").is_err());
    }
}
