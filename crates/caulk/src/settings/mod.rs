//! `caulk.toml`: the options of the command line, for a whole project. What the command line says comes first.
//!
//! The file belongs to the project, and a project one has just fetched is not to be trusted: it cannot name a program to be
//! run, and what it has written stays below its own folder.

mod apply;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::num::NonZeroUsize;
use std::path::{Component, Path, PathBuf};

use caulk_capture::folders_upward;
use caulk_models::nearest;
use caulk_process::Limits;
use caulk_rules::Rule;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::arguments::{AllocFailureArgument, ColorArgument, ConfidenceArgument, ReportFormat, ResourcesArgument};
use crate::error::Error;
use crate::input::current_folder;

pub(crate) use apply::{apply, apply_in_folder};

pub(crate) const FILE_NAME: &str = "caulk.toml";
/// Largest file of settings read.
const MAX_BYTES: u64 = 1 << 20;
/// Folders that are not the project's own though they lie in its folder: what is written there, the user's tools obey.
const NOT_OURS: [&str; 4] = [".git", ".hg", ".svn", ".jj"];
/// What `caulk init` writes.
pub(crate) const TEMPLATE: &str = include_str!("template.toml");

/// Settings of Caulk for a project. Paths are relative to the folder of this file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Settings {
    /// What to read when the command line names nothing: source files, bitcode, databases, or directories with one.
    pub inputs: Vec<PathBuf>,
    /// Directory that holds compile_commands.json, or the file itself.
    pub build_dir: Option<PathBuf>,
    /// Do not read units whose path matches one of these globs; what they free or keep is then unknown.
    pub skip: Vec<String>,
    /// The project's folder, which paths in reports are relative to.
    pub root: Option<PathBuf>,
    /// Report only findings in files that match one of these globs; all is analysed.
    pub only: Vec<String>,
    /// Do not report findings in files that match one of these globs; they are analysed all the same.
    pub exclude: Vec<String>,
    /// Read a file once for every set of flags it is compiled with.
    pub all_flag_sets: bool,
    /// Where sources are named one by one: do not read those beside their headers that define what they use.
    pub no_neighbours: bool,
    /// Flags for clang, added to those of the database.
    pub flags: Vec<String>,
    /// How many units to work on at once; no more than there are cores.
    pub jobs: Option<NonZeroUsize>,
    /// Seconds that clang may take for a unit; the command line alone can give it more than the usual 300.
    #[schemars(range(min = 1, max = 300))]
    pub clang_timeout: Option<u64>,
    /// Mebibytes of memory that clang may take for a unit; the command line alone can give it more than the usual 4096.
    #[schemars(range(min = 512, max = 4096))]
    pub clang_memory: Option<u64>,
    /// Where lowered units and results are kept between runs; below this folder.
    pub cache: Option<PathBuf>,
    /// Keep nothing between runs.
    pub no_cache: bool,
    /// Files with models of library functions.
    pub models: Vec<PathBuf>,
    /// Folders of headers that are not yours: what happens in them is shown at your own call.
    pub system_folders: Vec<String>,
    /// The format of reports.
    pub format: Option<ReportFormat>,
    /// Where to write the report; below this folder.
    pub output: Option<PathBuf>,
    /// 0: every path to every place of loss; 1: one for each allocation and variable that a function loses; 2: one for each
    /// allocation.
    #[schemars(range(min = 0, max = 2))]
    pub report_level: Option<u8>,
    /// Leave out findings that are less certain than this.
    pub min_confidence: Option<ConfidenceArgument>,
    /// What to do with leaks that need some other allocation to fail.
    pub alloc_failure: Option<AllocFailureArgument>,
    /// Which unclosed resources to report, besides memory.
    pub resources: Option<ResourcesArgument>,
    /// Show what main still holds when the program ends, as notes.
    pub at_exit: Option<bool>,
    /// Findings listed in this file are known: only others count.
    pub baseline: Option<PathBuf>,
    /// Hold findings back that the prover contradicts (docs/prove.md).
    pub second_opinion: Option<bool>,
    /// Warn about suppressions that silence nothing or give no reason.
    pub strict: bool,
    /// When to use colours.
    pub color: Option<ColorArgument>,
    /// Show every step of long paths.
    pub full_path: bool,
    /// Print only results and errors, and one line for each finding.
    pub quiet: bool,
    /// Rules of the engines to do without: `name = false`. `caulk rules` lists them.
    pub rules: BTreeMap<String, bool>,
    /// Findings that are not reported.
    pub ignore: Vec<IgnoreSetting>,
    /// The folder of the file, if there is a file.
    #[serde(skip)]
    pub folder: Option<PathBuf>,
}

