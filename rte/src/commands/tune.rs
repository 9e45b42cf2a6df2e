// SPDX-License-Identifier: Apache-2.0
//! `weir-io tune`: what this machine offers, what is missing, what that costs, and the way out.

use std::path::PathBuf;

use clap::Args;
use say::{put, say};
use weir_io::configuration::Configuration;
use weir_io::fitting::tune::{apply, findings, table};

/// Tells what this machine offers for a cycle, what is missing and what that costs
#[derive(Debug, Args)]
pub struct TuneArguments {
    /// A configuration, whose interface is looked at, too
    file: Option<PathBuf>,
    /// Sets up what can be set up; of interfaces only the one that the configuration names
    #[arg(long)]
    apply: bool,
}

/// Does so.
pub fn run(arguments: &TuneArguments) -> Result<(), String> {
    let configuration = arguments.file.as_deref().map(Configuration::read).transpose();
    let configuration = configuration.map_err(|error| error.to_string())?;
    let findings = findings(configuration.as_ref());
    put(format_args!("{}", table(&findings)));
    if arguments.apply {
        let done = apply(&findings);
        if done.is_empty() {
            say!("nothing to set up");
        }
        done.iter().for_each(|line| say!("{line}"));
    }
    Ok(())
}
