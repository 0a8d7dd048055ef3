//! The documents under `tests/cases`: prose that explains a rule, and programs that show it. Every section with a program is
//! a test. `tests/cases/README.md` says how they are written; `CAULK_BLESS=1` writes the summaries of today into them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, LazyLock};

use caulk_capture::jobs_from_sources;
use caulk_frontend::{Clang, Config, read_units};
use caulk_models::Models;
use caulk_program::{Program, ProgramConfig, UnitInput};
use caulk_summary::print;
use caulk_useflow::{Analysis, Kind, Slot, UseflowConfig};
use libtest_mimic::{Arguments, Failed, Trial};

static MODELS: LazyLock<Models> = LazyLock::new(Models::bundled);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let sections = match documents().iter().map(|path| read_document(path)).collect::<Result<Vec<_>, String>>() {
        Ok(documents) => documents.into_iter().flatten(),
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    if std::env::var_os("CAULK_BLESS").is_some() {
        return bless(sections.collect());
    }
    let trials = sections.map(|section| Trial::test(section.name.clone(), move || test(&section))).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn documents() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let entries = std::fs::read_dir(&folder).expect("the repository has tests/cases");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "md") && path.file_name() != Some("README.md".as_ref()));
    paths.sort();
    paths
}

// ---------------------------------------------------------------------------------------------------------------------
// Documents

struct Section {
    /// `document / heading / heading`.
    name: String,
    document: Arc<Document>,
    files: Vec<SourceFile>,
    summaries: Vec<SummaryBlock>,
    /// Says `Known crash: ...`: we panic on it today.
    crashes: bool,
}

struct Document {
    path: PathBuf,
    lines: Vec<String>,
}

struct SourceFile {
    name: String,
    /// Lines of the document, as indices: the code, without its fences.
    lines: std::ops::Range<usize>,
}

struct SummaryBlock {
    lines: std::ops::Range<usize>,
}

impl Section {
    fn text(&self, lines: &std::ops::Range<usize>) -> &[String] {
        &self.document.lines[lines.clone()]
    }

    /// A place in the document, as an editor understands it.
    fn at(&self, index: usize) -> String {
        let name = self.document.path.file_name().unwrap_or_default();
        format!("tests/cases/{}:{}", name.to_string_lossy(), index + 1)
    }
}

fn read_document(path: &Path) -> Result<Vec<Section>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let document = Arc::new(Document { path: path.to_owned(), lines: text.lines().map(str::to_owned).collect() });
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut sections: Vec<Section> = Vec::new();
    let mut headings: Vec<(usize, String)> = Vec::new();
    let mut index = 0;
    while index < document.lines.len() {
        let line = &document.lines[index];
        if let Some(fence) = line.strip_prefix("```") {
            let end = (index + 1..document.lines.len())
                .find(|&i| document.lines[i] == "```")
                .ok_or_else(|| format!("{}:{}: a code block without an end", path.display(), index + 1))?;
            if let Some(section) = sections.last_mut() {
                add_block(section, fence, index + 1..end)?;
            }
            index = end;
        } else if line.starts_with('#') {
            let level = line.chars().take_while(|c| *c == '#').count();
            headings.retain(|(above, _)| *above < level);
            headings.push((level, line[level..].trim().to_owned()));
            // The first heading is the title of the document, which its file name stands for.
            let titles: Vec<&str> = headings.iter().filter(|(l, _)| *l > 1).map(|(_, title)| title.as_str()).collect();
            let name = format!("{stem} / {}", titles.join(" / "));
            if let Some(known) = sections.iter().find(|s| s.name == name) {
                return Err(format!("{}:{}: a second section {:?}", path.display(), index + 1, known.name));
            }
            let (files, summaries) = (Vec::new(), Vec::new());
            sections.push(Section { name, document: document.clone(), files, summaries, crashes: false });
        } else if let Some(section) = sections.last_mut() {
            section.crashes |= line.starts_with("Known crash: ");
        }
        index += 1;
    }
    sections.retain(|section| !section.files.is_empty());
    Ok(sections)
}

