// SPDX-License-Identifier: Apache-2.0
//! Files that a scenario names.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::reader::Reader;

/// The absolute path of the file under a key, which is relative to the scenario's folder. It exists, can be read and is
/// not empty.
pub(super) fn existing(reader: &Reader<'_>, name: &str, folder: &Path) -> Option<PathBuf> {
    let given = reader.text(name)?;
    let refuse = |why: String| {
        let help = format!("the path is relative to the scenario file, in `{}`", shown(folder));
        reader.refuse(name, format!("cannot use the file `{given}`"), why, help);
        None
    };
    if given.is_empty() || given.contains('\0') {
        return refuse("this is no path".to_owned());
    }
    let path = match std::path::absolute(folder.join(given)) {
        Ok(path) => path,
        Err(error) => return refuse(error.to_string()),
    };
    // Asked before opening: to open a pipe would wait for its writer.
    match std::fs::metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => refuse("there is no such file".to_owned()),
        Err(error) => refuse(error.to_string()),
        Ok(metadata) if metadata.is_dir() => refuse("this is a folder".to_owned()),
        Ok(metadata) if !metadata.is_file() => refuse("this is no regular file".to_owned()),
        Ok(metadata) if metadata.len() == 0 => refuse("this file is empty".to_owned()),
        Ok(_) => match File::open(&path) {
            Ok(_) => Some(path),
            Err(error) => refuse(error.to_string()),
        },
    }
}

fn shown(folder: &Path) -> String {
    if folder.as_os_str().is_empty() { ".".to_owned() } else { folder.display().to_string() }
}
