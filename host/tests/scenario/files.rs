// SPDX-License-Identifier: Apache-2.0
//! Files that are not there, or are something else.

use std::path::Path;

use weir::scenario::{Overrides, Pattern, Work, load};

use crate::common::{TASKS, folder, refusal, scenario};

#[test]
fn a_missing_scenario_a_folder_and_an_empty_file_are_named() {
    let folder = folder("# nothing\n\n");
    let refusal = |path: &Path| load(path, &Overrides::default()).expect_err("refused").to_string();
    let here = folder.path().display().to_string();
    assert_eq!(
        refusal(&folder.path().join("t.toml")),
        format!("error: there is no such file\n--> {here}/t.toml\n = help: check the name and the folder")
    );
    assert_eq!(
        refusal(folder.path()),
        format!("error: this is a folder, not a scenario\n--> {here}\n = help: name one of its .toml files")
    );
    assert_eq!(
        refusal(&folder.path().join("empty.pcap")),
        format!("error: the scenario is empty\n--> {here}/empty.pcap\n = help: it needs at least `name = \"...\"`")
    );
}

#[test]
fn text_that_is_not_utf_8_is_refused_with_its_line() {
    assert_eq!(
        refusal(b"name = 'x'\n# \xff\n"),
        "error: line 2 is not UTF-8 text\n--> s.toml\n = help: byte 14 of the file; save it as UTF-8"
    );
}

#[test]
fn a_file_too_large_is_refused_unread() {
    let refusal = refusal(vec![b'#'; (1 << 20) + 1]);
    assert!(refusal.contains("this file is too large for a scenario"), "{refusal}");
}

#[test]
fn named_files_are_found_beside_the_scenario() {
    let text = "name = 'x'\n[[task]]\nname = 'axis'\npriority = 1\nperiod_us = 1000\nsource = 'axis.c'\n\
                [[traffic]]\npattern = 'pcap'\nto = 'as-is'\nfile = 'plant.pcap'";
    let scenario = scenario(text);
    let Work::Source { path } = &scenario.tasks[0].work else { panic!("a source") };
    assert!(path.is_absolute() && path.ends_with("axis.c"));
    let Pattern::Pcap { path, .. } = &scenario.traffic[0].pattern else { panic!("a capture") };
    assert!(path.is_absolute() && path.ends_with("plant.pcap"));
}

#[test]
fn named_files_that_cannot_be_used_are_refused() {
    for (file, why) in [
        ("gone.pcap", "there is no such file"),
        ("empty.pcap", "this file is empty"),
        (".", "this is a folder"),
        ("", "this is no path"),
        ("/dev/null", "this is no regular file"),
    ] {
        let refusal = refusal(format!("{TASKS}[[traffic]]\npattern = 'pcap'\nto = 'device'\nfile = '{file}'"));
        assert!(refusal.contains(why), "{file}: {refusal}");
        assert!(refusal.contains("the path is relative to the scenario file, in `.`"), "{refusal}");
    }
}

#[test]
fn the_name_of_a_task_with_a_source_is_part_of_a_c_function() {
    for name in ["x-axis", "1axis"] {
        let text = format!("name = 'x'\n[[task]]\nname = '{name}'\npriority = 1\nperiod_us = 1000\nsource = 'axis.c'");
        let refusal = refusal(text);
        assert!(refusal.contains(&format!("`{name}_job` cannot be a C function")), "{refusal}");
    }
}