fn add_block(section: &mut Section, fence: &str, lines: std::ops::Range<usize>) -> Result<(), String> {
    let mut words = fence.split_whitespace();
    let language = words.next().unwrap_or_default();
    let name = words.find_map(|word| word.strip_prefix("name="));
    match (language, name) {
        ("summary", _) => section.summaries.push(SummaryBlock { lines }),
        ("c" | "cpp", name) => {
            let name = name.map_or_else(|| format!("case.{language}"), str::to_owned);
            if section.files.iter().any(|f| f.name == name) {
                return Err(format!("{}: a second file {name} in one section", section.at(lines.start)));
            }
            section.files.push(SourceFile { name, lines });
        }
        _ => {}
    }
    Ok(())
}

// ---------------------------------------------------------------------------------------------------------------------
// Running

struct Ran {
    program: Program,
    analysis: Analysis,
}

fn run(section: &Section) -> Result<Ran, Failed> {
    let folder = tempfile::Builder::new().prefix("caulk-case-").tempdir()?;
    // What `current_dir` of a user would be: without links on the way.
    let root = folder.path().canonicalize()?;
    let mut sources = Vec::new();
    for file in &section.files {
        let path = root.join(&file.name);
        std::fs::write(&path, section.text(&file.lines).join("\n") + "\n")?;
        if !file.name.ends_with(".h") {
            sources.push(path);
        }
    }
    let list = jobs_from_sources(&sources, &[], &root);
    let config = Config { clang: Clang::find(None)?, cache: None, threads: 1 };
    let mut inputs = Vec::new();
    for unit in read_units(&list.jobs, &config, &|_| {})? {
        let unit = unit.map_err(|lost| format!("{} does not compile: {}", lost.source, lost.reason))?;
        inputs.push(UnitInput::new(unit.unit));
    }
    let program = Program::link(inputs, ProgramConfig::default());
    let analysis = caulk_useflow::analyse(&program, &MODELS, &UseflowConfig::default());
    Ok(Ran { program, analysis })
}

fn test(section: &Section) -> Result<(), Failed> {
    let expected = expectations(section)?;
    let ran = match std::panic::catch_unwind(|| run(section)) {
        Err(_) if section.crashes => return Ok(()),
        Err(panic) => std::panic::resume_unwind(panic),
        Ok(_) if section.crashes => return Err("crashes no more; delete the line `Known crash: ...`".into()),
        Ok(ran) => ran?,
    };
    let mut problems = compare_candidates(section, &expected, found(&ran));
    for block in &section.summaries {
        problems.push_str(&compare_summary(section, block, &ran));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.into()) }
}

// ---------------------------------------------------------------------------------------------------------------------
// Candidates

#[derive(Clone, Copy, PartialEq, Eq)]
enum Want {
    /// A leak, and we say so.
    Found,
    /// We say so, but only to those who ask for what rests on hidden guards.
    Hidden,
    /// A leak, and we do not say so yet.
    Missing,
    /// No leak, but we say so still.
    False,
}

/// A file and a line, and the kind and variable of what is lost there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    file: String,
    line: usize,
    what: String,
}

struct Expectation {
    want: Want,
    spot: Spot,
    /// In the document.
    index: usize,
}

