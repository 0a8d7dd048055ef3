//! Objects, stubs and the linked harness. Objects of units are kept: findings of one project share them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use caulk_capture::CompileJob;
use caulk_files::Folder;
use caulk_frontend::Clang;
use caulk_process::{Runner, TempFolder, find_program};

use crate::outcome::Reason;
use crate::sites::{self, Mark, Redirected, Site};
use crate::source::{self, Stub, StubKind, Target, Variable};

/// Each time the linker is asked it may name further symbols, when what it lacked before is there.
const MAX_LINKS: usize = 6;

const RUNTIME: &str = include_str!("runtime.c");
const PROGRAM: &str = "harness";
/// Bytes of a unit's assembly that are read.
const MAX_ASSEMBLY: u64 = 1 << 30;
pub(crate) const HOME_ASSEMBLY: &str = "home.s";
const HOME_OBJECT: &str = "home-unit.o";
/// What the program's own `main` is called in a harness.
pub const PROGRAM_MAIN: &str = "caulk_program_main";

/// What is built for one finding.
pub struct Request<'a> {
    pub target: &'a Target,
    /// The unit that defines the function, and the units whose functions it may call.
    pub home: usize,
    pub units: &'a [usize],
    /// Variables that plans set, by symbol; those that are private to the home unit are made visible.
    pub variables: &'a [Variable],
    /// Functions and calls whose results plans may decide.
    pub wrapped: &'a [Stub],
    /// Says what stands for a symbol that none of the units defines.
    pub undefined: &'a dyn Fn(&str) -> Undefined,
}

/// What the project knows of a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undefined {
    pub kind: StubKind,
    pub is_known: bool,
    /// The project has a body for it.
    pub is_replaced: bool,
    /// A unit that must be part of the harness, because it defines the symbol.
    pub unit: Option<usize>,
}

/// A harness that can be run.
pub struct Built {
    pub program: PathBuf,
    /// By their number in plans.
    pub stubs: Vec<Stub>,
    pub(crate) folder: PathBuf,
    pub(crate) source: String,
    /// The units that it is linked with, and which of them has the function.
    pub(crate) units: Vec<usize>,
    pub(crate) home: usize,
    /// The assembly of the function's unit, where calls in it can be decided one by one.
    pub(crate) assembly: Option<Redirected>,
    /// The words after `objcopy`, and those after clang that compile the harness and that link it, for a reader to repeat.
    pub(crate) visible: Vec<OsString>,
    pub(crate) compile: Vec<OsString>,
    pub(crate) link: Vec<OsString>,
}

impl Built {
    /// Whether plans may decide calls of the function one by one.
    pub fn has_calls(&self) -> bool {
        self.assembly.is_some()
    }

    /// Places of the function of which a run says whether it came there.
    pub fn marks(&self) -> &[Mark] {
        self.assembly.as_ref().map_or(&[], |assembly| &assembly.marks)
    }

    pub(crate) fn runtime(&self) -> &'static str {
        RUNTIME
    }
}

/// Builds harnesses for one project.
pub struct Builder<'a> {
    clang: &'a Clang,
    runner: Runner,
    jobs: &'a [Option<CompileJob>],
    folder: TempFolder,
    objects: BTreeMap<usize, Result<PathBuf, String>>,
    assemblies: BTreeMap<usize, Option<String>>,
    /// Symbols that neither a unit nor a library of the system defined for an earlier finding.
    lacking: BTreeSet<String>,
    count: usize,
}

impl<'a> Builder<'a> {
    pub fn new(clang: &'a Clang, runner: Runner, jobs: &'a [Option<CompileJob>]) -> std::io::Result<Self> {
        let folder = runner.lifeline.temp_folder()?;
        let (objects, assemblies, lacking) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Ok(Self { clang, runner, jobs, folder, objects, assemblies, lacking, count: 0 })
    }

