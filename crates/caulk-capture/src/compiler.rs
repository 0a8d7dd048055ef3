//! The first words of a command: launchers in front, then the compiler.

use std::path::Path;

use caulk_process::find_program;

use crate::flags::is_plain_target;

/// Programs that run the compiler named after them and do not change what it means.
const LAUNCHERS: &[&str] = &[
    "ccache",
    "sccache",
    "distcc",
    "icecc",
    "buildcache",
    "gomacc",
    "cachepot",
    "fccache",
    "nice",
    "time",
    "libtool",
    "bear",
    "intercept-build",
];
/// Shells in front of a libtool script (`/bin/sh ./libtool --mode=compile gcc ...`).
const SHELLS: &[&str] = &["sh", "bash", "dash"];
/// Compilers that take Microsoft's flags (`/I`, `/D`).
const MSVC: &[&str] = &["cl", "clang-cl", "icl"];

/// How the names of machines begin in triples.
const MACHINES: &[&str] = &[
    "arm",
    "thumb",
    "aarch64",
    "i386",
    "i486",
    "i586",
    "i686",
    "x86_64",
    "mips",
    "powerpc",
    "ppc",
    "riscv",
    "s390x",
    "sparc",
    "m68k",
    "avr",
    "msp430",
    "xtensa",
    "loongarch",
    "hexagon",
    "bpf",
];
/// Where a tool chain keeps the target's headers, below the folder that its `bin` is in; `TRIPLE` stands for its name. The last is
/// where Debian puts those without a system (`/usr/lib/arm-none-eabi`).
const SYSROOTS: [&str; 4] = ["TRIPLE/libc", "TRIPLE/sysroot", "TRIPLE", "lib/TRIPLE"];

/// A command taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Invocation {
    /// The compiler as written.
    pub compiler: String,
    /// Everything after the compiler.
    pub arguments: Vec<String>,
}

impl Invocation {
    /// Strips launchers; `None` when no word is left that could be a compiler.
    pub(crate) fn parse(words: Vec<String>) -> Option<Invocation> {
        let at = compiler_index(&words)?;
        let mut rest = words.into_iter().skip(at);
        let compiler = rest.next()?;
        Some(Invocation { compiler, arguments: rest.collect() })
    }

    /// `g++`, `clang++`, `c++`, also as `x86_64-linux-gnu-g++-12`: compiles `.c` files as C++.
    pub(crate) fn is_cxx_driver(&self) -> bool {
        plain_name(&self.compiler).ends_with("++")
    }

    /// What a cross compiler's name says of its target, as flags for clang: `arm-linux-gnueabihf-gcc` compiles for
    /// `arm-linux-gnueabihf`. Where it lies tells where its headers are, if they are kept beside it.
    pub(crate) fn target_flags(&self) -> Vec<String> {
        let name = plain_name(&self.compiler);
        let driver = ["-gcc", "-g++", "-cc", "-c++", "-clang", "-clang++"].into_iter().find(|end| name.ends_with(end));
        let Some(triple) = driver.and_then(|end| name.strip_suffix(end)) else { return Vec::new() };
        // `afl-gcc` and the like are wrappers: a triple has a machine, and a system or an ABI.
        let machine = triple.split('-').next().unwrap_or_default();
        let is_triple = triple.contains('-') && MACHINES.iter().any(|known| machine.starts_with(known));
        if !is_triple || !is_plain_target(triple) {
            return Vec::new();
        }
        let mut flags = vec![format!("--target={triple}")];
        // A name without a folder is what a shell finds.
        let program = match self.compiler.contains('/') {
            true => Some(Path::new(&self.compiler).to_owned()),
            false => find_program(Path::new(&self.compiler)),
        };
        let home = program.as_deref().and_then(Path::parent).and_then(Path::parent).filter(|home| home.is_absolute());
        // Those for Linux that the system brings are found by clang itself, with their C++ headers; a sysroot would hide these.
        let home = home.filter(|home| !(*home == Path::new("/usr") && triple.contains("linux")));
        let mut roots =
            home.into_iter().flat_map(|home| SYSROOTS.map(|root| home.join(root.replace("TRIPLE", triple))));
        let sysroot = roots.find(|root| root.join("usr/include").is_dir() || root.join("include").is_dir());
        flags.extend(sysroot.map(|root| format!("--sysroot={}", root.display())));
        flags
    }

    pub(crate) fn is_msvc(&self) -> bool {
        MSVC.contains(&plain_name(&self.compiler)) || self.arguments.iter().any(|word| word == "--driver-mode=cl")
    }

    /// clang's own inner command.
    pub(crate) fn is_inner(&self) -> bool {
        matches!(self.arguments.first().map(String::as_str), Some("-cc1" | "-cc1as"))
    }
}

