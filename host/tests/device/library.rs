// SPDX-License-Identifier: Apache-2.0
//! The receive library on the whole device: no packet outranks a task.

use std::fs;

use weir::results::Run;

use super::{COMMANDS, cases_in, flow, folder, run, try_run};

/// A task above all receiving ones, a critical flow, a hog below it.
const TASKS: &str = "
    [[task]]
    name = 'axis'
    priority = 9
    period_us = 1000
    work_us = 200
    [[task]]
    name = 'command'
    priority = 5
    listen = 'udp/5005'
    [[task]]
    name = 'hog'
    priority = 2
    background = true
";

fn under(variant: &str, traffic: &str) -> Run {
    run(&format!("name = 'x'\nduration_ms = 50\nvariants = ['{variant}']\n{TASKS}{COMMANDS}{traffic}"))
}

/// Longest that the network task works on a packet while one that matters more waits: one packet's work, TCP included.
const INVERSION_CYCLES_MAX: u64 = 16_000;

#[track_caller]
fn nothing_is_lost(run: &Run) {
    let axis = &run.tasks[0];
    assert_eq!(axis.missed, 0, "{axis:?}");
    let command = flow(run, "command");
    assert_eq!(command.delivered + command.in_flight, command.offered, "{command:?}");
    assert!(command.in_flight <= 1);
    assert_eq!(run.library.is_some(), run.variant == "driver");
    let inversion = run.library.as_ref().map_or(0, |library| library.priority_inversion_cycles_max);
    assert!(inversion <= INVERSION_CYCLES_MAX, "{inversion}");
}

const FLOOD: &str = "
    [[traffic]]
    name = 'flood'
    pattern = 'uniform'
    to = 'udp/9'
    from = '10.0.0.66'
    rate_pps = 145_000
    payload_bytes = 0
";

#[test]
fn a_flood_at_line_rate_costs_the_critical_flow_nothing() {
    let library = under("driver", FLOOD);
    nothing_is_lost(&library);
    assert!(library.interrupts.nic < 20, "polling masks every receive interrupt: {}", library.interrupts.nic);
    assert!(library.tasks[2].loops > 10_000, "and the hog below it still runs: {}", library.tasks[2].loops);
    let stock = under("stock", FLOOD);
    assert_eq!((flow(&stock, "command").delivered, stock.tasks[2].loops), (0, 0), "where the stock path starves all");
}

#[test]
fn each_kind_of_flood_is_told_from_the_critical_flow() {
    for kind in [
        "pattern = 'icmp'\nrate_pps = 60_000",
        "pattern = 'arp'\nrate_pps = 60_000",
        "pattern = 'poisson'\nto = 'broadcast/9'\nrate_pps = 60_000",
        "pattern = 'poisson'\nto = 'tcp/502'\nrate_pps = 60_000",
        "pattern = 'poisson'\nto = 'fragments/5005'\nrate_pps = 60_000",
        "pattern = 'poisson'\nto = 'multicast/9'\nrate_pps = 7_000\npayload_bytes = 1400",
    ] {
        nothing_is_lost(&under("driver", &format!("[[traffic]]\nname = 'flood'\nfrom = '10.0.0.66'\n{kind}")));
    }
}

#[test]
fn a_stranger_on_the_critical_port_is_background() {
    let flow = "[task.flow]\nfrom = '10.0.0.2'\ncapacity = 4\nperiod_us = 1000\n[[task]]\nname = 'hog'";
    let tasks = TASKS.replace("[[task]]\n    name = 'hog'", flow);
    let run = run(&format!(
        "name = 'x'\nduration_ms = 50\nvariants = ['driver']\n{tasks}{COMMANDS}
        [[traffic]]
        name = 'stranger'
        pattern = 'poisson'
        to = 'udp/5005'
        from = '10.0.0.66'
        rate_pps = 60_000"
    ));
    nothing_is_lost(&run);
}

#[test]
fn a_flow_gets_no_more_than_its_contract() {
    for (server, periods_more) in [("deferrable", 1), ("sporadic", 0)] {
        let run = run(&format!(
            "name = 'x'\nduration_ms = 50\nvariants = ['driver']
            [[task]]
            name = 'command'
            priority = 5
            listen = 'udp/5005'
            [task.flow]
            capacity = 3
            period_us = 2000
            server = '{server}'
            [[traffic]]
            pattern = 'poisson'
            to = 'udp/5005'
            rate_pps = 20_000"
        ));
        let command = flow(&run, "command");
        let most = 3 * (25 + periods_more);
        assert!((60..=most).contains(&command.delivered), "{server}: {command:?}");
        assert!(command.dropped.flow_limit > 500, "{command:?}");
    }
}

