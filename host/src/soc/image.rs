// SPDX-License-Identifier: Apache-2.0
//! A firmware image: what to load where, and what lies at an address.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

/// A linked firmware.
#[derive(Debug, Clone)]
pub struct Image {
    path: PathBuf,
    /// Address and bytes of each loadable part.
    pub segments: Vec<(u32, Vec<u8>)>,
    /// Address and size.
    symbols: BTreeMap<String, (u32, u32)>,
    functions: BTreeMap<u32, String>,
}

impl Image {
    /// Reads an ELF file.
    ///
    /// # Errors
    /// When it cannot be read or is not one.
    pub fn open(path: &Path) -> Result<Image, String> {
        let describe = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let bytes = std::fs::read(path).map_err(|error| describe(&error))?;
        let file = object::File::parse(&*bytes).map_err(|error| describe(&error))?;
        let mut segments = Vec::new();
        for segment in file.segments() {
            let data = segment.data().map_err(|error| describe(&error))?;
            if !data.is_empty() {
                segments.push((segment.address() as u32, data.to_vec()));
            }
        }
        let mut symbols = BTreeMap::new();
        let mut functions = BTreeMap::new();
        for symbol in file.symbols() {
            let Ok(name) = symbol.name() else { continue };
            symbols.insert(name.to_string(), (symbol.address() as u32, symbol.size() as u32));
            if symbol.kind() == SymbolKind::Text {
                functions.insert(symbol.address() as u32, name.to_string());
            }
        }
        Ok(Image { path: path.to_path_buf(), segments, symbols, functions })
    }

    /// Address of a symbol.
    ///
    /// # Errors
    /// When the image has none of that name.
    pub fn symbol(&self, name: &str) -> Result<u32, String> {
        self.entry(name).map(|(address, _)| address)
    }

    /// Whether a variable has the size that the simulator believes: a field more or less would shift all others.
    ///
    /// # Errors
    /// When it has another size, or there is none of that name.
    pub fn check_size(&self, name: &str, bytes: usize) -> Result<(), String> {
        match self.entry(name)? {
            (_, size) if size as usize == bytes => Ok(()),
            (_, size) => Err(format!("the firmware is of another version: its `{name}` has {size} bytes, not {bytes}")),
        }
    }

    fn entry(&self, name: &str) -> Result<(u32, u32), String> {
        self.symbols.get(name).copied().ok_or_else(|| format!("the firmware has no symbol `{name}`"))
    }

    /// What is at a code address, for people: function, offset, and file and line if the debugger's table has them.
    pub fn describe(&self, address: u32) -> String {
        let function = match self.functions.range(..=address).next_back() {
            Some((start, name)) => format!("{name}+{:#x}", address - start),
            None => "no function".to_string(),
        };
        match self.line(address) {
            Some(line) => format!("{address:#010x} ({function}, {line})"),
            None => format!("{address:#010x} ({function})"),
        }
    }

    fn line(&self, address: u32) -> Option<String> {
        let output = Command::new("riscv64-unknown-elf-addr2line")
            .arg("-e")
            .arg(&self.path)
            .arg(format!("{address:#x}"))
            .output()
            .ok()?;
        let line = String::from_utf8_lossy(&output.stdout);
        // Builds map folders away, so that only the file's own name means something.
        let line = line.trim().rsplit('/').next()?.split(' ').next()?;
        (!line.is_empty() && !line.starts_with("??")).then(|| line.to_string())
    }
}
