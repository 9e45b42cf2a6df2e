// SPDX-License-Identifier: Apache-2.0
//! Every mistake is refused by itself, at its line, with a remark on the value that is wrong.

use crate::common::{TASKS, problems};

/// Exactly one problem, at this line of what is added to the valid tasks.
#[track_caller]
fn refused(added: &str, line: usize, message: &str, label: &str) {
    let text = format!("{TASKS}{added}");
    let line = TASKS.lines().count() + line;
    assert_eq!(problems(&text), [(line, message.to_owned(), label.to_owned())], "{added}");
}

/// Exactly one problem in this file.
#[track_caller]
fn refused_file(text: &str, line: usize, message: &str, label: &str) {
    assert_eq!(problems(text), [(line, message.to_owned(), label.to_owned())], "{text}");
}

#[test]
fn the_top_of_the_file() {
    refused_file("seed = 1", 1, "`name` is missing", "in this file");
    refused_file("name = ' '", 1, "`name` is no title", "must be one line of 1 to 100 characters");
    refused_file("name = 3", 1, "`name` must be a string", "this is a whole number");
    refused_file("name = 'x'\nseed = -1", 2, "`seed` is out of range", "must be 0 or more");
    refused_file("name = 'x'\nduration_ms = 0", 2, "`duration_ms` is out of range", "must be 1 to 600000");
    refused_file("name = 'x'\nwarmup_ms = 0.5", 2, "`warmup_ms` must be a whole number", "this is a number");
    let label = "must be a whole number, this is a list";
    refused_file("name = 'x'\nwarmup_ms = [0, 1]", 2, "`warmup_ms` cannot sweep", label);
    refused_file("name = 'x'\ntask = 3", 2, "`task` must be a list of tables", "this is a whole number");
    refused_file("name = 'x'\n[task]", 2, "`task` must be a list of tables", "this is a table");
    refused_file("name = 'x'\n[[device]]", 2, "`device` must be one table", "this is a list");
    refused_file("name = 'x'\n[drive]", 2, "unknown key `drive`", "not a key of the top of the file");
}

#[test]
fn variants() {
    refused_file("name = 'x'\nvariants = ['stok']", 2, "unknown variant `stok`", "cannot run");
    let message = "the variant `stock` is listed twice";
    refused_file("name = 'x'\nvariants = [\n'stock',\n'stock']", 4, message, "again");
    refused_file("name = 'x'\nvariants = []", 2, "`variants` is empty", "nothing to run under");
    refused_file("name = 'x'\nvariants = 'stock'", 2, "`variants` must be a list", "this is a string");
    refused_file("name = 'x'\nvariants = [1]", 2, "a variant must be a string", "this is a whole number");
}

#[test]
fn the_device() {
    refused("[device]\ncpu = 'arm'", 2, "`arm` is no cpu", "not known");
    refused("[device]\ncpu_mhz = 9", 2, "`cpu_mhz` is out of range", "must be 10 to 1000");
    let label = "must be 10, 100 or 1000";
    refused("[device]\nlink_mbps = 50", 2, "there is no Ethernet of this speed", label);
    refused("[device]\nrx_buffers = 16", 2, "`rx_buffers` is out of range", "must be 20 to 256");
    refused("[device]\nnet_priority = 0", 2, "`net_priority` is out of range", "must be 1 to 15");
    refused(
        "[device]\neager_invalidation = 1",
        2,
        "`eager_invalidation` must be `true` or `false`",
        "this is a whole number",
    );
    refused("[device]\ntrace = 1", 2, "`trace` must be `true` or `false`", "this is a whole number");
    refused("[device]\nrate_pps = 1", 2, "unknown key `rate_pps`", "not a key of [device]");
    for (address, label) in [
        ("10.0.0.1", "the prefix length is missing"),
        ("10.0.0/24", "`10.0.0` is no IPv4 address"),
        ("10.0.0.1/x", "`x` is no prefix length"),
        ("10.0.0.1/31", "the prefix length must be 8 to 30"),
        ("10.0.0.0/24", "this is the network's own address"),
        ("10.0.0.255/24", "this is the network's broadcast address"),
        ("127.0.0.1/8", "no device can have this address"),
        ("224.0.0.1/24", "no device can have this address"),
    ] {
        let message = format!("`{address}` cannot be the device's address");
        refused(&format!("[device]\naddress = '{address}'"), 2, &message, label);
    }
}

