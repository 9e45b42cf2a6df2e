// SPDX-License-Identifier: Apache-2.0
//! A device between its two PLCs, each on a station of its own, for as long as it lives.

use std::fs::{self, File};
use std::io::BufWriter;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pcap_file::TsResolution;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};
use weir_io::configuration::Configuration;
use weir_io::measuring::flows::Flows;
use weir_io::measuring::live::Ear;

use super::network::{self, Station};
use super::panel::Panel;
use super::plcs::{CcLink, Profinet};
use super::press::Press;

/// The device.
const PRESS: &str = include_str!("../../../examples/press.toml");
const CONTROLLER: &str = "192.168.3.50/24";
const MASTER: &str = "192.168.3.100/24";
const PANEL: &str = "192.168.3.200/24";
const DEVICE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 168, 3, 20)), 502);
/// How long the device may take to start.
const PATIENCE: Duration = Duration::from_secs(10);

/// The stations and their cables.
pub struct Site {
    device: Station,
    controller: Station,
    master: Station,
    panel: Station,
}

impl Site {
    /// Builds them, which this process does before it has a second thread.
    pub fn build() -> Result<Self, String> {
        network::build()?;
        Ok(Self {
            device: Station::new("device", None)?,
            controller: Station::new("controller", Some(CONTROLLER))?,
            master: Station::new("master", Some(MASTER))?,
            panel: Station::new("panel", Some(PANEL))?,
        })
    }
}

/// The device, its application and its PLCs, running.
pub struct Session {
    folder: Folder,
    device: Device,
    press: Press,
    /// The controller.
    pub controller: Profinet,
    /// The master.
    pub master: CcLink,
    /// The panel.
    pub panel: Panel,
    /// What was heard on the device's cable so far.
    pub heard: Arc<Mutex<Flows>>,
    /// The device's.
    pub configuration: Configuration,
}

impl Session {
    /// Starts all; `fitting` are lines of the device's table of that name.
    ///
    /// With a file for the capture, all frames on the device's cable are written into it.
    pub fn start(site: &Site, cycle: Duration, fitting: &str, capture: Option<&Path>) -> Result<Self, String> {
        let folder = Folder::new()?;
        let (file, configuration) = folder.configuration(fitting)?;
        let heard = listen(&site.device.port, capture)?;
        let mut device = Device::start(&site.device, &file, &folder.log())?;
        let memory = &configuration.application.memory;
        device.wait_for(memory)?;
        let press = Press::start(memory)?;
        let controller = Profinet::start(&site.controller, &configuration, cycle)?;
        let master = CcLink::start(&site.master, &configuration, cycle)?;
        let panel = Panel::start(&site.panel, DEVICE);
        Ok(Self { folder, device, press, controller, master, panel, heard, configuration })
    }

    /// Fails if the device runs no more.
    pub fn check(&mut self) -> Result<(), String> {
        self.device.check()
    }

    /// What each cyclic lane of the device has measured of its rounds so far: the lane, and mean, sigma, 50, 99 and 99.9 %,
    /// the longest and the runtime that follows, in nanoseconds.
    pub fn executions(&self) -> Vec<(String, Vec<u64>)> {
        self.device.signal(Signal::USR1);
        // Lanes answer within a round, and a cyclic one has a round in each cycle.
        std::thread::sleep(Duration::from_millis(500));
        let log = fs::read_to_string(self.folder.log()).unwrap_or_default();
        let of = |line: &str| {
            let figures = line.split(", ").filter(|figure| figure.trim().starts_with("execution "));
            let figures: Vec<u64> = figures.filter_map(|figure| figure.rsplit(' ').next()?.parse().ok()).collect();
            let lane = line.split(": ").nth(1)?.to_owned();
            (!figures.is_empty()).then_some((lane, figures))
        };
        log.lines().filter_map(of).collect()
    }

