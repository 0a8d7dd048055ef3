//! Which sources decide the form and the content of a cache entry. The build script uses it, and the tests of `cache.rs`.

use std::path::{Path, PathBuf};

/// Files and folders, from the folder of this crate: core IR with its packed form, the reading of clang's output, and
/// clang's own flags. What only asks for units (`read.rs`, `failure.rs`) is not among them.
pub(crate) const DECIDING: &[&str] = &[
    "../caulk-ir/src",
    "../caulk-ir/Cargo.toml",
    "src/bounds.rs",
    "src/clang.rs",
    "src/entry.rs",
    "src/environment.rs",
    "src/isolated.rs",
    "src/llvm",
    "src/portable.rs",
    "src/lower",
    "src/shared.rs",
    "src/ssa",
];

/// The same as paths.
pub(crate) fn deciding(root: &Path) -> Vec<PathBuf> {
    DECIDING.iter().map(|place| root.join(place)).collect()
}
