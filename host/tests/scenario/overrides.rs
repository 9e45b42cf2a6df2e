// SPDX-License-Identifier: Apache-2.0
//! What the command line changes, and how its mistakes are shown.

use weir::scenario::{Overrides, Pattern, TaskKind};

use crate::common::{TASKS, cases_with, check_with, refusal_with, set};

#[test]
fn set_changes_keys_everywhere() {
    let text = format!("{TASKS}[[traffic]]\npattern = 'arp'\nrate_pps = 1");
    let options = set(&[
        "duration_ms=50",
        "device.net_priority = 5",
        "device.cpu=full",
        "nic.queues=8",
        "task.axis.priority=9",
        "task.command.flow.from=\"10.0.0.5\"",
        "traffic.arp.rate_pps=7",
        "name=two words",
    ]);
    let refusal = refusal_with(&text, &options);
    assert!(refusal.contains("--set name=two words"), "words need quotes: {refusal}");
    let options = Overrides { set: options.set[..7].to_vec(), ..options };
    let scenario = cases_with(&text, &options).remove(0).scenario;
    assert_eq!((scenario.duration_ms, scenario.device.net_priority), (50, 5));
    assert_eq!(scenario.device.cpu, weir::scenario::Cpu::Full);
    assert_eq!(scenario.tasks[0].priority, 9);
    assert!(matches!(&scenario.tasks[2].kind, TaskKind::Receiving { flow, .. } if flow.from.is_some()));
    assert!(matches!(scenario.traffic[0].pattern, Pattern::Arp { rate_pps: 7.0 }));
}

#[test]
fn seed_variant_and_platform() {
    let options = Overrides {
        seed: Some(u64::MAX),
        variants: vec!["stock".to_owned()],
        platform: Some("soc".to_owned()),
        set: Vec::new(),
    };
    let text = "name = 'x'\nvariants = ['stock', 'codesign']";
    let scenario = cases_with(text, &options).remove(0).scenario;
    assert_eq!((scenario.seed, scenario.variants.len()), (u64::MAX, 1));
}

#[test]
fn the_last_of_two_options_holds() {
    assert_eq!(cases_with(TASKS, &set(&["seed=2", "seed=3"]))[0].scenario.seed, 3);
}

#[test]
fn an_option_mends_the_file() {
    assert!(check_with("name = 'x'\nseed = -1", &set(&["seed=1"])).is_ok());
}

#[test]
fn a_wrong_value_is_shown_in_its_option() {
    assert_eq!(
        refusal_with(TASKS, &set(&["device.cpu_mhz=5"])),
        "\
error: `cpu_mhz` is out of range
--> command line:1:22
 |
 | --set device.cpu_mhz=5
 |                      ^ must be 10 to 1000"
    );
}

#[test]
fn an_unknown_key_task_or_traffic_is_shown_with_what_was_meant() {
    assert_eq!(
        refusal_with(TASKS, &set(&["task.axsi.priority=5", "device.cpu_mhzz=5"])),
        "\
error: there is no task `axsi`
--> command line:1:12
 |
 | --set task.axsi.priority=5
 |            ^^^^ not in the scenario
 |
 = help: did you mean `axis`?

error: unknown key `cpu_mhzz`
--> command line:1:14
 |
 | --set device.cpu_mhzz=5
 |              ^^^^^^^^ not a key of [device]
 |
 = help: did you mean `cpu_mhz`?"
    );
    let refusal = refusal_with(TASKS, &set(&["traffic.flood.rate_pps=5"]));
    assert!(refusal.contains("there are no traffic names"), "{refusal}");
}

#[test]
fn options_that_say_nothing_are_refused() {
    for option in
        ["", "=", "seed", "seed=", "=5", "device=5", "task.axis=5", "a.b.c.d=1", "task.axis.flow=1", "seed=[1", "."]
    {
        let refusal = refusal_with(TASKS, &set(&[option]));
        assert!(refusal.contains(&format!("--set {option}")), "{option}: {refusal}");
    }
}

#[test]
fn unknown_variants_and_platforms_are_refused_by_name() {
    let options = Overrides {
        variants: vec!["stok".to_owned(), "codesine".to_owned()],
        platform: Some("fpga".to_owned()),
        ..Overrides::default()
    };
    assert_eq!(
        refusal_with(TASKS, &options),
        "\
error: unknown variant `stok`
--> command line:1:11
 |
 | --variant stok
 |           ^^^^ cannot run
 |
 = help: did you mean `stock`?

error: unknown variant `codesine`
--> command line:1:11
 |
 | --variant codesine
 |           ^^^^^^^^ cannot run
 |
 = help: did you mean `codesign`?

error: unknown platform `fpga`
--> command line:1:12
 |
 | --platform fpga
 |            ^^^^ not known
 |
 = help: platforms: soc, model"
    );
}