#[test]
fn the_tick() {
    let label = "must be 1000, 2000, 5000 or 10000";
    refused("[device]\ntick_us = 3000", 2, "the device has no tick of this length", label);
}

#[test]
fn names_and_priorities_of_tasks() {
    let rest = "period_us = 1000\nwork_us = 1";
    let label = "must be 1 to 15 of A-Z a-z 0-9 _ -";
    for name in ["", "a b", "sixteen-letters-", "ä"] {
        refused(
            &format!("[[task]]\nname = '{name}'\npriority = 1\n{rest}"),
            2,
            "`name` cannot be a task's name",
            label,
        );
    }
    refused(&format!("[[task]]\npriority = 1\n{rest}"), 1, "`name` is missing", "in this [[task]]");
    refused(&format!("[[task]]\nname = 'axis'\npriority = 1\n{rest}"), 2, "two tasks are called `axis`", "again");
    refused(&format!("[[task]]\nname = 'b'\n{rest}"), 1, "`priority` is missing", "in this [[task]]");
    refused(&format!("[[task]]\nname = 'b'\npriority = 0\n{rest}"), 3, "`priority` is out of range", "must be 1 to 15");
    let more: String = (0..9).map(|n| format!("[[task]]\nname = 'b{n}'\npriority = 1\n{rest}\n")).collect();
    refused(&more, 41, "there are more than 12 [[task]]", "number 13");
}

/// A fifth task, whose keys begin on the line given as 4.
#[track_caller]
fn refused_task(keys: &str, line: usize, message: &str, label: &str) {
    refused(&format!("[[task]]\nname = 'b'\npriority = 1\n{keys}"), line, message, label);
}

#[test]
fn what_releases_a_task() {
    refused_task("", 2, "the task `b` is never released", "nothing says when it runs");
    refused_task("background = false", 2, "the task `b` is never released", "nothing says when it runs");
    refused_task("background = 1", 4, "`background` must be `true` or `false`", "this is a whole number");
    let message = "a task cannot have both `period_us` and `listen`";
    refused_task("listen = 'udp/7'\nperiod_us = 1000", 4, message, "a second way to be released");
    refused_task("period_us = 10\nwork_us = 1", 4, "`period_us` is out of range", "must be 50 to 600000000");
    for listen in ["udp", "udp/0", "udp/65536", "udp/+7", "sctp/7", "udp/7/8"] {
        let message = format!("`{listen}` is no port to listen on");
        refused_task(&format!("listen = '{listen}'"), 4, &message, "not understood");
    }
    refused_task("listen = 'udp/5005'", 4, "two tasks listen on udp/5005", "`command` listens there");
}

#[test]
fn keys_that_do_not_fit_a_task() {
    let label = "has no meaning here";
    refused_task("background = true\nwork_us = 1", 5, "`work_us` does not fit a background task", label);
    refused_task("background = true\n[task.flow]", 5, "`flow` does not fit a background task", label);
    let message = "`reply_bytes` does not fit a periodic task";
    refused_task("period_us = 1000\nwork_us = 1\nreply_bytes = 1", 6, message, label);
    let message = "`reply_bytes` does not fit a task that listens on TCP";
    refused_task("listen = 'tcp/7'\nreply_bytes = 1", 5, message, label);
}

#[test]
fn deadlines_and_work() {
    let periodic = "period_us = 1000\nwork_us = 1\n";
    let label = "must be 1 to 4000000000";
    refused_task(&format!("{periodic}deadline_us = 0"), 6, "`deadline_us` is out of range", label);
    let label = "must be at most 10 periods, 10000 us";
    refused_task(&format!("{periodic}deadline_us = 10001"), 6, "the deadline is too far off", label);
    refused_task("period_us = 1000", 2, "the task `b` has no work", "nothing says what a job does");
    let label = "a periodic task needs some";
    refused_task("period_us = 1000\nwork_us = 0", 5, "`work_us` is out of range", label);
    let label = "must be at most the period, 1000 us";
    refused_task("period_us = 1000\nwork_us = 1000.5", 5, "this task can never keep up", label);
    refused_task("period_us = 1000\nwork_us = nan", 5, "`work_us` is out of range", "must be 0 to 1000000");
    let message = "a task cannot have both `work_us` and `binomial`";
    refused_task(&format!("{periodic}binomial = [2, 1]"), 6, message, "a second kind of work");
    for binomial in ["[1, 2]", "[61, 1]", "[2]", "[2, 0]", "['a', 1]"] {
        let label = "must be [n, k] with 1 <= k <= n <= 60";
        let keys = format!("period_us = 1000\nbinomial = {binomial}");
        refused_task(&keys, 5, "`binomial` is out of range", label);
    }
}

