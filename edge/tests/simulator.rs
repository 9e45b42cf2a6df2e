// SPDX-License-Identifier: Apache-2.0
//! What the simulator shows of the scheduler: the papers' scenarios, troubles, and that a seed is a run.

use std::path::Path;

use weir_edge::sim::results::{Results, quantile};
use weir_edge::sim::scenario::{Row, parse, read};
use weir_edge::sim::{faults, world};

fn rows(file: &str) -> Vec<Row> {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(file)).expect("it is shipped")
}

/// One seed of the row with these values of what varies.
fn run(file: &str, varied: &[&str]) -> Results {
    run_seed(file, varied, 1)
}

fn run_seed(file: &str, varied: &[&str], seed: u64) -> Results {
    let rows = rows(file);
    let row = rows.iter().find(|row| row.varied.iter().map(|(_, value)| value.as_str()).eq(varied.iter().copied()));
    let results = world::run(&row.expect("a row of the file").scenario, seed);
    assert_eq!(results.wrong, Vec::<String>::new());
    results
}

#[test]
fn all_shipped_scenarios_can_be_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut count = 0;
    for folder in [folder.join("thesis-8"), folder.join("confirm"), folder] {
        for entry in
            folder.read_dir().expect("a folder").flatten().filter(|e| e.path().extension().is_some_and(|e| e == "toml"))
        {
            assert!(!read(&entry.path()).expect("a scenario").is_empty());
            count += 1;
        }
    }
    assert!(count >= 12);
}

#[test]
fn an_accepted_task_is_in_time_and_as_many_are_accepted_as_the_link_allows() {
    // Of ten devices 0.885 could be done by an oracle, of fifty 0.747 (docs/experiments/thesis-8.md).
    for (scheduler, clients, success) in
        [("U 1", "10", 0.85), ("nodes, U 1", "10", 0.84), ("U 1", "50", 0.66), ("nodes, U 1", "50", 0.65)]
    {
        let results = run("thesis-8/clients.toml", &[scheduler, clients]);
        assert!(results.tasks.kept() >= 0.99, "{scheduler} {clients}: {}", results.tasks.kept());
        assert!(results.tasks.success() >= success, "{scheduler} {clients}: {}", results.tasks.success());
    }
}

#[test]
fn the_reference_collapses_under_overload() {
    let results = run("thesis-8/clients.toml", &["reference", "50"]);
    assert!(results.tasks.success() < 0.1, "{}", results.tasks.success());
}

#[test]
fn little_slack_suffices() {
    for (slack, success) in [("60", 0.40), ("120", 0.88), ("180", 0.95)] {
        let results = run("thesis-8/laxity.toml", &["U 1", slack]);
        assert!(
            results.tasks.kept() >= 0.99 && results.tasks.success() >= success,
            "{slack}: {}",
            results.tasks.success()
        );
    }
}

#[test]
fn a_delay_that_varies_costs_acceptance_and_no_deadlines() {
    let steady = run("thesis-8/variance.toml", &["1", "0"]);
    let varying = run("thesis-8/variance.toml", &["1", "30"]);
    assert!(varying.tasks.kept() >= 0.99, "{}", varying.tasks.kept());
    assert!(varying.tasks.success() < steady.tasks.success() - 0.1);
}

#[test]
fn a_lost_node_costs_no_more_than_what_it_ran() {
    for what in ["a node crashes", "falls silent"] {
        // How many are accepted varies by some hundredths from seed to seed.
        let mut sum = Results::default();
        for seed in 1..=5 {
            let results = run_seed("thesis-8/node-lost.toml", &[what, "3", "200"], seed);
            assert_eq!((results.tasks.late, results.tasks.lost), (0, 0), "{what}");
            assert!(results.tasks.given_back <= 4, "{what}: {}", results.tasks.given_back);
            assert!(results.noticed_ms.iter().all(|ms| *ms < 1000.0), "{what}: {:?}", results.noticed_ms);
            sum.add(results);
        }
        assert!(sum.tasks.success() >= 0.91, "{what}: {}", sum.tasks.success());
    }
    let taken_over = |seed| run_seed("thesis-8/node-lost.toml", &["a node crashes", "3", "1000"], seed).taken_over;
    assert!((1..=5).any(|seed| taken_over(seed) > 0), "with slack enough, another node runs it");
}

