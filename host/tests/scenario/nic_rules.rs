// SPDX-License-Identifier: Apache-2.0
//! The rules of the multiqueue NIC's parameters: what is computed, what is warned of, what is suggested.

use std::process::{Command, Output};

use proptest::prelude::*;
use weir::scenario::moderation::{self, Demand, Figures, Wait};
use weir::scenario::{NicQueue, Overrides, Scenario};

use crate::common::{cases, check_with, folder, problems, scenario};

/// A task above all, a flow with a deadline, one without.
const TASKS: [&str; 3] = [
    "[[task]]\nname = 'axis'\npriority = 9\nperiod_us = 1000\nwork_us = 200\n",
    "[[task]]\nname = 'command'\npriority = 5\nlisten = 'udp/5005'\ndeadline_us = 10_000\nwork_us = 50\n",
    "[[task]]\nname = 'log'\npriority = 3\nlisten = 'udp/5006'\n",
];
const TRAFFIC: &str = "[[traffic]]\nname = 'commands'\npattern = 'uniform'\nto = 'udp/5005'\nrate_pps = 1000\n\
                       [[traffic]]\nname = 'records'\npattern = 'uniform'\nto = 'udp/5006'\nrate_pps = 2000\n\
                       payload_bytes = 100\n";

/// The scenario with these settings of both flows.
fn text(variant: &str, command: &str, log: &str) -> String {
    let [axis, commands, logs] = TASKS;
    format!(
        "name = 'x'\nvariants = ['{variant}']\n{axis}{commands}[task.flow]\n{command}\n{logs}[task.flow]\n{log}\n{TRAFFIC}"
    )
}

fn figures_of(scenario: &Scenario) -> Figures {
    moderation::figures(&Demand::of(scenario), &moderation::settings(scenario))
}

/// Message, numbers and help of each warning.
fn warnings(text: &str) -> Vec<(String, String, String)> {
    let checked = check_with(text, &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}"));
    let problems = checked.warnings.problems().iter();
    let of = |text: &str| text.to_owned();
    problems.map(|one| (of(one.message()), of(one.label()), of(one.help_text().unwrap_or("")))).collect()
}

fn weir(arguments: &[&str], text: &str) -> Output {
    let folder = folder(text);
    Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["check", "s.toml"])
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .expect("the command")
}

#[test]
fn the_symbols_are_what_the_papers_say() {
    let figures = figures_of(&scenario(&text("codesign", "", "frames = 16")));
    let [command, log] = &figures.flows[..] else { panic!("two flows") };
    // 74 bytes, rounded up to 80, and 48 of headroom: 4096 / 128. A threshold of 16 is less than 4096 / 192.
    assert_eq!((command.frames, log.frames), ((32, 32), (16, 16)));
    assert_eq!((command.rate_pps, command.distance_us), (Some(1000.0), Some(1000.0)));
    // The socket takes no more than 16 before the task has fetched any.
    assert_eq!((command.fill_us, log.fill_us), (Some(16_000.0), Some(8000.0)));
    assert_eq!((command.deadline_us, log.deadline_us), (Some(10_000.0), None));
    assert_eq!((command.wait, log.wait), (Wait::No, Wait::Endless));
    assert!((figures.wcpd_us - 62.0 * 48.0).abs() < 1e-9, "{}", figures.wcpd_us);
    // 10 periods of the axis, 32 messages of 50 and 39 us. The log gives way.
    assert!((command.jobs_us.unwrap() - (2000.0 + 32.0 * 89.0)).abs() < 1e-9);
    assert!((command.bound_us(figures.wcpd_us).unwrap() - (10_000.0 - 2976.0 - 4848.0)).abs() < 1e-9);
    // 8 periods of the axis; both flows' messages.
    assert!((log.jobs_us.unwrap() - (1600.0 + 32.0 * 89.0 + 16.0 * 39.0)).abs() < 1e-9);
}

#[test]
fn protocol_work_depends_on_clock_and_path_and_can_be_given() {
    let wcpd_us = |text: &str| figures_of(&scenario(text)).wcpd_us / 53.0;
    let codesign = text("codesign", "", "");
    assert!((wcpd_us(&codesign) - 62.0).abs() < 1e-9);
    assert!((wcpd_us(&format!("{codesign}[device]\ncpu_mhz = 50")) - 124.0).abs() < 1e-9);
    assert!((wcpd_us(&text("nic", "", "")) - 95.0).abs() < 1e-9);
    assert!((wcpd_us(&format!("{codesign}[nic]\nnetstack_us = 12.5")) - 12.5).abs() < 1e-9);
    let refused = problems(&format!("{codesign}[nic]\nnetstack_us = 0"));
    assert_eq!(refused[0].1, "`netstack_us` is out of range");
}

