// SPDX-License-Identifier: Apache-2.0
//! The data points of a file.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::error::{Error, Place};
use crate::application::endpoint::Safe;
use crate::application::image::{Image, Point, Type};

pub(super) type Table = BTreeMap<Spanned<String>, Spanned<Declared>>;

/// A point as it stands in the file: its type, or a table with more.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a type (bool, u8, i8, u16, i16, u32, i32, f32), or { type = \"u16\", safe = 0 }")]
pub(super) enum Declared {
    Type(Type),
    More {
        #[serde(rename = "type")]
        kind: Type,
        safe: Option<toml::Value>,
    },
}

/// The data points.
#[derive(Debug)]
pub struct Points {
    /// From the sensors to the PLCs.
    pub inputs: Image,
    /// From the PLCs to the actuators.
    pub outputs: Image,
    /// What outputs are when no PLC sends them.
    pub safe: Safe,
    /// Which protocol an output belongs to.
    owners: RefCell<BTreeMap<String, String>>,
}

impl Points {
    pub(super) fn new(inputs: &Table, outputs: &Table, place: &Place) -> Result<Self, Error> {
        let mut this = Self {
            inputs: Image::default(),
            outputs: Image::default(),
            safe: Safe::default(),
            owners: RefCell::default(),
        };
        for (name, declared) in inputs {
            check_name(name, place)?;
            match declared.get_ref() {
                Declared::More { safe: Some(_), .. } => {
                    return Err(place.at(declared, "an input has no safe value: outputs have"));
                }
                Declared::Type(kind) | Declared::More { kind, .. } => this.inputs.add(name.get_ref(), *kind),
            };
        }
        let mut safe = Vec::new();
        for (name, declared) in outputs {
            check_name(name, place)?;
            let (kind, value) = match declared.get_ref() {
                Declared::Type(kind) => (*kind, None),
                Declared::More { kind, safe } => (*kind, safe.as_ref()),
            };
            if this.inputs.get(name.get_ref()).is_some() {
                return Err(place.at(name, &format!("\"{}\" is an input, too: give one another name", name.get_ref())));
            }
            this.outputs.add(name.get_ref(), kind);
            let point = this.outputs.get(name.get_ref()).expect("it was just added");
            safe.push((
                point,
                safe_bytes(kind, value)
                    .ok_or_else(|| place.at(declared, "the safe value is a value of the point's type, or \"hold\""))?,
            ));
        }
        this.safe = Safe { values: vec![0; this.outputs.bytes()], replaced: vec![false; this.outputs.bytes()] };
        for (point, bytes) in safe {
            let Some(bytes) = bytes else { continue };
            this.safe.values[point.offset..point.offset + bytes.len()].copy_from_slice(&bytes);
            this.safe.replaced[point.offset..point.offset + bytes.len()].fill(true);
        }
        Ok(this)
    }

    /// The input that a protocol names.
    ///
    /// # Errors
    /// If there is none.
    pub fn input(&self, name: &Spanned<String>, place: &Place) -> Result<Point, Error> {
        self.inputs.get(name.get_ref()).ok_or_else(|| {
            let what = if self.outputs.get(name.get_ref()).is_some() { "is an output" } else { "is not in [inputs]" };
            place.at(name, &format!("\"{}\" {what}: PLCs read inputs", name.get_ref()))
        })
    }

    /// The output that a protocol names, which is its own from then on. `owner` is what the protocol is called.
    ///
    /// # Errors
    /// If there is none, or it is another's.
    pub fn output(&self, name: &Spanned<String>, owner: &str, place: &Place) -> Result<Point, Error> {
        let text = name.get_ref();
        let point = self.outputs.get(text).ok_or_else(|| {
            let what = if self.inputs.get(text).is_some() { "is an input" } else { "is not in [outputs]" };
            place.at(name, &format!("\"{text}\" {what}: PLCs write outputs"))
        })?;
        match self.owners.borrow_mut().insert(text.clone(), owner.to_owned()) {
            None => Ok(point),
            Some(other) => {
                Err(place.at(name, &format!("output \"{text}\" belongs to {other}: one PLC writes an output")))
            }
        }
    }

    /// Which protocol took an output.
    pub fn owner(&self, output: &str) -> Option<String> {
        self.owners.borrow().get(output).cloned()
    }
}

fn check_name(name: &Spanned<String>, place: &Place) -> Result<(), Error> {
    let text = name.get_ref();
    let is_good = text.len() <= 32
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_good {
        return Ok(());
    }
    Err(place.at(name, "a data point's name has lower-case letters, digits and _, begins with a letter, at most 32"))
}

/// The bytes of a safe value in the image; none for "hold".
fn safe_bytes(kind: Type, value: Option<&toml::Value>) -> Option<Option<Vec<u8>>> {
    use toml::Value::{Boolean, Float, Integer, String};
    let Some(value) = value else { return Some(Some(vec![0; kind.bytes()])) };
    let bytes = match (kind, value) {
        (_, String(text)) if text == "hold" => return Some(None),
        (Type::Bool, Boolean(value)) => vec![u8::from(*value)],
        (Type::U8, Integer(value)) => u8::try_from(*value).ok()?.to_ne_bytes().to_vec(),
        (Type::I8, Integer(value)) => i8::try_from(*value).ok()?.to_ne_bytes().to_vec(),
        (Type::U16, Integer(value)) => u16::try_from(*value).ok()?.to_ne_bytes().to_vec(),
        (Type::I16, Integer(value)) => i16::try_from(*value).ok()?.to_ne_bytes().to_vec(),
        (Type::U32, Integer(value)) => u32::try_from(*value).ok()?.to_ne_bytes().to_vec(),
        (Type::I32, Integer(value)) => i32::try_from(*value).ok()?.to_ne_bytes().to_vec(),
        (Type::F32, Integer(value)) => (*value as f32).to_ne_bytes().to_vec(),
        (Type::F32, Float(value)) => (*value as f32).to_ne_bytes().to_vec(),
        _ => return None,
    };
    Some(Some(bytes))
}
