// SPDX-License-Identifier: Apache-2.0
//! Network namespaces without names: each is gone with the last descriptor or process that holds it, however that ends.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use rustix::process::{DumpableBehavior, getgid, getuid, set_dumpable_behavior};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// A network namespace.
#[derive(Clone, Debug)]
pub struct Namespace(Arc<OwnedFd>);

impl Namespace {
    /// A new one.
    pub fn new() -> io::Result<Self> {
        let home = Self::current()?;
        unshare(UnshareFlags::NEWNET)?;
        let new = Self::current();
        home.enter();
        new
    }

    /// Does something within it: sockets and processes that are made there stay there.
    pub fn within<T>(&self, what: impl FnOnce() -> T) -> T {
        let home = Self::current().expect("/proc/thread-self/ns/net was there before");
        self.enter();
        let result = what();
        home.enter();
        result
    }

    /// By what `ip` finds it.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    fn current() -> io::Result<Self> {
        Ok(Self(Arc::new(File::open("/proc/thread-self/ns/net")?.into())))
    }

    fn enter(&self) {
        let entered = move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network));
        // To go on in the wrong one would be worse.
        entered.expect("who may make namespaces may enter them");
    }
}

/// Moves this process, which has one thread, into a network namespace of its own; if that is not permitted, as root of a
/// user namespace of its own.
pub fn isolate() -> Result<(), String> {
    let way_out = |error: io::Error| {
        format!(
            "namespaces: no ({error}): run it as root, or permit user namespaces (sysctl: user.max_user_namespaces, \
             kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"
        )
    };
    if unshare(UnshareFlags::NEWNET).is_ok() {
        return Ok(());
    }
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNET).map_err(way_out)?;
    // With capabilities in the program's file, our own /proc would belong to somebody else.
    set_dumpable_behavior(DumpableBehavior::Dumpable).map_err(|error| way_out(error.into()))?;
    let written = fs::write("/proc/self/setgroups", "deny")
        .and_then(|()| fs::write("/proc/self/uid_map", format!("0 {user} 1")))
        .and_then(|()| fs::write("/proc/self/gid_map", format!("0 {group} 1")));
    written.map_err(way_out)?;
    // Where the kernel lets everybody have a user namespace that permits nothing, it is only noticed now.
    unshare(UnshareFlags::NEWNET).map_err(way_out)
}

fn unshare(what: UnshareFlags) -> io::Result<()> {
    // SAFETY: no descriptors cease to be shared: of all that can be, that alone could be unsound.
    Ok(unsafe { unshare_unsafe(what) }?)
}
