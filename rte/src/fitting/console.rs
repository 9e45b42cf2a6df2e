// SPDX-License-Identifier: Apache-2.0
//! What the user is told, line by line on standard error. Who does not read loses lines: a device neither waits for its
//! reader nor ends with it.

use std::io;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Tells the user a line. `eprintln!` waits while a pipe is full, and panics when its reader is gone.
pub fn tell(line: &str) {
    put(io::stderr(), line);
}

fn put(to: impl AsFd, line: &str) {
    let mut watched = [PollFd::new(&to, PollFlags::OUT)];
    let ready = poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    // A pipe that is ready has room for a page.
    if ready.is_ok() && watched[0].revents().contains(PollFlags::OUT) {
        let _ = rustix::io::write(&to, format!("{line}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, pipe};

    use super::*;

    #[test]
    fn a_reader_that_is_gone_or_does_not_read_is_not_waited_for() {
        let (mut reader, writer) = pipe().unwrap();
        put(&writer, "one");
        let mut line = [0; 4];
        reader.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"one\n");
        let long = "x".repeat(1000);
        (0..1000).for_each(|_| put(&writer, &long));
        drop(reader);
        put(&writer, "two");
    }
}
