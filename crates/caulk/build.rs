//! Lets the program find libraries that a release brings along, in `lib/caulk` beside its `bin` (the system's come after), and hashes all sources,
//! so that results in a cache count only for the build that found them out.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs, io};

#[path = "../caulk-frontend/src/fingerprint.rs"]
mod fingerprint;

fn main() -> ExitCode {
    let is_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    if is_linux {
        // RUNPATH would not count for what the libraries themselves need.
        emit("cargo::rustc-link-arg-bins=-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib/caulk");
    }
    emit("cargo::rerun-if-changed=build.rs");
    match name_build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            emit(&format!("cargo::error=cannot hash the sources of Caulk: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Writes a hash of what decides the results of the analysis: the sources of all crates, the models, the versions of what they use, and the compiler.
fn name_build() -> io::Result<()> {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or_else(missing)?);
    let root = here.join("../..").canonicalize()?;
    let mut places = vec![root.join("models"), root.join("Cargo.lock")];
    let mut crates =
        fs::read_dir(root.join("crates"))?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    crates.sort();
    places.extend(crates.iter().map(|one| one.join("src")).filter(|src| src.is_dir()));
    for place in &places {
        emit(&format!("cargo::rerun-if-changed={}", place.display()));
    }
    let sources = fingerprint::of(&root, &places, &|path: &Path| fs::read(path))?;
    let compiler = Command::new(env::var_os("RUSTC").ok_or_else(missing)?).arg("-vV").output()?.stdout;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(missing)?);
    fs::write(out.join("build.txt"), format!("{sources} {}", blake3::hash(&compiler)))
}

#[allow(clippy::print_stdout)]
fn emit(line: &str) {
    println!("{line}");
}