#[test]
fn what_is_lost_to_the_overall_limit_is_said_so() {
    let gigabit = "[device]\nlink_mbps = 1000\n";
    let text = format!("name = 'x'\nduration_ms = 20\nvariants = ['driver']\n{gigabit}{TASKS}{COMMANDS}{FLOOD}");
    let run = run(&text.replace("145_000", "1_200_000"));
    let background = flow(&run, "background");
    assert!(background.dropped.overall_limit > 15_000, "{background:?}");
    assert_eq!(run.tasks[0].missed, 0, "tasks keep their deadlines");
    assert!(run.cpu.isr < 0.35 && run.tasks[2].loops > 0, "{:?}", run.cpu);
}

/// Opens a socket, asks for a contract, closes it; every third time with a packet or two waiting.
const CHURN: &str = r#"
#include "lwip/sockets.h"
#include "weir_sockets.h"
#include <assert.h>

void churn_job(void)
{
    static unsigned round;
    round++;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = lwip_htons((u16_t)(6000 + round % 3))};
    struct weir_so_flow flow = {.server = WEIR_SERVER_SPORADIC, .capacity = 2, .period_us = 1000};
    int fd = lwip_socket(AF_INET, SOCK_DGRAM, 0);
    assert(fd >= 0);
    assert(lwip_setsockopt(fd, SOL_WEIR, WEIR_SO_FLOW, &flow, sizeof flow) != 0); // no port yet
    assert(lwip_bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    assert(lwip_setsockopt(fd, SOL_WEIR, WEIR_SO_FLOW, &flow, sizeof flow) == 0);
    flow.capacity = 0;
    assert(lwip_setsockopt(fd, SOL_WEIR, WEIR_SO_FLOW, &flow, sizeof flow) != 0);
    assert(lwip_setsockopt(fd, SOL_WEIR, WEIR_SO_FLOW, &flow, 1) != 0);
    socklen_t length = sizeof flow;
    assert(lwip_getsockopt(fd, SOL_WEIR, WEIR_SO_FLOW, &flow, &length) == 0);
    assert(flow.capacity == 2 && flow.server == WEIR_SERVER_SPORADIC);
    assert(lwip_close(fd) == 0);
}
"#;

/// A task that has the IP stack's lock most of the time.
const TELLER: &str = r#"
#include "lwip/sockets.h"

void teller_job(void)
{
    static int fd = -1;
    static char message[1400];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = lwip_htons(9)};
    to.sin_addr.s_addr = lwip_htonl(0x0a000002);
    if (fd < 0) {
        fd = lwip_socket(AF_INET, SOCK_DGRAM, 0);
    }
    lwip_sendto(fd, message, sizeof message, 0, (struct sockaddr *)&to, sizeof to);
}
"#;

/// The network task waits for the lock at a low priority when a critical packet comes, and a hog is in between: the
/// lock's holder has to inherit the packet's priority, or the packet waits for as long as the hog runs.
#[test]
fn who_holds_the_stack_inherits_from_the_packet() {
    let folder = folder();
    fs::write(folder.path().join("teller.c"), TELLER).unwrap();
    let text = "name = 'x'
        duration_ms = 300
        variants = ['driver']
        [[task]]
        name = 'command'
        priority = 8
        listen = 'udp/5005'
        [[task]]
        name = 'hog'
        priority = 5
        period_us = 10300
        work_us = 5000
        [[task]]
        name = 'log'
        priority = 3
        listen = 'udp/5006'
        [[task]]
        name = 'teller'
        priority = 1
        period_us = 300
        source = 'teller.c'
        [[traffic]]
        name = 'command'
        pattern = 'uniform'
        to = 'udp/5005'
        rate_pps = 487
        [[traffic]]
        name = 'log'
        pattern = 'poisson'
        to = 'udp/5006'
        rate_pps = 3000\n";
    let scenario = cases_in(folder.path(), text).remove(0).scenario;
    let run = try_run(&scenario).unwrap_or_else(|error| panic!("{error}")).run;
    let latency = flow(&run, "command").latency_us.as_ref().unwrap();
    assert!(latency.max < 600.0, "{latency:?}");
}

/// With the multiqueue NIC, each time its queue is turned on and off under all that the wire carries.
#[test]
fn sockets_come_and_go_hundreds_of_times_in_a_flood() {
    for (variant, duration_ms, pattern, rate_pps) in
        [("driver", 500, "poisson", 10_000), ("codesign", 200, "uniform", 147_000)]
    {
        let folder = folder();
        let churn = CHURN.replace("<assert.h>", "\"FreeRTOS.h\"\n#define assert configASSERT");
        fs::write(folder.path().join("churn.c"), churn).unwrap();
        let text = format!(
            "name = 'x'\nduration_ms = {duration_ms}\nvariants = ['{variant}']\n{TASKS}{COMMANDS}
            [[task]]
            name = 'churn'
            priority = 4
            period_us = 500
            source = 'churn.c'
            [[traffic]]
            name = 'to-them'
            pattern = '{pattern}'
            to = 'udp/6001'
            from = '10.0.0.66'
            rate_pps = {rate_pps}
            payload_bytes = 0"
        );
        let case = cases_in(folder.path(), &text).remove(0);
        let run = try_run(&case.scenario).unwrap_or_else(|error| panic!("{variant}: {error}")).run;
        assert_eq!(run.tasks[3].jobs, 2 * duration_ms, "{variant}: {:?}", run.tasks[3]);
        nothing_is_lost(&run);
    }
}

