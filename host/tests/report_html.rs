// SPDX-License-Identifier: Apache-2.0
//! The page: complete, self-contained, safe against names that look like markup.

mod report_synthetic;

use report_synthetic as synthetic;
use weir::report::html;
use weir::results::Results;
use weir::timeline::Timeline;

/// What the page's scripts read.
fn data(page: &str) -> serde_json::Value {
    let (_, after) = page.split_once("id=\"data\">").expect("the page has data");
    let (json, _) = after.split_once("</script>").expect("the data ends");
    serde_json::from_str(json).expect("the data is JSON")
}

#[test]
fn carries_results_verdicts_and_timelines() {
    let results = synthetic::sweep();
    let page = html(&results, &[(4, synthetic::device::timeline(5, 12_000))]);
    let data = data(&page);
    assert!(page.contains(&serde_json::to_string(&results).unwrap()), "as in results.json");
    assert_eq!(data["sweep"]["axis"], "flood");
    assert_eq!(data["verdicts"].as_array().unwrap().len(), 3);
    assert_eq!(data["conservation"]["holds"], true);
    let timeline = &data["timelines"][0];
    assert_eq!(timeline["run"], 4);
    assert_eq!(timeline["spans"].as_array().unwrap().len() % 3, 0);
    assert_eq!(timeline["jobs"][0][1], 0, "times count from the start of the timeline");
    assert!(page.contains("<title>conveyor under flood · weir</title>"));
}

#[test]
fn loads_nothing_from_anywhere() {
    let page = html(&synthetic::sweep(), &[]);
    assert!(page.contains("default-src 'none'"), "the browser itself refuses to load anything");
    for load in ["src=\"", "src='", "@import", "url(", "<link", "<iframe", "<img", "import("] {
        let own = page.split("* Licensed to the Apache").next().unwrap();
        assert!(!own.contains(load), "{load} in the page's head");
    }
    for script in [
        "format",
        "charts",
        "sections",
        "numbers",
        "timeline",
        "timeline_model",
        "timeline_draw",
        "report.peers",
        "report",
    ] {
        let path = format!("{}/assets/{script}.js", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        for load in ["http:", "https:", "fetch(", "XMLHttpRequest", "import(", "WebSocket"] {
            assert!(!text.contains(load), "{load} in {script}.js");
        }
    }
}

#[test]
fn names_cannot_become_markup() {
    let mut results = synthetic::single();
    results.scenario = "</script><script>alert(1)</script>{{data}}<!--".into();
    results.runs[0].tasks[0].name = "<img src=x onerror=alert(1)>".into();
    let page = html(&results, &[]);
    assert!(!page.contains("alert(1)</script>"));
    assert!(!page.contains("<img src=x"));
    assert_eq!(data(&page)["results"]["scenario"], results.scenario.as_str());
}

#[test]
fn same_input_same_bytes() {
    let page = || html(&synthetic::two_keys(), &[(0, synthetic::device::timeline(3, 9_000))]);
    assert_eq!(page(), page());
}

#[test]
fn odd_input_does_not_panic() {
    html(&synthetic::empty(), &[(0, Timeline::default())]);
    html(&synthetic::single(), &[(0, Timeline::default())]);
    let mut results: Results = synthetic::single();
    results.cpu_hz = 0;
    results.runs[0].tasks[0].lateness_us.max = Some(f64::NAN);
    results.runs[0].cpu.isr = f64::INFINITY;
    data(&html(&results, &[(7, synthetic::device::timeline(1, 1_000))]));
}

#[test]
fn a_large_timeline_stays_small() {
    let timeline = synthetic::device::timeline(200, 20_000);
    assert!(timeline.spans.len() > 3_000);
    let with = html(&synthetic::sweep(), &[(0, timeline)]).len();
    let without = html(&synthetic::sweep(), &[]).len();
    assert!(with - without < 1_500_000, "{} bytes", with - without);
}

/// Not a check: writes pages to look at into cargo's folder for tests.
#[test]
#[ignore = "writes samples for the eye"]
fn samples() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let timelines: Vec<(usize, Timeline)> =
        [(1, 1_000), (4, 14_000), (5, 30_000)].map(|(run, pps)| (run, synthetic::device::timeline(60, pps))).into();
    let variants = ["stock", "driver", "codesign"].map(|variant| synthetic::run(variant, None)).to_vec();
    let variants = synthetic::results("one load, three variants", variants);
    let first = [(0, synthetic::device::timeline(20, 14_000))];
    let large = [(5, synthetic::device::timeline(800, 8_000))];
    println!("{} spans", large[0].1.spans.len());
    let samples = [
        ("sweep", synthetic::sweep(), &timelines[..]),
        ("single", synthetic::single(), &timelines[..0]),
        ("variants", variants, &first[..]),
        ("two-keys", synthetic::two_keys(), &timelines[..]),
        ("large", synthetic::sweep(), &large[..]),
        ("empty", synthetic::empty(), &timelines[..0]),
    ];
    for (name, results, timelines) in samples {
        std::fs::write(folder.join(format!("{name}.html")), html(&results, timelines)).unwrap();
        println!("{}", weir::report::table(&results, 110, false));
    }
    std::fs::write(folder.join("sample.perfetto-trace"), weir::report::perfetto(&timelines[1].1)).unwrap();
}
