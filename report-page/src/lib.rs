// SPDX-License-Identifier: Apache-2.0
//! Reports are one HTML file that needs nothing else, not even a network.

/// The looks.
pub const STYLE: &str = include_str!("../page.css");
/// ECharts.
pub const CHART_LIBRARY: &str = include_str!("../vendor/echarts.common.min.js");

/// Replaces every `{{name}}` of `template`, and looks at nothing that it has put in.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
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

/// Text that no HTML parser takes for anything else.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// JSON that no HTML parser takes for a tag: `<` occurs in its strings only, where it can be written as a code.
pub fn escape_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}
