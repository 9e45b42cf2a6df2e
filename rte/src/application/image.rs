// SPDX-License-Identifier: Apache-2.0
//! The data points of one direction and where each lies.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What a data point holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Type {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
}

impl Type {
    /// Bytes in the image. A `bool` is a byte there, 0 or 1.
    pub fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
        }
    }
}

/// A data point in its image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// What it holds.
    pub kind: Type,
    /// Where it lies, in bytes; a multiple of its size.
    pub offset: usize,
}

/// The data points of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    points: BTreeMap<String, Point>,
    bytes: usize,
}

impl Image {
    /// Adds a data point behind those that are there. Answers `false` if its name is taken.
    pub fn add(&mut self, name: &str, kind: Type) -> bool {
        if self.points.contains_key(name) {
            return false;
        }
        let offset = self.bytes.next_multiple_of(kind.bytes());
        self.bytes = offset + kind.bytes();
        self.points.insert(name.to_owned(), Point { kind, offset });
        true
    }

    /// The data point of that name.
    pub fn get(&self, name: &str) -> Option<Point> {
        self.points.get(name).copied()
    }

    /// All data points, by name.
    pub fn points(&self) -> impl Iterator<Item = (&str, Point)> {
        self.points.iter().map(|(name, point)| (name.as_str(), *point))
    }

    /// Length of the image in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
