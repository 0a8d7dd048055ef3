//! The documents under `tests/cases`: prose that explains a rule, and programs that show it. Every section with a program is
//! a test. `tests/cases/README.md` says how they are written; `CAULK_BLESS=1` writes the summaries of today into them.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, LazyLock};

use caulk_capture::jobs_from_sources;
use caulk_explore::{Exploration, ExploreConfig, Verdict, explore};
use caulk_frontend::{Clang, Config, read_units};
use caulk_models::Models;
use caulk_program::{Program, ProgramConfig, UnitInput};
use caulk_useflow::{Analysis, Kind, Loss, Slot, UseflowConfig};
use libtest_mimic::{Arguments, Failed, Trial};

#[path = "cases/summaries.rs"]
mod summaries;

use summaries::{bless, compare_summary};

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
    exploration: Exploration,
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
    let config = Config { clang: Clang::find(None)?, cache: None, isolated: None, threads: 1 };
    let mut inputs = Vec::new();
    for unit in read_units(&list.jobs, &config, &|_| {})? {
        let unit = unit.map_err(|lost| format!("{} does not compile: {}", lost.source, lost.reason))?;
        inputs.push(UnitInput::new(unit.unit));
    }
    let program = Program::link(inputs, ProgramConfig::default());
    let useflow = UseflowConfig::default();
    let analysis = caulk_useflow::analyse(&program, &MODELS, &useflow);
    let exploration = explore(&program, &useflow, &analysis, &ExploreConfig::default());
    Ok(Ran { program, analysis, exploration })
}

fn test(section: &Section) -> Result<(), Failed> {
    let expected = expectations(section)?;
    let ran = match std::panic::catch_unwind(|| run(section)) {
        Err(_) if section.crashes => return Ok(()),
        Err(panic) => std::panic::resume_unwind(panic),
        Ok(_) if section.crashes => return Err("crashes no more; delete the line `Known crash: ...`".into()),
        Ok(ran) => ran?,
    };
    let mut problems = compare_candidates(section, &expected, exceptions(section), found(&ran));
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
                let comment = comment.split("//").next().unwrap_or(comment).trim_end();
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

/// Where stage two is known to be wrong: `// leak-missing: lost "p"` beside a `candidate` that it refutes, `// leak-false: ...`
/// beside a `candidate-false` that it does not.
fn exceptions(section: &Section) -> Vec<Spot> {
    let mut all = Vec::new();
    for file in &section.files {
        for (number, text) in section.text(&file.lines).iter().enumerate() {
            let marks = ["// leak-missing: ", "// leak-false: "].iter().flat_map(|mark| text.split(mark).skip(1));
            for what in marks.flat_map(|list| list.split("//").next().unwrap_or(list).split(';')) {
                all.push(Spot { file: file.name.clone(), line: number + 1, what: what.trim().to_owned() });
            }
        }
    }
    all
}

struct Found {
    spot: Spot,
    hidden: bool,
    /// Stage two says that it cannot be.
    is_refuted: bool,
    /// For messages.
    function: String,
    allocated: u32,
}

fn found(ran: &Ran) -> Vec<Found> {
    let program = &ran.program;
    let mut all = Vec::new();
    for (_, candidate, verdict) in ran.exploration.judged(&ran.analysis) {
        let info = program.function(candidate.function);
        let unit = program.unit(info.unit);
        let body = program.body(candidate.function).expect("a candidate stands in a body");
        let place = body.place(candidate.place);
        let file = unit.files.get(place.file).map_or("?", |f| unit.str(*f));
        let file = Path::new(file).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kind = match candidate.kind {
            Kind::Lost => "lost",
            Kind::Forgotten => "forgotten",
            Kind::AtExit => "held-at-exit",
        };
        let variable = match (candidate.loss.slot(), candidate.variable) {
            (Some(slot), None) => format!("\"{}\"", field_name(program, slot)),
            (_, Some(variable)) => format!("\"{}\"", unit.str(body.vars[variable].name)),
            (None, None) => match candidate.loss {
                Loss::OverwrittenStatic(variable) => format!("\"{}\"", program.global(variable).name),
                _ => "unnamed".to_owned(),
            },
        };
        all.push(Found {
            spot: Spot { file, line: place.line as usize, what: format!("{kind} {variable}") },
            // What stage one only asks about counts once stage two says yes.
            hidden: candidate.hidden && !(candidate.loss == Loss::Question && matches!(verdict, Verdict::Confirmed(_))),
            is_refuted: matches!(verdict, Verdict::Refuted(_)),
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
fn compare_candidates(
    section: &Section,
    expected: &[Expectation],
    mut exceptions: Vec<Spot>,
    mut found: Vec<Found>,
) -> String {
    let mut problems = String::new();
    let mut say = |index: usize, text: String| writeln!(problems, "{}: {text}", section.at(index)).expect("a string");
    for expectation in expected {
        let wants_hidden = expectation.want == Want::Hidden;
        let exception = exceptions.iter().position(|spot| *spot == expectation.spot).map(|at| exceptions.remove(at));
        // Of several that read alike, the one that is as it should be.
        let is_refuted = (expectation.want == Want::False) != exception.is_some();
        let is_expected = |f: &&Found| f.spot == expectation.spot && f.hidden == wants_hidden;
        let alike: Vec<usize> = (0..found.len()).filter(|at| is_expected(&&found[*at])).collect();
        let at = alike.iter().copied().find(|at| found[*at].is_refuted == is_refuted).or(alike.first().copied());
        let what = &expectation.spot.what;
        match (expectation.want, at) {
            (Want::Missing, None) => {}
            (Want::Missing, Some(at)) => {
                found.remove(at);
                say(expectation.index, format!("{what}: is found now; make it `candidate`"));
            }
            (want, Some(at)) => {
                let is_refuted = found.remove(at).is_refuted;
                let problem = match (want, is_refuted, exception.is_some()) {
                    (Want::Found, true, false) => "stage two refutes it; it is `leak-missing` as well",
                    (Want::Found, false, true) => "stage two does not refute it any more; delete `leak-missing`",
                    (Want::False, false, false) => "stage two does not refute it; it is `leak-false` as well",
                    (Want::False, true, true) => "stage two refutes it now; delete `leak-false`",
                    _ => continue,
                };
                say(expectation.index, format!("{what}: {problem}"));
            }
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
