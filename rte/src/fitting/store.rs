// SPDX-License-Identifier: Apache-2.0
//! A small file of what protocols keep over a restart.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use super::Error;
use super::address::write_whole;
use crate::protocol::profinet::station::Store;

/// The file, written whole each time.
#[derive(Debug)]
pub struct FileStore {
    path: PathBuf,
    values: BTreeMap<String, String>,
}

impl FileStore {
    /// Reads the file. One that is not there is empty.
    ///
    /// # Errors
    /// If it cannot be read, or is something else; with the way out.
    pub fn open(path: PathBuf) -> Result<Self, Error> {
        let wrong = |why: &str| {
            Error::new(format!("{}: {why}; remove it, and the station begins as configured", path.display()))
        };
        let values = match fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text).map_err(|error| wrong(&error.message().replace('\n', ", ")))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(wrong(&error.to_string())),
        };
        Ok(Self { path, values })
    }
}

impl Store for FileStore {
    fn get(&self, key: &str) -> Option<String> {
        self.values.get(key).cloned()
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), String> {
        let before = self.values.insert(key.to_owned(), value.to_owned());
        let text = toml::to_string(&self.values).map_err(|error| error.to_string())?;
        write_whole(&self.path, text.as_bytes()).map_err(|error| {
            match before {
                Some(before) => self.values.insert(key.to_owned(), before),
                None => self.values.remove(key),
            };
            format!("{}: {error}", self.path.display())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/profinet.toml");
        let mut store = FileStore::open(path.clone()).unwrap();
        assert_eq!(store.get("name"), None);
        store.put("profinet.name", "press-3").unwrap();
        assert_eq!(FileStore::open(path.clone()).unwrap().get("profinet.name").as_deref(), Some("press-3"));
        fs::write(&path, "[").unwrap();
        assert!(FileStore::open(path).unwrap_err().to_string().contains("remove it"));
    }

    #[test]
    fn what_cannot_be_written_is_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profinet.toml");
        let mut store = FileStore::open(path.clone()).unwrap();
        // Where the new file would be is a folder.
        fs::create_dir_all(path.with_extension("new")).unwrap();
        assert!(store.put("profinet.name", "press-3").is_err());
        assert_eq!(store.get("profinet.name"), None);
    }
}
