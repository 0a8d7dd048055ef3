//! The report as JSON, for programs. `docs/json.md` describes it, `docs/schema/report.json` is its schema.

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::Report;

/// Goes up when a field changes its meaning or goes; new fields do not count.
pub const VERSION: u32 = 1;

/// A report of `caulk check --format json`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    /// Always `caulk-report`.
    format: &'static str,
    /// The version of this format.
    version: u32,
    tool: Tool,
    #[serde(flatten)]
    report: &'a Report,
}

#[derive(Serialize, JsonSchema)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

pub fn render(report: &Report) -> String {
    let tool = Tool { name: "caulk", version: env!("CARGO_PKG_VERSION") };
    lines(&Document { format: "caulk-report", version: VERSION, tool, report })
}

/// The JSON schema of a report.
pub fn schema() -> String {
    lines(&schemars::schema_for!(Document<'static>))
}

fn lines(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("strings and numbers always serialise");
    text.push('\n');
    text
}
