// SPDX-License-Identifier: Apache-2.0
//! `weir-edge key`: a new site key.

use std::path::Path;
use std::process::ExitCode;

use rand::TryRng;
use rand::rngs::SysRng;

use say::say;

/// Prints 64 hexadecimal digits from the operating system's generator.
pub fn run() -> ExitCode {
    match digits() {
        Ok(digits) => {
            say!("{digits}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Makes a key file.
pub fn write(path: &Path) -> Result<(), String> {
    std::fs::write(path, digits()?).map_err(|error| format!("{}: {error}", path.display()))
}

fn digits() -> Result<String, String> {
    let mut key = [0; 32];
    let filled = SysRng.try_fill_bytes(&mut key);
    filled.map_err(|error| format!("the operating system's generator of random numbers: {error}"))?;
    Ok(key.iter().map(|byte| format!("{byte:02x}")).collect())
}
