// SPDX-License-Identifier: Apache-2.0
//! One run of a scenario by processes.

use std::time::Instant;

use weir_edge::client::read_key;
use weir_edge::sim::draws;
use weir_edge::sim::results::Results;
use weir_edge::sim::scenario::{Fault, Scenario};

use super::devices::Device;
use super::site::Site;
use crate::commands::key;
use crate::commands::processes::Folder;
use crate::commands::processes::relay::Relay;

/// Has the devices' tasks done by processes; returns how many were decided as they were drawn, too.
pub fn run(scenario: &Scenario, burn: bool, drawn: &[draws::Device], seed: u64) -> Result<(Results, u64), String> {
    let folder = Folder::new()?;
    let key_file = folder.path().join("site.key");
    key::write(&key_file)?;
    let key = read_key(&key_file).map_err(|error| error.to_string())?;
    let mut site = Site::start(scenario, burn, folder.path())?;
    let link = Relay::start(&mut site.nodes, scenario.link.clone(), seed)?;
    let from = Instant::now() + scenario.from();
    let devices = drawn.iter().map(|drawn| {
        let node = link.fronts[drawn.node];
        Device { scenario, drawn, node, key: key.clone(), from }
    });
    let devices: Vec<Device> = devices.collect();
    let outcomes = std::thread::scope(|scope| {
        let running: Vec<_> = devices.iter().map(|device| scope.spawn(|| device.run())).collect();
        befall(&mut site, scenario, from)?;
        let ended =
            running.into_iter().map(|device| device.join().map_err(|_| "a device's thread panicked".to_owned())?);
        ended.collect::<Result<Vec<_>, String>>()
    })?;
    let (mut results, mut alike) = (site.results(), 0);
    for (theirs, their_alike) in outcomes {
        results.add(theirs);
        alike += their_alike;
    }
    Ok((results, alike))
}

/// What befalls machines, in the order of time.
fn befall(site: &mut Site, scenario: &Scenario, from: Instant) -> Result<(), String> {
    let mut faults: Vec<&Fault> = scenario.fault.iter().collect();
    faults.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    for fault in faults {
        let at = from + std::time::Duration::from_secs_f64(fault.at_s);
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        site.fault(fault)?;
    }
    Ok(())
}
