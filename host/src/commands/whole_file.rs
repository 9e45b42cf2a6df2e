// SPDX-License-Identifier: Apache-2.0
//! Files that are there as a whole or not at all.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Writes a file beside `path`, hidden, which then takes its name. An error comes with the file that it is about.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), (PathBuf, io::Error)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = path.with_file_name(format!(".{name}.partial"));
    fs::write(&partial, bytes).map_err(|error| (partial.clone(), error))?;
    fs::rename(&partial, path).map_err(|error| (path.to_path_buf(), error))
}
