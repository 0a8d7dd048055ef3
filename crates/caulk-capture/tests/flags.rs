//! The flag table against real command lines, and against everything that must never get through.

mod common;

use caulk_capture::{Why, sanitize, without_rejected};
use common::have;
use proptest::prelude::*;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The command line of a Linux kernel unit, shortened only in its warnings.
const KERNEL: &str = "-Wp,-MMD,init/.main.o.d -nostdinc -I./arch/x86/include -I./include -include ./include/linux/kconfig.h \
    -D__KERNEL__ -fmacro-prefix-map=./= -std=gnu11 -fshort-wchar -funsigned-char -fno-common -fno-PIE \
    -fno-strict-aliasing -mno-sse -mno-80387 -mno-fp-ret-in-387 -mpreferred-stack-boundary=3 -mskip-rax-setup \
    -mtune=generic -mno-red-zone -mcmodel=kernel -Wno-sign-compare -fno-asynchronous-unwind-tables \
    -mindirect-branch=thunk-extern -mindirect-branch-register -mfunction-return=thunk-extern -fno-jump-tables \
    -fpatchable-function-entry=16,16 -fno-delete-null-pointer-checks -O2 -fno-allow-store-data-races \
    -fstack-protector-strong -ftrivial-auto-var-init=zero -fno-stack-clash-protection -fzero-call-used-regs=used-gpr \
    -pg -mrecord-mcount -mfentry -falign-functions=16 -fstrict-flex-arrays=3 -fno-strict-overflow -fno-stack-check \
    -fconserve-stack -fno-builtin-wcslen -Wall -DKBUILD_MODNAME=\"main\" -c -o init/main.o init/main.c";

#[test]
fn a_kernel_unit() {
    let expected = "-nostdinc -I./arch/x86/include -I./include -Xclang=-include./include/linux/kconfig.h -D__KERNEL__ \
        -std=gnu11 -fshort-wchar -funsigned-char -fno-common -fno-PIE -fno-strict-aliasing -mno-sse -mno-80387 \
        -mtune=generic -mno-red-zone -mcmodel=kernel -fno-asynchronous-unwind-tables -fno-jump-tables \
        -fno-delete-null-pointer-checks -fstack-protector-strong -fno-stack-clash-protection -fstrict-flex-arrays=3 \
        -fno-strict-overflow -fno-builtin-wcslen -DKBUILD_MODNAME=\"main\"";
    assert_eq!(sanitize(&words(KERNEL)).flags, words(expected));
}

#[test]
fn flags_of_other_builds_that_go() {
    for flag in [
        "-fno-tree-vectorize",
        "-fvar-tracking-assignments",
        "-fno-ipa-sra",
        "-flto=auto",
        "-fno-lto",
        "-ffat-lto-objects",
        "--param=ssp-buffer-size=4",
        "-fdump-tree-all",
        "-fcallgraph-info=su",
        "-fanalyzer",
        "-fprofile-arcs",
        "-fprofile-use=x",
        "-ftest-coverage",
        "--coverage",
        "-fsanitize=address,undefined",
        "-fno-sanitize=alignment",
        "-pg",
        "-ggdb3",
        "-gdwarf-4",
        "-gz",
        "-pipe",
        "-save-temps=obj",
        "-ftime-report",
        "-Werror",
        "-pedantic-errors",
        "-w",
        "-O0",
        "-Ofast",
        "-Os",
        "-c",
        "-S",
        "-E",
        "-MD",
        "-MFdeps",
        "-MP",
        "-fopenmp",
        "-fdebug-prefix-map=/a=/b",
        "-ffile-prefix-map=/a=/b",
        "-Wa,--noexecstack",
        "-Wl,-z,now",
        "-lm",
        "-L/lib",
        "-shared",
        "-static-libgcc",
        "-rdynamic",
        "-fdiagnostics-color=always",
        "-fno-diagnostics-show-caret",
        "-fmax-errors=3",
        "-fgnu-tm",
        "-funroll-all-loops",
    ] {
        let found = sanitize(&[flag.to_owned()]);
        assert!(found.flags.is_empty(), "{flag} got through");
        assert_eq!(found.dropped.len(), 1, "{flag}");
        assert!(!matches!(found.dropped[0].why, Why::Unknown | Why::Refused), "{flag}: {:?}", found.dropped[0].why);
    }
}

#[test]
fn flags_that_stay() {
    let kept = "-fno-exceptions -frtti -fshort-enums -fsigned-char -fwrapv -fblocks -fms-extensions -fgnu89-inline -m32 \
        -march=native -mabi=ms -pthread -ansi -stdlib=libc++ -fPIC -fvisibility=hidden -ffreestanding -fno-builtin \
        -malign-double -fenable-matrix -ftemplate-depth=2000 -fchar8_t -fsomething-new -msomething-new";
    let found = sanitize(&words(kept));
    assert_eq!(found.flags, words(kept));
    assert!(found.dropped.is_empty());
}

