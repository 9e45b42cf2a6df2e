// SPDX-License-Identifier: Apache-2.0
//! What the controller expects to be plugged, and in what that differs from what is.

use super::{Malformed, Put, Reader};

/// Bits of a submodule's properties: 1 has inputs, 2 has outputs.
pub const TYPE_MASK: u16 = 3;

/// How long a submodule's data is in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct DataDescription {
    /// 1 inputs, 2 outputs.
    pub direction: u16,
    pub bytes: u16,
    pub iocs_bytes: u8,
    pub iops_bytes: u8,
}

/// A submodule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Submodule {
    pub subslot: u16,
    pub ident: u32,
    /// See [`TYPE_MASK`].
    pub properties: u16,
    /// Two if it has inputs and outputs; one of length 0 if it has none.
    pub data: Vec<DataDescription>,
}

/// A module with the submodules that are expected in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Module {
    pub api: u32,
    pub slot: u16,
    pub ident: u32,
    pub properties: u16,
    pub submodules: Vec<Submodule>,
}

/// ExpectedSubmoduleBlockReq.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Expected {
    pub modules: Vec<Module>,
}

impl Expected {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let count = reader.u16()?;
        let modules = (0..count).map(|_| {
            let (api, slot, ident, properties) = (reader.u32()?, reader.u16()?, reader.u32()?, reader.u16()?);
            let count = reader.u16()?;
            let submodules = (0..count).map(|_| decode_submodule(reader)).collect::<Result<_, _>>()?;
            Ok(Module { api, slot, ident, properties, submodules })
        });
        Ok(Self { modules: modules.collect::<Result<_, _>>()? })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put16(self.modules.len() as u16);
        for module in &self.modules {
            out.put32(module.api);
            out.put16(module.slot);
            out.put32(module.ident);
            out.put16(module.properties);
            out.put16(module.submodules.len() as u16);
            for submodule in &module.submodules {
                out.put16(submodule.subslot);
                out.put32(submodule.ident);
                out.put16(submodule.properties);
                for data in &submodule.data {
                    out.put16(data.direction);
                    out.put16(data.bytes);
                    out.put(&[data.iocs_bytes, data.iops_bytes]);
                }
            }
        }
    }
}

fn decode_submodule(reader: &mut Reader<'_>) -> Result<Submodule, Malformed> {
    let (subslot, ident, properties) = (reader.u16()?, reader.u32()?, reader.u16()?);
    let count = if properties & TYPE_MASK == TYPE_MASK { 2 } else { 1 };
    let data = (0..count).map(|_| {
        Ok(DataDescription {
            direction: reader.u16()?,
            bytes: reader.u16()?,
            iocs_bytes: reader.u8()?,
            iops_bytes: reader.u8()?,
        })
    });
    Ok(Submodule { subslot, ident, properties, data: data.collect::<Result<_, _>>()? })
}

/// ModuleState: 0 there is none, 1 a wrong one, 2 the right one, 3 one that will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ModuleState;

#[allow(missing_docs)]
impl ModuleState {
    pub const NONE: u16 = 0;
    pub const WRONG: u16 = 1;
    pub const PROPER: u16 = 2;
    pub const SUBSTITUTE: u16 = 3;
}

/// SubmoduleState: bit 15 says that the others are as here. Bits 7 to 10 are ARInfo, bits 11 to 14 IdentInfo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SubmoduleState;

#[allow(missing_docs)]
impl SubmoduleState {
    const FORMAT: u16 = 0x8000;
    pub const SUBSTITUTE: u16 = Self::FORMAT | 1 << 11;
    pub const WRONG: u16 = Self::FORMAT | 2 << 11;
    pub const NONE: u16 = Self::FORMAT | 3 << 11;
    /// It belongs to another controller.
    pub const LOCKED_BY_CONTROLLER: u16 = Self::FORMAT | 3 << 7;
}

/// A submodule that is not as expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct DifferentSubmodule {
    pub subslot: u16,
    /// What is plugged.
    pub ident: u32,
    /// See [`SubmoduleState`].
    pub state: u16,
}

/// A module that, or of which a submodule, is not as expected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct DifferentModule {
    pub api: u32,
    pub slot: u16,
    /// What is plugged.
    pub ident: u32,
    /// See [`ModuleState`].
    pub state: u16,
    pub submodules: Vec<DifferentSubmodule>,
}

/// ModuleDiffBlock. The modules of an API stand together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ModuleDiff {
    pub modules: Vec<DifferentModule>,
}

impl ModuleDiff {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut modules = Vec::new();
        for _ in 0..reader.u16()? {
            let api = reader.u32()?;
            for _ in 0..reader.u16()? {
                let (slot, ident, state) = (reader.u16()?, reader.u32()?, reader.u16()?);
                let count = reader.u16()?;
                let submodules = (0..count).map(|_| {
                    Ok(DifferentSubmodule { subslot: reader.u16()?, ident: reader.u32()?, state: reader.u16()? })
                });
                let submodules = submodules.collect::<Result<_, _>>()?;
                modules.push(DifferentModule { api, slot, ident, state, submodules });
            }
        }
        Ok(Self { modules })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let apis: Vec<_> = self.modules.chunk_by(|a, b| a.api == b.api).collect();
        out.put16(apis.len() as u16);
        for modules in apis {
            out.put32(modules[0].api);
            out.put16(modules.len() as u16);
            for module in modules {
                out.put16(module.slot);
                out.put32(module.ident);
                out.put16(module.state);
                out.put16(module.submodules.len() as u16);
                for submodule in &module.submodules {
                    out.put16(submodule.subslot);
                    out.put32(submodule.ident);
                    out.put16(submodule.state);
                }
            }
        }
    }
}
