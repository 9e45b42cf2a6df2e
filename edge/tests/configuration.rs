// SPDX-License-Identifier: Apache-2.0
//! Configuration files: each mistake has its one line; the examples start.

use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

mod common;
use common::{Machine, Site, WEIR_EDGE, eventually, text};

const GOOD: &str = "address = \"127.0.0.1:0\"\nkey_file = \"site.key\"\n";

/// What a machine says of a file, and ends.
fn said(site: &Site, role: &str, file: &str) -> String {
    let path = site.path("it.toml");
    std::fs::write(&path, file).unwrap();
    let output = Command::new(WEIR_EDGE).arg(role).arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{file}");
    let stderr = text(&output.stderr);
    // Warnings of the log may come before.
    stderr.lines().last().unwrap().replace(&format!("{}/", site.folder.path().display()), "")
}

#[test]
fn each_mistake_has_its_line() {
    let site = Site::new();
    std::fs::write(site.path("short.key"), "0123\n").unwrap();
    std::fs::write(site.path("plain"), "").unwrap();
    std::fs::write(site.path("script"), "#!/no/such -e\n").unwrap();
    std::fs::set_permissions(site.path("script"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let cases = [
        (
            "address = \"127.0.0.1\"\nkey_file = \"site.key\"\n",
            "it.toml:1: \"127.0.0.1\" is no address: an IP address and a port, as \"192.168.1.10:7400\"",
        ),
        (
            "address = \"0.0.0.0:7400\"\nkey_file = \"site.key\"\n",
            "it.toml:1: address = \"0.0.0.0:7400\" is told to the others: it has to name this machine",
        ),
        ("key_file = \"site.key\"\n", "it.toml: missing field `address`"),
        (
            "address = \"127.0.0.1:0\"\nkey_file = \"no.key\"\n",
            "it.toml:2: no.key: No such file or directory (os error 2)",
        ),
        (
            "address = \"127.0.0.1:0\"\nkey_file = \"short.key\"\n",
            "it.toml:2: short.key: a site key is 64 hexadecimal digits; this has 4 characters; `weir-edge key` makes one",
        ),
        (
            &format!("{GOOD}\nworker = 1\n"),
            "it.toml:4: unknown field `worker`, expected one of `address`, `for_clients`, `metrics`, `seeds`, `key_file`, `workers`, `cpus`, `strategy`, `real_time_priority`, `log`, `programs`, `limits`, `silence`",
        ),
        (&format!("{GOOD}workers = 0\n"), "it.toml:3: workers = 0: must be at least 1"),
        (&format!("{GOOD}workers = \"two\"\n"), "it.toml:3: invalid type: string \"two\", expected a whole number"),
        (&format!("{GOOD}workers = 2\ncpus = [0]\n"), "it.toml:4: cpus: 1 for 2 workers; must be one for each"),
        (
            &format!("{GOOD}strategy = \"best\"\n"),
            "it.toml:3: unknown variant `best`, expected one of `first-fit`, `best-fit`, `worst-fit`",
        ),
        (&format!("{GOOD}real_time_priority = 99\n"), "it.toml:3: real_time_priority: from 1 to 98, or 0 for none"),
        (
            &format!("{GOOD}[limits]\nanswer = 10\n"),
            "it.toml:4: 10 is no duration: a number and its unit, as \"100ms\" or \"1s\"",
        ),
        (
            &format!("{GOOD}[programs]\nit = []\n"),
            "it.toml:4: programs: it: the list begins with an executable: [\"/usr/lib/weir/resize\", \"--fast\"]",
        ),
        (
            &format!("{GOOD}[programs]\nit = [\"./absent\"]\n"),
            "it.toml:4: programs: it: absent: No such file or directory (os error 2)",
        ),
        (
            &format!("{GOOD}[programs]\nit = [\"./plain\"]\n"),
            "it.toml:4: programs: it: plain is not executable: chmod +x it",
        ),
        (
            &format!("{GOOD}[programs]\nit = [\"./script\"]\n"),
            "it.toml:4: programs: it: script: its interpreter \"/no/such\" does not exist",
        ),
        (
            &format!("{GOOD}[programs]\nit = [\"plain\"]\n"),
            "it.toml:4: programs: it: \"plain\" is not in the search path; a path has a slash: \"./plain\"",
        ),
        (
            &format!("{GOOD}[programs]\na_name_that_is_longer_than_datagrams_have_it = [\"true\"]\n"),
            "it.toml:4: programs: \"a_name_that_is_longer_than_datagrams_have_it\": a name has 1 to 32 bytes",
        ),
        (
            &format!("{GOOD}for_clients = \"0.0.0.0:7400\"\n"),
            "it.toml:3: for_clients = \"0.0.0.0:7400\" is told to the devices: it has to name this machine",
        ),
        (&format!("{GOOD}[limits]\nclients = 0\n"), "it.toml:3: limits.clients = 0: must be at least 1"),
        (&format!("{GOOD}[limits]\ntasks = 0\n"), "it.toml:3: limits.tasks = 0: must be at least 1"),
        (
            &format!("{GOOD}[limits]\nneighbours = 1\n"),
            "it.toml:3: limits.neighbours: must be at least 2, one to each side",
        ),
        (&format!("{GOOD}[limits]\nanswer = \"0s\"\n"), "it.toml:3: limits.answer: must be longer than nothing"),
        (
            &format!("{GOOD}[silence]\nprobe = \"0s\"\n"),
            "it.toml:3: silence: answer must be above 0 and at most half of probe",
        ),
        (&format!("{GOOD}workers =\n"), "it.toml:3: string values must be quoted, expected literal string"),
    ];
    for (file, expected) in cases {
        assert_eq!(said(&site, "node", file), expected, "{file}");
    }
    let scheduler = said(&site, "scheduler", &format!("{GOOD}workers = 1\n"));
    assert_eq!(scheduler, "it.toml:3: workers: a scheduler has none of its own");
    let absent = said(&site, "node", &format!("{GOOD}workers = 1\ncpus = [4000]\n"));
    assert!(absent.starts_with("it.toml:4: cpus: there is no CPU 4000 for us; there are 0"), "{absent}");
}

#[test]
fn an_address_in_use_is_named() {
    let site = Site::new();
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let _held = UdpSocket::bind(taken).unwrap();
    let file = format!("address = \"{taken}\"\nkey_file = \"site.key\"\nreal_time_priority = 0\n");
    assert_eq!(said(&site, "node", &file), format!("it.toml: address {taken}: Address already in use (os error 98)"));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap();
    let file = format!("{GOOD}metrics = \"{taken}\"\nreal_time_priority = 0\n");
    assert_eq!(said(&site, "node", &file), format!("it.toml: metrics {taken}: Address already in use (os error 98)"));
}

#[test]
fn more_workers_than_cpus_is_a_warning() {
    let site = Site::new();
    let node = site.node("workers = 1000\n");
    let warning = node.wait_for("event=configuration");
    assert!(warning.contains("level=warn"), "{warning}");
    assert!(warning.contains("1000 workers share"), "{warning}");
    node.wait_for("no [programs]: every task is refused");
    let node = site.node("workers = 2\ncpus = [0, 0]\n");
    node.wait_for("cpus: workers share CPU 0");
}

/// Starts an example with the operating system's ports in place of its own.
fn example(site: &Site, name: &str, seed: Option<&Machine>) -> Machine {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/site").join(name).with_extension("toml");
    let mut text = String::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let key = line.split(" =").next().unwrap();
        text += &match (key, seed) {
            ("address" | "metrics", _) => format!("{key} = \"127.0.0.1:0\"\n"),
            ("seeds", Some(seed)) => format!("seeds = [\"{}\"]\n", seed.address),
            _ => format!("{line}\n"),
        };
    }
    std::fs::write(site.path(name), text).unwrap();
    Machine::start(name, &site.path(name))
}

#[test]
fn the_examples_do_what_they_say() {
    let site = Site::new();
    let arguments = ["--program", "digest", "--wcet", "1s", "--budget", "3s", "--payload", "hello"];
    // printf hello | sha256sum
    let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824  -\n";
    let node = example(&site, "node", None);
    let submitted = site.submit(&node, &arguments);
    assert!(text(&submitted.stdout).ends_with(digest), "{}", text(&submitted.stdout));
    let scheduler = example(&site, "scheduler", None);
    let worker = example(&site, "worker", Some(&scheduler));
    eventually("a worker", || scheduler.metric("weir_edge_members") == 1.0);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let submitted = site.submit(&scheduler, &arguments);
    assert!(text(&submitted.stdout).ends_with(digest), "{}", text(&submitted.stdout));
    assert_eq!(worker.metric("weir_edge_done_total"), 1.0);
}