/// Every spelling of what would load code, start programs, or write or redirect files.
const DANGEROUS: &[&str] = &[
    "-fplugin=x.so",
    "-fplugin-arg-x-y=z",
    "-fpass-plugin=x.so",
    "-load x.so",
    "-Xclang -load -Xclang x.so",
    "-Xclang=-load -Xclang=x.so",
    "-Xclang -plugin -Xclang x",
    "-Xclang -emit-obj",
    "-Xclang -o -Xclang out",
    "-Xclang -include-pch -Xclang x.pch",
    "-wrapper gdb,--args",
    "-B /evil",
    "-B/evil",
    "--prefix=/evil",
    "--prefix /evil",
    "-specs=x",
    "-specs x",
    "--specs=x",
    "--specs x",
    "-o out",
    "-oout",
    "--output=out",
    "--output out",
    "-M",
    "-MM",
    "-MD",
    "-MMD",
    "-MF out",
    "-MFout",
    "-MJ out",
    "-MJout",
    "-MT t",
    "-MQ t",
    "--write-dependencies",
    "-Wp,-MD,out",
    "-Wp,-MMD,out",
    "-Xpreprocessor -MDout",
    "--serialize-diagnostics out",
    "--serialize-diagnostics=out",
    "-serialize-diagnostics out",
    "-dumpdir out",
    "-dumpbase out",
    "-fmodules-cache-path=out",
    "-fmodules",
    "-fmodule-output",
    "-fmodule-output=out",
    "-fmodules-user-build-path out",
    "-fimplicit-modules",
    "-emit-llvm",
    "-emit-ast",
    "-cc1",
    "-cc1as",
    "-Xassembler -x",
    "-Xlinker -x",
    "-Wl,-x",
    "-Wa,-x",
    "-fuse-ld=/evil",
    "--ld-path=/evil",
    "-ftime-trace",
    "-ftime-trace=out",
    "-fcrash-diagnostics-dir=out",
    "-fprofile-use=x",
    "-gsplit-dwarf",
    "-index-store-path out",
    "-fdiagnostics-format=sarif",
    "--config x",
    "--config=x",
    "--config-user-dir=x",
    "-ivfsoverlay x",
    "-ivfsoverlayx",
    "--vfsoverlay x",
    "-vfsoverlay x",
    "-mllvm -x",
    "-mllvm=-x",
    "-mmlir -x",
    "@file",
    "-fsave-optimization-record",
    "-foptimization-record-file=out",
    "-fstack-usage",
    "-save-temps",
    "--save-temps=obj",
    "-fproc-stat-report=out",
    "-resource-dir /evil",
    "-resource-dir=/evil",
    "-no-integrated-as",
    "-fno-integrated-as",
    "-fno-integrated-cc1",
    "-ccc-gcc-name evil",
    "-Xanalyzer -x",
    "-Xarch_host -fplugin=x",
    "-Xopenmp-target -x",
    "-Xopenmp-target=t -x",
    "-Xcuda-ptxas -x",
    "-gen-cdb-fragment-path out",
    "-dependency-file out",
    "-aux-info out",
    "-fdump-tree-all=out",
    "-fthin-link-bitcode=out",
    "--analyze",
    "--precompile",
    "-###",
    "--rsp-quoting=posix",
    "-fxray-instrument",
    "-fembed-offload-object=x",
    "--amdgpu-arch-tool=/evil",
    "--nvptx-arch-tool=/evil",
    "--ptxas-path=/evil",
    "--symbol-graph-dir=out",
    "-extract-api",
    "-rewrite-objc",
    "--hipspv-pass-plugin=x.so",
    "-fprebuilt-module-path=x",
    "--target=./x",
    "--target ./x",
    "-target ./x",
    "--target=../../x-linux",
    "--target=/x",
    "--target=amdgcn-amd-amdhsa",
    "--target=nvptx64-nvidia-cuda",
    "--gcc-triple=../x",
    "--config-system-dir=x",
    "-fdepfile-entry=/dev/zero",
    "-fembed-bitcode",
    "-fembed-bitcode=all",
    "-frewrite-includes",
    "-traditional-cpp",
    "-fdriver-only",
    "-fintegrated-objemitter",
    "-fno-integrated-objemitter",
    "-fsycl",
    "-fclangir",
    "-fapinotes",
    "-fapinotes-modules",
    "-fmodule-map-file=x",
    "-fmodule-file=x.pcm",
    "-fmodule-file=M=x.pcm",
    "-fbuild-session-file=x",
    "-fexperimental-modules-reduced-bmi",
    "-fthinlto-index=x",
    "-frandomize-layout-seed-file=x",
    "-fprofile-list=x",
    "-fprofile-remapping-file=x",
    "-fmemory-profile-use=x",
    "-fsanitize-ignorelist=x",
    "-fxray-attr-list=x",
    "-include-pch x.pch",
    "-final_output out",
    "-filelist x",
    "-fcrash-diagnostics=all",
    "-mlink-builtin-bitcode x",
    "-fnew-in-clang-20=./x",
    "-mnew-in-clang-20=/x",
];