#[test]
fn contracts_nic_and_limit_are_checked_although_stock_ignores_them() {
    let flow = "listen = 'udp/7'\n[task.flow]\n";
    refused_task(&format!("{flow}capacity = 0"), 6, "`capacity` is out of range", "must be 1 to 65535");
    refused_task(&format!("{flow}server = 'polling'"), 6, "`polling` is no server", "not known");
    let label = "not in the device's network 10.0.0.0/24";
    refused_task(&format!("{flow}from = '10.0.1.2'"), 6, "10.0.1.2 cannot be a sender", label);
    refused_task(&format!("{flow}timer = 1"), 6, "unknown key `timer`", "not a key of [task.flow]");
    refused("[nic]\nqueues = 65", 2, "`queues` is out of range", "must be 4 to 16");
    refused("[nic]\nqueue_bytes = 2001", 2, "no queue has this size", "must be a multiple of 16");
    refused("[nic]\nabsolute_mode = 'periodic'", 2, "`periodic` without `absolute_timer_us`", "a period is missing");
    let text = "name = 'x'\n[nic]\nqueues = 4\n[[task]]\nname = 'a'\npriority = 1\nlisten = 'udp/7'\n\
                [[task]]\nname = 'b'\npriority = 1\nlisten = 'udp/8'";
    refused_file(
        text,
        3,
        "the NIC has too few queues",
        "must be at least 5: one for each receiving task and 3 for the IP stack",
    );
    refused("[limit]\nperiod_us = 0", 2, "`period_us` is out of range", "must be 1 to 2000000");
}

#[test]
fn a_limit_is_packets_per_time() {
    let flow = "listen = 'udp/7'\n[task.flow]\n";
    let without_period = ("`capacity` without `period_us`", "packets per what?");
    let without_capacity = ("`period_us` without `capacity`", "how many packets?");
    refused_task(&format!("{flow}capacity = 2"), 6, without_period.0, without_period.1);
    refused_task(&format!("{flow}period_us = 2"), 6, without_capacity.0, without_capacity.1);
    refused("[limit]\ncapacity = 2", 2, without_period.0, without_period.1);
    refused("[limit]\nperiod_us = 2", 2, without_capacity.0, without_capacity.1);
    let message = "`server` without `capacity`";
    refused_task(&format!("{flow}server = 'sporadic'"), 6, message, "a server of what?");
}

#[test]
fn capacities_that_the_library_cannot_keep() {
    let sporadic = "listen = 'udp/7'\n[task.flow]\nserver = 'sporadic'\nperiod_us = 1000\n";
    let message = "the capacity is too large for a sporadic server";
    let label = "must be at most 8: a sporadic server remembers each packet";
    refused_task(&format!("{sporadic}capacity = 9"), 8, message, label);
    let message = "the overall limit is too large for one poll";
    let label = "must be at most 16, the descriptors of the NIC's ring";
    refused("[limit]\ncapacity = 17\nperiod_us = 1000", 2, message, label);
}

#[test]
fn what_traffic_needs() {
    refused("[[traffic]]\nto = 'udp/9'\nrate_pps = 1", 1, "`pattern` is missing", "in this [[traffic]]");
    refused("[[traffic]]\npattern = 'poison'\nto = 'udp/9'\nrate_pps = 1", 2, "`poison` is no pattern", "not known");
    refused("[[traffic]]\npattern = 'poisson'\nto = 'udp/9'", 1, "`rate_pps` is missing", "in this [[traffic]]");
    refused("[[traffic]]\npattern = 'line-rate'", 1, "`to` is missing", "in this [[traffic]]");
    refused("[[traffic]]\npattern = 'pcap'\nto = 'device'", 1, "`file` is missing", "in this [[traffic]]");
    let two = "[[traffic]]\nname = 'a'\npattern = 'arp'\nrate_pps = 1\n".repeat(2);
    refused(&two, 6, "two traffics are called `a`", "again");
    let two = "[[traffic]]\npattern = 'line-rate'\nto = 'udp/9'\n".repeat(2);
    refused(&two, 5, "two traffics have the pattern `line-rate`", "one of them fills the link");
}

