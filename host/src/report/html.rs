// SPDX-License-Identifier: Apache-2.0
//! `report.html`: one file that needs nothing else, not even a network.

use super::data::Page;
use crate::results::Results;
use crate::timeline::Timeline;

const PAGE: &str = include_str!("../../assets/report.html");
const STYLE: &str = include_str!("../../assets/report.css");
const CHART_LIBRARY: &str = include_str!("../../assets/vendor/echarts.common.min.js");
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

/// Replaces every `{{name}}` of `template`, and looks at nothing that it has put in.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len() + values.iter().map(|(_, value)| value.len()).sum::<usize>());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        text += before;
        text += values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
        rest = after;
    }
    text + rest
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// JSON that no HTML parser takes for a tag: `<` occurs in its strings only, where it can be written as a code.
fn escape_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}
