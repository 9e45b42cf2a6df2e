// SPDX-License-Identifier: Apache-2.0
//! A CPU for the protocols' processes alone (paper, section VI-F2): a partition of cgroup version 2. Where cpuset is of
//! version 1, a set keeps them on the CPU, but nobody else off it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Error;

/// Where the kernel's control groups have cpuset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hierarchy {
    /// Version 2: partitions are possible.
    Two(PathBuf),
    /// Version 1.
    One(PathBuf),
    /// Nowhere.
    Missing,
}

impl Hierarchy {
    /// Of this machine.
    pub fn find() -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        Self::of(&mounts, |root| fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default())
    }

    fn of(mounts: &str, controllers: impl Fn(&Path) -> String) -> Self {
        let mut one = Self::Missing;
        for line in mounts.lines() {
            let mut fields = line.split(' ').skip(1);
            let (Some(at), Some(kind), Some(options)) = (fields.next(), fields.next(), fields.next()) else { continue };
            let path = PathBuf::from(at);
            match kind {
                "cgroup2" if controllers(&path).split_whitespace().any(|word| word == "cpuset") => {
                    return Self::Two(path);
                }
                "cgroup" if options.split(',').any(|word| word == "cpuset") => one = Self::One(path),
                _ => {}
            }
        }
        one
    }
}

/// The machine's CPUs, also those that a partition has taken from this process. At least one.
pub fn online() -> Vec<usize> {
    let cpus = parse(&fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default());
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// A list such as "0-2,5".
fn parse(list: &str) -> Vec<usize> {
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=last.parse().ok()?)
    });
    ranges.flatten().collect()
}

/// A set of one CPU. Processes enter it by themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// Its folder.
    pub path: PathBuf,
    /// Whether nobody else runs there.
    pub is_exclusive: bool,
}

impl Set {
    /// Makes the set of a device, or uses the one that is there.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub fn make(hierarchy: &Hierarchy, device: &str, cpu: usize) -> Result<Self, Error> {
        let name = format!("weir-io-{}", device.replace('/', "-"));
        match hierarchy {
            Hierarchy::Two(root) => partition(root, &root.join(name), cpu),
            Hierarchy::One(root) => {
                let path = root.join(name);
                let done = folder(&path)
                    .and_then(|()| fs::write(path.join("cpuset.cpus"), cpu.to_string()))
                    .and_then(|()| fs::write(path.join("cpuset.mems"), "0"));
                done.map_err(|error| Error::new(format!("{}: {error}", path.display())))?;
                Ok(Self { path, is_exclusive: false })
            }
            Hierarchy::Missing => Err(Error::new("this kernel has no cpuset")),
        }
    }

    /// Puts the calling process into it, with all of its threads.
    ///
    /// # Errors
    /// Why it cannot be there.
    pub fn enter(path: &Path) -> Result<(), Error> {
        let file = path.join("cgroup.procs");
        fs::write(&file, "0").map_err(|error| Error::new(format!("{}: {error}", file.display())))
    }

    /// Takes it away. The processes in it must have ended.
    pub fn remove(&self) {
        let _ = fs::remove_dir(&self.path);
    }
}

fn folder(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn partition(root: &Path, path: &Path, cpu: usize) -> Result<Set, Error> {
    let state = path.join("cpuset.cpus.partition");
    let done = fs::write(root.join("cgroup.subtree_control"), "+cpuset")
        .and_then(|()| folder(path))
        .and_then(|()| fs::write(path.join("cpuset.cpus"), cpu.to_string()))
        .and_then(|()| fs::write(&state, "root"))
        .and_then(|()| fs::read_to_string(&state));
    let done = match done {
        // The kernel says what is wrong when the file is read.
        Ok(text) if text.trim() == "root" => Ok(()),
        Ok(text) => Err(text.trim().to_owned()),
        Err(error) => Err(error.to_string()),
    };
    match done {
        Ok(()) => Ok(Set { path: path.to_owned(), is_exclusive: true }),
        Err(why) => {
            let _ = fs::remove_dir(path);
            Err(Error::new(format!("CPU {cpu} cannot be a partition: {}: {why}", path.display())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(parse("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(parse("0"), [0]);
        assert_eq!(parse(""), [0; 0]);
        assert!(!online().is_empty());
    }

    #[test]
    fn version_2_is_preferred_if_it_has_cpuset() {
        let mounts = "cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n";
        let one = Hierarchy::of(mounts, |_| "hugetlb".to_owned());
        assert_eq!(one, Hierarchy::One("/sys/fs/cgroup/cpuset".into()));
        let two = Hierarchy::of(mounts, |_| "cpuset cpu io".to_owned());
        assert_eq!(two, Hierarchy::Two("/sys/fs/cgroup/unified".into()));
        assert_eq!(Hierarchy::of("proc /proc proc rw 0 0", |_| String::new()), Hierarchy::Missing);
    }
}
