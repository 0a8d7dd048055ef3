//! Hashes the sources that decide what a cache entry holds, so that an entry made by other code is never taken for one of
//! ours. `src/cache.rs` puts the hash into the name of every entry.

#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

#[path = "src/deciding.rs"]
mod deciding;
#[path = "src/fingerprint.rs"]
mod fingerprint;

use deciding::deciding;

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error=cannot hash the sources that decide the cached form: {error}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or(io::ErrorKind::NotFound)?);
    let places = deciding(&root);
    for place in &places {
        println!("cargo::rerun-if-changed={}", place.display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    let hash = fingerprint::of(&root, &places, &|path: &Path| fs::read(path))?;
    fs::write(out.join("format.txt"), hash)
}