#[test]
fn queues_that_nobody_listens_at_count_when_frames_come() {
    let base = text("codesign", "", "");
    let frames = |more: &str| figures_of(&scenario(&format!("{base}{more}"))).burst_frames;
    assert_eq!(frames(""), 53);
    assert_eq!(frames("[[traffic]]\npattern = 'arp'\nrate_pps = 1"), 53 + 36);
    assert_eq!(frames("[[traffic]]\npattern = 'poisson'\nto = 'udp/9'\nrate_pps = 9000"), 53);
    assert_eq!(frames("[[traffic]]\npattern = 'uniform'\nto = 'multicast/5005'\nrate_pps = 9000"), 53);
}

#[test]
fn senders_add_up() {
    let base = text("codesign", "", "");
    let rate = |more: &str| figures_of(&scenario(&format!("{base}[[traffic]]\n{more}"))).flows[1].rate_pps;
    assert_eq!(rate("pattern = 'poisson'\nto = 'udp/5006'\nrate_pps = 500"), Some(2500.0));
    assert_eq!(rate("pattern = 'uniform'\nto = 'broadcast/5006'\nrate_pps = 500"), Some(2500.0));
    assert_eq!(rate("pattern = 'uniform'\nto = 'fragments/5006'\nrate_pps = 500"), Some(2000.0));
    assert_eq!(rate("pattern = 'burst'\nto = 'udp/5006'\nrate_pps = 3000"), Some(5000.0));
    assert_eq!(rate("pattern = 'pcap'\nto = 'device'\nfile = 'plant.pcap'"), None);
    // The NIC keeps other senders out.
    let only = text("codesign", "", "from = '10.0.0.77'");
    assert_eq!(figures_of(&scenario(&only)).flows[1].rate_pps, Some(0.0));
}

#[test]
fn a_capture_leaves_only_the_deadline_to_judge() {
    let text = format!(
        "{}[[traffic]]\nname = 'plant'\npattern = 'pcap'\nto = 'device'\nfile = 'plant.pcap'",
        text("codesign", "absolute_timer_us = 400", "absolute_timer_us = 900_000")
    );
    let why = "t_qf of `log` cannot be evaluated: `plant` is a capture: the scenario does not say what it sends there, and when";
    assert!(Demand::of(&scenario(&text)).notes.contains(why));
    let found: Vec<String> =
        warnings(&text).into_iter().map(|(message, numbers, _)| message + ": " + &numbers).collect();
    let expected = "`command`: t_abs <= min(t_d, t_qf) - WCPD - t_J does not hold: 400 us; 10000 - 4464 - 5204 us";
    assert_eq!(found, [expected]);
}

#[test]
fn each_rule_is_named_with_its_numbers_and_what_would_be_right() {
    let said = |command: &str, log: &str| warnings(&text("codesign", command, log));
    let one =
        |message: &str, numbers: &str, help: &str| vec![(message.to_owned(), numbers.to_owned(), help.to_owned())];
    let absolute = "`command`: t_abs <= min(t_d, t_qf) - WCPD - t_J does not hold";
    assert_eq!(said("", ""), []);
    assert_eq!(
        said("frames = 8\nabsolute_timer_us = 4600", "frames = 8"),
        one(
            "`log`: t_abs <= min(t_d, t_qf) - WCPD - t_J does not hold",
            "no absolute timer; 4000 - 992 - 1824 us",
            "`absolute_timer_us` of at most 1184"
        )
    );
    let log = "frames = 16\nabsolute_timer_us = 3000";
    assert_eq!(said("frames = 8\nabsolute_timer_us = 3000\npacket_timer_us = 3000", log), []);
    assert_eq!(said("frames = 8\nabsolute_timer_us = 4200", log), []);
    assert_eq!(
        said("frames = 8\nabsolute_timer_us = 4300", log),
        one(absolute, "4300 us; min(10000, 8000) - 1488 - 2312 us", "`absolute_timer_us` of at most 4200")
    );
    assert_eq!(
        said("frames = 8\npacket_timer_us = 500\nabsolute_timer_us = 3000", log),
        one(
            "`command`: t_P <= t_pack does not hold",
            "1000 us between packets, 500 us",
            "at least 1000 us: nothing else comes in less, and what comes waits for nothing; or no timers: at once"
        )
    );
    assert_eq!(
        said("frames = 8\npacket_timer_us = 3100\nabsolute_timer_us = 3000", log),
        one("`command`: t_pack <= t_abs does not hold", "3100 us, 3000 us", "at most `absolute_timer_us`, 3000 us")
    );
}

