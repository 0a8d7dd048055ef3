//! The table of flags.
//!
//! The rule with the longest name that matches a word decides, so order means nothing and rules stand grouped by purpose.
//! A rule for `-fX` or `-mX` that drops also covers `-fno-X` and `-mno-X`.
//!
//! A rule must agree with clang about how many words a flag takes: were a kept flag to take one word here and two there,
//! clang would read a value as a flag.

use Action::{Drop, Include, Join, JoinTarget, Keep, PassToFrontEnd, PassToPreprocessor};
use Form::{Alone, Attached, AttachedThenNext, Either, Long, Next};
use Why::*;

use super::refused;

/// Why a flag is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
    /// Warnings are the build's business; ours would drown in them.
    Warning,
    /// How messages look; the front end reads clang's messages and wants them plain.
    Diagnostics,
    /// What is made, and where it goes: the front end decides.
    Output,
    /// Dependency files are written by the build, not by us.
    Dependencies,
    /// The front end has its own level, and passes are off.
    Optimisation,
    /// The front end asks for what it needs, with paths as they are on this machine.
    DebugInfo,
    /// Code added for profilers, sanitizers and hardening is not the program's own.
    Instrumentation,
    /// Parallel and offloaded regions are analysed as the sequential code they stand for.
    Parallel,
    Assembler,
    Link,
    /// clang does not know it and its absence changes nothing we look at.
    GccOnly,
    /// Precompiled headers belong to the compiler that made them; the header itself is read instead.
    Precompiled,
    /// It would load code, start programs, or write or redirect files.
    Refused,
    /// Not in the table, and neither `-f` nor `-m`.
    Unknown,
    /// A word clang would take for another flag, or a flag without its value.
    Malformed,
    /// A file named in the command; the source is kept apart from the flags.
    Input,
}

/// How a flag and its value are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `-ansi`.
    Alone,
    /// `-std=c99`: the name is a beginning.
    Attached,
    /// `-target T`.
    Next,
    /// `-Iinc` or `-I inc`.
    Either,
    /// `--sysroot=/x` or `--sysroot /x`.
    Long,
    /// `-Xarch_host FLAG`: the name is a beginning, and the next word belongs to it.
    AttachedThenNext,
}