/// `// candidate: forgotten "p"; lost "q"`.
fn expectations(section: &Section) -> Result<Vec<Expectation>, String> {
    let mut all = Vec::new();
    for file in &section.files {
        for (number, text) in section.text(&file.lines).iter().enumerate() {
            let index = file.lines.start + number;
            for comment in text.split("// candidate").skip(1) {
                let wrong = |why: &str| format!("{}: {why}: // candidate{comment}", section.at(index));
                let (word, list) = comment.split_once(": ").ok_or_else(|| wrong("no colon"))?;
                let want = match word {
                    "" => Want::Found,
                    "-hidden" => Want::Hidden,
                    "-missing" => Want::Missing,
                    "-false" => Want::False,
                    _ => return Err(wrong("unknown word")),
                };
                for what in list.split(';').map(str::trim) {
                    let (kind, variable) = what.split_once(' ').ok_or_else(|| wrong("no variable"))?;
                    let is_variable = variable == "unnamed" || (variable.starts_with('"') && variable.ends_with('"'));
                    if !["lost", "forgotten"].contains(&kind) || !is_variable {
                        return Err(wrong("not of the form: lost \"p\""));
                    }
                    let spot = Spot { file: file.name.clone(), line: number + 1, what: what.to_owned() };
                    all.push(Expectation { want, spot, index });
                }
            }
        }
    }
    Ok(all)
}

struct Found {
    spot: Spot,
    hidden: bool,
    /// For messages.
    function: String,
    allocated: u32,
}

fn found(ran: &Ran) -> Vec<Found> {
    let program = &ran.program;
    let mut all = Vec::new();
    for candidate in ran.analysis.reports.iter().flat_map(|report| &report.candidates) {
        let info = program.function(candidate.function);
        let unit = program.unit(info.unit);
        let body = program.body(candidate.function).expect("a candidate stands in a body");
        let place = body.place(candidate.place);
        let file = unit.files.get(place.file).map_or("?", |f| unit.str(*f));
        let file = Path::new(file).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kind = match candidate.kind {
            Kind::Lost => "lost",
            Kind::Forgotten => "forgotten",
        };
        let variable = match (candidate.slot, candidate.variable) {
            (Some(slot), None) => format!("\"{}\"", field_name(program, slot)),
            (_, Some(variable)) => format!("\"{}\"", unit.str(body.vars[variable].name)),
            (None, None) => "unnamed".to_owned(),
        };
        all.push(Found {
            spot: Spot { file, line: place.line as usize, what: format!("{kind} {variable}") },
            hidden: candidate.hidden,
            function: info.name.to_owned(),
            allocated: body.place(candidate.allocation).line,
        });
    }
    all.sort_by(|a, b| a.spot.cmp(&b.spot));
    all
}

/// A field as `structure.field`, as `caulk candidates` prints it.
fn field_name(program: &Program, (ty, offset): Slot) -> String {
    let (unit, structure) = program.struct_type(ty);
    let field = structure.field_at(offset).and_then(|f| f.name).map_or("?", |n| unit.str(n));
    format!("{}.{field}", program.type_name(ty))
}

/// What is wrong, in words; empty when nothing is. Candidates that rest on hidden guards may be left unsaid.
fn compare_candidates(section: &Section, expected: &[Expectation], mut found: Vec<Found>) -> String {
    let mut problems = String::new();
    let mut say = |index: usize, text: String| writeln!(problems, "{}: {text}", section.at(index)).expect("a string");
    for expectation in expected {
        let wants_hidden = expectation.want == Want::Hidden;
        let at = found.iter().position(|f| f.spot == expectation.spot && f.hidden == wants_hidden);
        let what = &expectation.spot.what;
        match (expectation.want, at) {
            (Want::Missing, None) => {}
            (Want::Missing, Some(at)) => {
                found.remove(at);
                say(expectation.index, format!("{what}: is found now; make it `candidate`"));
            }
            (_, Some(at)) => drop(found.remove(at)),
            (Want::False, None) => {
                say(expectation.index, format!("{what}: is no longer reported; delete the comment"));
            }
            (_, None) => say(expectation.index, format!("{what}: not found")),
        }
    }
    for other in found.iter().filter(|f| !f.hidden) {
        let Spot { file, line, what } = &other.spot;
        let text =
            format!("{what}: not expected, in {}, allocated at line {} of its file", other.function, other.allocated);
        match section.files.iter().find(|f| f.name == *file) {
            Some(source) => say(source.lines.start + line - 1, text),
            None => say(0, format!("{file}:{line}: {text}")),
        }
    }
    problems
}

// ---------------------------------------------------------------------------------------------------------------------
// Summaries

