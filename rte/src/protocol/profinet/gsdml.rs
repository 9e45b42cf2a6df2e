// SPDX-License-Identifier: Apache-2.0
//! The device's description for engineering tools, GSDML, made from the configuration.
//!
//! It follows what is publicly known of GSDML 2.4; PI's own checker has not seen it.

#[cfg(test)]
mod tests;

use std::fmt::Write;

use super::model::{Data, Model, Module, Submodule};
use crate::application::image::{Image, Type};

/// What a description's first lines say.
const NOTE: &str = "Made by weir-io from a configuration. Not checked by PI's GSD checker.";

/// A description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// What its file must be called.
    pub file: String,
    /// The file.
    pub text: String,
}

/// Describes a device whose data points are these. `date` is year, month and day.
pub fn describe(model: &Model, inputs: &Image, outputs: &Image, date: (u16, u8, u8)) -> Description {
    let (year, month, day) = date;
    let plain = |text: &str| text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect::<String>();
    let file = format!("GSDML-V2.4-{}-{}-{year:04}{month:02}{day:02}.xml", plain(&model.vendor), plain(&model.product));
    let mut writer = Writer::default();
    writer.profile(model, inputs, outputs);
    Description { file, text: writer.text }
}

/// Writes elements; texts are collected, and stand at the end.
#[derive(Default)]
struct Writer {
    text: String,
    depth: usize,
    texts: Vec<(String, String)>,
}

/// What stands in an attribute.
fn escaped(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}

type Attributes<'a> = [(&'a str, &'a str)];

impl Writer {
    fn line(&mut self, text: &str) {
        let indent = 2 * self.depth;
        // A String takes everything.
        let _ = writeln!(self.text, "{:indent$}{text}", "");
    }

    fn tag(name: &str, attributes: &Attributes<'_>) -> String {
        attributes.iter().fold(name.to_owned(), |tag, (name, value)| format!("{tag} {name}=\"{}\"", escaped(value)))
    }

    fn empty(&mut self, name: &str, attributes: &Attributes<'_>) {
        self.line(&format!("<{}/>", Self::tag(name, attributes)));
    }

    fn element(&mut self, name: &str, attributes: &Attributes<'_>, inner: impl FnOnce(&mut Self)) {
        self.line(&format!("<{}>", Self::tag(name, attributes)));
        self.depth += 1;
        inner(self);
        self.depth -= 1;
        self.line(&format!("</{name}>"));
    }

    fn value(&mut self, name: &str, value: &str) {
        self.line(&format!("<{name}>{}</{name}>", escaped(value)));
    }

    /// Keeps a text for the end; answers its name.
    fn keep(&mut self, id: &str, value: &str) -> String {
        let id = format!("T_{id}");
        self.texts.push((id.clone(), value.to_owned()));
        id
    }

    fn profile(&mut self, model: &Model, inputs: &Image, outputs: &Image) {
        self.line("<?xml version=\"1.0\" encoding=\"utf-8\"?>");
        self.line(&format!("<!-- {NOTE} -->"));
        let schema = "http://www.profibus.com/GSDML/2003/11/DeviceProfile";
        let place = format!("{schema} ..\\xsd\\GSDML-DeviceProfile-V2.4.xsd");
        let root = [
            ("xmlns", schema),
            ("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"),
            ("xsi:schemaLocation", &place),
        ];
        self.element("ISO15745Profile", &root, |w| {
            w.header();
            w.element("ProfileBody", &[], |w| {
                w.identity(model);
                w.element("ApplicationProcess", &[], |w| w.application(model, inputs, outputs));
            });
        });
    }

    fn header(&mut self) {
        self.element("ProfileHeader", &[], |w| {
            w.value("ProfileIdentification", "PROFINET Device Profile");
            w.value("ProfileRevision", "1.00");
            w.value("ProfileName", "Device Profile for PROFINET Devices");
            w.value("ProfileSource", "PROFIBUS Nutzerorganisation e. V. (PNO)");
            w.value("ProfileClassID", "Device");
            w.element("ISO15745Reference", &[], |w| {
                w.value("ISO15745Part", "4");
                w.value("ISO15745Edition", "1");
                w.value("ProfileTechnology", "GSDML");
            });
        });
    }

    fn identity(&mut self, model: &Model) {
        let (vendor, device) = (format!("0x{:04X}", model.vendor_id), format!("0x{:04X}", model.device_id));
        let info = self.keep("Info", &format!("{}: {NOTE}", model.product));
        self.element("DeviceIdentity", &[("VendorID", &vendor), ("DeviceID", &device)], |w| {
            w.empty("InfoText", &[("TextId", &info)]);
            w.empty("VendorName", &[("Value", &model.vendor)]);
        });
        self.element("DeviceFunction", &[], |w| {
            w.empty("Family", &[("MainFamily", "I/O"), ("ProductFamily", &model.product)]);
        });
    }