#[test]
fn nothing_dangerous_gets_through_in_any_spelling() {
    for dangerous in DANGEROUS {
        let found = sanitize(&words(&format!("-DBEFORE {dangerous} -DAFTER")));
        assert_eq!(found.flags, ["-DBEFORE", "-DAFTER"], "{dangerous}");
        // At the very end a flag may lack its value.
        let found = sanitize(&words(dangerous.split_whitespace().next().expect("not empty")));
        assert!(found.flags.is_empty(), "{dangerous}: {:?}", found.flags);
    }
}

/// Words that could hurt when put beside one another.
fn nasty_word() -> impl Strategy<Value = String> {
    let pieces: Vec<String> = DANGEROUS.iter().flat_map(|d| words(d)).collect();
    let openers = words(
        "-D -U -I -isystem -iquote -include -imacros -Wp, -Wp,-D -x --sysroot -target -Xclang -Xpreprocessor -- -F",
    );
    prop_oneof![
        proptest::sample::select(pieces),
        proptest::sample::select(openers),
        proptest::sample::select(words("-pch -after before - a.c = , -fno-rtti -m32")),
        ".{0,12}",
    ]
}

proptest! {
    /// Each flag that is passed on is complete and allowed by itself, whatever stood around it in the build.
    #[test]
    fn what_gets_through_stands_alone(arguments in proptest::collection::vec(nasty_word(), 0..12)) {
        for flag in sanitize(&arguments).flags {
            let again = sanitize(std::slice::from_ref(&flag));
            prop_assert_eq!(again.flags, vec![flag.clone()]);
            prop_assert!(again.dropped.is_empty() && again.inputs.is_empty());
            prop_assert!(flag.starts_with('-'));
        }
    }

    #[test]
    fn reading_complaints_never_panics_and_only_removes(
        flags in proptest::collection::vec("-[a-z=]{0,8}", 0..6),
        stderr in "(error: |clang: error: )?(unknown argument|invalid value|unsupported argument|.{0,9}) ?('.{0,9}'?){0,3}.{0,20}",
    ) {
        if let Some(kept) = without_rejected(&flags, &stderr) {
            prop_assert!(kept.len() < flags.len());
            prop_assert!(kept.iter().all(|flag| flags.contains(flag)));
        }
    }
}

/// Flags whose value may be a path: search paths, and where a toolchain's headers are. SECURITY.md says why they may.
const PATHS_KEPT: &[&str] = &["--embed-dir=", "--gcc-install-dir=", "--gcc-toolchain=", "--sysroot="];

/// Every flag with a value that clang itself lists. Those that name a file are refused, also the ones that are not in the table.
#[test]
fn no_other_flag_of_clang_names_a_file() {
    if !have("clang-19") {
        return;
    }
    let mut listed = 0;
    let mut kept = Vec::new();
    for start in ('a'..='z').chain('A'..='Z').map(|letter| format!("-{letter}")).chain(["--".to_owned()]) {
        let run = std::process::Command::new("clang-19").arg(format!("--autocomplete={start}")).output();
        let text = run.expect("clang-19 was found on the path").stdout;
        let text = String::from_utf8_lossy(&text);
        for flag in text.lines().filter_map(|line| line.split_whitespace().next()).filter(|flag| flag.ends_with('=')) {
            listed += 1;
            let flags = sanitize(&[format!("{flag}/some/file")]).flags;
            // A word of the language is checked by clang: there is no file in it.
            let is_word = ["-std=", "-stdlib=", "--std=", "--stdlib="].contains(&flag);
            if !flags.is_empty() && !is_word && !PATHS_KEPT.contains(&flag) {
                kept.push(flags);
            }
        }
    }
    assert!(listed > 300, "clang listed {listed}");
    assert!(kept.is_empty(), "{kept:?}");
}

/// The loop the front end runs, with the real clang: flags it refuses go one by one and the rest compiles.
#[test]
fn clang_accepts_what_is_left_after_its_complaints() {
    if !have("clang-19") {
        return;
    }
    let mut flags =
        words("-DX=1 -fno-such-thing -mno-such-thing=3 -march=bogus -mcmodel=huge -fvisibility=odd -std=c++17 -xc");
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let source = dir.path().join("a.c");
    std::fs::write(&source, "int x = X;\n").expect("writable");
    for _ in 0..10 {
        let run = std::process::Command::new("clang-19")
            .arg("-fsyntax-only")
            .args(&flags)
            .arg("--")
            .arg(&source)
            .output()
            .expect("clang-19 was found on the path");
        if run.status.success() {
            assert_eq!(flags, ["-DX=1", "-xc"]);
            return;
        }
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        flags = without_rejected(&flags, &stderr).unwrap_or_else(|| panic!("no progress: {stderr}"));
    }
    panic!("still rejected: {flags:?}");
}
