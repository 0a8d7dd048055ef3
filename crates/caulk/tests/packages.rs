//! What users install: the Debian package, the archive, and `cargo install`, made from the binary under test.

mod project;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use project::{LEAK, Project, Run, finished, have};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn package(project: &Project, kind: &str) -> PathBuf {
    let output = Command::new(root().join("scripts/package"))
        .args([kind, env!("CARGO_BIN_EXE_caulk")])
        .arg(project.path("packages"))
        .env("PACKAGE_LEVEL", "1")
        .output();
    let run = finished(output.expect("the script can be run"));
    assert_eq!(run.status, 0, "{}", run.stderr);
    PathBuf::from(run.stdout.trim_end())
}

fn run(program: &str, arguments: &[&str]) -> Run {
    finished(Command::new(program).args(arguments).output().expect("it can be run"))
}

/// The installed program finds a leak.
fn works(project: &Project, caulk: &Path) {
    let mut command = Command::new(caulk);
    command.current_dir(project.root()).args(["check", "-q", "a.c"]);
    let run = finished(command.output().expect("it can be run"));
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stdout.starts_with("a.c:7:5: `p` allocated by malloc() is not freed on return"), "{}", run.stdout);
}

#[test]
fn the_debian_package() {
    if !have("dpkg") || !have("gzip") {
        return;
    }
    let project = Project::new(&[("a.c", LEAK)]);
    let deb = package(&project, "deb").display().to_string();
    let control = run("dpkg-deb", &["--info", &deb]).stdout;
    for part in ["Package: caulk", &format!("Version: {}", env!("CARGO_PKG_VERSION")), "clang-19", "libllvm19", "libz3"]
    {
        assert!(control.contains(part), "{part} is missing in {control}");
    }
    let folder = project.path("installed");
    for part in ["info", "updates"] {
        fs::create_dir_all(folder.join("var/lib/dpkg").join(part)).expect("writable");
    }
    fs::write(folder.join("var/lib/dpkg/status"), "").expect("writable");
    // A system of its own, so that no package of this one is touched; what the package depends on is not in it.
    let dpkg = |arguments: &[&str]| {
        let root = format!("--root={}", folder.display());
        let options = [root.as_str(), "--force-not-root", "--force-depends", "--no-triggers"];
        let run = run("dpkg", &[&options[..], arguments].concat());
        assert_eq!(run.status, 0, "{arguments:?}: {}", run.stderr);
        run.stdout
    };
    dpkg(&["--install", &deb]);
    assert!(dpkg(&["--status", "caulk"]).contains("Status: install ok installed"));
    works(&project, &folder.join("usr/bin/caulk"));
    for file in
        ["share/man/man1/caulk-check.1.gz", "share/bash-completion/completions/caulk", "share/doc/caulk/copyright"]
    {
        assert!(folder.join("usr").join(file).exists(), "{file}");
    }
    dpkg(&["--remove", "caulk"]);
    assert!(!folder.join("usr/bin/caulk").exists(), "it is gone");
}

/// The archive has the libraries it needs, and uses its own.
#[test]
fn the_archive() {
    if !have("tar") || !have("ldd") {
        return;
    }
    let project = Project::new(&[("a.c", LEAK)]);
    let archive = package(&project, "archive");
    let arguments = ["-xzf", &archive.display().to_string(), "-C", &project.root().display().to_string()];
    assert_eq!(run("tar", &arguments).status, 0);
    let name = archive.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(".tar.gz")).expect("a name");
    let caulk = project.path(name).join("bin/caulk");
    works(&project, &caulk);
    let libraries = run("ldd", &[&caulk.display().to_string()]).stdout;
    let own = project.path(name).join("lib/caulk").canonicalize().expect("it brings libraries");
    let mut brought = Vec::new();
    for (name, rest) in libraries.lines().filter_map(|line| line.trim().split_once(" => ")) {
        // The C library is the system's.
        if ["libc.", "libm.", "libdl.", "libpthread.", "librt."].iter().any(|c| name.starts_with(c)) {
            continue;
        }
        let path = Path::new(rest.split(' ').next().expect("it is found"));
        assert!(path.canonicalize().expect("it is there").starts_with(&own), "{name} => {rest}");
        brought.push(name);
    }
    for library in ["libLLVM", "libz3"] {
        assert!(brought.iter().any(|name| name.starts_with(library)), "{brought:?}");
    }
}

/// `cargo install --path crates/caulk` takes what `cargo build` takes: all the package needs is in the repository, by path.
#[test]
fn what_cargo_install_needs() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output();
    let run = finished(output.expect("cargo can be run"));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let metadata = project::json(&run.stdout);
    let packages = metadata["packages"].as_array().expect("a list");
    let caulk = packages.iter().find(|package| package["name"] == "caulk").expect("the program");
    let kinds: Vec<&str> =
        caulk["targets"].as_array().expect("a list").iter().filter_map(|t| t["kind"][0].as_str()).collect();
    assert!(kinds.contains(&"bin"), "{kinds:?}");
    let text = fs::read_to_string(root().join("docs/install.md")).expect("it is there");
    assert!(text.contains("cargo install --locked --path crates/caulk"));
}

/// The command itself, which compiles Caulk once more: `CAULK_INSTALL=fast` names the profile, and `make test` leaves it out.
#[test]
fn cargo_install() {
    let Some(profile) = std::env::var_os("CAULK_INSTALL") else { return };
    let project = Project::new(&[("a.c", LEAK)]);
    let mut install = Command::new(env!("CARGO"));
    install.args(["install", "--offline", "--locked", "--path", "crates/caulk", "--no-track", "--profile"]);
    let target = Path::new(env!("CARGO_BIN_EXE_caulk")).ancestors().nth(2).expect("target/PROFILE/caulk");
    install.arg(profile).arg("--root").arg(project.root()).arg("--target-dir").arg(target).current_dir(root());
    let run = finished(install.output().expect("cargo can be run"));
    assert_eq!(run.status, 0, "{}", run.stderr);
    works(&project, &project.path("bin/caulk"));
}
