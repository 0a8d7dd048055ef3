//! All arguments, in one place; those of `check` are in a file of their own.

mod check;
mod fix;
mod lower;
mod prove_leak;
mod remote;

use std::path::PathBuf;

use caulk_frontend::Overlay;
use caulk_process::Lifeline;
use caulk_rules::Rules;
use clap::builder::TypedValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};

use caulk_files::Destination;

use crate::kept::Kept;

pub(crate) use check::{
    AllocFailureArgument, CheckOptions, ColorArgument, ConfidenceArgument, ReportFormat, ResourcesArgument,
};

pub(crate) use fix::{FixOptions, LspOptions};
pub(crate) use lower::{LowerOptions, Shard};
pub(crate) use prove_leak::ProveLeakOptions;
pub(crate) use remote::{RemoteModeArgument, RemoteOptions};

/// A place for a result that the command line names: it may be anywhere.
fn destination() -> impl clap::builder::TypedValueParser<Value = Destination> {
    clap::builder::PathBufValueParser::new().map(Destination::named)
}

/// Finds memory leaks in C and C++ programs without running them.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(CheckOptions),
    Fix(FixOptions),
    ProveLeak(ProveLeakOptions),
    Lsp(LspOptions),
    Candidates(CandidatesOptions),
    Summaries(SummariesOptions),
    Why(WhyOptions),
    Program(ProgramOptions),
    Ir(IrOptions),
    Prove(ProveOptions),
    Query(QueryOptions),
    Graph(GraphOptions),
    Lower(LowerOptions),
    Capture(CaptureOptions),
    /// Write a caulk.toml with all settings, commented out.
    Init,
    Explain(ExplainOptions),
    /// List the rules of the engines: the heuristics that a setting can switch off, each with its reason.
    Rules,
    Completions(CompletionsOptions),
    Man(ManOptions),
}

impl Command {
    /// The options of those that read a project.
    pub(crate) fn input_mut(&mut self) -> Option<&mut InputOptions> {
        match self {
            Command::Check(options) => Some(&mut options.input),
            Command::Fix(options) => Some(&mut options.check.input),
            Command::ProveLeak(options) => Some(&mut options.check.input),
            Command::Lsp(options) => Some(&mut options.check.input),
            Command::Candidates(options) => Some(&mut options.input),
            Command::Summaries(options) => Some(&mut options.input),
            Command::Why(options) => Some(&mut options.input),
            Command::Prove(options) => Some(&mut options.input),
            Command::Query(options) => Some(&mut options.input),
            Command::Program(options) => Some(&mut options.input),
            Command::Ir(options) => Some(&mut options.input),
            Command::Graph(options) => Some(&mut options.input),
            Command::Lower(options) => Some(&mut options.input),
            Command::Capture(_)
            | Command::Init
            | Command::Explain(_)
            | Command::Rules
            | Command::Completions(_)
            | Command::Man(_) => None,
        }
    }

    /// The place in the source that the command asks about.
    pub(crate) fn place(&self) -> Option<&str> {
        match self {
            Command::Why(options) => Some(&options.place),
            Command::Query(options) => Some(&options.place),
            Command::ProveLeak(options) => options.finding.as_deref(),
            _ => None,
        }
    }

    /// Lets what the command starts end with Caulk.
    pub(crate) fn tie_to(&mut self, lifeline: &Lifeline) {
        if let Command::Capture(options) = self {
            options.lifeline = lifeline.clone();
        } else if let Some(input) = self.input_mut() {
            input.lifeline = lifeline.clone();
        }
    }

    pub(crate) fn models_mut(&mut self) -> Option<&mut ModelOptions> {
        match self {
            Command::Check(options) => Some(&mut options.models),
            Command::Fix(options) => Some(&mut options.check.models),
            Command::ProveLeak(options) => Some(&mut options.check.models),
            Command::Lsp(options) => Some(&mut options.check.models),
            Command::Candidates(options) => Some(&mut options.models),
            Command::Summaries(options) => Some(&mut options.models),
            Command::Why(options) => Some(&mut options.models),
            Command::Prove(options) => Some(&mut options.models),
            Command::Query(options) => Some(&mut options.models),
            Command::Graph(options) => Some(&mut options.models),
            Command::Program(_)
            | Command::Ir(_)
            | Command::Lower(_)
            | Command::Capture(_)
            | Command::Init
            | Command::Explain(_)
            | Command::Rules
            | Command::Completions(_)
            | Command::Man(_) => None,
        }
    }
}

/// What to read, and how: the same for every command that reads a project.
#[derive(Clone, Debug, Args)]
pub(crate) struct InputOptions {
    /// Source files, .bc or .ll files, a directory with a compilation database, or a database. Without any, the nearest
    /// database is read, in this directory, its build*/ or those above. With -p, the whole database is read, and what concerns
    /// the files and folders named here is reported.
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// Directory that holds compile_commands.json, or the file itself.
    #[arg(short = 'p', long = "build-dir", value_name = "DIR")]
    pub build_dir: Option<PathBuf>,