/// Asks for what cannot be, and looks whether anything has changed.
const WRONG: &str = r#"
#include "FreeRTOS.h"
#include "lwip/sockets.h"
#include "weir_sockets.h"
#include <errno.h>
#include <string.h>

static int fd;

static void refused(struct weir_so_flow flow, socklen_t length, int option, int expected)
{
    struct weir_so_flow before, after;
    socklen_t size = sizeof before;
    configASSERT(lwip_getsockopt(fd, SOL_WEIR, WEIR_SO_FLOW, &before, &size) == 0);
    errno = 0;
    configASSERT(lwip_setsockopt(fd, SOL_WEIR, option, &flow, length) == -1);
    configASSERT(errno == expected);
    configASSERT(lwip_getsockopt(fd, SOL_WEIR, WEIR_SO_FLOW, &after, &size) == 0);
    configASSERT(memcmp(&before, &after, sizeof before) == 0);
}

static int bound(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = lwip_htons((u16_t)port)};
    int socket = lwip_socket(AF_INET, SOCK_DGRAM, 0);
    configASSERT(socket >= 0 && lwip_bind(socket, (struct sockaddr *)&address, sizeof address) == 0);
    return socket;
}

void wrong_job(void)
{
    const struct weir_so_flow good = {.server = WEIR_SERVER_DEFERRABLE, .capacity = 2, .period_us = 1000};
    struct weir_so_flow flow = good;
    fd = lwip_socket(AF_INET, SOCK_DGRAM, 0);
    configASSERT(lwip_setsockopt(fd, SOL_WEIR, WEIR_SO_FLOW, &flow, sizeof flow) == -1 && errno == EADDRNOTAVAIL);
    configASSERT(lwip_close(fd) == 0);
    fd = bound(6000);
    configASSERT(lwip_setsockopt(fd, SOL_WEIR, WEIR_SO_FLOW, &flow, sizeof flow) == 0);
    flow.capacity = 0;
    refused(flow, sizeof flow, WEIR_SO_FLOW, EINVAL);
    flow = good, flow.period_us = 0;
    refused(flow, sizeof flow, WEIR_SO_FLOW, EINVAL);
    flow = good, flow.period_us = UINT32_MAX;
    refused(flow, sizeof flow, WEIR_SO_FLOW, EINVAL);
    flow = good, flow.server = 3;
    refused(flow, sizeof flow, WEIR_SO_FLOW, EINVAL);
    flow = good, flow.server = WEIR_SERVER_SPORADIC, flow.capacity = 9;
    refused(flow, sizeof flow, WEIR_SO_FLOW, EINVAL);
    flow = good, flow.priority = configMAX_PRIORITIES;
    refused(flow, sizeof flow, WEIR_SO_FLOW, EINVAL);
    flow = good, flow.sender_bytes = 5;
    refused(flow, sizeof flow, WEIR_SO_FLOW, EINVAL);
    refused(good, sizeof flow - 1, WEIR_SO_FLOW, EINVAL);
    refused(good, sizeof flow, 77, ENOPROTOOPT);
    socklen_t size = 1;
    configASSERT(lwip_getsockopt(fd, SOL_WEIR, WEIR_SO_FLOW, &flow, &size) == -1 && errno == EINVAL);
    // More sockets than flows: they work, in the background, and have no contract.
    int more[12];
    int last = -1;
    for (unsigned i = 0; i < 12; i++) {
        more[i] = bound(7000 + i);
        if (lwip_setsockopt(more[i], SOL_WEIR, WEIR_SO_FLOW, &good, sizeof good) != 0) {
            configASSERT(errno == ENOBUFS);
            last = (int)i;
            break;
        }
    }
    configASSERT(last >= 0);
    for (int i = 0; i <= last; i++) {
        configASSERT(lwip_close(more[i]) == 0);
    }
    configASSERT(lwip_close(fd) == 0);
}
"#;

#[test]
fn what_cannot_be_is_refused_with_an_errno_and_changes_nothing() {
    let folder = folder();
    fs::write(folder.path().join("wrong.c"), WRONG).unwrap();
    let text = format!(
        "name = 'x'\nduration_ms = 20\nvariants = ['driver']\n{TASKS}{COMMANDS}
        [[task]]
        name = 'wrong'
        priority = 4
        period_us = 10_000
        stack_bytes = 4096
        source = 'wrong.c'"
    );
    let case = cases_in(folder.path(), &text).remove(0);
    let run = try_run(&case.scenario).unwrap_or_else(|error| panic!("{error}")).run;
    assert_eq!(run.tasks[3].jobs, 2, "{:?}", run.tasks[3]);
    nothing_is_lost(&run);
}