/// Findings that are not reported: those that match all that is given.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct IgnoreSetting {
    /// A glob of the file in which the memory is lost.
    pub path: Option<String>,
    /// The function in which it is lost.
    pub function: Option<String>,
    /// `lost`, `forgotten`, `held-at-exit` or `resource`.
    pub rule: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// The settings of a file; without one, those of the nearest file at or above one of the `starts`, if there is any.
pub(crate) fn load(file: Option<&Path>, starts: &[PathBuf]) -> Result<Settings, Error> {
    let found =
        || starts.iter().flat_map(|start| folders_upward(start)).map(|f| f.join(FILE_NAME)).find(|f| f.exists());
    let Some(path) = file.map(Path::to_owned).or_else(found) else { return Ok(Settings::default()) };
    let current = current_folder()?;
    let shown = path.strip_prefix(&current).unwrap_or(&path);
    let failed = |e: std::io::Error| Error::Usage(format!("cannot read {}: {e}", shown.display()));
    let text = caulk_files::read_text(&path, MAX_BYTES).map_err(failed)?;
    // The folder the file is named in. If the file is a link, where that leads is not the project's folder.
    let folder = current.join(path.parent().unwrap_or(Path::new(""))).canonicalize().map_err(failed)?;
    let settings = parse(&text, shown)?;
    settings.check(shown)?;
    Ok(Settings { folder: Some(folder), ..settings })
}

fn parse(text: &str, path: &Path) -> Result<Settings, Error> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or_default());
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
        Error::Usage(format!("{}:{line}:{column}: {}", path.display(), explained(error.message())))
    })
}

/// Words that people try, and the key that does it.
const SYNONYMS: [(&str, &str); 12] = [
    ("suppress", "ignore"),
    ("suppression", "ignore"),
    ("suppressions", "ignore"),
    ("silence", "ignore"),
    ("omit", "exclude"),
    ("database", "build-dir"),
    ("compile-commands", "build-dir"),
    ("include", "only"),
    ("colour", "color"),
    ("confidence", "min-confidence"),
    ("threads", "jobs"),
    ("sources", "inputs"),
];

/// A project that could choose a server could have what others wrote there believed, and tell it who reads the project.
const NO_REMOTE: &str =
    "a project cannot choose a remote cache; name it with --remote-cache or in CAULK_REMOTE_CACHE of the environment";

/// An unknown key with the known one it is nearest to; other messages as they are.
fn explained(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    if let (true, Some(word)) = (message.starts_with("unknown field"), quoted.next()) {
        if word.starts_with("remote") {
            return format!("there is no key `{word}`: {NO_REMOTE}");
        }
        // Misspelt, a word for another key is still nearer to that.
        let tried = || nearest(word, SYNONYMS.iter().map(|(tried, _)| *tried));
        let synonym =
            || tried().and_then(|tried| SYNONYMS.iter().find(|(word, _)| *word == tried)).map(|(_, key)| *key);
        let meant = nearest(word, quoted).or_else(synonym);
        let hint = meant.map_or_else(|| "`caulk init` shows all keys".to_owned(), |m| format!("did you mean `{m}`?"));
        return format!("there is no key `{word}`; {hint}");
    }
    message.trim().to_owned()
}

impl Settings {
    fn check(&self, path: &Path) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::Usage(format!("{}: {what}", path.display())));
        if self.report_level.is_some_and(|level| level > 2) {
            return wrong("report-level is 0, 1 or 2".to_owned());
        }
        let usual = Limits::DEFAULT;
        let bounds = [
            ("clang-timeout", self.clang_timeout, 1, usual.time.as_secs()),
            ("clang-memory", self.clang_memory, 512, usual.memory_bytes >> 20),
        ];
        for (key, value, least, most) in bounds {
            if value.is_some_and(|value| value < least || value > most) {
                return wrong(format!(
                    "{key} is from {least} to {most}; give clang more with --{key} on the command line"
                ));
            }
        }
        for name in self.rules.keys() {
            if Rule::named(name).is_none() {
                return wrong(unknown_rule(name));
            }
        }
        for (key, written) in [("cache", &self.cache), ("output", &self.output)] {
            if written.as_ref().is_some_and(|p| !stays_below(p)) {
                return wrong(format!(
                    "{key} must lie below the folder of this file, and not in its .git; the command line may name others"
                ));
            }
        }
        Ok(())
    }
}

/// What to say of a name that no rule has.
pub(crate) fn unknown_rule(name: &str) -> String {
    let hint = nearest(name, Rule::ALL.map(Rule::name))
        .map_or_else(|| "`caulk rules` lists all".to_owned(), |meant| format!("did you mean `{meant}`?"));
    format!("there is no rule `{name}`; {hint}")
}

fn stays_below(path: &Path) -> bool {
    let is_own = |name: &OsStr| !NOT_OURS.iter().any(|folder| name.eq_ignore_ascii_case(folder));
    path.components().all(|part| match part {
        Component::Normal(name) => is_own(name),
        Component::CurDir => true,
        _ => false,
    })
}