/// The functions a block names, each with its lines of today.
fn summary_lines(section: &Section, block: &SummaryBlock, ran: &Ran) -> Vec<String> {
    let mut lines = Vec::new();
    let mut done: Vec<&str> = Vec::new();
    for line in section.text(&block.lines).iter().filter(|line| !is_comment(line)) {
        let function = function_of(line);
        if done.contains(&function) {
            continue;
        }
        done.push(function);
        let ids = ran.program.functions_named(function);
        let before = lines.len();
        for id in ids.into_iter().filter(|f| ran.program.has_body(*f)) {
            let summary = print::summary(&ran.program, id, ran.analysis.summary(id));
            lines.extend(summary.iter().map(|action| format!("{function}: {action}")));
        }
        if lines.len() == before {
            lines.push(format!("{function}: nothing"));
        }
    }
    lines
}

fn is_comment(line: &str) -> bool {
    line.starts_with('#')
}

fn function_of(line: &str) -> &str {
    line.split_once(": ").map_or(line, |(function, _)| function)
}

/// The new lines of a block with its old comments: each before the line it was before, or before the function of that.
fn with_comments(old: &[String], mut lines: Vec<String>) -> Vec<String> {
    for (index, comment) in old.iter().enumerate().filter(|(_, line)| is_comment(line)) {
        let next = old[index..].iter().find(|line| !is_comment(line));
        let at = next.and_then(|next| {
            let same = lines.iter().position(|line| line == next);
            same.or_else(|| lines.iter().position(|l| !is_comment(l) && function_of(l) == function_of(next)))
        });
        lines.insert(at.unwrap_or(lines.len()), comment.clone());
    }
    lines
}

fn compare_summary(section: &Section, block: &SummaryBlock, ran: &Ran) -> String {
    let expected: Vec<&String> = section.text(&block.lines).iter().filter(|line| !is_comment(line)).collect();
    let actual = summary_lines(section, block, ran);
    if expected.iter().copied().eq(&actual) {
        return String::new();
    }
    let mut text = format!("{}: the summaries are others (-: expected, +: today)\n", section.at(block.lines.start));
    let mut rest = actual.as_slice();
    for line in expected {
        match rest.iter().position(|l| l == line) {
            Some(at) => {
                rest[..at].iter().for_each(|l| writeln!(text, "  + {l}").expect("a string"));
                writeln!(text, "    {line}").expect("a string");
                rest = &rest[at + 1..];
            }
            None => writeln!(text, "  - {line}").expect("a string"),
        }
    }
    rest.iter().for_each(|l| writeln!(text, "  + {l}").expect("a string"));
    text
}

/// Writes the summaries of today into the documents. Candidates stay as they are: what is a leak is for people to say.
fn bless(sections: Vec<Section>) -> ExitCode {
    type Replacement = (std::ops::Range<usize>, Vec<String>);
    let mut documents: BTreeMap<PathBuf, Vec<Replacement>> = BTreeMap::new();
    for section in sections.iter().filter(|s| !s.summaries.is_empty()) {
        match run(section) {
            Ok(ran) => {
                let new = section.summaries.iter().map(|block| {
                    let lines = summary_lines(section, block, &ran);
                    (block.lines.clone(), with_comments(section.text(&block.lines), lines))
                });
                documents.entry(section.document.path.clone()).or_default().extend(new);
            }
            Err(failed) => {
                eprintln!("{}: {}", section.name, failed.message().unwrap_or("failed"));
                return ExitCode::FAILURE;
            }
        }
    }
    for (path, blocks) in documents {
        let Some(section) = sections.iter().find(|s| s.document.path == path) else { continue };
        let mut lines = section.document.lines.clone();
        for (range, new) in blocks.into_iter().rev() {
            lines.splice(range, new);
        }
        if lines != section.document.lines {
            eprintln!("{}", path.display());
            if let Err(e) = std::fs::write(&path, lines.join("\n") + "\n") {
                eprintln!("{}: {e}", path.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