fn compiler_index(words: &[String]) -> Option<usize> {
    let mut at = 0;
    loop {
        let word = words.get(at)?;
        if word.is_empty() || word.starts_with('-') || is_assignment(word) {
            // Settings and options of the launcher before.
            at += 1;
            continue;
        }
        let name = base_name(word);
        let next = words.get(at + 1).map(String::as_str).unwrap_or("");
        let launches = match name {
            "env" => true,
            // A launcher can also stand in for the compiler: `distcc -c a.c` runs cc.
            _ if LAUNCHERS.contains(&name) => next.starts_with("--") || !next.starts_with('-'),
            _ if SHELLS.contains(&name) => base_name(next) == "libtool",
            _ => false,
        };
        if !launches {
            return Some(at);
        }
        at += 1;
    }
}

/// `CC_WRAPPER=1`, as a shell or `env` takes it. A path with `=` in it is no assignment.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn base_name(word: &str) -> &str {
    word.rsplit(['/', '\\']).next().unwrap_or(word)
}

/// The base name without `.exe` and without a version (`clang-19`, `g++-12.2`).
fn plain_name(word: &str) -> &str {
    let name = base_name(word);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if unversioned.len() < name.len() { unversioned.strip_suffix('-').unwrap_or(unversioned) } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(command: &str) -> Option<Invocation> {
        Invocation::parse(command.split_whitespace().map(str::to_owned).collect())
    }

    fn check(command: &str, compiler: &str, arguments: &str) {
        let found = parse(command).expect(command);
        assert_eq!((found.compiler.as_str(), found.arguments.join(" ").as_str()), (compiler, arguments));
    }

    #[test]
    fn launchers_are_stripped() {
        check("cc -c a.c", "cc", "-c a.c");
        check("ccache /usr/bin/gcc -c a.c", "/usr/bin/gcc", "-c a.c");
        check("/opt/sccache distcc g++ -c a.c", "g++", "-c a.c");
        check("env A=1 B=2 ccache gcc -c a.c", "gcc", "-c a.c");
        check("CCACHE_DIR=/x ccache gcc -c a.c", "gcc", "-c a.c");
        check("libtool --tag=CC --mode=compile gcc -c a.c", "gcc", "-c a.c");
        check("/bin/sh ./libtool --silent --mode=compile gcc -c a.c", "gcc", "-c a.c");
        check("distcc -c a.c", "distcc", "-c a.c");
    }

    #[test]
    fn commands_without_a_compiler() {
        assert_eq!(parse(""), None);
        assert_eq!(parse("env A=1"), None);
        assert_eq!(parse("-c"), None);
    }

    #[test]
    fn cross_compilers_name_their_target() {
        let flags = |compiler: &str| parse(compiler).expect(compiler).target_flags().join(" ");
        assert_eq!(flags("/nowhere/bin/arm-linux-gnueabihf-gcc"), "--target=arm-linux-gnueabihf");
        assert_eq!(flags("/nowhere/bin/aarch64-linux-gnu-g++-12"), "--target=aarch64-linux-gnu");
        assert_eq!(flags("nowhere/arm-none-eabi-gcc-13.2"), "--target=arm-none-eabi");
        for own in ["gcc", "clang-19", "afl-gcc", "musl-gcc", "c++", "/opt/arm/bin/gcc", "arm-gcc"] {
            assert_eq!(flags(own), "", "{own}");
        }
    }

    #[test]
    fn headers_beside_a_cross_compiler_are_its_sysroot() {
        for (root, headers) in [
            ("riscv64-none-elf/sysroot", "usr/include"),
            ("riscv64-none-elf/libc", "include"),
            ("riscv64-none-elf", "include"),
            ("lib/riscv64-none-elf", "include"),
        ] {
            let home = tempfile::tempdir().expect("a temporary directory can be made");
            let sysroot = home.path().join(root);
            std::fs::create_dir_all(sysroot.join(headers)).expect("writable");
            let compiler = home.path().join("bin/riscv64-none-elf-gcc").display().to_string();
            let expected = format!("--target=riscv64-none-elf --sysroot={}", sysroot.display());
            assert_eq!(parse(&compiler).expect("a command").target_flags().join(" "), expected);
        }
    }

    #[test]
    fn drivers() {
        let cxx = |word: &str| parse(word).expect(word).is_cxx_driver();
        assert!(cxx("g++") && cxx("/usr/bin/x86_64-linux-gnu-g++-12") && cxx("clang++-19") && cxx("c++.exe"));
        assert!(!cxx("gcc") && !cxx("clang-19") && !cxx("c++filt"));
        assert!(parse("C:\\VC\\cl.exe /c a.c").expect("a command").is_msvc());
        assert!(parse("clang -cc1 -triple x a.c").expect("a command").is_inner());
    }
}
