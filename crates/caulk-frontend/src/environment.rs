//! What clang hears of the user's environment.
//!
//! The environment is the user's and is trusted. Some variables are taken away all the same, because with them clang would not
//! do what our flags say. Search paths of headers (`CPATH`, `C_INCLUDE_PATH`, `SDKROOT`) stay: some systems find their headers
//! by them, and they lead to nothing but headers. What stays and changes the result is part of the cache's key.

use std::path::Path;
use std::process::Command;

/// Variables that clang does not get to see.
const TAKEN_AWAY: &[&str] = &[
    // More flags.
    "CCC_OVERRIDE_OPTIONS",
    "CCC_ADD_ARGS",
    "QA_OVERRIDE_GCC3_OPTIONS",
    "RC_DEBUG_OPTIONS",
    "RC_DEBUG_PREFIX_MAP",
    "CL",
    "_CL_",
    // Where it finds programs.
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "LLVM_SYMBOLIZER_PATH",
    // A process of its own for the real work.
    "CLANG_SPAWN_CC1",
    // Files that are written besides the result.
    "CC_PRINT_OPTIONS",
    "CC_PRINT_OPTIONS_FILE",
    "CC_PRINT_HEADERS",
    "CC_PRINT_HEADERS_FILE",
    "CC_PRINT_INTERNAL_STAT",
    "CC_PRINT_INTERNAL_STAT_FILE",
    "CC_PRINT_PROC_STAT",
    "CC_PRINT_PROC_STAT_FILE",
    "CC_LOG_DIAGNOSTICS",
    "CC_LOG_DIAGNOSTICS_FILE",
    "CLANG_CRASH_DIAGNOSTICS_DIR",
    "CLANG_MODULE_CACHE_PATH",
    "DEPENDENCIES_OUTPUT",
    "SUNPRO_DEPENDENCIES",
    // Crashes on purpose.
    "FORCE_CLANG_DIAGNOSTICS_CRASH",
];

/// Variables that stay and may change what is compiled.
const PART_OF_THE_KEY: &[&str] =
    &["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "SDKROOT", "SOURCE_DATE_EPOCH", "MACOSX_DEPLOYMENT_TARGET"];

/// Gives a clang the environment in which it does what our flags say, with `scratch` for its temporary files.
pub(crate) fn prepare(command: &mut Command, scratch: Option<&Path>) {
    for name in TAKEN_AWAY {
        command.env_remove(name);
    }
    // A clang that crashes would start `llvm-symbolizer` to print its own stack.
    command.env("LLVM_DISABLE_SYMBOLIZATION", "1").env("LC_ALL", "C");
    // What a clang that was ended leaves behind goes with our own temporary files.
    if let Some(scratch) = scratch {
        ["TMPDIR", "TMP", "TEMP", "TEMPDIR"].iter().for_each(|name| {
            command.env(name, scratch);
        });
    }
}

/// What of the environment decides what comes out.
pub(crate) fn fingerprint() -> String {
    let line = |name: &&str| Some(format!("{name}={}\n", std::env::var_os(name)?.to_string_lossy()));
    PART_OF_THE_KEY.iter().filter_map(line).collect()
}
