//! A place to run `caulk` in that notices what it must not do: start a program other than clang, give clang a flag that loads
//! code or writes elsewhere, or write outside of the cache and the output.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::project::{find, make_executable, make_pipe, wait_in_time};

/// Programs that a compiler, a build or a repository might start.
const PROGRAMS: [&str; 16] = [
    "ar", "as", "bear", "cc", "clang", "clang-19", "g++", "gcc", "git", "ld", "ld.lld", "lld", "llc", "make", "opt",
    "python3",
];
/// Address space of `caulk` and of each clang. Ordinary runs take a tenth of it.
const MEMORY_BYTES: u64 = 4 << 30;
/// Flags that make clang load code, start a program or read further flags.
const LOADING: [&str; 9] =
    ["-fplugin", "-load", "-fpass-plugin", "--config", "-B", "-specs", "@", "-wrapper", "-fprofile-use=/"];

/// What a file is and holds.
type Snapshot = BTreeMap<PathBuf, (u64, Vec<u8>)>;

pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
    clang: PathBuf,
    outside: Snapshot,
}

impl Sandbox {
    /// None where clang is not installed.
    pub(crate) fn new() -> Option<Self> {
        let clang = find("clang-19")?;
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        for name in ["outside", "home", "bin", "record"] {
            fs::create_dir(folder.path().join(name)).expect("writable");
        }
        let mut sandbox = Self { folder, clang, outside: Snapshot::new() };
        sandbox.write_programs();
        sandbox.write_plugin();
        fs::write(sandbox.path("outside/file"), "not to be touched").expect("writable");
        sandbox.outside = sandbox.snapshot(&["outside", "home", "bin"]);
        Some(sandbox)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    /// The wrapper writes down how clang is called; every other program writes down that it was started.
    fn write_programs(&self) {
        let record = self.path("record");
        let script = |name: &str, text: String| {
            fs::write(self.path(name), format!("#!/bin/sh\n{text}\n")).expect("writable");
            make_executable(&self.path(name));
        };
        let clang = self.clang.display();
        let log = format!("{{ printf '%s\\0' \"$@\"; printf '\\n\\0'; }} >> '{}'", record.join("clang").display());
        script("wrapper", format!("{log}\nexec {clang} \"$@\""));
        for program in PROGRAMS {
            script(&format!("bin/{program}"), format!("echo {program} >> '{}'", record.join("started").display()));
        }
    }

    /// A library that leaves a mark when it is loaded.
    fn write_plugin(&self) {
        let source = format!(
            "#include <fcntl.h>\n__attribute__((constructor)) static void loaded(void) {{ open(\"{}\", O_CREAT, 0600); }}\n",
            self.path("record/loaded").display()
        );
        fs::write(self.path("evil.c"), source).expect("writable");
        let mut compile = Command::new(&self.clang);
        compile.current_dir(self.folder.path()).args(["-shared", "-fPIC", "evil.c", "-o", "evil.so"]);
        assert!(compile.status().expect("clang can be run").success(), "the library for the test is made");
    }

    /// A project with these files, beside traps that they may name.
    pub(crate) fn prepare(&self, files: &[(&str, &[u8])]) {
        for name in ["project", "tmp"] {
            let _ = fs::remove_dir_all(self.path(name));
            fs::create_dir(self.path(name)).expect("writable");
        }
        let project = self.project();
        fs::create_dir(project.join(".git")).expect("writable");
        fs::write(project.join(".git/config"), "[core]\n").expect("writable");
        fs::copy(self.path("evil.so"), project.join("evil.so")).expect("writable");
        for name in ["evil.cfg", "x-clang.cfg", "clang.cfg"] {
            fs::write(project.join(name), "-fplugin=./evil.so\n").expect("writable");
        }
        symlink("../outside", project.join("link")).expect("writable");
        make_pipe(&project.join("pipe"));
        for (name, bytes) in files {
            fs::write(project.join(name), bytes).expect("writable");
        }
    }

    /// Runs `caulk` in the project and says what is wrong with what it did; else gives its exit status.
    pub(crate) fn run(&self, arguments: &[&str], may_write_project: bool) -> Result<i32, String> {
        let before = self.snapshot(&["project"]);
        let output = self.spawn(arguments)?;
        let status = self.judge_output(&output)?;
        self.judge_programs()?;
        if self.snapshot(&["outside", "home", "bin"]) != self.outside {
            return Err("it wrote outside of the project".to_owned());
        }
        if let Some(left) = self.snapshot(&["tmp"]).keys().next() {
            return Err(format!("{} is left behind", left.display()));
        }
        self.judge_project(&before, &self.snapshot(&["project"]), may_write_project)?;
        Ok(status)
    }

    fn spawn(&self, arguments: &[&str]) -> Result<Output, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_caulk"));
        command.args(arguments).args(["--jobs", "1", "--clang"]).arg(self.path("wrapper"));
        command.current_dir(self.project()).env_clear();
        command.env("PATH", self.path("bin")).env("HOME", self.path("home")).env("TMPDIR", self.path("tmp"));
        // Otherwise the key is made in the home folder.
        command.env("CAULK_CACHE_KEY", "sandbox");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let limit = |resource, bytes| setrlimit(resource, Rlimit { current: Some(bytes), maximum: Some(bytes) });
        // SAFETY: setrlimit is a plain system call and allocates nothing.
        unsafe {
            command.pre_exec(move || Ok(limit(Resource::As, MEMORY_BYTES).and_then(|()| limit(Resource::Core, 0))?));
        }
        let child = command.process_group(0).spawn().expect("caulk can be run");
        wait_in_time(child).ok_or_else(|| "it did not end".to_owned())
    }

