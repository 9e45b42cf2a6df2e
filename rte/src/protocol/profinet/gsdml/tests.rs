// SPDX-License-Identifier: Apache-2.0

use std::path::Path;

use roxmltree::{Document, Node};

use super::*;
use crate::configuration::Configuration;

const DEVICE: &str = r#"[device]
name = "press"
interface = "eth0"
[inputs]
warm = "bool"
shut = "bool"
temperature = "i16"
wet = "bool"
[outputs]
speed = "u16"
level = "f32"
[profinet]
station = "press-3"
vendor_id = 0x0493
device_id = 2
vendor = "A & B"
product = "Press <3>"
cycle_min_us = 2000
connections = 2
[[profinet.module]]
slot = 1
ident = 0x32
name = "Gate"
[[profinet.module.submodule]]
ident = 0x132
inputs = ["warm", "shut", "temperature", "wet"]
[[profinet.module]]
slot = 3
ident = 0x33
name = "Drive"
[[profinet.module.submodule]]
subslot = 2
ident = 0x133
outputs = ["speed", "level"]
records = [{ index = 123, name = "gain", bytes = 4 }]
"#;

fn described() -> (Model, Description) {
    let configuration = Configuration::parse(DEVICE, Path::new("press.toml")).unwrap();
    let points = &configuration.points;
    let model = configuration.profinet.unwrap();
    let description = describe(&model, &points.inputs, &points.outputs, (2026, 1, 9));
    (model, description)
}

fn all<'a>(document: &'a Document<'_>, name: &str) -> Vec<Node<'a, 'a>> {
    document.descendants().filter(|node| node.has_tag_name((NAMESPACE, name))).collect()
}

const NAMESPACE: &str = "http://www.profibus.com/GSDML/2003/11/DeviceProfile";

#[test]
fn it_says_what_the_configuration_says() {
    let (model, description) = described();
    assert_eq!(description.file, "GSDML-V2.4-A___B-Press__3_-20260109.xml");
    let document = Document::parse(&description.text).unwrap();
    let access_point = all(&document, "DeviceAccessPointItem")[0];
    assert_eq!(access_point.attribute("MinDeviceInterval"), Some("64"));
    assert_eq!(access_point.attribute("PhysicalSlots"), Some("0..3"));
    assert_eq!(all(&document, "VendorName")[0].attribute("Value"), Some("A & B"));
    assert_eq!(all(&document, "ApplicationRelations")[0].attribute("NumberOfAR"), Some("2"));
    assert_eq!(all(&document, "TimingProperties")[0].attribute("SendClock"), Some("32"));
    let idents: Vec<_> =
        all(&document, "ModuleItem").iter().map(|node| node.attribute("ModuleIdentNumber").unwrap()).collect();
    assert_eq!(idents, ["0x00000032", "0x00000033"]);
    assert_eq!(all(&document, "ParameterRecordDataItem")[0].attribute("Index"), Some("123"));
    assert_eq!(model.modules.len(), 3);
}

#[test]
fn data_items_are_as_long_as_the_data() {
    let (model, description) = described();
    let document = Document::parse(&description.text).unwrap();
    let bytes = |element: Node<'_, '_>| -> usize {
        let items = element.children().filter_map(|item| item.attribute("DataType"));
        items.map(|kind| kind.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<usize>().unwrap() / 8).sum()
    };
    assert_eq!(bytes(all(&document, "Input")[0]), model.submodule(1, 1).unwrap().inputs.bytes());
    assert_eq!(bytes(all(&document, "Output")[0]), model.submodule(3, 2).unwrap().outputs.bytes());
}

#[test]
fn every_text_and_module_that_is_named_is_there_once() {
    let (_, description) = described();
    let document = Document::parse(&description.text).unwrap();
    let texts: Vec<_> = all(&document, "Text").iter().map(|node| node.attribute("TextId").unwrap()).collect();
    let mut once = texts.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), texts.len());
    let named = document.descendants().filter(|node| !node.has_tag_name((NAMESPACE, "Text")));
    for id in named.filter_map(|node| node.attribute("TextId")) {
        assert!(texts.contains(&id), "{id}");
    }
    let modules: Vec<_> = all(&document, "ModuleItem").iter().map(|node| node.attribute("ID").unwrap()).collect();
    for reference in all(&document, "ModuleItemRef") {
        assert!(modules.contains(&reference.attribute("ModuleItemTarget").unwrap()));
    }
}