#[test]
fn a_queue_that_announces_at_once_suffers_from_others_bursts() {
    let text = text("codesign", "", "absolute_timer_us = 1000").replace("10_000", "5000");
    let (message, numbers, help) = warnings(&text).remove(0);
    assert_eq!(message, "`command`: t_abs <= min(t_d, t_qf) - WCPD - t_J does not hold");
    assert_eq!(numbers, "at once, 0 us; min(5000, 16000) - 3286 - 3848 us");
    assert!(help.starts_with("no timer would be right: the deadline lacks 2134 us even at once"), "{help}");
}

#[test]
fn only_those_who_have_queues_are_warned() {
    let late = "absolute_timer_us = 50_000";
    assert_eq!(warnings(&text("stock", "", "")), []);
    assert!(!warnings(&text("stock", late, "")).is_empty(), "somebody thought of a queue");
    let table = |text: &str| String::from_utf8(weir(&[], text).stdout).expect("text").contains("WCPD = ");
    assert!(!table(&text("stock", "", "")));
    assert!(table(&text("stock", late, "")) && table(&text("nic", "", "")));
}

#[test]
fn what_is_suggested_can_be_pasted() {
    let output = weir(&["--suggest"], &text("codesign", "", ""));
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8(output.stdout).expect("text");
    assert_eq!(
        said,
        "\
# From `weir check --suggest`; rules and symbols: docs/reference/nic-parameters.md
# WCPD = 62 us of protocol work * 26 frames = 1612 us

# below the task \"command\"
[task.flow]
packet_timer_us = 5498    # t_pack <= t_abs
absolute_timer_us = 5498  # t_abs <= min(t_d, t_qf) - WCPD - t_J: t_d 10000 - 1612 - 2890 us
frames = 10               # n_q = 10, full after t_qf = 10000 us; more adds to every flow's WCPD
queue_bytes = 1616        # room for as many and more

# below the task \"log\"
[task.flow]
packet_timer_us = 3274    # t_pack <= t_abs
absolute_timer_us = 3274  # t_abs <= min(t_d, t_qf) - WCPD - t_J: t_qf 8000 - 1612 - 3114 us
queue_bytes = 3072        # n_q = 16, full after t_qf = 8000 us; more adds to every flow's WCPD
"
    );
    let mut parts = said.split("[task.flow]\n").skip(1);
    let pasted = text("codesign", parts.next().expect("one"), parts.next().expect("two"));
    assert_eq!(warnings(&pasted), []);
    let output = weir(&["--suggest"], &pasted);
    assert!(String::from_utf8(output.stdout).expect("text").contains("# nothing is open"));
}

#[test]
fn where_nothing_can_be_held_back_it_says_so() {
    let text = text("codesign", "", "").replace("10_000", "900").replace("rate_pps = 2000", "rate_pps = 30_000");
    let output = weir(&["--suggest"], &text);
    let said = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(0));
    assert!(said.contains("# Nothing can be held back: with any timer, some rule would not hold."), "{said}");
    assert!(said.contains("absolute_timer_us = 0  # at once: t_P, 1000 us, is more than t_abs may be"), "{said}");
}

#[test]
fn what_cannot_be_kept_is_an_exit_status() {
    let output = weir(&["--suggest"], &text("codesign", "absolute_timer_us = 9000", ""));
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b""[..]));
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(
        said.contains("error: `command`: t_abs <= min(t_d, t_qf) - WCPD - t_J cannot hold: it fails by "),
        "{said}"
    );
    assert!(said.contains("leave open what is given for it: absolute_timer_us"), "{said}");
    assert_eq!(weir(&["--suggest"], "name = 'x'").status.code(), Some(2));
}

#[test]
fn one_suggestion_is_for_all_cases() {
    let swept = text("codesign", "", "").replace("rate_pps = 2000", "rate_pps = [0, 500, 4000]");
    let cases = cases(&swept);
    let proposal = moderation::propose(cases.iter().map(|case| &case.scenario)).expect("flows");
    assert_eq!((proposal.demands.len(), proposal.violations.len()), (3, 0));
    for case in &cases {
        let demand = Demand::of(&case.scenario);
        let figures = moderation::figures(&demand, &proposal.queues);
        assert!(figures.moderates && moderation::violations(&demand, &figures).is_empty());
    }
}

/// A flow of the property below.
#[derive(Debug, Clone)]
struct Flow {
    priority: u32,
    deadline_us: Option<u32>,
    work_us: u32,
    traffic: Vec<(usize, u32, u32)>,
    given: Vec<(usize, u32)>,
}

