// SPDX-License-Identifier: Apache-2.0
//! Which other file an executable needs to be started. If it is missing, the system says "No such file or directory" of
//! an executable that is there.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Both kinds name it near the beginning.
const HEAD_BYTES: u64 = 4_096;
/// Type of the ELF program header that names the interpreter.
const PT_INTERP: u64 = 3;

/// The interpreter that an executable names and that is not there, in a sentence.
pub fn missing(executable: &Path) -> Option<String> {
    let interpreter = named(executable).ok()??;
    let what = || format!("{}: its interpreter {interpreter:?} does not exist", executable.display());
    (!interpreter.exists()).then(what)
}

fn named(executable: &Path) -> io::Result<Option<PathBuf>> {
    let mut head = Vec::new();
    File::open(executable)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    let name = if head.starts_with(b"#!") { of_script(&head) } else { of_elf(&head) };
    Ok(name.map(|name| PathBuf::from(OsStr::from_bytes(name))))
}

/// What follows `#!`, up to a blank; a carriage return belongs to it.
fn of_script(head: &[u8]) -> Option<&[u8]> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let line = head[2..].split(|byte| *byte == b'\n').next()?;
    line.split(blank).find(|word| !word.is_empty())
}

/// The dynamic loader of a 64-bit executable with the least significant byte first.
fn of_elf(head: &[u8]) -> Option<&[u8]> {
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |at: usize, bytes: usize| {
        let bytes = head.get(at..at.checked_add(bytes)?)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let (headers, size, count) = (number(32, 8)? as usize, number(54, 2)? as usize, number(56, 2)? as usize);
    let mut starts = (0..count).filter_map(|header| headers.checked_add(header * size));
    let header = starts.find(|at| number(*at, 4) == Some(PT_INTERP))?;
    let (begin, length) = (number(header + 8, 8)? as usize, number(header + 32, 8)? as usize);
    head.get(begin..begin.checked_add(length)?)?.split(|byte| *byte == 0).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_executable_names_its_interpreter() {
        assert_eq!(of_script(b"#! /no/such -x\necho\n"), Some(&b"/no/such"[..]));
        assert_eq!(of_script(b"#!/bin/sh\r\n"), Some(&b"/bin/sh\r"[..]));
        assert_eq!(of_script(b"#!\n"), None);
        let ours = std::env::current_exe().unwrap();
        assert!(named(&ours).unwrap().unwrap().to_str().unwrap().contains("/ld-"));
        assert_eq!(missing(&ours), None);
        // Cut anywhere, it is no reason to panic.
        let head = std::fs::read(ours).unwrap();
        assert!((0..HEAD_BYTES as usize).any(|length| of_elf(&head[..length]).is_none()));
        let mut wild = head[..64].to_vec();
        wild[32..64].fill(0xff);
        assert_eq!(of_elf(&wild), None);
    }
}
