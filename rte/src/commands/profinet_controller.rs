// SPDX-License-Identifier: Apache-2.0
//! `weir-io profinet-controller`: a PROFINET controller for a device that a configuration describes.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use say::{put, say};
use weir_io::application::image::{Image, Point, Type};
use weir_io::configuration::Configuration;
use weir_io::fitting::driver::Event as DriverEvent;
use weir_io::fitting::interface::Interface;
use weir_io::fitting::running;
use weir_io::protocol::Address;
use weir_io::protocol::profinet::controller::{Command, Controller, Cycle, Event, Handle, Parameter, Phase, Settings};
use weir_io::protocol::profinet::model::Model;
use weir_io::protocol::profinet::name::StationName;

/// A PROFINET controller for one device: connects, exchanges data, shows it; a tool for commissioning and test
#[derive(Debug, Args)]
pub struct ControllerArguments {
    /// The device's configuration
    file: PathBuf,
    /// The controller's interface
    #[arg(long, default_value = "eth0")]
    interface: String,
    /// What the device is called; left out: as its configuration says
    #[arg(long)]
    station: Option<String>,
    /// The address that the device is given if it has another, as 192.168.0.50/24
    #[arg(long, value_parser = super::dcp::address)]
    address: Option<Address>,
    /// The cycle in microseconds: 250, 500, 1000, 2000 to 512000
    #[arg(long, default_value = "1000", value_parser = cycle)]
    cycle_us: Cycle,
    /// After how many cycles without data the connection is lost
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(3..=255))]
    watchdog: u16,
    /// Sends an output: speed=1200
    #[arg(long = "set", value_name = "POINT=VALUE")]
    set: Vec<String>,
    /// Reads a record once it is connected: SLOT/SUBSLOT/INDEX
    #[arg(long, value_parser = record)]
    read: Vec<(u16, u16, u16)>,
    /// Writes a record once it is connected: SLOT/SUBSLOT/INDEX=HEX
    #[arg(long, value_parser = parameter)]
    write: Vec<Parameter>,
    /// Writes a record while the connection starts: SLOT/SUBSLOT/INDEX=HEX
    #[arg(long, value_parser = parameter)]
    parameter: Vec<Parameter>,
    /// Releases after that many seconds of data; left out: on Ctrl-C
    #[arg(long)]
    seconds: Option<u64>,
}

fn cycle(text: &str) -> Result<Cycle, String> {
    let cycle = text.parse().ok().and_then(Cycle::from_us);
    cycle.ok_or_else(|| "a cycle is 250, 500, 1000, 2000, 4000, 8000 … 512000".to_owned())
}

fn number(text: &str) -> Option<u16> {
    text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u16::from_str_radix(hex, 16).ok())
}

fn record(text: &str) -> Result<(u16, u16, u16), String> {
    let parts: Option<Vec<u16>> = text.split('/').map(number).collect();
    match parts.as_deref() {
        Some([slot, subslot, index]) => Ok((*slot, *subslot, *index)),
        _ => Err("a record is written as SLOT/SUBSLOT/INDEX: 1/1/123, 0/1/0xaff0".to_owned()),
    }
}

fn parameter(text: &str) -> Result<Parameter, String> {
    let wrong = || "a record's value is written in hex: 1/1/123=00ff12".to_owned();
    let (place, value) = text.split_once('=').ok_or_else(wrong)?;
    let (slot, subslot, index) = record(place)?;
    if value.is_empty() || value.len() % 2 == 1 || !value.is_ascii() || value.len() > 8192 {
        return Err(wrong());
    }
    let byte = |n: usize| u8::from_str_radix(&value[n..n + 2], 16).map_err(|_| wrong());
    let bytes = (0..value.len()).step_by(2).map(byte).collect::<Result<_, _>>()?;
    Ok(Parameter { slot, subslot, index, bytes })
}