/// The JSON schema of the file, for editors.
#[cfg(test)]
fn schema() -> String {
    let schema = schemars::schema_for!(Settings);
    serde_json::to_string_pretty(&schema).expect("strings and numbers always serialise") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        match parse(text, Path::new("caulk.toml")).and_then(|s| s.check(Path::new("caulk.toml"))) {
            Err(error) => error.to_string(),
            Ok(()) => String::new(),
        }
    }

    #[test]
    fn wrong_settings_are_explained() {
        assert_eq!(
            message("jobs = 2\nreprot-level = 1\n"),
            "caulk.toml:2:1: there is no key `reprot-level`; did you mean `report-level`?"
        );
        assert_eq!(
            message("colour-of-hair = 1"),
            "caulk.toml:1:1: there is no key `colour-of-hair`; `caulk init` shows all keys"
        );
        assert_eq!(
            message("clang = \"./evil\""),
            "caulk.toml:1:1: there is no key `clang`; `caulk init` shows all keys"
        );
        assert_eq!(
            message("[[ignore]]\nrul = \"lost\""),
            "caulk.toml:2:1: there is no key `rul`; did you mean `rule`?"
        );
        assert_eq!(
            message("[[suppress]]\nrule = \"lost\""),
            "caulk.toml:1:3: there is no key `suppress`; did you mean `ignore`?"
        );
        assert_eq!(
            message("[[supress]]\nrule = \"lost\""),
            "caulk.toml:1:3: there is no key `supress`; did you mean `ignore`?"
        );
        assert!(
            message("remote-cache = \"http://evil/\"").contains("`remote-cache`: a project cannot choose a remote")
        );
        assert_eq!(message("report-level = 3"), "caulk.toml: report-level is 0, 1 or 2");
        assert_eq!(
            message("[rules]\ncarriers = true\ncarrier = false"),
            "caulk.toml: there is no rule `carrier`; did you mean `carriers`?"
        );
        assert_eq!(message("[rules]\ncarriers = false"), "");
        assert!(message("output = \"../x\"").contains("output must lie below"));
        assert!(message("cache = \"/x\"").contains("cache must lie below"));
        assert!(message("output = \".git/config\"").contains("output must lie below"));
        assert!(message("output = \"sub/.GIT/hooks/pre-commit\"").contains("output must lie below"));
        assert_eq!(message("output = \".github/report\""), "");
        assert!(message("min-confidence = \"hihg\"").contains("`hihg`"));
        assert!(message("jobs = 0").starts_with("caulk.toml:1:8: "));
        assert!(message("= 1").starts_with("caulk.toml:1:1: "));
    }

    /// The template names every key, and means what it says.
    #[test]
    fn the_template_is_complete() {
        assert!(parse(TEMPLATE, Path::new("t")).is_ok());
        let is_setting = |l: &&str| l.strip_prefix("# ").is_some_and(|l| l.contains(" = ") || l.starts_with("[["));
        let settings: Vec<&str> = TEMPLATE.lines().filter(is_setting).map(|l| &l[2..]).collect();
        let all = parse(&settings.join("\n"), Path::new("t")).expect("every example is valid");
        assert!(all.check(Path::new("t")).is_ok() && all.ignore.len() == 1);
        let schema: serde_json::Value = serde_json::from_str(&schema()).expect("JSON");
        for key in schema["properties"].as_object().expect("keys").keys() {
            let named = settings.iter().any(|l| l.starts_with(&format!("{key} = ")) || *l == format!("[[{key}]]"));
            assert!(named, "{key} is not in the template");
        }
    }

    /// What only makes sense in one run, or must not come with a project, has no key.
    #[test]
    fn every_option_has_a_key() {
        use clap::CommandFactory;
        const LEFT_OUT: [&str; 12] = [
            "no-results",
            "clang",
            "config",
            "no-config",
            "write-baseline",
            "changed-since",
            "fixes",
            "without-rule",
            "help",
            "remote-cache",
            "remote-cache-mode",
            "remote-timeout",
        ];
        let schema: serde_json::Value = serde_json::from_str(&schema()).expect("JSON");
        let program = crate::arguments::Arguments::command();
        let check = program.find_subcommand("check").expect("the main command");
        for option in check.get_arguments().filter_map(|a| a.get_long()).filter(|o| !LEFT_OUT.contains(o)) {
            assert!(schema["properties"].get(option).is_some(), "--{option} has no key");
        }
    }

    #[test]
    fn the_schema_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/caulk.toml.json");
        if std::env::var_os("CAULK_BLESS").is_some() {
            std::fs::write(&path, schema()).expect("the repository is writable");
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(written == schema(), "run the test with CAULK_BLESS=1 and look at the difference");
    }
}
