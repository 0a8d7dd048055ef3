//! How paths of the source are printed.

use std::path::Path;
use std::sync::OnceLock;

/// A path as a user of this folder would write it: relative, when the file is below the current directory.
pub(crate) fn path(path: &str) -> &str {
    static CURRENT: OnceLock<Option<std::path::PathBuf>> = OnceLock::new();
    let current = CURRENT.get_or_init(|| std::env::current_dir().ok());
    let below = current.as_ref().and_then(|folder| Path::new(path).strip_prefix(folder).ok());
    below.and_then(Path::to_str).filter(|p| !p.is_empty()).unwrap_or(path)
}
