//! Flags that never reach clang, by what clang would do with them. SECURITY.md has the argument for each class.
//!
//! Where a class could also be reached by a flag that is kept (`--target=` leads to configuration and programs), that flag's
//! value is checked; see [`super::target`].

use super::table::Action::Drop;
use super::table::Form::{Alone, Attached, AttachedThenNext, Either, Long, Next};
use super::table::Why::Refused;
use super::table::{Rule, rule};

/// A shared library is loaded into clang, or a pass of LLVM is configured to do so.
pub(super) const LOADS_CODE: &[Rule] = &[
    rule("-fplugin", Attached, Drop(Refused)),
    rule("-fpass-plugin", Attached, Drop(Refused)),
    rule("--hipspv-pass-plugin=", Attached, Drop(Refused)),
    rule("-load", Either, Drop(Refused)),
    rule("-load-pass-plugin", Attached, Drop(Refused)),
    rule("-plugin", Either, Drop(Refused)),
    rule("-add-plugin", Next, Drop(Refused)),
    // `-mllvm -load=x.so` loads a library too, and every other option of LLVM can be set so.
    rule("-mllvm", Next, Drop(Refused)),
    rule("-mllvm=", Attached, Drop(Refused)),
    rule("-mmlir", Next, Drop(Refused)),
    // Words for clang's inner command, the assembler, the analyzer: the few harmless ones have rules of their own.
    rule("-X", AttachedThenNext, Drop(Refused)),
    rule("-cc1", Attached, Drop(Refused)),
];

/// A file is read that holds more flags.
pub(super) const READS_CONFIGURATION: &[Rule] = &[
    rule("--config", Long, Drop(Refused)),
    rule("--config-system-dir", Long, Drop(Refused)),
    rule("--config-user-dir", Long, Drop(Refused)),
    rule("--rsp-quoting", Long, Drop(Refused)),
    rule("-specs", Long, Drop(Refused)),
    rule("--specs", Long, Drop(Refused)),
];

/// Another program is started, or another one than the installed one, or the driver starts more than one job: a job in a
/// process of its own would be out of reach when Caulk is killed.
pub(super) const STARTS_PROGRAMS: &[Rule] = &[
    rule("-wrapper", Next, Drop(Refused)),
    rule("-B", Either, Drop(Refused)),
    rule("--prefix", Long, Drop(Refused)),
    rule("-fuse-ld", Attached, Drop(Refused)),
    rule("--ld-path", Long, Drop(Refused)),
    rule("-ccc-", Attached, Drop(Refused)),
    rule("-ccc-gcc-name", Next, Drop(Refused)),
    rule("-ccc-install-dir", Next, Drop(Refused)),
    rule("-b", Either, Drop(Refused)),
    rule("-V", Either, Drop(Refused)),
    rule("-fintegrated-cc1", Alone, Drop(Refused)),
    rule("-fintegrated-objemitter", Alone, Drop(Refused)),
    rule("-fdriver-only", Alone, Drop(Refused)),
    rule("-frewrite-includes", Alone, Drop(Refused)),
    // A job of its own for the preprocessor, which clang then refuses to be.
    rule("-traditional-cpp", Alone, Drop(Refused)),
    rule("--traditional-cpp", Alone, Drop(Refused)),
    rule("-fsycl", Attached, Drop(Refused)),
    rule("-fclangir", Alone, Drop(Refused)),
    rule("-fhip-", Attached, Drop(Refused)),
    rule("-fgpu-", Attached, Drop(Refused)),
    rule("-fcuda-", Attached, Drop(Refused)),
    rule("-fuse-cuid", Attached, Drop(Refused)),
    rule("-fembed-offload-object=", Attached, Drop(Refused)),
    rule("-mthread-model", Next, Drop(Refused)),
];

/// A compiled form of source is read. clang trusts such files: a crafted one can corrupt its memory.
pub(super) const READS_COMPILED: &[Rule] = &[
    // Modules are also written, to a cache that the build owns, and clang's default cache is outside the project.
    rule("-fmodule", Attached, Drop(Refused)),
    rule("-fmodules-user-build-path", Next, Drop(Refused)),
    rule("-fcxx-modules", Alone, Drop(Refused)),
    rule("-fimplicit-module", Attached, Drop(Refused)),
    rule("-fbuiltin-module-map", Alone, Drop(Refused)),
    rule("-fprebuilt-", Attached, Drop(Refused)),
    rule("-fbuild-session-", Attached, Drop(Refused)),
    rule("-fexperimental-modules-", Attached, Drop(Refused)),
    rule("-module-dependency-dir", Next, Drop(Refused)),
    rule("-module-file-info", Alone, Drop(Refused)),
    rule("-fthinlto-index=", Attached, Drop(Refused)),
    rule("-mlink-", Attached, Drop(Refused)),
];

/// Another file is read than the one that is named, or clang's own headers come from elsewhere.
pub(super) const REDIRECTS: &[Rule] = &[
    rule("-resource-dir", Either, Drop(Refused)),
    rule("-ivfsoverlay", Either, Drop(Refused)),
    rule("-vfsoverlay", Either, Drop(Refused)),
    rule("--vfsoverlay", Long, Drop(Refused)),
    rule("-iapinotes-modules", Either, Drop(Refused)),
    rule("-fapinotes", Attached, Drop(Refused)),
    rule("-frandomize-layout-seed", Attached, Drop(Refused)),
];

/// Something else is written than the bitcode, or something besides it.
pub(super) const WRITES: &[Rule] = &[
    rule("-emit-", Attached, Drop(Refused)),
    rule("--emit-", Attached, Drop(Refused)),
    rule("--precompile", Alone, Drop(Refused)),
    rule("--analyze", Attached, Drop(Refused)),
    rule("-serialize-diagnostics", Next, Drop(Refused)),
    rule("--serialize-diagnostics", Long, Drop(Refused)),
    rule("-index-store-path", Next, Drop(Refused)),
    rule("-index-unit-output-path", Next, Drop(Refused)),
    rule("-dumpdir", Next, Drop(Refused)),
    rule("-dumpbase", Next, Drop(Refused)),
    rule("-dumpbase-ext", Next, Drop(Refused)),
    rule("-dsym-dir", Next, Drop(Refused)),
    rule("-final_output", Next, Drop(Refused)),
    rule("-aux-info", Either, Drop(Refused)),
    rule("-auxbase", Next, Drop(Refused)),
    rule("-auxbase-strip", Next, Drop(Refused)),
    rule("-gen-cdb-fragment-path", Next, Drop(Refused)),
    rule("-gsplit-dwarf", Attached, Drop(Refused)),
    rule("-gen-reproducer", Attached, Drop(Refused)),
    rule("-fcrash-diagnostics", Attached, Drop(Refused)),
    rule("-fthin-link-bitcode=", Attached, Drop(Refused)),
];
