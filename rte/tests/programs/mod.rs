// SPDX-License-Identifier: Apache-2.0
//! What tests of applications share: C programs over `rte/c`, and a device with many points.

use std::path::{Path, PathBuf};
use std::process::Command;

use weir_io::application::description::Description;
use weir_io::application::endpoint::Safe;
use weir_io::application::image::{Image, Type};

const WARNINGS: [&str; 6] = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"];

/// Compiles C files of `rte/` into a program or, with `-shared` among the flags, a library.
pub fn compile(folder: &Path, name: &str, sources: &[&str], flags: &[&str]) -> PathBuf {
    let base = Path::new(env!("CARGO_MANIFEST_DIR"));
    let to = folder.join(name);
    let mut command = Command::new("cc");
    command.args(WARNINGS).arg("-g").args(flags).arg("-I").arg(base.join("c"));
    command.args(sources.iter().map(|source| base.join(source))).arg("-o").arg(&to);
    let output = command.output().expect("there is a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    to
}

/// A device with one protocol and 64 inputs and outputs that are u32.
#[allow(dead_code)]
pub fn wide() -> Description {
    let mut this = Description { endpoints: vec!["modbus".into()], ..Description::default() };
    for n in 0..64 {
        this.inputs.add(&format!("in_{n}"), Type::U32);
        this.outputs.add(&format!("out_{n}"), Type::U32);
        this.owners.insert(format!("out_{n}"), 0);
    }
    this.safe = Safe { values: vec![0; 256], replaced: vec![true; 256] };
    this.outputs_stale_after = 1_000_000_000;
    this
}

/// Every byte of an image of u32 with that value.
#[allow(dead_code)]
pub fn fill(image: &mut [u8], value: u32) {
    image.chunks_exact_mut(4).for_each(|word| word.copy_from_slice(&value.to_ne_bytes()));
}

/// The one value of an image of u32.
#[allow(dead_code)]
pub fn only(image: &[u8]) -> u32 {
    let first: [u8; 4] = image[..4].try_into().unwrap();
    assert!(image.chunks_exact(4).all(|word| word == first), "torn: {image:?}");
    u32::from_ne_bytes(first)
}

/// One point of every type.
#[allow(dead_code)]
pub fn every_type() -> Image {
    let mut image = Image::default();
    for (name, kind) in [
        ("a_bool", Type::Bool),
        ("a_u8", Type::U8),
        ("a_i8", Type::I8),
        ("a_u16", Type::U16),
        ("a_i16", Type::I16),
        ("a_u32", Type::U32),
        ("a_i32", Type::I32),
        ("a_f32", Type::F32),
    ] {
        image.add(name, kind);
    }
    image
}
