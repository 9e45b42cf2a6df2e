// SPDX-License-Identifier: Apache-2.0
//! Wrong settings are refused in words that say what would be right.

use weir::nic::Settings;

#[track_caller]
fn refused(text: &str, words: &str) {
    let said = Settings::parse(text).expect_err("accepted");
    assert!(said.contains(words), "`{words}` is not in: {said}");
}

#[test]
fn the_smallest_settings_are_one_queue_for_everything() {
    let settings = Settings::parse("[[queue]]\nname = 'all'\n").unwrap();
    assert_eq!((settings.clock_mhz, settings.queues.len(), settings.queues[0].capacity), (100, 1, 128));
}

#[test]
fn times_are_in_cycles_of_the_clock() {
    let settings = Settings::parse("clock_mhz = 50\n[[queue]]\nname = 'a'\npacket_timer_us = 3\n").unwrap();
    assert_eq!(settings.queues[0].packet_cycles, 150);
}

#[test]
fn what_cannot_be_is_refused() {
    refused("clock_mhz = 0\n[[queue]]\nname = 'a'", "must be 1 to 1000");
    refused("", "0 queues; a NIC has 1 to 64: add `[[queue]]`");
    refused(&"[[queue]]\nname = 'a'\n".repeat(65), "65 queues");
    refused("[[queue]]\nname = 'a'\n[[queue]]\nname = 'a'", "two queues are called `a`");
    refused("[[queue]]\nname = ''", "must not be empty");
    refused("[[queue]]\nname = 'a,b'", "no comma");
    refused("[[queue]]\nname = 'a'\npacket_timer_us = 10000001", "it must be 0 to 10000000");
    refused("[[queue]]\nname = 'a'\ncapacity = 0", "it must be at least 1");
    refused("[[queue]]\nname = 'a'\ncapacity = 4\nframes = 5", "at least `frames`, 5");
    refused("[[queue]]\nname = 'a'\nabsolute_mode = 'periodic'", "needs `absolute_timer_us`");
    refused("[[queue]]\nname = 'a'\nport = '502'", "write \"udp/PORT\" or \"tcp/PORT\"");
    refused("[[queue]]\nname = 'a'\nport = 'sctp/1'", "write \"udp/PORT\"");
    refused("[[queue]]\nname = 'a'\nport = 'udp/70000'", "write \"udp/PORT\"");
    refused("[[queue]]\nname = 'a'\nfrom = '1.2.3'", "line 3");
    refused("[[queue]]\nname = 'a'\npacket_timer = 1", "unknown field `packet_timer`");
}
