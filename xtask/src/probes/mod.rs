//! `probes`: pairs of small C++ programs, one that leaks and one that does not, through Caulk and other analysers.
//!
//! A pair is one file under `bench/probes/cpp`; with `LEAK` defined it leaks. What counts is whether a tool reports any leak in
//! a build of the file, wherever it puts it: that is kinder to the others than to us.

mod tool;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::bench::build;
use tool::Tool;

/// Run Caulk and other analysers over pairs of small C++ programs, and print one table.
#[derive(Debug, Args)]
pub(crate) struct Probes {
    /// Only pairs whose name contains this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) only: String,

    /// Measure this binary; without it, Caulk is built first.
    #[arg(long, value_name = "PATH")]
    pub(crate) caulk: Option<PathBuf>,

    /// Leave the other analysers out.
    #[arg(long)]
    pub(crate) alone: bool,
}

/// What one tool said of one pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Answer {
    finds: bool,
    is_false: bool,
}

impl Answer {
    fn word(self) -> &'static str {
        match (self.finds, self.is_false) {
            (true, false) => "found",
            (true, true) => "found, false",
            (false, true) => "false",
            (false, false) => "-",
        }
    }
}

pub(crate) fn run(arguments: &Probes) -> Result<()> {
    let caulk = build::given_or_built(arguments.caulk.as_deref(), &build::target_folder()?)?;
    let others = if arguments.alone { Vec::new() } else { Tool::others() };
    let tools: Vec<Tool> = [Tool::Caulk(caulk)].into_iter().chain(others).collect();
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut rows = Vec::new();
    for file in pairs(&arguments.only)? {
        let mut answers = Vec::new();
        for tool in &tools {
            let finds = tool.reports_leak(&file, true, scratch.path())?;
            let is_false = tool.reports_leak(&file, false, scratch.path())?;
            answers.push(Answer { finds, is_false });
        }
        rows.push((name_of(&file), answers));
    }
    ensure!(!rows.is_empty(), "no pair has {:?} in its name", arguments.only);
    print!("{}", table(&tools, &rows)?);
    Ok(())
}

fn name_of(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().replace('_', " ")
}

/// The files of all pairs, sorted.
fn pairs(only: &str) -> Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/probes/cpp");
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let is_pair = path.extension().is_some_and(|e| e == "cpp");
        if is_pair && path.file_stem().is_some_and(|s| s.to_string_lossy().contains(only)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn table(tools: &[Tool], rows: &[(String, Vec<Answer>)]) -> Result<String> {
    let mut text = String::new();
    let names: Vec<String> = tools.iter().map(Tool::name).collect();
    writeln!(text, "| pair | {} |", names.join(" | "))?;
    writeln!(text, "|---|{}", "---|".repeat(tools.len()))?;
    for (name, answers) in rows {
        let words: Vec<&str> = answers.iter().map(|a| a.word()).collect();
        writeln!(text, "| {name} | {} |", words.join(" | "))?;
    }
    let count = |is_counted: fn(&Answer) -> bool, tool: usize| {
        rows.iter().filter(|(_, answers)| is_counted(&answers[tool])).count().to_string()
    };
    let counts = |is_counted: fn(&Answer) -> bool| -> Vec<String> {
        (0..tools.len()).map(|tool| count(is_counted, tool)).collect()
    };
    writeln!(text, "| **found, of {}** | {} |", rows.len(), counts(|a| a.finds).join(" | "))?;
    writeln!(text, "| **false, of {}** | {} |", rows.len(), counts(|a| a.is_false).join(" | "))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_counts_what_each_tool_says() {
        let tools = [Tool::Caulk(PathBuf::from("caulk")), Tool::Cppcheck];
        let (found, wrong) = (Answer { finds: true, is_false: false }, Answer { finds: true, is_false: true });
        let rows = [("one".to_owned(), vec![found, Answer::default()]), ("two".to_owned(), vec![found, wrong])];
        let text = table(&tools, &rows).expect("a string");
        assert!(text.contains("| two | found | found, false |"), "{text}");
        assert!(text.contains("| **found, of 2** | 2 | 1 |"), "{text}");
        assert!(text.contains("| **false, of 2** | 0 | 1 |"), "{text}");
    }

    #[test]
    fn there_are_pairs_and_each_has_both_sides() {
        let files = pairs("").expect("the repository has them");
        assert!(files.len() >= 60, "{}", files.len());
        for file in files {
            let text = std::fs::read_to_string(&file).expect("readable");
            assert!(text.contains("LEAK"), "{}", file.display());
            assert!(text.starts_with("// "), "{} says what it shows", file.display());
        }
    }
}
