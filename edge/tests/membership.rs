// SPDX-License-Identifier: Apache-2.0
//! Who finds whom again, after what lasts longer than a scenario of the simulator.

use std::time::Duration;

mod virtual_site;
use virtual_site::Site;

#[test]
fn halves_that_forgot_each_other_become_one_site_again() {
    let mut site = Site::new(4);
    site.run(Duration::from_secs(3));
    assert_eq!(site.known(), [3; 4]);
    site.cut = Some(2);
    site.run(Duration::from_secs(300));
    assert_eq!(site.known(), [1; 4]);
    site.cut = None;
    site.run(Duration::from_secs(3));
    assert_eq!(site.known(), [3; 4]);
}

#[test]
fn a_node_that_is_started_anew_at_once_is_there_again() {
    let mut site = Site::new(3);
    site.run(Duration::from_secs(3));
    for start in 1..=20 {
        site.start(2, 2_000_000 + start);
        site.run(Duration::from_millis(500));
        assert_eq!(site.known(), [2; 3], "after start {start}");
    }
}

#[test]
fn a_node_whose_calendar_went_back_is_there_again_at_once() {
    let mut site = Site::new(3);
    site.run(Duration::from_secs(3));
    assert_eq!(site.known(), [2; 3]);
    for start in 1..=20 {
        site.start(2, 1_000_000 - start);
        site.run(Duration::from_secs(1));
        assert_eq!(site.known(), [2; 3], "after start {start}");
    }
}