/// Runs it.
pub fn run(arguments: &ControllerArguments) -> Result<(), String> {
    let file = arguments.file.display();
    let configuration = Configuration::read(&arguments.file).map_err(|error| error.to_string())?;
    let model = configuration.profinet.as_ref().ok_or_else(|| format!("{file}: there is no [profinet]"))?;
    let station = arguments.station.as_ref().unwrap_or(&model.station);
    let station = StationName::new(station.as_bytes())?;
    if station.as_str().is_empty() {
        return Err(format!("{file}: the device has no name: add --station, or station = \"…\" in [profinet]"));
    }
    let outputs = outputs(&arguments.set, &configuration.points.outputs, model)?;
    let interface = Interface::open(&arguments.interface).map_err(|error| error.to_string())?;
    let (controller, mut handle) = Controller::new(Settings {
        device: model.clone(),
        station,
        own_name: StationName::new(b"weir-io-controller")?,
        address: arguments.address,
        cycle: arguments.cycle_us,
        watchdog_factor: arguments.watchdog,
        parameters: arguments.parameter.clone(),
        again_after: 1_000_000_000,
        seed: SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64),
    });
    handle.set_outputs(&outputs, true);
    let running = running::start(&interface, interface.address(), vec![Box::new(controller)])
        .map_err(|error| error.to_string())?;
    let result = watch(arguments, &configuration.points.inputs, model, &mut handle, &running);
    for (lane, counters) in running.counters() {
        for (name, count) in counters.iter().filter(|(_, count)| *count > 0) {
            say!("{lane}: {name}: {count}");
        }
    }
    running.stop();
    result
}

/// The submodules' outputs, with these values.
fn outputs(set: &[String], image: &Image, model: &Model) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; image.bytes()];
    for text in set {
        let (name, value) = text.split_once('=').ok_or_else(|| format!("\"{text}\": write POINT=VALUE"))?;
        let point = image.get(name).ok_or_else(|| format!("there is no output \"{name}\" in the configuration"))?;
        let value = encoded(point.kind, value).ok_or_else(|| format!("\"{text}\": not a value of its type"))?;
        bytes[point.offset..point.offset + value.len()].copy_from_slice(&value);
    }
    let submodules = model.modules.iter().flat_map(|module| &module.submodules);
    Ok(submodules.fold(Vec::new(), |mut wire, submodule| {
        let begin = wire.len();
        wire.resize(begin + submodule.outputs.bytes(), 0);
        submodule.outputs.layout.pack(&bytes, &mut wire[begin..]);
        wire
    }))
}

fn encoded(kind: Type, text: &str) -> Option<Vec<u8>> {
    Some(match kind {
        Type::Bool => vec![u8::from(text.parse::<bool>().ok()?)],
        Type::U8 => text.parse::<u8>().ok()?.to_ne_bytes().to_vec(),
        Type::I8 => text.parse::<i8>().ok()?.to_ne_bytes().to_vec(),
        Type::U16 => text.parse::<u16>().ok()?.to_ne_bytes().to_vec(),
        Type::I16 => text.parse::<i16>().ok()?.to_ne_bytes().to_vec(),
        Type::U32 => text.parse::<u32>().ok()?.to_ne_bytes().to_vec(),
        Type::I32 => text.parse::<i32>().ok()?.to_ne_bytes().to_vec(),
        Type::F32 => text.parse::<f32>().ok()?.to_ne_bytes().to_vec(),
    })
}

fn decoded(Point { kind, offset }: Point, image: &[u8]) -> String {
    let mut word = [0; 4];
    word[..kind.bytes()].copy_from_slice(&image[offset..offset + kind.bytes()]);
    let half = [word[0], word[1]];
    match kind {
        Type::Bool => (word[0] != 0).to_string(),
        Type::U8 => word[0].to_string(),
        Type::I8 => (word[0] as i8).to_string(),
        Type::U16 => u16::from_ne_bytes(half).to_string(),
        Type::I16 => i16::from_ne_bytes(half).to_string(),
        Type::U32 => u32::from_ne_bytes(word).to_string(),
        Type::I32 => i32::from_ne_bytes(word).to_string(),
        Type::F32 => f32::from_ne_bytes(word).to_string(),
    }
}

/// Shows what happens until it is to end.
fn watch(
    arguments: &ControllerArguments,
    inputs: &Image,
    model: &Model,
    handle: &mut Handle,
    running: &running::Running,
) -> Result<(), String> {
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [libc::SIGINT, libc::SIGTERM] {
        signal_hook::flag::register(signal, ends.clone()).map_err(|error| format!("signals: {error}"))?;
    }
    let mut connected: Option<Instant> = None;
    let mut shown = Instant::now();
    let mut releasing: Option<Instant> = None;
    loop {
        match running.event(Duration::from_millis(20)) {
            Some(DriverEvent::Told { line, .. }) => say(&line),
            Some(DriverEvent::Ended { reason, .. }) => return reason.map_or(Ok(()), Err),
            Some(DriverEvent::AddressWanted(_)) | None => {}
        }
        while let Some(event) = handle.event() {
            tell(&event);
            if event == Event::Phase(Phase::Data) && connected.is_none() {
                connected = Some(Instant::now());
                ask(arguments, handle);
            }
            if event == Event::Phase(Phase::Released) {
                show(handle, inputs, model);
                say!();
                return Ok(());
            }
        }
        let is_over = arguments.seconds.zip(connected).is_some_and(|(most, since)| since.elapsed().as_secs() >= most);
        if (is_over || ends.load(Ordering::Relaxed)) && releasing.is_none() {
            // Without a connection there is nothing to release.
            if handle.view().phase != Phase::Data || !handle.command(Command::Release) {
                say!();
                return Ok(());
            }
            releasing = Some(Instant::now());
        }
        if releasing.is_some_and(|since| since.elapsed() > Duration::from_secs(20)) {
            return Err("the device does not answer to the release".into());
        }
        if shown.elapsed() >= Duration::from_secs(1) {
            shown = Instant::now();
            show(handle, inputs, model);
        }
    }
}