    fn application(&mut self, model: &Model, inputs: &Image, outputs: &Image) {
        let modules: Vec<&Module> = model.modules.iter().filter(|module| module.slot != 0).collect();
        self.element("DeviceAccessPointList", &[], |w| w.access_point(model, &modules));
        if !modules.is_empty() {
            self.element("ModuleList", &[], |w| modules.iter().for_each(|module| w.module(module, inputs, outputs)));
        }
        let texts = std::mem::take(&mut self.texts);
        self.element("ExternalTextList", &[], |w| {
            w.element("PrimaryLanguage", &[], |w| {
                texts.iter().for_each(|(id, value)| w.empty("Text", &[("TextId", id), ("Value", value)]));
            });
        });
    }

    fn access_point(&mut self, model: &Model, modules: &[&Module]) {
        let last = model.modules.iter().map(|module| module.slot).max().unwrap_or(0);
        let ident = model.module(0).map_or(1, |module| module.ident);
        let (slots, ident) = (format!("0..{last}"), format!("0x{ident:08X}"));
        let interval = model.interval_min.to_string();
        let attributes = [
            ("ID", "DAP"),
            ("PNIO_Version", "V2.4"),
            ("PhysicalSlots", &slots),
            ("ModuleIdentNumber", &ident),
            ("MinDeviceInterval", &interval),
            ("DNS_CompatibleName", "weir-io"),
            ("FixedInSlots", "0"),
            ("ObjectUUID_LocalIndex", "1"),
            ("DeviceAccessSupported", "false"),
            ("MultipleWriteSupported", "true"),
            ("CheckDeviceID_Allowed", "true"),
            ("LLDP_NoD_Supported", "true"),
            ("ResetToFactoryModes", "1 2"),
        ];
        self.element("DeviceAccessPointItem", &attributes, |w| {
            let hardware = model.hardware.to_string();
            let [a, b, c] = model.software;
            let about = [
                ("OrderNumber", &model.order),
                ("HardwareRelease", &hardware),
                ("SoftwareRelease", &format!("V{a}.{b}.{c}")),
            ];
            w.info("DAP", &model.product, Some(&model.vendor), &about);
            w.empty("CertificationInfo", &[("ConformanceClass", "A"), ("ApplicationClass", ""), ("NetloadClass", "I")]);
            let most = |bytes: fn(&Submodule) -> usize| {
                let all = model.modules.iter().flat_map(|module| &module.submodules).map(bytes);
                all.sum::<usize>().to_string()
            };
            let inputs = most(|submodule| submodule.inputs.bytes());
            let outputs = most(|submodule| submodule.outputs.bytes());
            w.empty("IOConfigData", &[("MaxInputLength", &inputs), ("MaxOutputLength", &outputs)]);
            if !modules.is_empty() {
                w.element("UseableModules", &[], |w| {
                    for module in modules {
                        let (target, slot) = (format!("M{}", module.slot), module.slot.to_string());
                        w.empty("ModuleItemRef", &[("ModuleItemTarget", &target), ("FixedInSlots", &slot)]);
                    }
                });
            }
            w.element("VirtualSubmoduleList", &[], |w| {
                let attributes =
                    [("ID", "DAP_S1"), ("SubmoduleIdentNumber", "0x00000001"), ("MayIssueProcessAlarm", "false")];
                w.element("VirtualSubmoduleItem", &attributes, |w| {
                    w.empty("IOData", &[]);
                    w.info("DAP_S1", &model.product, None, &[]);
                });
            });
            w.element("SystemDefinedSubmoduleList", &[], |w| w.interface(model));
        });
    }

    fn interface(&mut self, model: &Model) {
        let text = self.keep("Interface", "Interface");
        let attributes = [
            ("ID", "DAP_IF"),
            ("SubmoduleIdentNumber", "0x00008000"),
            ("SubslotNumber", "32768"),
            ("TextId", &text),
            ("SupportedRT_Classes", "RT_CLASS_1"),
            ("SupportedProtocols", "LLDP"),
            ("NetworkComponentDiagnosisSupported", "false"),
            ("DCP_HelloSupported", "false"),
            ("PTP_BoundarySupported", "false"),
            ("DCP_BoundarySupported", "false"),
        ];
        self.element("InterfaceSubmoduleItem", &attributes, |w| {
            let connections = model.connections.to_string();
            let attributes = [("StartupMode", "Legacy"), ("NumberOfAR", connections.as_str())];
            w.element("ApplicationRelations", &attributes, |w| w.timing(model));
        });
        let text = self.keep("Port", "Port 1");
        let attributes =
            [("ID", "DAP_P1"), ("SubmoduleIdentNumber", "0x00008001"), ("SubslotNumber", "32769"), ("TextId", &text)];
        self.element("PortSubmoduleItem", &attributes, |w| {
            w.element("MAUTypeList", &[], |w| w.empty("MAUTypeItem", &[("Value", "16")]));
        });
    }

