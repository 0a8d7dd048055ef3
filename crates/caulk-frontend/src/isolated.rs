//! Lowering in a process of its own, for bitcode that our clang did not compile from a source.
//!
//! LLVM ends the process when it meets what it does not expect, and no guard inside the process survives that. Bitcode from
//! elsewhere may hold anything, so the program starts itself again for each such file: the child reads the bitcode and
//! writes the packed unit to a file. When it dies the unit is lost, with the reason, and the run goes on. What it wrote is
//! verified like a cache entry.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use caulk_files::Destination;
use caulk_ir::PackedUnit;
use caulk_process::{Finished, Runner};

use crate::read::{STACK_BYTES, lower_file};

/// The first argument of a process that is to lower one file.
const WORD: &str = "lower-one-bitcode-file";

/// Largest packed unit that is taken from a child.
const MAX_UNIT: u64 = 512 << 20;

/// A program that calls [`serve`] first of all: the one that is running.
#[derive(Clone, Debug)]
pub struct Isolated {
    program: PathBuf,
}

impl Isolated {
    pub fn new(program: PathBuf) -> Self {
        Self { program }
    }

    /// Reads and lowers one bitcode file, within the limits of a clang. `out` is a path for a file of our own.
    pub(crate) fn lower(
        &self,
        bitcode: &Path,
        source: &str,
        out: &Path,
        runner: &Runner,
    ) -> Result<PackedUnit, String> {
        let mut command = Command::new(&self.program);
        command.args([OsStr::new(WORD), bitcode.as_os_str(), out.as_os_str(), OsStr::new(source)]);
        let finished =
            runner.run(command).map_err(|error| format!("cannot start {}: {error}", self.program.display()))?;
        let written = caulk_files::read(out, MAX_UNIT);
        let _ = std::fs::remove_file(out);
        if let Some(end) = end(&finished, runner) {
            return Err(format!("LLVM cannot cope with this bitcode: reading it {end}"));
        }
        let written = written.map_err(|error| format!("cannot read what was made of it: {error}"))?;
        decode(&written)
    }
}

/// How a child ended that did not do its work.
fn end(finished: &Finished, runner: &Runner) -> Option<String> {
    if finished.is_overdue {
        return Some(format!("took longer than {} seconds", runner.limits.time.as_secs()));
    }
    match finished.status.code() {
        Some(0) => None,
        Some(code) => Some(format!("ended with status {code}")),
        None => Some("crashed".to_owned()),
    }
}

/// The first byte says what follows: a unit, or the reason why there is none.
const UNIT: u8 = 1;
const LOST: u8 = 0;

fn decode(written: &[u8]) -> Result<PackedUnit, String> {
    match written.split_first() {
        Some((&UNIT, unit)) => PackedUnit::from_bytes(unit).map_err(|error| error.to_string()),
        Some((&LOST, reason)) => Err(String::from_utf8_lossy(reason).into_owned()),
        _ => Err("internal error, please report it: nothing was made of the bitcode".to_owned()),
    }
}

/// Does the work of the child, if this process was started for it. A program that makes an [`Isolated`] of itself calls this
/// before it looks at its arguments.
pub fn serve(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let arguments: Vec<OsString> = arguments.into_iter().skip(1).collect();
    let [word, bitcode, out, source] = arguments.as_slice() else { return None };
    if word != WORD {
        return None;
    }
    let (bitcode, source) = (PathBuf::from(bitcode), source.to_string_lossy().into_owned());
    // As large a stack as the threads that lower what clang compiled.
    let work = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || lower_file(&bitcode, &source));
    let lowered = work.map(|thread| thread.join());
    let bytes = match lowered {
        Ok(Ok(Ok(unit))) => [&[UNIT], PackedUnit::pack(unit).to_bytes().as_slice()].concat(),
        Ok(Ok(Err(reason))) => [&[LOST], reason.as_bytes()].concat(),
        _ => return Some(ExitCode::FAILURE),
    };
    Some(if Destination::named(out.into()).write(&bytes).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
