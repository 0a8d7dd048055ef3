//! Reads the model files under `models/` with the crate's own code, so that a wrong one fails the build, and writes what
//! `src/bundled.rs` loads.

#![allow(clippy::print_stdout, clippy::print_stderr)]
// The modules serve the library; what the build leaves unused, or public for nothing, is used there.
#![allow(dead_code, unreachable_pub)]

#[path = "src/condition.rs"]
mod condition;
#[path = "src/error.rs"]
mod error;
#[path = "src/family.rs"]
mod family;
#[path = "src/lower.rs"]
mod lower;
#[path = "src/model.rs"]
mod model;
#[path = "src/model_path.rs"]
mod model_path;
#[path = "src/schema.rs"]
mod schema;
#[path = "src/suggest.rs"]
mod suggest;
#[path = "src/table.rs"]
mod table;

use std::collections::HashMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use lower::Source;
use model::{Model, ModelSource};
use table::Models;

const FOLDER: &str = "../../models";

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error={}", error.to_string().replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={FOLDER}");
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=build.rs");
    let models = read_folder(Path::new(FOLDER))?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(out.join("models.bin"), encode(&models)?)?;
    Ok(())
}

fn read_folder(folder: &Path) -> Result<Models, Box<dyn Error>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let mut texts = Vec::new();
    for path in &paths {
        let library = path.file_stem().and_then(|stem| stem.to_str()).ok_or("a model file's name is UTF-8")?;
        texts.push((library.to_owned(), path.display().to_string(), fs::read_to_string(path)?));
    }
    let mut models = Models::default();
    // Families first: a file may use those of any other.
    let mut files = Vec::new();
    for (library, file, text) in &texts {
        let source = Source { file, text };
        let mut parsed = source.parse()?;
        source.define_families(&mut parsed, &mut models.families)?;
        files.push((library, source, parsed));
    }
    for (library, source, parsed) in files {
        let lowered = source.lower(parsed, &models.families, &ModelSource::Bundled(library.clone()))?;
        if let Some(name) = lowered.iter().flat_map(|lowered| &lowered.names).find(|name| models.get(name).is_some()) {
            return Err(format!("{}: an earlier file has a model of `{name}` too", source.file).into());
        }
        models.enter(lowered);
    }
    Ok(models)
}

/// The bundle that `src/bundled.rs` describes.
fn encode(models: &Models) -> Result<Vec<u8>, postcard::Error> {
    let mut indices: HashMap<*const Model, u32> = HashMap::new();
    let mut bodies: Vec<&Model> = Vec::new();
    let mut names: Vec<(&str, u32)> = Vec::new();
    for (name, model) in models.iter() {
        let index = *indices.entry(std::ptr::from_ref(model)).or_insert_with(|| {
            bodies.push(model);
            bodies.len() as u32 - 1
        });
        names.push((name, index));
    }
    postcard::to_stdvec(&(models.families(), bodies, names))
}
