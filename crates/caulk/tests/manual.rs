//! The manual: every chapter is listed, every link leads somewhere, and what it shows was really printed.

mod project;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use project::{Project, have, in_example};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").canonicalize().expect("the manual is in the repository")
}

fn chapters(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            found.extend(chapters(&path));
        } else if path.extension().is_some_and(|suffix| suffix == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The targets of links, without those in code.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        if is_code || line.starts_with("    ") {
            continue;
        }
        for part in line.split("](").skip(1) {
            links.extend(part.split_once(')').map(|(target, _)| target.to_owned()));
        }
    }
    links
}

/// Anchors of headings, as Markdown readers make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let heading = |line: &str| line.starts_with('#').then(|| line.trim_start_matches('#').trim().to_lowercase());
    let anchor = |text: String| -> String {
        let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    text.lines().filter_map(heading).map(anchor).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    let docs = docs();
    let root = docs.parent().expect("the manual is in a folder of the repository");
    for path in chapters(&docs).into_iter().chain([root.join("README.md"), root.join("SECURITY.md")]) {
        let text = fs::read_to_string(&path).expect("it is there");
        for link in links(&text).iter().filter(|link| !link.contains("://") && !link.is_empty()) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().expect("a folder").join(file) };
            let has_anchor = || fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(anchor));
            // Made into pages, a link out of the manual, or to its first chapter by name, leads nowhere.
            let is_chapter = path.starts_with(&docs) && !path.ends_with("SUMMARY.md");
            let is_in_book =
                !target.ends_with("README.md") && target.canonicalize().is_ok_and(|t| t.starts_with(&docs));
            if !target.exists() || (!anchor.is_empty() && !has_anchor()) || (is_chapter && !is_in_book) {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_chapter_is_listed() {
    let summary = fs::read_to_string(docs().join("SUMMARY.md")).expect("the table of contents");
    let listed: BTreeSet<String> = links(&summary).into_iter().collect();
    for path in chapters(&docs()) {
        let name = path.strip_prefix(docs()).expect("below the manual").to_string_lossy().into_owned();
        assert!(name == "SUMMARY.md" || listed.contains(&name), "{name} is not in SUMMARY.md");
    }
}

/// Times differ from run to run.
fn settled(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once("; ").filter(|(_, end)| end.ends_with(" s")) {
        Some((before, _)) => format!("{before}; N.N s"),
        None => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Runs every `$ caulk ...` of the first chapter and compares; `CAULK_BLESS=1` writes what is printed today.
#[test]
fn transcripts_were_really_printed() {
    if !have("clang-19") {
        return;
    }
    let path = docs().join("first-steps.md");
    let text = fs::read_to_string(&path).expect("it is there");
    let (_, after) = text.split_once("```c\n").expect("a program");
    let (source, _) = after.split_once("```").expect("a block has an end");
    let project = Project::new(&[("tiny.c", source)]);
    let mut written = String::new();
    let mut blocks = text.split("```console\n");
    written.push_str(blocks.next().unwrap_or_default());
    for block in blocks {
        let (transcript, rest) = block.split_once("```").expect("a block has an end");
        let command = transcript.lines().next().and_then(|line| line.strip_prefix("$ caulk ")).expect("a command");
        let run = project.run(&command.split(' ').collect::<Vec<_>>());
        let printed = settled(&format!("{}{}", run.stdout, run.stderr));
        written.push_str(&format!("```console\n$ caulk {command}\n{}\n```{rest}", printed.trim_end()));
    }
    if std::env::var_os("CAULK_BLESS").is_some() {
        fs::write(&path, &written).expect("the repository is writable");
    }
    assert!(fs::read_to_string(&path).expect("it is there") == written, "CAULK_BLESS=1 writes:\n{written}");
}

/// Every `caulk COMMAND --option` in the text, without what comes after ` -- `.
fn commands(text: &str) -> BTreeSet<String> {
    let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let lines = text.lines().map(|line| line.trim_start().trim_start_matches("$ "));
    let calls = spans.chain(lines).filter(|call| call.starts_with("caulk ") && !call.starts_with("caulk is "));
    let call = |call: &str| call.split([';', '|', '#', '>']).next().unwrap_or_default().trim().to_owned();
    calls.map(|text| call(text.split(" -- ").next().unwrap_or_default())).collect()
}

/// No chapter shows a command or an option that Caulk does not have.
#[test]
fn commands_in_the_manual_exist() {
    let project = Project::new(&[]);
    let mut help = std::collections::BTreeMap::new();
    let mut wrong = Vec::new();
    let root = docs().join("..");
    for path in chapters(&docs()).into_iter().chain([root.join("README.md")]) {
        for call in commands(&fs::read_to_string(&path).expect("it is there")) {
            let mut words = call.split(' ').skip(1);
            let command = words.next().unwrap_or_default();
            // `caulk 0.1.0`, `caulk COMMAND`, `caulk --version`: printed, a placeholder, no command.
            if !command.starts_with(|c: char| c.is_ascii_lowercase()) {
                continue;
            }
            let text = help.entry(command.to_owned()).or_insert_with(|| project.run(&[command, "--help"]).stdout);
            let options = words.filter(|w| w.starts_with("--")).map(|w| w.split('=').next().unwrap_or(w));
            let unknown: Vec<&str> =
                options.filter(|o| !text.split([' ', '\n', ',', '[', '=']).any(|w| w == *o)).collect();
            if text.is_empty() || !unknown.is_empty() {
                wrong.push(format!("{}: {call}: {unknown:?}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The line about Caulk of the table in `comparison.md`.
#[test]
fn what_caulk_finds_beside_others() {
    if !have("clang-19") {
        return;
    }
    let project =
        Project::new(&[("one.c", include_str!("comparison/one.c")), ("two.c", include_str!("comparison/two.c"))]);
    let run = project.run(&["check", "-q", "--resources", "all", "one.c", "two.c"]);
    let function = |line: &str| line.split("(in ").nth(1).and_then(|rest| rest.split(')').next()).map(str::to_owned);
    let found: Vec<String> = run.stdout.lines().filter_map(function).collect();
    assert_eq!(found, ["leak", "stream", "descriptor", "from_another"], "{}", run.stdout);
    let text = fs::read_to_string(docs().join("comparison.md")).expect("it is there");
    assert!(text.contains("| `caulk check --resources all one.c two.c` | found | silent | found | found | found |"));
}

/// What the README shows of the example is what its snapshot has, and so what is printed today.
#[test]
fn the_readme_shows_the_example_as_it_is() {
    let readme = fs::read_to_string(docs().join("../README.md")).expect("it is there");
    let quoted = |text: &str| -> String {
        text.trim_end().lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n").collect()
    };
    let snapshot = include_str!("snapshots/check__the_example_as_text.snap");
    let (_, printed) = snapshot.split_once("\n---\n").expect("a snapshot has a head");
    assert!(readme.contains(&quoted(printed)), "README.md shows another report than:\n{printed}");
    if have("clang-19") {
        let run = in_example(&Project::new(&[]), &["summaries", "--function", "alerts_add"]);
        // Here the example is read from outside of its folder.
        let folder = docs().join("../examples/logsum").canonicalize().expect("the example is in the repository");
        let printed = run.stdout.replace(&format!("{}/", folder.display()), "");
        assert!(readme.contains(&quoted(&printed)), "README.md shows another summary than:\n{printed}");
    }
}

/// The pages that mdBook makes, where it is installed (Debian 13: apt-get install mdbook): every link between them leads somewhere.
#[test]
fn the_book() {
    if !have("mdbook") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let output = std::process::Command::new("mdbook").arg("build").arg(docs()).arg("-d").arg(folder.path()).output();
    let run = project::finished(output.expect("it can be run"));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let mut broken = Vec::new();
    let pages = chapters(&docs()).into_iter().filter(|path| !path.ends_with("SUMMARY.md"));
    for chapter in pages {
        let name = chapter.strip_prefix(docs()).expect("below the manual").to_string_lossy().into_owned();
        let name = if name == "README.md" { "index.html".to_owned() } else { name.replace(".md", ".html") };
        let page = folder.path().join(&name);
        let text = fs::read_to_string(&page).unwrap_or_else(|e| panic!("{name}: {e}"));
        let (_, main) = text.split_once("<main>").expect("every page has its text there");
        let main = main.split("</main>").next().unwrap_or_default();
        for link in main.split("href=\"").skip(1).filter_map(|part| part.split('"').next()) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.parent().expect("a folder").join(file) };
            let has_anchor =
                || fs::read_to_string(&target).is_ok_and(|text| text.contains(&format!("id=\"{anchor}\"")));
            if !link.contains("://") && (!target.exists() || (!anchor.is_empty() && !has_anchor())) {
                broken.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
