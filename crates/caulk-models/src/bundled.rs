//! The models that come with the program. `build.rs` reads and checks the files under `models/` when the program is built and
//! leaves them here in a form that loads in a fraction of the time TOML takes.

use std::path::PathBuf;

use crate::error::ModelError;
use crate::family::{Families, Family};
use crate::model::Model;
use crate::table::Models;

/// Families in the order of their ids, models, and names with an index into the models: as `build.rs` writes them.
type Bundle = (Vec<Family>, Vec<Model>, Vec<(String, u32)>);

/// Largest file of models read; all bundled models together are a fiftieth of it.
const MAX_BYTES: u64 = 16 << 20;

static BUNDLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/models.bin"));

static DESCRIPTORS: &str = include_str!("../../../models/by-switch/descriptors.toml");

impl Models {
    /// The models that come with the program.
    #[must_use]
    pub fn bundled() -> Models {
        let bundle: Bundle = postcard::from_bytes(BUNDLE).expect("build.rs wrote it with the same types");
        let (families, models, names) = bundle;
        Models::assemble(Families::from_list(families), models, names)
    }

    /// The bundled models, overridden function by function by the files, the last one strongest.
    pub fn with_files(files: &[PathBuf]) -> Result<Models, ModelError> {
        Models::bundled().and_files(files)
    }

    /// The bundled models with those of functions that open and close descriptors, which are followed only when asked for.
    #[must_use]
    pub fn with_descriptors() -> Models {
        let mut models = Models::bundled();
        models.add_text("descriptors.toml", DESCRIPTORS).expect("a test reads the same text");
        models
    }

    /// These models, overridden by the files.
    pub fn and_files(self, files: &[PathBuf]) -> Result<Models, ModelError> {
        let mut models = self;
        for path in files {
            let file = path.display().to_string();
            let bytes =
                caulk_files::read(path, MAX_BYTES).map_err(|source| ModelError::Read { file: file.clone(), source })?;
            let text = utf8(&file, &bytes)?;
            models.add_text(&file, text)?;
        }
        Ok(models)
    }
}

fn utf8<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, ModelError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        ModelError::invalid(file, valid, valid.len(), "this is not UTF-8 text".to_owned(), None)
    })
}