    /// Do not read units whose path matches; what they free or keep is then unknown (may be given several times). `check
    /// --exclude` analyses all and only reports less.
    #[arg(long, value_name = "GLOB")]
    pub skip: Vec<String>,

    /// The project's directory, which paths in reports are relative to [default: the top of its git repository, else the
    /// directory of caulk.toml, else that of the database].
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// Read a file once for every set of flags it is compiled with, not only for the first.
    #[arg(long)]
    pub all_flag_sets: bool,

    /// Where sources are named one by one: do not read those beside their headers that define what they use.
    #[arg(long)]
    pub no_neighbours: bool,

    /// How many units to work on at once, at most 256 [default: all cores].
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<std::num::NonZeroUsize>,

    /// Where lowered units and results are kept between runs [default: .caulk in the project's directory].
    #[arg(long, value_name = "DIR", value_parser = destination())]
    pub cache: Option<Destination>,

    /// Read everything again and keep nothing.
    #[arg(long)]
    pub no_cache: bool,

    /// Analyse every function again: use units of the cache, but no results of an earlier run, and keep none.
    #[arg(long)]
    pub no_results: bool,

    #[command(flatten)]
    pub remote: RemoteOptions,

    /// The clang to use [default: clang-19, or clang if it is version 19].
    #[arg(long, value_name = "PATH")]
    pub clang: Option<PathBuf>,

    /// Seconds that clang may take for a unit [default: 300].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub clang_timeout: Option<u64>,

    /// Mebibytes of memory that clang may take for a unit [default: 4096].
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(512..=1 << 30))]
    pub clang_memory: Option<u64>,

    /// Print only results and errors.
    #[arg(short, long)]
    pub quiet: bool,

    /// Settings of the project [default: the nearest caulk.toml, in this directory, that of the database or those above].
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub config: Option<PathBuf>,

    /// Read no caulk.toml.
    #[arg(long)]
    pub no_config: bool,

    /// The folder of the settings, if there are any.
    #[arg(skip)]
    pub settings: Option<PathBuf>,

    /// Do without a rule of the engines (`caulk rules` lists them; may be given several times).
    #[arg(long, value_name = "NAME", hide = true)]
    pub without_rule: Vec<String>,

    /// The rules that are left, with those that the settings switch off.
    #[arg(skip)]
    pub rules: Rules,

    /// Folders of headers that are not the user's, if the settings name any.
    #[arg(skip)]
    pub system_folders: Vec<String>,

    /// What ends with Caulk.
    #[arg(skip)]
    pub lifeline: Lifeline,

    /// Texts that are read in place of files.
    #[arg(skip)]
    pub overlay: Overlay,

    /// What stays in memory from one analysis to the next.
    #[arg(skip)]
    pub kept: Kept,

    /// Witnesses say what their paths need of a function's inputs.
    #[arg(skip)]
    pub wants_inputs: bool,

    /// Flags for clang, for sources that no database describes; added to those of a database.
    #[arg(last = true, value_name = "CLANG_FLAGS")]
    pub flags: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    Text,
    Json,
}

/// Show what was read: units, functions, calls, and what was lost.
#[derive(Debug, Args)]
pub(crate) struct ProgramOptions {
    #[command(flatten)]
    pub input: InputOptions,

    #[arg(long, value_enum, default_value = "text")]
    pub format: TableFormat,
}

/// Print the core IR of what is read.
#[derive(Debug, Args)]
pub(crate) struct IrOptions {
    #[command(flatten)]
    pub input: InputOptions,

    /// Only this function (its name in the source, or its symbol).
    #[arg(short, long, value_name = "NAME")]
    pub function: Option<String>,
}

/// What library functions do, besides what Caulk knows.
#[derive(Clone, Debug, Args)]
pub(crate) struct ModelOptions {
    /// A file with models of library functions (may be given several times; see docs/models.md).
    #[arg(long, value_name = "FILE")]
    pub models: Vec<PathBuf>,
}

/// Show what every function allocates, frees and keeps.
#[derive(Debug, Args)]
pub(crate) struct SummariesOptions {
    #[command(flatten)]
    pub input: InputOptions,

    #[command(flatten)]
    pub models: ModelOptions,

    /// Only this function (its name in the source, or its symbol).
    #[arg(short, long, value_name = "NAME")]
    pub function: Option<String>,

    #[arg(long, value_enum, default_value = "text")]
    pub format: TableFormat,
}

/// List the places where memory may be lost, before they are confirmed.
#[derive(Debug, Args)]
pub(crate) struct CandidatesOptions {
    #[command(flatten)]
    pub input: InputOptions,

