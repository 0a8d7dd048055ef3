//! The report as JSON, for programs.

use serde::Serialize;

use crate::report::Report;

/// Goes up when a field changes its meaning or goes; new fields do not count.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    format: &'static str,
    version: u32,
    tool: Tool,
    #[serde(flatten)]
    report: &'a Report,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

pub fn render(report: &Report) -> String {
    let tool = Tool { name: "caulk", version: env!("CARGO_PKG_VERSION") };
    let document = Document { format: "caulk-report", version: VERSION, tool, report };
    let mut text = serde_json::to_string_pretty(&document).expect("strings and numbers always serialise");
    text.push('\n');
    text
}