    pub fn build(&mut self, request: &Request<'_>) -> Result<Built, Reason> {
        if let Some(why) = source::unsupported(request.target) {
            return Err(Reason::Unsupported(why));
        }
        if !source::is_plain(&request.target.symbol) {
            return Err(Reason::Unsupported("its symbol has unusual characters".to_owned()));
        }
        self.count += 1;
        let folder = self.folder.path().join(format!("finding-{}", self.count));
        let failed = |what: &str| Reason::Failed(what.to_owned());
        std::fs::create_dir(&folder).map_err(|_| failed("no room for temporary files"))?;
        let visible = names_made_visible(request);
        let assembly = self.redirected(request, &folder);
        let home = match &assembly {
            Some(_) => folder.join(HOME_OBJECT),
            None => self.object(request.home).map_err(Reason::DidNotCompile)?,
        };
        let mut objects = vec![self.visible(&home, &visible, &folder)?];
        let mut units = vec![request.home];
        for unit in request.units.iter().filter(|unit| **unit != request.home) {
            self.add(*unit, &mut units, &mut objects);
        }
        let mut stubs: Vec<Stub> = request.wrapped.to_vec();
        let mut added: BTreeSet<usize> = request.units.iter().copied().chain([request.home]).collect();
        let mut lacking: BTreeSet<String> = self.lacking.clone();
        for _ in 0..MAX_LINKS {
            for symbol in lacking.iter().filter(|symbol| source::is_plain(symbol)) {
                let known = (request.undefined)(symbol);
                match known.unit.filter(|unit| added.insert(*unit)) {
                    Some(unit) => self.add(unit, &mut units, &mut objects),
                    None => add_stub(&mut stubs, symbol, known),
                }
            }
            let source = source::generate(request.target, request.variables, &stubs);
            let (compile, link) = (compile_arguments(), link_arguments(&objects, &stubs));
            let said = match self.link(&source, &compile, &link, &folder)? {
                Ok(()) => {
                    let (program, home) = (folder.join(PROGRAM), request.home);
                    return Ok(Built { program, stubs, folder, source, units, home, assembly, visible, compile, link });
                }
                Err(said) => said,
            };
            lacking = undefined(&said);
            if lacking.is_empty() || lacking.iter().all(|symbol| stubs.iter().any(|stub| stub.defines(symbol))) {
                return Err(not_linked(&said));
            }
            self.lacking.extend(lacking.iter().filter(|symbol| (request.undefined)(symbol).unit.is_none()).cloned());
        }
        Err(Reason::DidNotLink("ever more symbols are missing".to_owned()))
    }

    /// The object of a unit, compiled when it is first asked for.
    fn object(&mut self, unit: usize) -> Result<PathBuf, String> {
        if let Some(object) = self.objects.get(&unit) {
            return object.clone();
        }
        let path = self.folder.path().join(format!("unit-{unit}.o"));
        let result = match self.jobs.get(unit).and_then(Option::as_ref) {
            Some(job) => self.clang.object(job, &path, self.folder.path()).map(|()| path),
            None => Err("it was not compiled from a source".to_owned()),
        };
        self.objects.insert(unit, result.clone());
        result
    }

    /// A unit that does not compile is one whose functions are stubs.
    fn add(&mut self, unit: usize, units: &mut Vec<usize>, objects: &mut Vec<PathBuf>) {
        if let Ok(object) = self.object(unit) {
            units.push(unit);
            objects.push(object);
        }
    }

    pub(crate) fn job(&self, unit: usize) -> Option<&CompileJob> {
        self.jobs.get(unit).and_then(Option::as_ref)
    }

    pub(crate) fn clang(&self) -> &Clang {
        self.clang
    }

    /// The assembly of the function's own unit, with calls that a plan may decide sent to the harness; None where that cannot be done.
    fn redirected(&mut self, request: &Request<'_>, folder: &Path) -> Option<Redirected> {
        let sites = request.wrapped.iter().enumerate().filter_map(|(number, stub)| Some((number, stub.site()?)));
        let sites: Vec<(usize, &Site)> = sites.collect();
        if sites.is_empty() {
            return None;
        }
        let whole = match self.assemblies.get(&request.home) {
            Some(whole) => whole.clone(),
            None => {
                let path = self.folder.path().join("unit.s");
                let job = self.jobs.get(request.home).and_then(Option::as_ref)?;
                let is_made = self.clang.assembly(job, &path, self.folder.path()).is_ok();
                let whole = is_made.then(|| caulk_files::read_text(&path, MAX_ASSEMBLY).ok()).flatten();
                self.assemblies.insert(request.home, whole.clone());
                whole
            }
        };
        let symbol = if request.target.symbol == PROGRAM_MAIN { "main" } else { &request.target.symbol };
        let redirected = sites::redirected(&whole?, symbol, &sites)?;
        let place = Folder::open(folder).ok()?;
        place.write(OsStr::new(HOME_ASSEMBLY), &[redirected.assembly.as_bytes()]).ok()?;
        let (from, to) = (OsStr::new(HOME_ASSEMBLY), OsStr::new(HOME_OBJECT));
        self.clang.assemble(from, to, folder, &self.runner).ok()?;
        Some(redirected)
    }