    #[command(flatten)]
    pub models: ModelOptions,

    /// Show those too that rest on conditions the analysis cannot see.
    #[arg(long)]
    pub hidden: bool,
}

/// Which rules the prover uses.
#[derive(Debug, Args)]
pub(crate) struct ProverOptions {
    /// Assume that an argument may be the last reference to its block. Without this the caller is assumed to hold it until the
    /// call is over.
    #[arg(long)]
    pub own_arguments: bool,

    /// Steps for each probe; what is cut is abandoned, never proved.
    #[arg(long, value_name = "N")]
    pub max_steps: Option<usize>,

    /// Leave out an extension of the paper (may be given several times).
    #[arg(long, value_enum, value_name = "EXTENSION")]
    pub without: Vec<Extension>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Extension {
    /// Types keep memory from joining what may refer to the cell.
    Types,
    /// Memory known to hold nothing leaves what may refer to the cell.
    Removal,
    /// Facts that differ in what refers to the cell are kept separate.
    Separation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProveFormat {
    Text,
    Json,
    Sarif,
}

/// Prove that functions lose no memory, or show the path to what they may lose.
#[derive(Debug, Args)]
pub(crate) struct ProveOptions {
    #[command(flatten)]
    pub input: InputOptions,

    #[command(flatten)]
    pub models: ModelOptions,

    /// Only this function (its name in the source, or its symbol; may be given several times).
    #[arg(short, long, value_name = "NAME")]
    pub function: Vec<String>,

    #[arg(long, value_enum, default_value = "text")]
    pub format: ProveFormat,

    #[command(flatten)]
    pub prover: ProverOptions,
}

/// Ask whether a line can lose the last reference to some block, and where that block may come from.
#[derive(Debug, Args)]
pub(crate) struct QueryOptions {
    /// A line of the source, or a column in it; the file by its name or the end of its path.
    #[arg(value_name = "FILE:LINE[:COL]")]
    pub place: String,

    #[command(flatten)]
    pub input: InputOptions,

    #[command(flatten)]
    pub models: ModelOptions,

    #[command(flatten)]
    pub prover: ProverOptions,
}

/// Explain one line: what happens to the memory that is allocated or lost there, and why it is reported or not.
#[derive(Debug, Args)]
pub(crate) struct WhyOptions {
    /// A line of the source; the file by its name or the end of its path.
    #[arg(value_name = "FILE:LINE")]
    pub place: String,

    #[command(flatten)]
    pub input: InputOptions,

    #[command(flatten)]
    pub models: ModelOptions,

    /// Which unclosed resources to follow, besides memory [default: streams].
    #[arg(long, value_enum, value_name = "WHICH")]
    pub resources: Option<ResourcesArgument>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphKind {
    /// Which function calls which.
    Calls,
    /// The control flow of a function.
    Cfg,
    /// How a function uses the objects that it handles.
    Useflow,
    /// The states of the objects that a function makes or frees, on the paths that can be taken.
    Mstg,
}

/// Draw a graph, in the DOT language of Graphviz.
#[derive(Debug, Args)]
pub(crate) struct GraphOptions {
    #[command(flatten)]
    pub input: InputOptions,

    #[command(flatten)]
    pub models: ModelOptions,

    #[arg(long, value_enum)]
    pub kind: GraphKind,

    /// The function in the middle (of calls), or the one to draw (cfg, useflow, mstg).
    #[arg(short, long, value_name = "NAME")]
    pub function: Option<String>,

    /// Only the states of the object that is allocated in this line (mstg); without it, those of all objects together.
    #[arg(long, value_name = "LINE")]
    pub object: Option<u32>,
}

/// Explain a rule: what it means, why it matters and how to fix what it finds.
#[derive(Debug, Args)]
pub(crate) struct ExplainOptions {
    /// A rule, such as `lost`, or a weakness, such as CWE-401; without one, all rules are listed.
    pub rule: Option<String>,
}

/// Print completions for a shell.
#[derive(Debug, Args)]
pub(crate) struct CompletionsOptions {
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Print the manual page, or write those of all commands.
#[derive(Debug, Args)]
pub(crate) struct ManOptions {
    /// A folder for the pages.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Run a build and write its compilation database.
#[derive(Debug, Args)]
pub(crate) struct CaptureOptions {
    /// Where to write the database.
    #[arg(short, long, value_name = "FILE", default_value = caulk_capture::DATABASE_NAME)]
    pub output: PathBuf,

    /// What ends with Caulk.
    #[arg(skip)]
    pub lifeline: Lifeline,

    /// The build, such as `make -j4`.
    #[arg(last = true, required = true, value_name = "BUILD")]
    pub build: Vec<String>,
}
