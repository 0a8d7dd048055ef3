//! Lets the program find libraries that a release brings along, in `lib/caulk` beside its `bin`; the system's come after.

fn main() {
    let is_linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    if is_linux {
        // RUNPATH would not count for what the libraries themselves need.
        emit("cargo::rustc-link-arg-bins=-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib/caulk");
    }
    emit("cargo::rerun-if-changed=build.rs");
}

#[allow(clippy::print_stdout)]
fn emit(line: &str) {
    println!("{line}");
}