const PATTERNS: [&str; 4] = ["uniform", "poisson", "burst", "pyramid"];
const GIVEN: [(&str, u32, u32); 4] =
    [("packet_timer_us", 0, 20_000), ("absolute_timer_us", 0, 50_000), ("frames", 0, 64), ("queue_bytes", 101, 155)];

fn flows(given: usize) -> impl Strategy<Value = Vec<Flow>> {
    let traffic = (0..PATTERNS.len(), 1..4000u32, 0..1400u32);
    let setting = (0..GIVEN.len(), 0..10_000u32);
    let flow = (
        1..8u32,
        proptest::option::of(300..60_000u32),
        0..200u32,
        proptest::collection::vec(traffic, 0..3),
        proptest::collection::vec(setting, 0..=given),
    );
    let flow = flow.prop_map(|(priority, deadline_us, work_us, traffic, given)| Flow {
        priority,
        deadline_us,
        work_us,
        traffic,
        given,
    });
    proptest::collection::vec(flow, 1..4)
}

/// The scenario with, for each flow, what is given or what is pasted.
fn written(flows: &[Flow], variant: &str, pasted: Option<&[NicQueue]>) -> String {
    let mut text = format!("name = 'x'\nvariants = ['{variant}']\n[device]\nlink_mbps = 1000\n{}", TASKS[0]);
    for (index, flow) in flows.iter().enumerate() {
        let Flow { priority, deadline_us, work_us, .. } = flow;
        let port = 5000 + index;
        text += &format!("[[task]]\nname = 'f{index}'\npriority = {priority}\nlisten = 'udp/{port}'\n");
        text += &format!("work_us = {work_us}\n");
        text += &deadline_us.map_or(String::new(), |us| format!("deadline_us = {us}\n"));
        text += "[task.flow]\n";
        if let Some(queues) = pasted {
            let NicQueue { packet_timer_us, absolute_timer_us, frames, bytes } = queues[index];
            text += &format!("packet_timer_us = {packet_timer_us}\nabsolute_timer_us = {absolute_timer_us}\n");
            text += &format!("frames = {frames}\nqueue_bytes = {bytes}\n");
            continue;
        }
        for (which, (key, least, most)) in GIVEN.iter().enumerate() {
            let value = flow.given.iter().find(|(given, _)| *given == which).map(|(_, value)| value);
            let value = value.map(|value| least + value % (most - least));
            let scale = if *key == "queue_bytes" { 16 } else { 1 };
            text += &value.map_or(String::new(), |value| format!("{key} = {}\n", (value * scale).clamp(0, 1_000_000)));
        }
    }
    for (index, flow) in flows.iter().enumerate() {
        for (pattern, rate_pps, payload_bytes) in &flow.traffic {
            text += &format!("[[traffic]]\npattern = '{}'\nto = 'udp/{}'\n", PATTERNS[*pattern], 5000 + index);
            text += &format!("rate_pps = {rate_pps}\npayload_bytes = {payload_bytes}\n");
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn with_everything_open_there_is_always_an_answer_that_passes_the_check(flows in flows(0), nic in any::<bool>()) {
        let variant = if nic { "nic" } else { "codesign" };
        let open = scenario(&written(&flows, variant, None));
        let proposal = moderation::propose([&open]).expect("flows");
        prop_assert!(proposal.violations.is_empty(), "{:?}", proposal.violations);
        let pasted = written(&flows, variant, Some(&proposal.queues));
        let found = warnings(&pasted);
        prop_assert!(found.iter().all(|(message, ..)| !message.contains("t_")), "{pasted}\n{found:?}");
    }

    #[test]
    fn what_is_given_stays_and_what_is_found_passes_the_check_or_is_refused(flows in flows(3)) {
        let open = scenario(&written(&flows, "codesign", None));
        let proposal = moderation::propose([&open]).expect("flows");
        let given = moderation::settings(&open);
        for ((queue, given), open) in proposal.queues.iter().zip(&given).zip(&proposal.open) {
            prop_assert!(open.packet || queue.packet_timer_us == given.packet_timer_us);
            prop_assert!(open.absolute || queue.absolute_timer_us == given.absolute_timer_us);
            prop_assert!(open.size || (queue.frames, queue.bytes) == (given.frames, given.bytes));
        }
        let pasted = written(&flows, "codesign", Some(&proposal.queues));
        let found = warnings(&pasted).iter().filter(|(message, ..)| message.contains("t_")).count();
        prop_assert_eq!(found, proposal.violations.len(), "{}", pasted);
    }
}
