// SPDX-License-Identifier: Apache-2.0
//! A site of real processes on this machine's loopback, with a link of ours before it.

use std::path::{Path, PathBuf};

pub mod node;
pub mod relay;

/// A folder of one run's own, which is gone after it.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes it.
    pub fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("weir-edge-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
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