    fn judge_output(&self, output: &Output) -> Result<i32, String> {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let status = output.status.code().ok_or_else(|| format!("{}: {stderr}", output.status))?;
        if !(0..=3).contains(&status) || stderr.contains("panicked") {
            return Err(format!("status {status}: {stderr}"));
        }
        if stderr.contains("internal error") {
            return Err(stderr.into_owned());
        }
        Ok(status)
    }

    fn judge_programs(&self) -> Result<(), String> {
        for mark in ["started", "loaded"] {
            if let Ok(text) = fs::read_to_string(self.path("record").join(mark)) {
                let _ = fs::remove_file(self.path("record").join(mark));
                return Err(format!("something was {mark}: {text}"));
            }
        }
        let record = self.path("record/clang");
        let calls = fs::read_to_string(&record).unwrap_or_default();
        let _ = fs::remove_file(record);
        calls.split("\n\0").try_for_each(|call| self.judge_call(&call.split_terminator('\0').collect::<Vec<_>>()))
    }

    /// Outputs go to the temporary folder, and no flag loads anything.
    fn judge_call(&self, words: &[&str]) -> Result<(), String> {
        let tmp = self.path("tmp");
        for (at, word) in words.iter().enumerate() {
            let is_value = at > 0 && ["-I", "-isystem", "-D", "-U", "-include", "-iquote"].contains(&words[at - 1]);
            if !is_value && LOADING.iter().any(|flag| word.starts_with(flag)) {
                return Err(format!("clang was given {word}: {words:?}"));
            }
            let is_output = ["-o", "-MF", "-dependency-file"].contains(word);
            let target = words.get(at + 1).unwrap_or(&"");
            if is_output && !is_value && !Path::new(target).starts_with(&tmp) {
                return Err(format!("clang was to write {target}: {words:?}"));
            }
        }
        Ok(())
    }

    fn judge_project(&self, before: &Snapshot, after: &Snapshot, may_write: bool) -> Result<(), String> {
        let project = self.project();
        let is_ours = |path: &Path| {
            let below = path.strip_prefix(&project).unwrap_or(path);
            let first = below.components().next().map(|c| c.as_os_str().to_string_lossy().into_owned());
            let is_git = first.as_deref() == Some(".git");
            !is_git && (may_write || first.is_some_and(|name| name == ".caulk" || name.starts_with("out.")))
        };
        let paths = before.keys().chain(after.keys());
        let changed = paths.filter(|path| before.get(*path) != after.get(*path)).find(|path| !is_ours(path));
        changed.map_or(Ok(()), |path| Err(format!("it changed {}", path.display())))
    }

    /// All files in some folders. Links and pipes count as what they are.
    fn snapshot(&self, names: &[&str]) -> Snapshot {
        let mut snapshot = Snapshot::new();
        for name in names {
            add(&mut snapshot, &self.path(name));
        }
        snapshot
    }

    /// Keeps all that is in the sandbox, for a look at it.
    pub(crate) fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}

fn add(snapshot: &mut Snapshot, folder: &Path) {
    for entry in fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("readable").path();
        let metadata = fs::symlink_metadata(&path).expect("it is there");
        let content = match metadata.is_file() {
            true => fs::read(&path).expect("readable"),
            false => Vec::new(),
        };
        let is_folder = metadata.is_dir();
        snapshot.insert(path.clone(), (u64::from(is_folder), content));
        if is_folder {
            add(snapshot, &path);
        }
    }
}
