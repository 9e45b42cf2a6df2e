// SPDX-License-Identifier: Apache-2.0
//! `weir-edge node`, `scheduler` and `worker`: a machine of the site.

use std::path::Path;
use std::process::ExitCode;

use weir_edge::core::membership::Role;
use weir_edge::machine::config;
use weir_edge::machine::driver::Machine;

/// Runs until `SIGTERM` or `SIGINT`.
pub fn run(file: &Path, role: Role) -> ExitCode {
    let started =
        config::read(file, role).and_then(|c| Machine::start(c).map_err(|e| format!("{}: {e}", file.display())));
    let mut machine = match started {
        Ok(machine) => machine,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    match machine.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("epoll: {error}");
            ExitCode::FAILURE
        }
    }
}
