// SPDX-License-Identifier: Apache-2.0
//! A site of real processes on this machine's loopback, with a link of ours before it.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

pub mod node;
pub mod relay;

/// What a folder of a run is called, with the number of its process after it.
const NAME: &str = "weir-edge-run-";

/// A folder of one run's own, for its user only, which is gone after it.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes it.
    pub fn new() -> Result<Self, String> {
        Self::within(&std::env::temp_dir())
    }

    /// Makes it, and removes those of runs that were killed before they could.
    fn within(parent: &Path) -> Result<Self, String> {
        let entries = std::fs::read_dir(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
        for entry in entries.flatten() {
            if entry.file_name().to_str().and_then(process).is_some_and(is_gone) {
                // Those of other users stay.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let path = parent.join(format!("{NAME}{}", std::process::id()));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whose folder that is, by its name.
fn process(name: &str) -> Option<u32> {
    name.strip_prefix(NAME)?.parse().ok()
}

/// Before we have made ours, one with our number is of a process that had it before us.
fn is_gone(process: u32) -> bool {
    process == std::process::id() || !Path::new(&format!("/proc/{process}")).exists()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn folders_of_runs_that_were_killed_are_removed_and_no_others() {
        let parent = tempfile::tempdir().unwrap();
        let mut ended = Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let make = |name: String| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("site.key"), "00").unwrap();
            folder
        };
        let left_behind = make(format!("{NAME}{}", ended.id()));
        let of_our_number = make(format!("{NAME}{}", std::process::id()));
        let others = [make(format!("{NAME}1")), make(format!("weir-edge-{}", ended.id())), make(format!("{NAME}x"))];
        let folder = Folder::within(parent.path()).unwrap();
        assert!(!left_behind.exists());
        assert_eq!(folder.path(), of_our_number);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(others.iter().all(|other| other.join("site.key").exists()));
        drop(folder);
        assert!(!of_our_number.exists());
    }
}