    fn timing(&mut self, model: &Model) {
        // A device that is slower than a send clock of 1 ms says so by its MinDeviceInterval.
        let clocks: Vec<String> = [8_u16, 16, 32]
            .into_iter()
            .filter(|clock| *clock == 32 || *clock >= model.interval_min)
            .map(|clock| clock.to_string())
            .collect();
        let ratios: Vec<String> = (0..10).map(|n| (1 << n).to_string()).collect();
        self.empty("TimingProperties", &[("SendClock", &clocks.join(" ")), ("ReductionRatio", &ratios.join(" "))]);
    }

    fn info(&mut self, id: &str, name: &str, vendor: Option<&str>, about: &[(&str, &String)]) {
        let text = self.keep(id, name);
        self.element("ModuleInfo", &[], |w| {
            w.empty("Name", &[("TextId", &text)]);
            w.empty("InfoText", &[("TextId", &text)]);
            if let Some(vendor) = vendor {
                w.empty("VendorName", &[("Value", vendor)]);
            }
            about.iter().for_each(|(name, value)| w.empty(name, &[("Value", value)]));
        });
    }

    fn module(&mut self, module: &Module, inputs: &Image, outputs: &Image) {
        let (id, ident) = (format!("M{}", module.slot), format!("0x{:08X}", module.ident));
        self.element("ModuleItem", &[("ID", &id), ("ModuleIdentNumber", &ident)], |w| {
            w.info(&id, &module.name, None, &[]);
            w.element("VirtualSubmoduleList", &[], |w| {
                module.submodules.iter().for_each(|submodule| w.submodule(&id, submodule, inputs, outputs));
            });
        });
    }

    fn submodule(&mut self, module: &str, submodule: &Submodule, inputs: &Image, outputs: &Image) {
        let id = format!("{module}_S{}", submodule.subslot);
        let (ident, subslot) = (format!("0x{:08X}", submodule.ident), submodule.subslot.to_string());
        let attributes = [
            ("ID", id.as_str()),
            ("SubmoduleIdentNumber", &ident),
            ("FixedInSubslots", &subslot),
            ("MayIssueProcessAlarm", "true"),
        ];
        self.element("VirtualSubmoduleItem", &attributes, |w| {
            w.element("IOData", &[("IOPS_Length", "1"), ("IOCS_Length", "1")], |w| {
                w.data("Input", &format!("{id}_I"), &submodule.inputs, inputs);
                w.data("Output", &format!("{id}_O"), &submodule.outputs, outputs);
            });
            if !submodule.records.is_empty() {
                w.element("RecordDataList", &[], |w| submodule.records.iter().for_each(|record| w.record(&id, record)));
            }
            w.info(&id, &submodule.name, None, &[]);
        });
    }

    /// Data items in their order: neighbouring bits are the bits of bytes.
    fn data(&mut self, element: &str, id: &str, data: &Data, image: &Image) {
        if data.names.is_empty() {
            return;
        }
        self.element(element, &[("Consistency", "All items consistency")], |w| {
            let kinds: Vec<_> = data.names.iter().filter_map(|name| Some((name, image.get(name)?.kind))).collect();
            for run in kinds.chunk_by(|a, b| a.1 == Type::Bool && b.1 == Type::Bool) {
                if run[0].1 == Type::Bool {
                    run.chunks(8).for_each(|bits| w.bits(id, bits));
                } else {
                    let text = w.keep(&format!("{id}_{}", run[0].0), run[0].0);
                    w.empty("DataItem", &[("DataType", type_name(run[0].1)), ("TextId", &text)]);
                }
            }
        });
    }

    fn bits(&mut self, id: &str, bits: &[(&String, Type)]) {
        let text = self.keep(&format!("{id}_bits_{}", bits[0].0), &format!("Bits from {}", bits[0].0));
        let attributes = [("DataType", "Unsigned8"), ("TextId", text.as_str()), ("UseAsBits", "true")];
        self.element("DataItem", &attributes, |w| {
            for (offset, (name, _)) in bits.iter().enumerate() {
                let text = w.keep(&format!("{id}_{name}"), name);
                w.empty("BitDataItem", &[("BitOffset", &offset.to_string()), ("TextId", &text)]);
            }
        });
    }

    fn record(&mut self, id: &str, record: &super::model::Record) {
        let (index, length) = (record.index.to_string(), record.bytes.to_string());
        let text = self.keep(&format!("{id}_R{index}"), &record.name);
        self.element("ParameterRecordDataItem", &[("Index", &index), ("Length", &length)], |w| {
            w.empty("Name", &[("TextId", &text)]);
        });
    }
}

fn type_name(kind: Type) -> &'static str {
    match kind {
        Type::Bool | Type::U8 => "Unsigned8",
        Type::I8 => "Integer8",
        Type::U16 => "Unsigned16",
        Type::I16 => "Integer16",
        Type::U32 => "Unsigned32",
        Type::I32 => "Integer32",
        Type::F32 => "Float32",
    }
}