#[test]
fn a_node_that_is_wrongly_taken_for_dead_loses_nothing() {
    for trouble in ["5 % among nodes is lost", "a node is cut off, 5 s"] {
        for seed in 1..=5 {
            let results = run_seed("troubles.toml", &["2000", trouble], seed);
            assert_eq!((results.tasks.lost, results.tasks.given_back), (0, 0), "{trouble}, seed {seed}");
        }
    }
}

#[test]
fn a_link_that_loses_datagrams_loses_no_task() {
    for seed in 1..=5 {
        assert_eq!(run_seed("troubles.toml", &["2000", "5 % of the link is lost"], seed).tasks.lost, 0, "seed {seed}");
    }
}

#[test]
fn agreement_costs_little_and_does_not_grow() {
    let few = run("thesis-8/nodes-number.toml", &["28"]);
    assert!(quantile(&few.placing_us, 0.99) < 2000.0);
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/large.toml")).expect("shipped");
    let small: Vec<Results> = ["nodes = 100", "nodes = 200"]
        .map(|nodes| {
            let text = text.replace("nodes = 100\nclients = 1000", &format!("{nodes}\nclients = 100"));
            let text =
                text.split("[[vary]]").next().expect("the part before").replace("warm_up_s = 20", "warm_up_s = 6");
            world::run(&parse(&text).expect("as large.toml")[0].scenario, 1)
        })
        .into();
    for results in &small {
        assert_eq!(results.wrong, Vec::<String>::new());
        assert!(results.noticed_ms.iter().chain(&results.back_ms).all(|ms| *ms < 1000.0));
        assert_eq!((results.noticed_ms.len(), results.back_ms.len()), (1, 1));
    }
    assert!(small[1].wire_messages < 1.15 * small[0].wire_messages);
}

#[test]
fn troubles_lose_no_task_and_run_none_twice() {
    let mut sum = Results::default();
    for seed in 1..=400 {
        let results = world::run(&faults::scenario(seed), seed);
        assert_eq!(results.wrong, Vec::<String>::new(), "weir-edge sim --random 1 --from {seed}");
        sum.add(results);
    }
    // They were troubles.
    assert!(
        sum.tasks.given_back > 0
            && sum.tasks.lost > 0
            && sum.tasks.overrun > 0
            && sum.taken_over > 0
            && sum.retried > 0
    );
}

#[test]
fn a_seed_is_a_run() {
    let scenario = faults::scenario(7);
    let text = |seed| format!("{:?}", world::run(&scenario, seed));
    assert_eq!(text(7), text(7));
    assert_ne!(text(7), text(8));
}

#[test]
fn mistakes_in_a_scenario_are_told() {
    let good = "name = 'x'\nnodes = 1\nclients = 1\nseconds = 1\nseeds = 1\n\
                [task]\nwcet_ms = 1\nslack_ms = 1\nrate_per_s = 1\n[link]\ndelay_ms = 1\n";
    assert!(parse(good).is_ok());
    for (bad, told) in [
        (good.replace("nodes = 1", "nodes = 0"), "nodes = 0: must be from 1 to 10000"),
        (good.replace("delay_ms = 1", "delay_ms = 1\njitter_ms = 2"), "link.delay_ms = 1: must be from 2"),
        (good.replace("clients = 1", "client = 1"), "unknown field `client`"),
        (format!("{good}[[fault]]\nat_s = 1\nnode = 1\nwhat = 'crash'\n"), "fault: node = 1: there are 1, from 0"),
        (format!("{good}[[vary]]\nvalues = [1]\n"), "vary: either `key`, or `name`"),
        (format!("{good}[[vary]]\nkey = 'name.x'\nvalues = [1]\n"), "vary: name.x: name is not a table"),
        (format!("{good}[[vary]]\nname = 'n'\nvalues = [{{ nodes = 1 }}]\n"), "vary: n: each value needs a label"),
    ] {
        let error = parse(&bad).expect_err(told);
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn a_run_lasts_until_the_last_deadline() {
    let text = "name = \"long\"\nnodes = 2\nclients = 2\nseconds = 1\nseeds = 1\nlink = { delay_ms = 1.0 }\n\
                task = { wcet_ms = 10.0, slack_ms = 300000.0, rate_per_s = 5.0 }\n";
    let results = world::run(&parse(text).unwrap()[0].scenario, 1);
    assert_eq!((results.wrong, results.tasks.in_time), (Vec::<String>::new(), results.tasks.submitted));
}