    /// Stops all. Answers what was heard, and what the device said.
    pub fn stop(self) -> (Flows, String) {
        self.panel.stop();
        self.controller.stop();
        self.master.stop();
        self.press.stop();
        self.device.stop();
        let log = fs::read_to_string(self.folder.log()).unwrap_or_default();
        let heard = self.heard.lock().map(|mut flows| std::mem::take(&mut *flows)).unwrap_or_default();
        (heard, log)
    }
}

fn listen(port: &str, capture: Option<&Path>) -> Result<Arc<Mutex<Flows>>, String> {
    let mut writer = capture.map(open).transpose()?;
    let ear = Ear::open(port).map_err(|error| error.to_string())?;
    let heard = Arc::new(Mutex::new(Flows::default()));
    let to = Arc::downgrade(&heard);
    std::thread::spawn(move || {
        // As long as somebody wants to know.
        while let Some(heard) = to.upgrade() {
            let each = |at, frame: &[u8]| {
                if let Ok(mut flows) = heard.lock() {
                    flows.add(at, frame);
                }
                if let Some(writer) = &mut writer {
                    let packet = PcapPacket::new(Duration::from_nanos(at), frame.len() as u32, frame);
                    // A full disk ends the capture, not the demo.
                    let _ = writer.write_packet(&packet);
                }
            };
            if ear.listen(Duration::from_millis(100), each).is_err() {
                break;
            }
        }
    });
    Ok(heard)
}

fn open(path: &Path) -> Result<PcapWriter<BufWriter<File>>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = File::create(path).map_err(|error| failed(&error))?;
    let header = PcapHeader { ts_resolution: TsResolution::NanoSecond, ..PcapHeader::default() };
    PcapWriter::with_header(BufWriter::new(file), header).map_err(|error| failed(&error))
}

/// A folder of one run's own, which is gone after it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("weir-io-{}", std::process::id()));
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    /// The device, with all that it writes in this folder.
    fn configuration(&self, fitting: &str) -> Result<(PathBuf, Configuration), String> {
        let file = self.0.join("press.toml");
        let application = format!("[application]\nmemory = {:?}\n", self.0.join("memory"));
        let text = PRESS.replace("[application]\n", &application);
        let text = format!("{text}\n[fitting]\nstate = {:?}\n{fitting}\n", self.0.join("state"));
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        let configuration = Configuration::read(&file).map_err(|error| error.to_string())?;
        Ok((file, configuration))
    }

    fn log(&self) -> PathBuf {
        self.0.join("log")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Has the process that this will start end with the thread that starts it, whatever ends that: `head`, `kill`.
fn end_with_us(command: &mut Command) {
    // SAFETY: the closure makes a system call only: it does not allocate and takes no lock.
    unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::TERM))?)) };
}

/// The device's processes.
struct Device {
    supervisor: Child,
    log: PathBuf,
}

impl Device {
    fn start(at: &Station, file: &Path, log: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("the device cannot be started: {error}");
        let program = std::env::current_exe().map_err(failed)?;
        let to = File::create(log).map_err(failed)?;
        let mut command = Command::new(program);
        command.arg("run").arg(file).stdout(to.try_clone().map_err(failed)?).stderr(to);
        end_with_us(&mut command);
        let supervisor = at.namespace.within(|| command.spawn()).map_err(failed)?;
        Ok(Self { supervisor, log: log.to_owned() })
    }

    fn wait_for(&mut self, memory: &Path) -> Result<(), String> {
        let begin = Instant::now();
        while !memory.exists() {
            self.check()?;
            if begin.elapsed() > PATIENCE {
                return Err(format!("the device has no {} after {PATIENCE:?}", memory.display()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        match self.supervisor.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(format!("the device has ended: {}", fs::read_to_string(&self.log).unwrap_or_default().trim())),
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = Pid::from_raw(self.supervisor.id() as i32) {
            let _ = kill_process(id, signal);
        }
    }

    fn end(&mut self) {
        // One that was waited for has given its number back: it may be another's by now.
        if let Ok(None) = self.supervisor.try_wait() {
            self.signal(Signal::TERM);
        }
        let _ = self.supervisor.wait();
    }

    fn stop(mut self) {
        self.end();
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.end();
    }
}