/// What is done with a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Passed on; a value in the next word is attached.
    Keep,
    /// The value is attached to this other spelling.
    Join(&'static str),
    /// Likewise, if the value is a plain name of a target.
    JoinTarget(&'static str),
    /// Passed on as this flag.
    Replace(&'static str),
    Drop(Why),
    /// `-include`: see `sanitize`.
    Include,
    /// The value names the output; remembered and not passed on.
    NameOutput,
    /// The value names the language.
    SetLanguage,
    /// The value names the driver's mode (`g++` means C++).
    SetDriverMode,
    /// A list of preprocessor flags, separated by commas.
    PassToPreprocessor,
    /// A flag for clang's inner command.
    PassToFrontEnd,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    pub name: &'static str,
    pub form: Form,
    pub action: Action,
}

pub(super) const fn rule(name: &'static str, form: Form, action: Action) -> Rule {
    Rule { name, form, action }
}

impl Rule {
    fn matches(&self, word: &str) -> bool {
        match self.form {
            Alone | Next => word == self.name,
            Attached | Either | AttachedThenNext => word.starts_with(self.name),
            Long => word.strip_prefix(self.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')),
        }
    }
}

/// The rule for a word, if the table knows it.
pub(crate) fn find(word: &str) -> Option<&'static Rule> {
    find_exactly(word).or_else(|| {
        let positive = positive_form(word)?;
        find_exactly(&positive).filter(|rule| matches!(rule.action, Drop(_)))
    })
}

fn find_exactly(word: &str) -> Option<&'static Rule> {
    RULES.iter().flat_map(|group| group.iter()).filter(|rule| rule.matches(word)).max_by_key(|rule| rule.name.len())
}

/// `-fX` for `-fno-X`, `-mX` for `-mno-X`.
fn positive_form(word: &str) -> Option<String> {
    ["-f", "-m"].iter().find_map(|letter| {
        let rest = word.strip_prefix(letter)?.strip_prefix("no-")?;
        Some(format!("{letter}{rest}"))
    })
}

/// All groups. Names are unique over all of them.
const RULES: &[&[Rule]] = &[
    PREPROCESSOR,
    LANGUAGE_AND_TARGET,
    WARNINGS_AND_MESSAGES,
    OUTPUT_AND_DEPENDENCIES,
    DEBUG_INFO,
    INSTRUMENTATION,
    OPTIMISATION,
    ASSEMBLER_AND_LINKER,
    PARALLEL,
    GCC_ONLY,
    refused::LOADS_CODE,
    refused::READS_CONFIGURATION,
    refused::STARTS_PROGRAMS,
    refused::READS_COMPILED,
    refused::REDIRECTS,
    refused::WRITES,
];

const PREPROCESSOR: &[Rule] = &[
    rule("-D", Either, Keep),
    rule("-U", Either, Keep),
    rule("-I", Either, Keep),
    rule("-F", Either, Keep),
    rule("-iquote", Either, Keep),
    rule("-isystem", Either, Keep),
    rule("-isystem-after", Either, Keep),
    rule("-idirafter", Either, Keep),
    rule("-iframework", Either, Keep),
    rule("-iframeworkwithsysroot", Either, Keep),
    rule("-iwithsysroot", Either, Keep),
    rule("-cxx-isystem", Either, Keep),
    rule("-stdlib++-isystem", Either, Keep),
    rule("-isysroot", Either, Keep),
    rule("-imacros", Either, Keep),
    rule("-include", Either, Include),
    rule("-nostdinc", Alone, Keep),
    rule("-nostdinc++", Alone, Keep),
    rule("-nostdlibinc", Alone, Keep),
    rule("-nobuiltininc", Alone, Keep),
    rule("-undef", Alone, Keep),
    rule("-trigraphs", Alone, Keep),
    rule("--embed-dir", Long, Join("--embed-dir=")),
    rule("--define-macro", Long, Join("-D")),
    rule("--undefine-macro", Long, Join("-U")),
    rule("--include-directory", Long, Join("-I")),
    rule("--include-directory-after", Long, Join("-idirafter")),
    rule("--include", Long, Include),
    rule("--imacros", Long, Join("-imacros")),
    rule("--no-standard-includes", Alone, Action::Replace("-nostdinc")),
    rule("--trigraphs", Alone, Action::Replace("-trigraphs")),
    rule("-Wp,", Attached, PassToPreprocessor),
    rule("-Xpreprocessor", Next, PassToPreprocessor),
    // These change what the next flag means, or take prefixes from one another: too subtle for their rarity.
    rule("-I-", Alone, Drop(Unknown)),
    rule("-iprefix", Either, Drop(Unknown)),
    rule("-iwithprefix", Either, Drop(Unknown)),
    rule("-iwithprefixbefore", Either, Drop(Unknown)),
    rule("-imultilib", Either, Drop(Unknown)),
    rule("-A", Either, Drop(Unknown)),
    rule("-working-directory", Either, Drop(Unknown)),
    rule("--assert", Long, Drop(Unknown)),
    rule("-fpreprocessed", Alone, Drop(GccOnly)),
    rule("-fdirectives-only", Alone, Drop(GccOnly)),
    rule("-include-pch", Either, Drop(Precompiled)),
    rule("-include-pth", Either, Drop(Precompiled)),
    rule("-fpch-", Attached, Drop(Precompiled)),
];

const LANGUAGE_AND_TARGET: &[Rule] = &[
    rule("-x", Either, Action::SetLanguage),
    rule("--language", Long, Action::SetLanguage),
    rule("-ObjC", Attached, Drop(Unknown)),
    rule("--driver-mode", Long, Action::SetDriverMode),
    rule("-std=", Attached, Keep),
    rule("--std", Long, Join("-std=")),
    rule("-ansi", Alone, Keep),
    rule("--ansi", Alone, Action::Replace("-ansi")),
    rule("-stdlib=", Attached, Keep),
    rule("--stdlib", Long, Join("-stdlib=")),
    rule("-pthread", Alone, Keep),
    rule("-EB", Alone, Keep),
    rule("-EL", Alone, Keep),
    rule("-target", Next, JoinTarget("--target=")),
    rule("--target", Long, JoinTarget("--target=")),
    rule("--sysroot", Long, Join("--sysroot=")),
    rule("--gcc-toolchain", Long, Join("--gcc-toolchain=")),
    rule("-gcc-toolchain", Next, Join("--gcc-toolchain=")),
    rule("--gcc-install-dir", Long, Join("--gcc-install-dir=")),
    rule("--gcc-triple", Long, JoinTarget("--gcc-triple=")),
    rule("-arch", Next, Drop(Unknown)),
    // What plan9 extensions are used for in practice (anonymous tagged members) Microsoft's cover.
    rule("-fplan9-extensions", Alone, Action::Replace("-fms-extensions")),
    rule("-Xclang", Next, PassToFrontEnd),
    rule("-Xclang=", Attached, PassToFrontEnd),
];

const WARNINGS_AND_MESSAGES: &[Rule] = &[
    rule("-W", Attached, Drop(Warning)),
    rule("-w", Alone, Drop(Warning)),
    rule("-pedantic", Attached, Drop(Warning)),
    rule("--pedantic", Attached, Drop(Warning)),
    rule("--all-warnings", Alone, Drop(Warning)),
    rule("--extra-warnings", Alone, Drop(Warning)),
    rule("--no-warnings", Alone, Drop(Warning)),
    rule("-R", Attached, Drop(Warning)),
    rule("-v", Alone, Drop(Diagnostics)),
    rule("-H", Alone, Drop(Diagnostics)),
    rule("-fdiagnostics-", Attached, Drop(Diagnostics)),
    rule("-fcolor-diagnostics", Alone, Drop(Diagnostics)),
    rule("-fansi-escape-codes", Alone, Drop(Diagnostics)),
    rule("-fmessage-length=", Attached, Drop(Diagnostics)),
    rule("-fmax-errors=", Attached, Drop(Diagnostics)),
    rule("-ferror-limit=", Attached, Drop(Diagnostics)),
    rule("-fcaret-diagnostics", Attached, Drop(Diagnostics)),
    rule("-fshow-", Attached, Drop(Diagnostics)),
    rule("-fmacro-backtrace-limit=", Attached, Drop(Diagnostics)),
    rule("-ftemplate-backtrace-limit=", Attached, Drop(Diagnostics)),
    rule("-ftrack-macro-expansion", Attached, Drop(Diagnostics)),
    rule("-fspell-checking", Attached, Drop(Diagnostics)),
    rule("-fverbose-asm", Alone, Drop(Diagnostics)),
    rule("-ftime-report", Attached, Drop(Diagnostics)),
    rule("-fmem-report", Attached, Drop(Diagnostics)),
    rule("-fopt-info", Attached, Drop(Diagnostics)),
    rule("-fconcepts-diagnostics-depth=", Attached, Drop(Diagnostics)),
    rule("-Q", Attached, Drop(Diagnostics)),
    rule("-time", Attached, Drop(Diagnostics)),
];

const OUTPUT_AND_DEPENDENCIES: &[Rule] = &[
    rule("-o", Either, Action::NameOutput),
    rule("--output", Long, Action::NameOutput),
    // The flags that share a beginning with `-o` are no outputs.
    rule("-objcmt-", Attached, Drop(Unknown)),
    rule("-object-file-name=", Attached, Drop(Refused)),
    rule("-c", Alone, Drop(Output)),
    rule("-S", Alone, Drop(Output)),
    rule("-E", Alone, Drop(Output)),
    rule("-P", Alone, Drop(Output)),
    rule("-C", Alone, Drop(Output)),
    rule("-CC", Alone, Drop(Output)),
    rule("-fsyntax-only", Alone, Drop(Output)),
    rule("-pipe", Alone, Drop(Output)),
    rule("--pipe", Alone, Drop(Output)),
    rule("-save-temps", Attached, Drop(Output)),
    rule("--save-temps", Attached, Drop(Output)),
    rule("-save-stats", Attached, Drop(Output)),
    rule("--save-stats", Attached, Drop(Output)),
    rule("-fdump-", Attached, Drop(Output)),
    rule("-fcallgraph-info", Attached, Drop(Output)),
    rule("-fstack-usage", Alone, Drop(Output)),
    rule("-fsave-optimization-record", Attached, Drop(Output)),
    rule("-foptimization-record-", Attached, Drop(Output)),
    rule("-ftime-trace", Attached, Drop(Output)),
    rule("-fproc-stat-report", Attached, Drop(Output)),
    rule("-ftemp-file", Alone, Drop(Output)),
    rule("-frandom-seed=", Attached, Drop(Output)),
    rule("-frecord-gcc-switches", Alone, Drop(Output)),
    rule("-frecord-command-line", Alone, Drop(Output)),
    rule("-flto", Attached, Drop(Output)),
    rule("-ffat-lto-objects", Alone, Drop(Output)),
    rule("-fembed-bitcode", Attached, Drop(Output)),
    rule("-M", Attached, Drop(Dependencies)),
    rule("-MF", Either, Drop(Dependencies)),
    rule("-MT", Either, Drop(Dependencies)),
    rule("-MQ", Either, Drop(Dependencies)),
    rule("-MJ", Either, Drop(Dependencies)),
    rule("-fdepfile-entry=", Attached, Drop(Dependencies)),
    rule("-fdeps-", Attached, Drop(Dependencies)),
    rule("-dependency-file", Next, Drop(Dependencies)),
    rule("-dependency-dot", Next, Drop(Dependencies)),
    rule("--dependencies", Alone, Drop(Dependencies)),
    rule("--user-dependencies", Alone, Drop(Dependencies)),
    rule("--write-dependencies", Alone, Drop(Dependencies)),
    rule("--write-user-dependencies", Alone, Drop(Dependencies)),
];

const DEBUG_INFO: &[Rule] = &[
    rule("-g", Attached, Drop(DebugInfo)),
    rule("--debug", Attached, Drop(DebugInfo)),
    // A prefix map would make reports name paths that do not exist here.
    rule("-fdebug-", Attached, Drop(DebugInfo)),
    rule("-ffile-prefix-map=", Attached, Drop(DebugInfo)),
    rule("-fmacro-prefix-map=", Attached, Drop(DebugInfo)),
    rule("-fcoverage-prefix-map=", Attached, Drop(DebugInfo)),
    rule("-ffile-compilation-dir=", Attached, Drop(DebugInfo)),
    rule("-fcoverage-compilation-dir=", Attached, Drop(DebugInfo)),
    rule("-fvar-tracking", Attached, Drop(DebugInfo)),
    rule("-feliminate-", Attached, Drop(DebugInfo)),
    rule("-femit-class-debug-always", Alone, Drop(DebugInfo)),
    rule("-femit-struct-debug-", Attached, Drop(DebugInfo)),
    rule("-fstandalone-debug", Alone, Drop(DebugInfo)),
    rule("-flimit-debug-info", Alone, Drop(DebugInfo)),
    rule("-fmerge-debug-strings", Alone, Drop(DebugInfo)),
    rule("-fdwarf2-cfi-asm", Alone, Drop(DebugInfo)),
];

const INSTRUMENTATION: &[Rule] = &[
    rule("-p", Alone, Drop(Instrumentation)),
    rule("-pg", Alone, Drop(Instrumentation)),
    rule("--profile", Alone, Drop(Instrumentation)),
    rule("-coverage", Alone, Drop(Instrumentation)),
    rule("--coverage", Alone, Drop(Instrumentation)),
    rule("-ftest-coverage", Alone, Drop(Instrumentation)),
    rule("-fcondition-coverage", Alone, Drop(Instrumentation)),
    rule("-fcoverage-mapping", Alone, Drop(Instrumentation)),
    rule("-fprofile", Attached, Drop(Instrumentation)),
    rule("-fcs-profile-", Attached, Drop(Instrumentation)),
    rule("-fauto-profile", Attached, Drop(Instrumentation)),
    rule("-fmemory-profile", Attached, Drop(Instrumentation)),
    rule("-fbranch-probabilities", Alone, Drop(Instrumentation)),
    rule("-fsample-profile-", Attached, Drop(Instrumentation)),
    rule("-fpseudo-probe-for-profiling", Alone, Drop(Instrumentation)),
    rule("-finstrument-", Attached, Drop(Instrumentation)),
    rule("-forder-file-instrumentation", Alone, Drop(Instrumentation)),
    rule("-fpatchable-function-entry", Attached, Drop(Instrumentation)),
    rule("-fxray-", Attached, Drop(Instrumentation)),
    rule("-fsanitize", Attached, Drop(Instrumentation)),
    rule("-fexperimental-sanitize-", Attached, Drop(Instrumentation)),
    rule("-fbounds-check", Alone, Drop(Instrumentation)),
    rule("-fmudflap", Attached, Drop(Instrumentation)),
    rule("-fanalyzer", Attached, Drop(Instrumentation)),
    rule("-fvtable-verify=", Attached, Drop(Instrumentation)),
    rule("-fvtv-", Attached, Drop(Instrumentation)),
    // Hardening that writes to memory the program itself never wrote.
    rule("-ftrivial-auto-var-init", Attached, Drop(Instrumentation)),
    rule("-fzero-call-used-regs=", Attached, Drop(Instrumentation)),
    rule("-fharden", Attached, Drop(Instrumentation)),
    rule("-fstrub", Attached, Drop(Instrumentation)),
    rule("-mfentry", Attached, Drop(Instrumentation)),
    rule("-mrecord-mcount", Alone, Drop(Instrumentation)),
    rule("-mnop-mcount", Alone, Drop(Instrumentation)),
    rule("-mprofile-kernel", Alone, Drop(Instrumentation)),
];

const OPTIMISATION: &[Rule] = &[
    rule("-O", Attached, Drop(Optimisation)),
    rule("--optimize", Attached, Drop(Optimisation)),
    rule("--param", Long, Drop(Optimisation)),
    rule("-ftree-", Attached, Drop(Optimisation)),
    rule("-fipa-", Attached, Drop(Optimisation)),
    rule("-fira-", Attached, Drop(Optimisation)),
    rule("-fgcse", Attached, Drop(Optimisation)),
    rule("-fcse-", Attached, Drop(Optimisation)),
    rule("-frerun-", Attached, Drop(Optimisation)),
    rule("-fsched", Attached, Drop(Optimisation)),
    rule("-fsel-sched-", Attached, Drop(Optimisation)),
    rule("-fselective-scheduling", Attached, Drop(Optimisation)),
    rule("-fmodulo-sched", Attached, Drop(Optimisation)),
    rule("-floop-", Attached, Drop(Optimisation)),
    rule("-fgraphite", Attached, Drop(Optimisation)),
    rule("-funroll-", Attached, Drop(Optimisation)),
    rule("-funswitch-loops", Alone, Drop(Optimisation)),
    rule("-funsafe-loop-optimizations", Alone, Drop(Optimisation)),
    rule("-fpeel-loops", Alone, Drop(Optimisation)),
    rule("-fsplit-", Attached, Drop(Optimisation)),
    rule("-fversion-loops-for-strides", Alone, Drop(Optimisation)),
    rule("-fprefetch-loop-arrays", Alone, Drop(Optimisation)),
    rule("-fmove-loop-", Attached, Drop(Optimisation)),
    rule("-fvectorize", Alone, Drop(Optimisation)),
    rule("-fslp-vectorize", Alone, Drop(Optimisation)),
    rule("-fvect-cost-model", Attached, Drop(Optimisation)),
    rule("-fsimd-cost-model", Attached, Drop(Optimisation)),
    rule("-finline", Attached, Drop(Optimisation)),
    rule("-fearly-inlining", Alone, Drop(Optimisation)),
    rule("-fpartial-inlining", Alone, Drop(Optimisation)),
    rule("-foptimize-", Attached, Drop(Optimisation)),
    rule("-falign-functions", Attached, Drop(Optimisation)),
    rule("-falign-jumps", Attached, Drop(Optimisation)),
    rule("-falign-labels", Attached, Drop(Optimisation)),
    rule("-falign-loops", Attached, Drop(Optimisation)),
    rule("-fmin-function-alignment=", Attached, Drop(Optimisation)),
    rule("-freorder-", Attached, Drop(Optimisation)),
    rule("-frename-registers", Alone, Drop(Optimisation)),
    rule("-flive-range-shrinkage", Alone, Drop(Optimisation)),
    rule("-fthread-jumps", Alone, Drop(Optimisation)),
    rule("-fcrossjumping", Alone, Drop(Optimisation)),
    rule("-fif-conversion", Attached, Drop(Optimisation)),
    rule("-fdce", Alone, Drop(Optimisation)),
    rule("-fdse", Alone, Drop(Optimisation)),
    rule("-fweb", Alone, Drop(Optimisation)),
    rule("-ftracer", Alone, Drop(Optimisation)),
    rule("-fpeephole", Attached, Drop(Optimisation)),
    rule("-fguess-branch-probability", Alone, Drop(Optimisation)),
    rule("-fbranch-count-reg", Alone, Drop(Optimisation)),
    rule("-fbranch-target-load-optimize", Attached, Drop(Optimisation)),
    rule("-fbtr-bb-exclusive", Alone, Drop(Optimisation)),
    rule("-fbit-tests", Alone, Drop(Optimisation)),
    rule("-fcode-hoisting", Alone, Drop(Optimisation)),
    rule("-fstore-merging", Alone, Drop(Optimisation)),
    rule("-fcaller-saves", Alone, Drop(Optimisation)),
    rule("-fcombine-stack-adjustments", Alone, Drop(Optimisation)),
    rule("-fcompare-elim", Alone, Drop(Optimisation)),
    rule("-fcprop-registers", Alone, Drop(Optimisation)),
    rule("-fdefer-pop", Alone, Drop(Optimisation)),
    rule("-fdelayed-branch", Alone, Drop(Optimisation)),
    rule("-fdelete-dead-exceptions", Alone, Drop(Optimisation)),
    rule("-fdevirtualize", Attached, Drop(Optimisation)),
    rule("-fexpensive-optimizations", Alone, Drop(Optimisation)),
    rule("-fforce-addr", Alone, Drop(Optimisation)),
    rule("-fforward-propagate", Alone, Drop(Optimisation)),
    rule("-ffunction-cse", Alone, Drop(Optimisation)),
    rule("-fhoist-adjacent-loads", Alone, Drop(Optimisation)),
    rule("-fisolate-erroneous-paths-", Attached, Drop(Optimisation)),
    rule("-flra-remat", Alone, Drop(Optimisation)),
    rule("-fprintf-return-value", Alone, Drop(Optimisation)),
    rule("-fsection-anchors", Alone, Drop(Optimisation)),
    rule("-fshrink-wrap", Attached, Drop(Optimisation)),
    rule("-fstdarg-opt", Alone, Drop(Optimisation)),
    rule("-fstrength-reduce", Alone, Drop(Optimisation)),
    rule("-fssa-", Attached, Drop(Optimisation)),
    rule("-ftoplevel-reorder", Alone, Drop(Optimisation)),
    rule("-funit-at-a-time", Alone, Drop(Optimisation)),
    rule("-fvariable-expansion-in-unroller", Alone, Drop(Optimisation)),
    rule("-fwhole-program", Attached, Drop(Optimisation)),
    rule("-fbasic-block-sections=", Attached, Drop(Optimisation)),
    rule("-ffinite-loops", Alone, Drop(Optimisation)),
];

const ASSEMBLER_AND_LINKER: &[Rule] = &[
    rule("-Wa,", Attached, Drop(Assembler)),
    rule("-Xassembler", Next, Drop(Assembler)),
    rule("-fintegrated-as", Alone, Drop(Assembler)),
    rule("-integrated-as", Alone, Drop(Assembler)),
    rule("-no-integrated-as", Alone, Drop(Assembler)),
    rule("-via-file-asm", Alone, Drop(Assembler)),
    rule("-mrelax-all", Alone, Drop(Assembler)),
    rule("-mimplicit-it=", Attached, Drop(Assembler)),
    rule("-Wl,", Attached, Drop(Link)),
    rule("-Xlinker", Next, Drop(Link)),
    rule("-l", Either, Drop(Link)),
    rule("-L", Either, Drop(Link)),
    rule("-T", Either, Drop(Link)),
    rule("-u", Either, Drop(Link)),
    rule("-undefined", Next, Drop(Link)),
    rule("-z", Either, Drop(Link)),
    rule("-e", Either, Drop(Link)),
    rule("-s", Alone, Drop(Link)),
    rule("-r", Alone, Drop(Link)),
    rule("-shared", Attached, Drop(Link)),
    rule("-static", Attached, Drop(Link)),
    rule("--shared", Alone, Drop(Link)),
    rule("--static", Alone, Drop(Link)),
    rule("-pie", Alone, Drop(Link)),
    rule("-no-pie", Alone, Drop(Link)),
    rule("-rdynamic", Alone, Drop(Link)),
    rule("-rpath", Next, Drop(Link)),
    rule("-nostdlib", Attached, Drop(Link)),
    rule("-nodefaultlibs", Alone, Drop(Link)),
    rule("-nolibc", Alone, Drop(Link)),
    rule("-nostartfiles", Alone, Drop(Link)),
    rule("-symbolic", Alone, Drop(Link)),
    rule("-framework", Next, Drop(Link)),
    rule("-filelist", Next, Drop(Link)),
    rule("-force_load", Next, Drop(Link)),
    rule("-multiply_defined", Next, Drop(Link)),
    rule("-multiply_defined_unused", Next, Drop(Link)),
    rule("-fuse-linker-plugin", Alone, Drop(Link)),
    rule("-flinker-output=", Attached, Drop(Link)),
    rule("-mlinker-version=", Attached, Drop(Link)),
    rule("-rtlib=", Attached, Drop(Link)),
    rule("-unwindlib=", Attached, Drop(Link)),
];

const PARALLEL: &[Rule] = &[
    rule("-fopenmp", Attached, Drop(Parallel)),
    rule("-fopenacc", Attached, Drop(Parallel)),
    rule("-foffload", Attached, Drop(Parallel)),
    rule("-fgnu-tm", Alone, Drop(Parallel)),
    rule("-fcilkplus", Alone, Drop(Parallel)),
    rule("-Xopenmp-target", AttachedThenNext, Drop(Parallel)),
];

const GCC_ONLY: &[Rule] = &[
    rule("-fabi-version=", Attached, Drop(GccOnly)),
    rule("-fabi-compat-version=", Attached, Drop(GccOnly)),
    rule("-fallow-store-data-races", Alone, Drop(GccOnly)),
    rule("-fallow-parameterless-variadic-functions", Alone, Drop(GccOnly)),
    rule("-fauto-inc-dec", Alone, Drop(GccOnly)),
    rule("-fcanonical-system-headers", Alone, Drop(GccOnly)),
    rule("-fchecking", Attached, Drop(GccOnly)),
    rule("-fcompare-debug", Attached, Drop(GccOnly)),
    rule("-fconcepts", Attached, Drop(GccOnly)),
    rule("-fcond-mismatch", Alone, Drop(GccOnly)),
    rule("-fconserve-stack", Alone, Drop(GccOnly)),
    rule("-fconstexpr-cache-depth=", Attached, Drop(GccOnly)),
    rule("-fconstexpr-loop-limit=", Attached, Drop(GccOnly)),
    rule("-fconstexpr-ops-limit=", Attached, Drop(GccOnly)),
    rule("-fcoroutines", Alone, Drop(GccOnly)),
    rule("-fcx-fortran-rules", Alone, Drop(GccOnly)),
    rule("-fdeclone-ctor-dtor", Alone, Drop(GccOnly)),
    rule("-fdisable-ipa-", Attached, Drop(GccOnly)),
    rule("-fdisable-rtl-", Attached, Drop(GccOnly)),
    rule("-fdisable-tree-", Attached, Drop(GccOnly)),
    rule("-fenable-ipa-", Attached, Drop(GccOnly)),
    rule("-fenable-rtl-", Attached, Drop(GccOnly)),
    rule("-fenable-tree-", Attached, Drop(GccOnly)),
    rule("-fenforce-eh-specs", Alone, Drop(GccOnly)),
    rule("-fext-numeric-literals", Alone, Drop(GccOnly)),
    rule("-fextended-identifiers", Alone, Drop(GccOnly)),
    rule("-ffloat-store", Alone, Drop(GccOnly)),
    rule("-ffold-simple-inlines", Alone, Drop(GccOnly)),
    rule("-ffriend-injection", Alone, Drop(GccOnly)),
    rule("-fgnu-unique", Alone, Drop(GccOnly)),
    rule("-fimplement-inlines", Alone, Drop(GccOnly)),
    rule("-fimplicit-constexpr", Alone, Drop(GccOnly)),
    rule("-finhibit-size-directive", Alone, Drop(GccOnly)),
    rule("-fkeep-inline-", Attached, Drop(GccOnly)),
    rule("-fkeep-static-functions", Alone, Drop(GccOnly)),
    rule("-fleading-underscore", Alone, Drop(GccOnly)),
    rule("-fmultiflags", Alone, Drop(GccOnly)),
    rule("-fnon-call-exceptions", Alone, Drop(GccOnly)),
    rule("-fnonansi-builtins", Alone, Drop(GccOnly)),
    rule("-fnothrow-opt", Alone, Drop(GccOnly)),
    rule("-fpermissive", Alone, Drop(GccOnly)),
    rule("-fpre-ipa-mem-report", Alone, Drop(GccOnly)),
    rule("-fpost-ipa-mem-report", Alone, Drop(GccOnly)),
    rule("-fpretty-templates", Alone, Drop(GccOnly)),
    rule("-frepo", Alone, Drop(GccOnly)),
    rule("-freport-bug", Alone, Drop(GccOnly)),
    rule("-fsignaling-nans", Alone, Drop(GccOnly)),
    rule("-fsingle-precision-constant", Alone, Drop(GccOnly)),
    rule("-fsso-struct=", Attached, Drop(GccOnly)),
    rule("-fstack-check", Attached, Drop(GccOnly)),
    rule("-fstack-limit", Attached, Drop(GccOnly)),
    rule("-fstack-reuse=", Attached, Drop(GccOnly)),
    rule("-fstats", Alone, Drop(GccOnly)),
    rule("-fstrict-volatile-bitfields", Alone, Drop(GccOnly)),
    rule("-funconstrained-commons", Alone, Drop(GccOnly)),
    rule("-fuse-cxa-get-exception-ptr", Alone, Drop(GccOnly)),
    rule("-fweak", Alone, Drop(GccOnly)),
    rule("-fwide-exec-charset=", Attached, Drop(GccOnly)),
    rule("-fworking-directory", Alone, Drop(GccOnly)),
    rule("-maccumulate-outgoing-args", Alone, Drop(GccOnly)),
    rule("-malign-", Attached, Drop(GccOnly)),
    rule("-malign-double", Alone, Keep), // the one of this family that changes layout
    rule("-mapcs", Attached, Drop(GccOnly)),
    rule("-mfp-ret-in-387", Alone, Drop(GccOnly)),
    rule("-mincoming-stack-boundary=", Attached, Drop(GccOnly)),
    rule("-mindirect-branch", Attached, Drop(GccOnly)),
    rule("-mfunction-return=", Attached, Drop(GccOnly)),
    rule("-minline-", Attached, Drop(GccOnly)),
    rule("-mmemcpy-strategy=", Attached, Drop(GccOnly)),
    rule("-mmemset-strategy=", Attached, Drop(GccOnly)),
    rule("-mpc32", Alone, Drop(GccOnly)),
    rule("-mpc64", Alone, Drop(GccOnly)),
    rule("-mpc80", Alone, Drop(GccOnly)),
    rule("-mpointers-to-nested-functions", Alone, Drop(GccOnly)),
    rule("-mpreferred-stack-boundary=", Attached, Drop(GccOnly)),
    rule("-mpush-args", Alone, Drop(GccOnly)),
    rule("-msched-", Attached, Drop(GccOnly)),
    rule("-mskip-rax-setup", Alone, Drop(GccOnly)),
    rule("-mstringop-strategy=", Attached, Drop(GccOnly)),
    rule("-mthumb-interwork", Alone, Drop(GccOnly)),
    rule("-mtls-dialect=", Attached, Drop(GccOnly)),
    rule("-mveclibabi=", Attached, Drop(GccOnly)),
    rule("-mword-relocations", Alone, Drop(GccOnly)),
    rule("-mexplicit-relocs", Attached, Drop(GccOnly)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = RULES.iter().flat_map(|g| g.iter()).map(|r| r.name).collect();
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn the_longest_name_decides() {
        let name = |word: &str| find(word).map(|rule| rule.name);
        assert_eq!(name("-Wp,-DX"), Some("-Wp,"));
        assert_eq!(name("-Wpedantic"), Some("-W"));
        assert_eq!(name("-include-pch"), Some("-include-pch"));
        assert_eq!(name("-undef"), Some("-undef"));
        assert_eq!(name("--config-user-dir=x"), Some("--config-user-dir"));
        assert_eq!(name("-fno-tree-vectorize"), Some("-ftree-"));
        assert_eq!(name("-mno-fp-ret-in-387"), Some("-mfp-ret-in-387"));
        assert_eq!(name("-fno-exceptions"), None);
    }
}