fn ask(arguments: &ControllerArguments, handle: &Handle) {
    let writes = arguments.write.iter().cloned().map(Command::Write);
    let reads =
        arguments.read.iter().map(|&(slot, subslot, index)| Command::Read { slot, subslot, index, bytes: 4096 });
    for command in writes.chain(reads) {
        if !handle.command(command) {
            say("too many records at once: the rest is left out");
        }
    }
}

fn tell(event: &Event) {
    match event {
        Event::Phase(phase) => say(&format!("{phase:?}")),
        Event::Read(index, Ok(bytes)) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            say(&format!("record {index:#06x}: {hex}"));
        }
        Event::Read(index, Err(status)) => say(&format!("record {index:#06x} cannot be read: {status}")),
        Event::Written(index, status) if status.0 == 0 => say(&format!("record {index:#06x} is written")),
        Event::Written(index, status) => say(&format!("record {index:#06x} cannot be written: {status}")),
        Event::Alarm(alarm) => {
            let (kind, slot, subslot) = (alarm.kind, alarm.slot, alarm.subslot);
            say(&format!("alarm of type {kind} in slot {slot}, subslot {subslot}: acknowledged"));
        }
    }
}

fn is_live() -> bool {
    std::io::stdout().is_terminal()
}

/// A line of its own, above the table if there is one.
fn say(line: &str) {
    say!("{}{line}", if is_live() { "\r\x1b[K" } else { "" });
}

/// One line that a terminal shows in place of the one before.
fn show(handle: &mut Handle, inputs: &Image, model: &Model) {
    let view = handle.view();
    let statistics = view.statistics;
    let mut image = vec![0; inputs.bytes()];
    let mut at = 0;
    for submodule in model.modules.iter().flat_map(|module| &module.submodules) {
        submodule.inputs.layout.unpack(&view.inputs[at..], &mut image);
        at += submodule.inputs.bytes();
    }
    let named =
        model.modules.iter().flat_map(|module| &module.submodules).flat_map(|submodule| &submodule.inputs.names);
    let values: Vec<_> =
        named.filter_map(|name| Some(format!("{name}={}", decoded(inputs.get(name)?, &image)))).collect();
    let line = format!(
        "{:?}  {} frames, {} missed, cycle {:.1} us, sigma {:.1}, max deviation {:.1}  {}{}",
        view.phase,
        statistics.frames,
        statistics.missed,
        statistics.mean / 1000.0,
        statistics.sigma() / 1000.0,
        statistics.deviation_max as f64 / 1000.0,
        if view.good { "" } else { "(not good) " },
        values.join(" ")
    );
    if is_live() {
        put(format_args!("\r\x1b[K{line}"));
    } else {
        say!("{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_or_told_how() {
        assert_eq!(record("0/1/0xaff0"), Ok((0, 1, 0xaff0)));
        assert!(record("1/1").is_err() && record("1/1/70000").is_err());
        assert_eq!(parameter("1/2/3=00ff").unwrap().bytes, [0, 0xff]);
        assert!(parameter("1/2/3").is_err() && parameter("1/2/3=0").is_err() && parameter("1/2/3=xx").is_err());
        assert!(cycle("1000").is_ok() && cycle("999").is_err() && cycle("fast").is_err());
    }

    #[test]
    fn values_are_written_as_they_are_read() {
        for (kind, text) in [(Type::Bool, "true"), (Type::I16, "-5"), (Type::U32, "70000"), (Type::F32, "1.5")] {
            let mut image = encoded(kind, text).unwrap();
            image.resize(4, 0);
            assert_eq!(decoded(Point { kind, offset: 0 }, &image), text);
        }
        assert_eq!(encoded(Type::U8, "300"), None);
    }
}
