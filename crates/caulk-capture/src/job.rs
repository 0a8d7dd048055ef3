//! The list of jobs: what the front end is asked to read, and what was left out and why.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::flags::Dropped;
use crate::language::Language;
use crate::paths::display;

/// One source file to compile.
///
/// The front end runs clang in `directory` with its own flags, then `flags`, then `--` and `source`. `source` is
/// absolute, so it can begin neither with `-` nor with `@`; the `--` is a second lock on the same door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileJob {
    /// Where relative paths in `flags` start from.
    pub directory: PathBuf,
    /// Absolute path of the source. Never part of `flags`.
    pub source: PathBuf,
    /// The path shown to users: relative to the project's folder when below it, else absolute.
    pub display: String,
    pub language: Language,
    /// What may be passed to clang. Every element is one complete flag with its value attached (`-Iinc`, never `-I`
    /// `inc`), so any element can be removed without giving the next one another meaning. Ends with `-x<language>`.
    pub flags: Vec<String>,
    /// Where the build put the object: distinguishes the targets that share a source.
    pub output_hint: Option<String>,
    /// The compiler as the build wrote it, without launchers.
    pub original_compiler: String,
    /// What the build said and clang will not hear.
    pub dropped: Vec<Dropped>,
}

/// A file that is already LLVM bitcode (`.bc`) or its text form (`.ll`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BitcodeJob {
    /// Absolute.
    pub path: PathBuf,
    /// The path shown to users.
    pub display: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    Compile(CompileJob),
    Bitcode(BitcodeJob),
}

impl Job {
    /// The absolute path of what is read.
    pub fn path(&self) -> &Path {
        match self {
            Job::Compile(job) => &job.source,
            Job::Bitcode(job) => &job.path,
        }
    }

    /// The path shown to users.
    pub fn display(&self) -> &str {
        match self {
            Job::Compile(job) => &job.display,
            Job::Bitcode(job) => &job.display,
        }
    }
}

/// Everything to read, in the order of the database or of the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobList {
    pub jobs: Vec<Job>,
    /// The databases that were read.
    pub databases: Vec<PathBuf>,
    /// Databases that were there too, and could have been meant.
    pub other_databases: Vec<PathBuf>,
    /// The files and folders of a database that were named: all is read, and what concerns these is wanted. Absolute; empty
    /// when all is wanted.
    pub focus: Vec<PathBuf>,
    /// The project's folder, which shown paths are relative to.
    pub root: PathBuf,
    pub skipped: Skipped,
}

impl JobList {
    pub(crate) fn append(&mut self, mut other: JobList) {
        self.jobs.append(&mut other.jobs);
        self.databases.append(&mut other.databases);
        self.other_databases.append(&mut other.other_databases);
        self.skipped.units.append(&mut other.skipped.units);
    }
}

impl Job {
    fn display_mut(&mut self) -> &mut String {
        match self {
            Job::Compile(job) => &mut job.display,
            Job::Bitcode(job) => &mut job.display,
        }
    }
}

impl JobList {
    /// Shows all paths relative to the project's folder; those of what was skipped were shown relative to `cwd`.
    pub(crate) fn show_from(&mut self, root: PathBuf, cwd: &Path) {
        for job in &mut self.jobs {
            let shown = display(job.path(), &root);
            *job.display_mut() = shown;
        }
        for unit in &mut self.skipped.units {
            unit.file = display(&cwd.join(&unit.file), &root);
        }
        self.root = root;
    }
}

/// Why an entry of the database became no job.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// The same file with the same flags came before.
    Duplicate,
    /// The same file with other flags came before.
    OtherFlags,
    /// A pattern given to `--skip` matches.
    Excluded,
    Assembler,
    Header,
    /// The `-x` word or the suffix.
    OtherLanguage(String),
    /// clang's own inner command (`-cc1`); its outer command is the entry that counts.
    InnerCommand,
    /// A command line in the style of Microsoft's compiler.
    MsvcCommand,
    /// The working directory does not exist.
    DirectoryMissing,
    SourceMissing,
    /// The command cannot be understood: broken quoting, or no compiler in it.
    BadCommand(String),
}

impl SkipReason {
    /// Whether code the user wanted analysed is not: these count for the exit status, the others are intended.
    pub fn is_loss(&self) -> bool {
        matches!(
            self,
            SkipReason::MsvcCommand
                | SkipReason::DirectoryMissing
                | SkipReason::SourceMissing
                | SkipReason::BadCommand(_)
        )
    }

    /// The words for a count of units: "3 in another language".
    fn group(&self) -> &'static str {
        match self {
            SkipReason::Duplicate => "compiled the same way before",
            SkipReason::OtherFlags => "compiled again with other flags",
            SkipReason::Excluded => "left out by --skip",
            SkipReason::Assembler => "assembler",
            SkipReason::Header => "as a header",
            SkipReason::OtherLanguage(_) => "in another language",
            SkipReason::InnerCommand => "with an inner command of clang",
            SkipReason::MsvcCommand => "with a Microsoft command line",
            SkipReason::DirectoryMissing => "whose directory is gone",
            SkipReason::SourceMissing => "whose source is gone",
            SkipReason::BadCommand(_) => "whose command cannot be understood",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkipReason::Duplicate => f.write_str("the same command came before"),
            SkipReason::OtherFlags => f.write_str("compiled before with other flags"),
            SkipReason::Excluded => f.write_str("left out by --skip"),
            SkipReason::Assembler => f.write_str("assembler"),
            SkipReason::Header => f.write_str("a header"),
            SkipReason::OtherLanguage(name) if name.is_empty() => f.write_str("neither C nor C++"),
            SkipReason::OtherLanguage(name) => write!(f, "neither C nor C++ ({name})"),
            SkipReason::InnerCommand => f.write_str("an inner command of clang"),
            SkipReason::MsvcCommand => f.write_str("a Microsoft command line"),
            SkipReason::DirectoryMissing => f.write_str("its build directory is gone"),
            SkipReason::SourceMissing => f.write_str("the source file is gone"),
            SkipReason::BadCommand(what) => write!(f, "its command cannot be understood: {what}"),
        }
    }
}

/// An entry that became no job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedUnit {
    /// The path shown to users.
    pub file: String,
    pub reason: SkipReason,
}

/// Everything that was left out, in the order it was met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    pub units: Vec<SkippedUnit>,
}

impl Skipped {
    pub(crate) fn push(&mut self, file: String, reason: SkipReason) {
        self.units.push(SkippedUnit { file, reason });
    }

    /// How many units were left out for reasons that satisfy `wanted`.
    pub fn count(&self, wanted: impl Fn(&SkipReason) -> bool) -> usize {
        self.units.iter().filter(|unit| wanted(&unit.reason)).count()
    }

    /// Units the user wanted analysed and that are not.
    pub fn losses(&self) -> impl Iterator<Item = &SkippedUnit> {
        self.units.iter().filter(|unit| unit.reason.is_loss())
    }

    /// One line: "2 assembler, 1 whose source is gone"; empty when nothing was left out.
    pub fn summary(&self) -> String {
        let mut reasons: Vec<&SkipReason> = self.units.iter().map(|unit| &unit.reason).collect();
        reasons.sort();
        let parts: Vec<String> = reasons
            .chunk_by(|a, b| a.group() == b.group())
            .map(|group| format!("{} {}", group.len(), group[0].group()))
            .collect();
        parts.join(", ")
    }
}