    /// The object of the function's own unit, with the symbols that the harness names made visible.
    fn visible(&self, object: &Path, names: &[OsString], folder: &Path) -> Result<PathBuf, Reason> {
        let objcopy = find_program(Path::new("objcopy")).or_else(|| find_program(Path::new("llvm-objcopy-19")));
        let missing = || Reason::Failed("objcopy is not installed (Debian: apt-get install binutils)".to_owned());
        let to = folder.join("home.o");
        let mut command = Command::new(objcopy.ok_or_else(missing)?);
        command.args(names).arg(object).arg(&to);
        let is_done = self.runner.run(command).is_ok_and(|finished| finished.status.success());
        if is_done { Ok(to) } else { Err(Reason::Failed("objcopy could not read the object file".to_owned())) }
    }

    /// Compiles the harness and links it. The inner error is what the linker said.
    fn link(
        &self,
        source: &str,
        compile: &[OsString],
        link: &[OsString],
        folder: &Path,
    ) -> Result<Result<(), String>, Reason> {
        let write = |name: &str, text: &str| {
            let place = Folder::open(folder).and_then(|place| place.write(OsStr::new(name), &[text.as_bytes()]));
            place.map_err(|error| Reason::Failed(format!("cannot write the harness: {error}")))
        };
        write("runtime.c", RUNTIME)?;
        write("harness.c", source)?;
        let build = |words: &[OsString]| self.clang.build(words, folder, &self.runner);
        build(compile).map_err(|said| Reason::Failed(format!("the harness: {}", first_line(&said))))?;
        Ok(build(link))
    }
}

fn names_made_visible(request: &Request<'_>) -> Vec<OsString> {
    let symbols = request.variables.iter().map(|variable| &variable.symbol).chain([&request.target.symbol]);
    let mut words: Vec<OsString> = symbols.map(|symbol| format!("--globalize-symbol={symbol}").into()).collect();
    if request.target.symbol == PROGRAM_MAIN {
        words.push(format!("--redefine-sym=main={PROGRAM_MAIN}").into());
    }
    words
}

fn compile_arguments() -> Vec<OsString> {
    // Stubs are many, and few are called.
    ["-O0", "-c", "-fno-builtin", "harness.c", "-o", "harness.o"].map(OsString::from).into()
}

/// The harness comes first: where two objects define a symbol, the first counts.
fn link_arguments(objects: &[PathBuf], stubs: &[Stub]) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        [Clang::LEAK_SANITIZER, "-O1", "-o", PROGRAM, "harness.o", "runtime.c"].map(OsString::from).into();
    words.extend(objects.iter().map(|object| object.as_os_str().to_owned()));
    let flags = ["-Wl,--gc-sections", "-Wl,--no-demangle", "-Wl,--allow-multiple-definition"];
    words.extend(flags.map(OsString::from));
    words.extend(source::wrapped(stubs).into_iter().map(OsString::from));
    words.extend(["-lstdc++", "-lm", "-lpthread", "-ldl", "-lrt", "-lresolv", "-lutil"].map(OsString::from));
    words
}

fn add_stub(stubs: &mut Vec<Stub>, symbol: &str, known: Undefined) {
    if !stubs.iter().any(|stub| stub.defines(symbol)) {
        let Undefined { kind, is_known, is_replaced, .. } = known;
        stubs.push(Stub { symbol: symbol.to_owned(), kind, is_known, is_replaced, is_trusted: false });
    }
}

/// The symbols that the linker did not find.
fn undefined(said: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let (_, rest) = line.split_once("undefined reference to `")?;
        Some(rest.split('\'').next()?.to_owned())
    };
    said.lines().filter_map(name).filter(|name| !name.starts_with("__real_")).collect()
}

fn not_linked(said: &str) -> Reason {
    if said.contains("clang_rt.lsan") {
        let hint = "its library is not installed (Debian: apt-get install libclang-rt-19-dev)";
        return Reason::NoSanitizer(hint.to_owned());
    }
    Reason::DidNotLink(first_line(said))
}

fn first_line(said: &str) -> String {
    let telling =
        |line: &&str| line.contains("error") || line.contains("undefined") || line.contains("multiple definition");
    let line =
        said.lines().find(telling).or_else(|| said.lines().next()).unwrap_or("the linker failed and said nothing");
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_symbols_are_read_from_what_the_linker_says() {
        let said = "/usr/bin/ld: a.o: in function `f':\n/p/a.c:3:(.text.f+0x1): undefined reference to `evbuffer_new'\n\
                    /usr/bin/ld: a.c:4: undefined reference to `_ZN1A1fEv'\n/usr/bin/ld: a.c:5: more undefined references to `x' follow\n";
        let expected: BTreeSet<String> = ["evbuffer_new", "_ZN1A1fEv"].map(str::to_owned).into();
        assert_eq!(undefined(said), expected);
        let said =
            "/usr/bin/ld: cannot find /usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.lsan-x86_64.a: No such file";
        assert!(matches!(not_linked(said), Reason::NoSanitizer(_)));
    }
}
