//! All text is in plain English: the words of the field, not riddles. Help, manual, settings, messages and comments are searched for
//! words that were replaced; singular and plural are looked at where numbers are printed.

mod project;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use project::{LEAK, Project};

/// What not to write, and what to write instead. A space stands for any white space.
const WORDS: [(&str, &str); 52] = [
    ("fate", "ownership state, outcome"),
    ("dear", "expensive"),
    ("tired", "over budget"),
    ("at this moment", "at this program point"),
    ("round of the loop", "iteration of the loop"),
    ("could have taken", "does not take ownership of"),
    ("goes a different way", "takes another path"),
    ("made by chance", "randomly generated"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("mending", "fixing"),
    ("anew", "again"),
    ("somebody", "an owner, a caller"),
    ("somebody's", "owned"),
    ("nobody", "no owner"),
    ("nobody's", "without an owner"),
    ("whoever", "the caller"),
    ("swallow", "escape to unknown code"),
    ("swallows", "escapes to unknown code"),
    ("swallowed", "escaped to unknown code"),
    ("blurred", "merged"),
    ("hurrying", "draining"),
    ("told apart", "distinguished"),
    ("tell apart", "distinguish"),
    ("stand apart", "are kept separate"),
    ("stands apart", "is kept separate"),
    ("what becomes of", "outcome"),
    ("what became of", "outcome"),
    ("by chance", "randomly"),
    ("complain of", "warn about"),
    ("complains of", "warns about"),
    ("say nothing but", "print only"),
    ("could have taken it, and did not", "does not take ownership of it"),
    ("goes another way", "takes another path"),
    ("on some ways", "on some paths"),
    ("on other ways", "on other paths"),
    ("on all ways", "on all paths"),
    ("on hidden ways", "on opaque paths"),
    ("where ways meet", "where paths meet"),
    ("ways of a callee", "outcomes of a callee"),
    ("ways of the callee", "outcomes of the callee"),
    ("told guard", "return-guarded"),
    ("given guard", "argument-guarded"),
    ("hidden guard", "opaque"),
    ("rounds of the loop", "iterations of the loop"),
    ("round of a loop", "iteration of a loop"),
    ("the next round", "the next iteration"),
    ("at that moment", "at that program point"),
    ("at the moment", "at the program point, now"),
    ("fates", "ownership states"),
    ("mends", "fixes"),
    ("hurries", "drains"),
];

/// Words that no name in the code has, and what to write instead.
const NAMES: [(&str, &str); 22] = [
    ("fate", "ownership"),
    ("fates", "ownerships"),
    ("moment", "program_point"),
    ("moments", "program_points"),
    ("tired", "over_budget"),
    ("hurrying", "draining"),
    ("blurred", "merged"),
    ("swallow", "escape"),
    ("swallows", "escapes"),
    ("swallowed", "escaped"),
    ("anew", "renewed"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("dear", "expensive"),
    ("somebody", "owner"),
    ("nobody", "no_owner"),
    ("whoever", "caller"),
    ("rounds", "iterations"),
    ("round", "iteration"),
    ("chance", "random"),
    ("told_apart", "distinguished"),
    ("came_of", "outcome"),
];

/// Names of closures that do not say what they test.
const EMPTY_NAMES: [&str; 3] = ["is_it", "is_one", "is_meant"];

/// Names that have such a word and mean another thing: numbers that are rounded, what is written and read again, a user of the system.
const OTHER_MEANINGS: [&str; 5] = ["round_trip", "goes_round", "way_round", "NOBODY", ".round"];

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The words that should not be in a text.
fn wrong(text: &str) -> Vec<String> {
    let plain: String = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    let stands_alone = |at: usize, length: usize| {
        let before = plain[..at].chars().next_back();
        let after = plain[at + length..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(|c| is_word(c) && c != '\'')
    };
    let found = WORDS.iter().filter(|(word, _)| plain.match_indices(word).any(|(at, w)| stands_alone(at, w.len())));
    found.map(|(word, instead)| format!("{word:?}: write {instead:?}")).collect()
}

fn files(folder: &Path, suffixes: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() && !path.ends_with("schema") {
            found.extend(files(&path, suffixes));
        } else if path.extension().and_then(|s| s.to_str()).is_some_and(|suffix| suffixes.contains(&suffix)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The string literals of Rust code; those of its tests are left out.
fn literals(code: &str) -> String {
    let code = code.split("#[cfg(test)]").next().unwrap_or_default();
    // A sign is no string, and an escaped quote ends none.
    let code = code.replace("'\"'", "").replace("\\\\", "").replace("\\\"", "");
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    // A long text goes on in the next line after a backslash.
    let joined = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    let mut text = String::new();
    for line in joined.lines() {
        for literal in line.split('"').skip(1).step_by(2) {
            text.push_str(literal);
            text.push('\n');
        }
    }
    text
}

#[test]
fn literals_are_found_across_lines() {
    let code = "tell!(\"one \\\n    two\", 3);\nlet sign = '\"';\nlet quoted = \"a \\\"b\\\" c\";\n// \"not this\"\n";
    let found = literals(code).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(found, ["one", "two", "a", "b", "c"]);
}

/// The comments of Rust code, without what they quote as code.
fn comments(code: &str) -> String {
    let comment = |line: &str| line.trim_start().strip_prefix("//").map(str::to_owned);
    let text: Vec<String> = code.lines().filter_map(comment).collect();
    text.join("\n").split('`').step_by(2).collect::<Vec<_>>().join("``")
}

/// The names in Rust code, each with the dot before it if it is a method or a field.
fn names(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in code.lines() {
        let line = line.split("//").next().unwrap_or_default();
        for part in line.split('"').step_by(2) {
            let is_name = |c: char| c.is_alphanumeric() || c == '_';
            let mut rest = part;
            while let Some(start) = rest.find(is_name) {
                let end = rest[start..].find(|c| !is_name(c)).map_or(rest.len(), |length| start + length);
                let dot = if rest[..start].ends_with('.') && rest[end..].starts_with('(') { "." } else { "" };
                found.insert(format!("{dot}{}", &rest[start..end]));
                rest = &rest[end..];
            }
        }
    }
    found
}

/// `FateOf` and `fate_of` have the same words.
fn in_words(name: &str) -> String {
    let mut words = String::new();
    for c in name.chars() {
        if c.is_uppercase() && words.ends_with(|before: char| before.is_lowercase()) {
            words.push('_');
        }
        words.extend(c.to_lowercase());
    }
    format!("_{}_", words.trim_start_matches('.'))
}

#[test]
fn names_in_the_code() {
    let root = Path::new(ROOT);
    let own = Path::new(file!()).file_name();
    let mut found = Vec::new();
    for path in ["crates", "xtask"].iter().flat_map(|folder| files(&root.join(folder), &["rs"])) {
        if path.file_name() == own {
            continue;
        }
        let code = fs::read_to_string(&path).expect("it is there");
        let mut all = names(&code);
        all.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
        for name in all.iter().filter(|name| !OTHER_MEANINGS.iter().any(|other| name.contains(other))) {
            let words = in_words(name);
            let wrong = NAMES.iter().find(|(word, _)| words.contains(&format!("_{word}_")));
            found.extend(wrong.map(|(_, instead)| format!("{}: {name}: write {instead:?}", path.display())));
            if EMPTY_NAMES.contains(&name.as_str()) {
                found.push(format!("{}: {name}: say what it tests", path.display()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn comments_of_the_code() {
    let root = Path::new(ROOT);
    let own = Path::new(file!()).file_name();
    let sources = ["crates", "xtask"].iter().flat_map(|folder| files(&root.join(folder), &["rs"]));
    let found: Vec<String> = sources
        .filter(|path| path.file_name() != own)
        .flat_map(|path| {
            let words = wrong(&comments(&fs::read_to_string(&path).expect("it is there")));
            words.into_iter().map(move |word| format!("{}: {word}", path.display()))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_test_sees_the_words() {
    assert_eq!(wrong("Nobody\n can mend it"), ["\"mend\": write \"fix\"", "\"nobody\": write \"no owner\""]);
    assert_eq!(wrong("it is told\n  apart"), ["\"told apart\": write \"distinguished\""]);
    assert_eq!(wrong("an amendment, recommended"), Vec::<String>::new());
    assert_eq!(comments("// One `mend`,\nlet a; // two\n    /// three"), " One ``,\n/ three");
    let all: Vec<String> = names("let is_tired = \"mend\"; // fate\nx.round(2.5).of").into_iter().collect();
    assert_eq!(all, [".round", "2", "5", "is_tired", "let", "of", "x"]);
    assert_eq!(in_words("FateOfAll"), "_fate_of_all_");
    assert_eq!(literals("let a = \"one\";\n// \"two\"\n#[cfg(test)]\nlet b = \"three\";"), "one\n");
}

/// Whether a file is a part of the programs, not of their tests.
fn is_program(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "src")
}

#[test]
fn help_manual_settings_and_messages() {
    let root = Path::new(ROOT);
    let mut texts: Vec<(String, String)> = Vec::new();
    let project = Project::new(&[]);
    let commands = [
        "check",
        "candidates",
        "summaries",
        "why",
        "program",
        "ir",
        "prove",
        "prove-leak",
        "fix",
        "query",
        "graph",
        "capture",
        "init",
        "explain",
        "rules",
        "lower",
        "lsp",
        "completions",
        "man",
    ];
    for command in commands {
        texts.push((format!("caulk {command} --help"), project.run(&[command, "--help"]).stdout));
    }
    texts.push(("caulk --help".to_owned(), project.run(&["--help"]).stdout));
    let mut documents = files(&root.join("docs"), &["md"]);
    documents.extend(
        [
            "README.md",
            "ARCHITECTURE.md",
            "CHANGELOG.md",
            "SECURITY.md",
            "CONTRIBUTING.md",
            "action.yml",
            "Containerfile",
        ]
        .map(|name| root.join(name)),
    );
    documents.extend(["scripts/package", "scripts/install-deps", ".pre-commit-hooks.yaml"].map(|name| root.join(name)));
    for (folder, suffixes) in [
        ("ci", &["yml"][..]),
        ("editors/vscode/src", &["ts"]),
        ("editors/vscode", &["json", "md"]),
        ("examples", &["md", "c", "h"]),
        ("models", &["toml"]),
        ("tests", &["md"]),
    ] {
        let all = files(&root.join(folder), suffixes);
        documents
            .extend(all.into_iter().filter(|path| !path.components().any(|part| part.as_os_str() == "node_modules")));
    }
    documents.extend(files(&root.join("crates/caulk-report/src/html/assets"), &["js", "css"]));
    documents.push(root.join("crates/caulk/src/settings/template.toml"));
    // Their descriptions are comments of the code.
    documents.extend(files(&root.join("docs/schema"), &["json"]));
    for path in documents {
        texts.push((path.display().to_string(), fs::read_to_string(&path).expect("it is there")));
    }
    for path in files(&root.join("crates"), &["rs"]).iter().filter(|p| is_program(p.strip_prefix(root).unwrap_or(p))) {
        texts.push((path.display().to_string(), literals(&fs::read_to_string(path).expect("it is there"))));
    }
    let found: Vec<String> = texts
        .iter()
        .flat_map(|(place, text)| wrong(text).into_iter().map(move |word| format!("{place}: {word}")))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn one_and_many() {
    let project = Project::new(&[("a.c", LEAK)]);
    let run = project.run(&["check", "a.c"]);
    run.says(&["caulk: 1 leak; 1 unit, 1 function, 1 candidate: 1 confirmed"]);
    run.prints(&["a.c: 1 leak\n", "1 leak in 1 file: 1 forgotten; 1 of high confidence\n"]);
    for wrong in ["1 leaks", "1 units", "1 functions", "1 candidates", "1 files"] {
        assert!(!run.stdout.contains(wrong) && !run.stderr.contains(wrong), "{wrong}");
    }
}