/// Traffic of rate 1, whose further keys begin on the line given as 3.
#[track_caller]
fn refused_traffic(keys: &str, line: usize, message: &str, label: &str) {
    refused(&format!("[[traffic]]\nrate_pps = 1\n{keys}"), line, message, label);
}

#[test]
fn targets() {
    for to in ["udp", "5005", "udp/0", "broadcast", "nobody"] {
        let keys = format!("pattern = 'uniform'\nto = '{to}'");
        refused_traffic(&keys, 4, &format!("`{to}` is no target"), "not understood");
    }
    for (pattern, to) in [("uniform", "device"), ("arp", "udp/9"), ("modbus", "udp/5005"), ("request", "tcp/502")] {
        let message = format!("`{to}` does not fit the pattern `{pattern}`");
        let keys = format!("pattern = '{pattern}'\nto = '{to}'");
        refused_traffic(&keys, 4, &message, &format!("{pattern} does not go there"));
    }
    let keys = "pattern = 'modbus'\nto = 'tcp/503'";
    refused_traffic(keys, 4, "no task listens on tcp/503", "modbus waits for answers");
    let text = "name = 'x'\n[[task]]\nname = 'mute'\npriority = 1\nlisten = 'udp/7'\n\
                [[traffic]]\npattern = 'request'\nrate_pps = 1\nto = 'udp/7'";
    refused_file(text, 9, "the task `mute` does not answer", "request waits for answers");
}

#[test]
fn senders() {
    for (from, label) in [
        ("10.0.1.2", "not in the device's network 10.0.0.0/24"),
        ("10.0.0.1", "this is the device itself"),
        ("10.0.0.0", "this is the network's own address"),
        ("10.0.0.255", "this is the network's broadcast address"),
    ] {
        let keys = format!("pattern = 'arp'\nfrom = '{from}'");
        refused_traffic(&keys, 4, &format!("{from} cannot be a sender"), label);
    }
    refused_traffic("pattern = 'arp'\nfrom = 'me'", 4, "`me` is no IPv4 address", "must be an address");
}

#[test]
fn keys_that_do_not_fit_a_pattern() {
    let label = "has no meaning here";
    let message = "`registers` does not fit the pattern `uniform`";
    refused_traffic("pattern = 'uniform'\nto = 'udp/9'\nregisters = 1", 5, message, label);
    refused_traffic("pattern = 'line-rate'\nto = 'udp/9'", 2, "`rate_pps` does not fit the pattern `line-rate`", label);
    refused_traffic("pattern = 'arp'\npayload_bytes = 1", 4, "`payload_bytes` does not fit the pattern `arp`", label);
    let message = "`from` does not fit the pattern `pcap` that goes `as-is`";
    let text = "[[traffic]]\npattern = 'pcap'\nfile = 'plant.pcap'\nto = 'as-is'\nfrom = '10.0.0.3'";
    refused(text, 5, message, label);
    let label = "frames to a TCP port are SYN segments, which carry nothing";
    let keys = "pattern = 'poisson'\nto = 'tcp/502'\npayload_bytes = 1";
    refused_traffic(keys, 5, "`payload_bytes` does not fit a TCP port", label);
}

#[test]
fn ranges_of_traffic() {
    let flood = "pattern = 'burst'\nto = 'udp/9'\n";
    refused_traffic(&format!("{flood}payload_bytes = 1473"), 5, "`payload_bytes` is out of range", "must be 0 to 1472");
    refused_traffic(&format!("{flood}start_ms = -1"), 5, "`start_ms` is out of range", "must be 0 to 1200000");
    let label = "must be after `start_ms`, 0 ms";
    refused_traffic(&format!("{flood}stop_ms = 0"), 5, "this traffic stops before it starts", label);
    refused_traffic(&format!("{flood}every_ms = 5"), 5, "the bursts overlap", "a burst of 10 ms every 5 ms");
    refused_traffic(&format!("{flood}burst_ms = 101"), 5, "the bursts overlap", "a burst of 101 ms every 100 ms");
    let modbus = "pattern = 'modbus'\nto = 'tcp/502'\n";
    refused_traffic(&format!("{modbus}registers = 126"), 5, "`registers` is out of range", "must be 1 to 125");
}

