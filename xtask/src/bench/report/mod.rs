//! What a run found, in the forms it is shown.

mod header;
pub(crate) mod rows;
mod table;

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

pub(crate) use header::Header;
pub(crate) use table::{Form, Table};

use crate::bench::measure::ProjectResult;

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub header: Header,
    pub projects: Vec<ProjectResult>,
}

impl Report {
    pub(crate) fn print(&self, form: Form) -> String {
        let mut text = self.header.print(form);
        for project in &self.projects {
            text.push('\n');
            text.push_str(&rows::heading(project, form));
            text.push_str(&rows::table(project).print(form));
        }
        if self.projects.len() > 1 {
            text.push('\n');
            text.push_str(&rows::summary(&self.projects).print(form));
        }
        text
    }
}

pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}
