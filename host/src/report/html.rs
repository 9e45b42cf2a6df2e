// SPDX-License-Identifier: Apache-2.0
//! `report.html`: one file that needs nothing else, not even a network.

use report_page::{CHART_LIBRARY, STYLE, escape, escape_script, fill};

use super::data::Page;
use crate::results::Results;
use crate::timeline::Timeline;

const PAGE: &str = include_str!("../../assets/report.html");
const SCRIPTS: [&str; 9] = [
    include_str!("../../assets/format.js"),
    include_str!("../../assets/charts.js"),
    include_str!("../../assets/sections.js"),
    include_str!("../../assets/numbers.js"),
    include_str!("../../assets/timeline_model.js"),
    include_str!("../../assets/timeline_draw.js"),
    include_str!("../../assets/timeline.js"),
    include_str!("../../assets/report.peers.js"),
    include_str!("../../assets/report.js"),
];

/// The report of `results`, with the timelines of some of its runs (each with the index of its run).
pub fn html(results: &Results, timelines: &[(usize, Timeline)]) -> String {
    let page = Page::new(results, timelines);
    // Every part of a page is a string, a number or a list of them: this cannot fail.
    let data = serde_json::to_string(&page).expect("a report is plain data");
    let scripts = SCRIPTS.join("\n");
    fill(
        PAGE,
        &[
            ("title", &escape(&results.scenario)),
            ("style", STYLE),
            ("library", CHART_LIBRARY),
            ("data", &escape_script(&data)),
            ("scripts", &scripts),
        ],
    )
}