#[test]
fn loads_beyond_the_link() {
    let text = "[[traffic]]\npattern = 'uniform'\nto = 'udp/9'\npayload_bytes = 0\nrate_pps = ";
    let label = "at most 148809 frames of 64 bytes fit 100 Mbit/s";
    refused(&format!("{text}148810"), 5, "`uniform` is more than the link carries", label);
    refused(&format!("{text}[1, 148809, 148810]"), 5, "`uniform` is more than the link carries", label);
    let label = "at most 14880 frames of 64 bytes fit 10 Mbit/s";
    let slow = "[device]\nlink_mbps = 10\n[[traffic]]\npattern = 'arp'\nrate_pps = 14881";
    refused(slow, 5, "`arp` is more than the link carries", label);
    let two = "[[traffic]]\npattern = 'arp'\nrate_pps = 70000\n[[traffic]]\npattern = 'icmp'\npayload_bytes = 0\nrate_pps = 80000";
    let label = "`icmp` and the others: 100.8 of 100 Mbit/s";
    refused(two, 7, "the traffic together is more than the link carries", label);
}

#[test]
fn sweeps() {
    let text = "[[traffic]]\npattern = 'arp'\nrate_pps = ";
    refused(&format!("{text}[]"), 3, "`rate_pps` sweeps over an empty list", "no value");
    refused(&format!("{text}[1,\n2,\n1.0]"), 5, "`rate_pps` sweeps over 1 twice", "again");
    let message = "`rate_pps` sweeps over something that is no number";
    refused(&format!("{text}[1,\n'x']"), 4, message, "this is a string");
    refused(&format!("{text}[1,\n[2]]"), 4, message, "this is a list");
    let numbers: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let list = numbers.join(", ");
    let many = format!("{text}[{list}]\n[[traffic]]\npattern = 'icmp'\nrate_pps = [{list}]");
    let label = "with the other lists more than 1000 combinations";
    refused(&many, 3, "the lists sweep over too many cases", label);
}

#[test]
fn not_toml() {
    refused_file(
        "name = 'x'\nseed = \n",
        2,
        "not valid TOML: string values must be quoted, expected literal string",
        "",
    );
    refused_file("name = 'x'\nname = 'y'\n", 2, "not valid TOML: duplicate key", "");
    refused_file("name = 'x'\n[device\n", 2, "not valid TOML: unclosed table, expected `]`", "");
}

#[test]
fn all_mistakes_are_found_at_once() {
    let text = "nam = 'x'\n[device]\ncpu_mhz = 1\n[[task]]\nname = 'a'\npriority = 99\n[[task]]\nname = 'a'\npriority = 1\n\
                period_us = 0\nwork_us = 1\n[[traffic]]\npattern = 'arp'\nrate_pps = -1\nto = 'nowhere'\n";
    let lines: Vec<usize> = problems(text).iter().map(|(line, _, _)| *line).collect();
    assert_eq!(lines, [1, 1, 3, 5, 6, 8, 10, 14, 15]);
}

#[test]
fn mitigations() {
    let with = |variant: &str, mitigation: &str, tasks: &str| {
        format!("name = 'x'\nvariants = ['{variant}']\n[mitigation]\n{mitigation}\n{tasks}")
    };
    let axis = "[[task]]\nname = 'axis'\npriority = 3\nperiod_us = 1000\nwork_us = 1";
    refused_file(
        &with("budget", "queue = 3", ""),
        2,
        "the variant `budget` needs a periodic task",
        "it goes by the earliness of one",
    );
    refused_file(
        &with("hysteresis", "task = 'axe'", axis),
        4,
        "there is no periodic task `axe`",
        "must be the name of a periodic task",
    );
    refused_file(
        &with("hysteresis", "stop_percent = 30", axis),
        3,
        "receiving would stop and go on at once",
        "must be at least `stop_percent`, 30",
    );
    refused_file(&with("queue", "queue = 17", axis), 4, "`queue` is out of range", "must be 1 to 16");
    refused_file(&with("queue", "form = 'old'", axis), 4, "`old` is no form", "not known");
}
