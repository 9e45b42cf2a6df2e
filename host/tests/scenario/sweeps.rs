// SPDX-License-Identifier: Apache-2.0
//! A list where a number is expected makes one case for each value.

use weir::scenario::{Case, Pattern};

use crate::common::{TASKS, cases, cases_with, set};

fn loads(cases: &[Case]) -> Vec<String> {
    let written = |case: &Case| {
        let pairs: Vec<String> = case.loads.iter().map(|(key, value)| format!("{key}={value}")).collect();
        pairs.join(" ")
    };
    cases.iter().map(written).collect()
}

#[test]
fn without_a_list_there_is_one_case_without_loads() {
    assert_eq!(loads(&cases(TASKS)), [""]);
}

#[test]
fn the_first_key_of_the_file_varies_slowest() {
    let text = "name = 'x'\n[[traffic]]\nname = 'z'\npattern = 'icmp'\nrate_pps = [0, 1000]\npayload_bytes = [0, 64]\n\
                [device]\nnet_priority = [3, 7]";
    let expected = [
        "device.net_priority=3 z=0 z.payload_bytes=0",
        "device.net_priority=7 z=0 z.payload_bytes=0",
        "device.net_priority=3 z=0 z.payload_bytes=64",
        "device.net_priority=7 z=0 z.payload_bytes=64",
        "device.net_priority=3 z=1000 z.payload_bytes=0",
        "device.net_priority=7 z=1000 z.payload_bytes=0",
        "device.net_priority=3 z=1000 z.payload_bytes=64",
        "device.net_priority=7 z=1000 z.payload_bytes=64",
    ];
    let cases = cases(text);
    assert_eq!(loads(&cases), expected);
    let last = &cases[7].scenario;
    assert_eq!((last.device.net_priority, last.traffic[0].payload_bytes), (7, 64));
    assert!(matches!(last.traffic[0].pattern, Pattern::Icmp { rate_pps: 1000.0 }));
}

#[test]
fn tasks_sweep_under_their_names() {
    let text = TASKS.replace("work_us = 300", "work_us = [300, 400.5]").replace("priority = 6", "priority = [6, 8]");
    let expected = [
        "axis.priority=6 axis.work_us=300",
        "axis.priority=6 axis.work_us=400.5",
        "axis.priority=8 axis.work_us=300",
        "axis.priority=8 axis.work_us=400.5",
    ];
    assert_eq!(loads(&cases(&text)), expected);
}

#[test]
fn a_list_of_one_value_is_a_load_too() {
    assert_eq!(loads(&cases("name = 'x'\n[[traffic]]\npattern = 'arp'\nrate_pps = [5]")), ["arp=5"]);
}

#[test]
fn options_sweep_and_keep_the_rank_of_what_they_replace() {
    let text = "name = 'x'\n[[traffic]]\nname = 'a'\npattern = 'arp'\nrate_pps = 1\n\
                [[traffic]]\nname = 'b'\npattern = 'icmp'\nrate_pps = [2, 3]";
    let options = set(&["device.cpu_mhz=[50,100]", "traffic.a.rate_pps=[0,1]"]);
    let expected = [
        "a=0 b=2 device.cpu_mhz=50",
        "a=0 b=2 device.cpu_mhz=100",
        "a=0 b=3 device.cpu_mhz=50",
        "a=0 b=3 device.cpu_mhz=100",
        "a=1 b=2 device.cpu_mhz=50",
        "a=1 b=2 device.cpu_mhz=100",
        "a=1 b=3 device.cpu_mhz=50",
        "a=1 b=3 device.cpu_mhz=100",
    ];
    assert_eq!(loads(&cases_with(text, &options)), expected);
}

#[test]
fn every_swept_value_is_checked() {
    let text = "name = 'x'\n[device]\nlink_mbps = [10, 20, 100, 7]";
    let lines = crate::common::problems(text);
    assert_eq!(lines.len(), 2, "20 and 7 are no speeds: {lines:?}");
}
