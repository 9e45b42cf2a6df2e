// SPDX-License-Identifier: Apache-2.0
//! What commands print. Who closes the pipe that they print to (`| head -1`) wants no more: they end, and say nothing of it.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

/// What a shell reports of a program that SIGPIPE ended, as it ends most others.
const PIPE_CLOSED: i32 = 128 + 13;

/// Prints a line; takes what `println!` takes.
#[macro_export]
macro_rules! say {
    () => { $crate::put(format_args!("\n")) };
    ($($text:tt)*) => { $crate::put(format_args!("{}\n", format_args!($($text)*))) };
}

/// Prints a text as it is, at once.
pub fn put(text: Arguments<'_>) {
    let mut stdout = std::io::stdout().lock();
    if let Err(error) = stdout.write_fmt(text).and_then(|()| stdout.flush()) {
        if error.kind() == ErrorKind::BrokenPipe {
            std::process::exit(PIPE_CLOSED);
        }
        eprintln!("standard output: {error}");
        std::process::exit(2);
    }
}
