//! What a unit and its key look like without the folder of the checkout, so that another checkout can use them.
//!
//! A path below the project's folder is named from there. In the unit itself paths stand in tables of strings: files, and names
//! of types that the source does not name (`(lambda at /path/a.cpp:3:9)`). Literals do not change: a program may depend on
//! their length, so a unit with the folder in one of them stays on its machine. (`__FILE__` does not hold it: clang is told
//! to leave it out.)

use std::path::{Component, Path, PathBuf};

use caulk_capture::CompileJob;
use caulk_ir::{Initialiser, PackedUnit};

/// Stands for the project's folder. No source can hold it without an escape.
const MARK: &str = "\u{1}caulk-root\u{1}";
/// Folders of the system, which hold headers and no secrets of the user.
const SYSTEM: [&str; 6] = ["/usr", "/opt", "/lib", "/lib64", "/nix/store", "/Library"];
/// What stands before a path inside of a longer text.
const BEFORE: [char; 10] = [' ', '(', '"', '\'', '=', ':', ',', '<', '[', '{'];

/// The folder of a checkout: absolute, not `/`, and text.
#[derive(Clone, Debug)]
pub(crate) struct Root(String);

impl Root {
    pub(crate) fn new(path: &Path) -> Option<Self> {
        let text = path.to_str()?.trim_end_matches('/');
        let is_plain = text.starts_with('/') && !text.contains(['=', '\n', '\u{1}']);
        is_plain.then(|| Self(text.to_owned()))
    }

    /// The flag that leaves the folder out of `__FILE__`.
    pub(crate) fn macro_map(&self) -> String {
        format!("-fmacro-prefix-map={}/=", self.0)
    }

    /// A path from the project's folder (`r:`), or an absolute one elsewhere (`a:`).
    pub(crate) fn path(&self, path: &str) -> String {
        match path.strip_prefix(&self.0).and_then(|rest| rest.strip_prefix('/')) {
            Some(below) => format!("r:{below}"),
            None if path == self.0 => "r:".to_owned(),
            None => format!("a:{path}"),
        }
    }

    /// The path that [`Root::path`] made into this.
    pub(crate) fn absolute(&self, portable: &str) -> Option<String> {
        match portable.split_at_checked(2)? {
            ("r:", below) => Some(format!("{}/{below}", self.0)),
            ("a:", path) if path.starts_with('/') => Some(path.to_owned()),
            _ => None,
        }
    }

    /// A flag with a mark for the folder, wherever it stands.
    pub(crate) fn flag(&self, flag: &str) -> String {
        let is_end = |rest: &str| rest.chars().next().is_none_or(|c| !c.is_alphanumeric() && !"-_.+~".contains(c));
        replaced(flag, &self.0, MARK, |_, rest| is_end(rest)).unwrap_or_else(|| flag.to_owned())
    }

    /// Whether the hash of a file may be part of what a server is asked for. Which files it names, the server can choose; so
    /// they must be such as this job could include: of the project, of the system, and of folders that its flags name.
    pub(crate) fn may_name(&self, file: &str, job: &CompileJob, toolchain: &[PathBuf]) -> bool {
        let Some(file) = normal(Path::new(file)) else { return false };
        let of_flags = job.flags.iter().filter_map(|flag| normal(Path::new(&flag[flag.find('/')?..])));
        let named = of_flags.filter(|folder| folder.components().count() > 2);
        let known = SYSTEM.iter().map(PathBuf::from).chain(toolchain.iter().cloned());
        file.starts_with(&self.0) || known.chain(named).any(|folder| file.starts_with(folder))
    }

    /// Takes the folder out of a unit. False if it cannot be taken out.
    #[must_use]
    pub(crate) fn take_out(&self, unit: &mut PackedUnit) -> bool {
        let unit = &mut unit.unit;
        let is_text_with_folder = |init: &Initialiser| match init {
            Initialiser::Text(text) => unit.strings.get(*text).contains(&self.0),
            _ => false,
        };
        if unit.globals.values().any(|global| is_text_with_folder(&global.init))
            || unit.strings.values().any(|text| text.contains(MARK))
        {
            return false;
        }
        let starts = |before: &str| before.chars().next_back().is_none_or(|c| BEFORE.contains(&c));
        let ends = |rest: &str| rest.starts_with('/');
        unit.source = String::new();
        unit.strings.rewrite(|text| replaced(text, &self.0, MARK, |before, rest| starts(before) && ends(rest)))
    }

    /// Puts the folder of this checkout into a unit of another. False for what no checkout makes.
    #[must_use]
    pub(crate) fn put_in(&self, unit: &mut PackedUnit) -> bool {
        unit.unit.strings.rewrite(|text| replaced(text, MARK, &self.0, |_, _| true))
    }
}

/// Some flags mean this very machine.
pub(crate) fn is_of_this_machine(job: &CompileJob) -> bool {
    job.flags.iter().any(|flag| flag.starts_with("-m") && flag.ends_with("=native"))
}

/// `text` with `to` for every `from` between a text and a rest that fit. None if there is none.
fn replaced(text: &str, from: &str, to: &str, fits: impl Fn(&str, &str) -> bool) -> Option<String> {
    let mut made = String::new();
    let mut copied = 0;
    for (at, _) in text.match_indices(from) {
        let end = at + from.len();
        if fits(&text[..at], &text[end..]) {
            made.push_str(&text[copied..at]);
            made.push_str(to);
            copied = end;
        }
    }
    (copied > 0).then(|| made + &text[copied..])
}

/// An absolute path without `.` and `..`, by its text alone. None for others, and for what climbs above the top.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut made = PathBuf::from("/");
    let mut parts = path.components();
    parts.next().filter(|first| *first == Component::RootDir)?;
    for part in parts {
        match part {
            Component::Normal(name) => made.push(name),
            Component::ParentDir if !made.pop() => return None,
            Component::ParentDir | Component::CurDir => {}
            _ => return None,
        }
    }
    Some(made)
}

#[cfg(test)]
mod tests {
    use caulk_capture::{Job, jobs_from_sources};

    use super::*;

    fn root(path: &str) -> Root {
        Root::new(Path::new(path)).expect("a plain folder")
    }

    fn packed(text: &str) -> PackedUnit {
        PackedUnit::pack(caulk_ir::text::parse_unit(text).expect("well formed"))
    }

    #[test]
    fn a_unit_moves_to_another_folder() {
        let made = "unit \"\"\nfile 0 \"/home/a/src/x.c\"\nfile 1 \"/usr/include/x.h\"\nfile 2 \"/home/a/src2/x.c\"\n";
        let mut unit = packed(made);
        assert!(root("/home/a/src").take_out(&mut unit));
        assert!(!caulk_ir::text::print_unit(&unit.unpack()).contains("/home/a/src/"));
        assert!(root("/b").put_in(&mut unit));
        let there = made.replace("/home/a/src/", "/b/");
        assert_eq!(caulk_ir::text::print_unit(&unit.unpack()), caulk_ir::text::print_unit(&packed(&there).unpack()));
    }

    #[test]
    fn names_of_types_move_and_parts_of_other_names_do_not() {
        let starts = |before: &str| before.chars().next_back().is_none_or(|c| BEFORE.contains(&c));
        let out = |text: &str| replaced(text, "/a", "*", |before, rest| starts(before) && rest.starts_with('/'));
        assert_eq!(out("f<(lambda at /a/x.cpp:1:2)>").as_deref(), Some("f<(lambda at */x.cpp:1:2)>"));
        assert_eq!(out("/b/a/x.c"), None);
        assert_eq!(out("/ab/x.c"), None);
    }

    #[test]
    fn paths_are_named_from_the_folder() {
        let root = root("/home/a/");
        for (path, portable) in
            [("/home/a/x.c", "r:x.c"), ("/home/ab/x.c", "a:/home/ab/x.c"), ("/usr/x.h", "a:/usr/x.h")]
        {
            assert_eq!(root.path(path), portable);
            assert_eq!(root.absolute(portable).as_deref(), Some(path));
        }
        for wrong in ["", "x", "a:x.c", "b:/x"] {
            assert_eq!(root.absolute(wrong), None, "{wrong}");
        }
        assert!(Root::new(Path::new("/")).is_none() && Root::new(Path::new("relative")).is_none());
        assert!(Root::new(Path::new("/with=sign")).is_none());
    }

    #[test]
    fn flags_lose_the_folder() {
        let (one, other) = (root("/home/a"), root("/srv/checkout"));
        for flag in ["-I/home/a", "-I/home/a/inc", "-DDATA=\"/home/a/share\"", "-include/home/a/x.h"] {
            let there = flag.replace("/home/a", "/srv/checkout");
            assert_eq!(one.flag(flag), other.flag(&there));
            assert_ne!(one.flag(flag), flag);
        }
        assert_eq!(one.flag("-I/home/abc"), "-I/home/abc");
    }

    #[test]
    fn a_server_cannot_ask_for_any_file() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        std::fs::write(folder.path().join("a.c"), "").expect("writable");
        let flags = ["-I/home/me/lib/include".to_owned(), "-DX=/".to_owned()];
        let mut jobs = jobs_from_sources(&["a.c".into()], &flags, folder.path()).jobs;
        let Some(Job::Compile(job)) = jobs.pop() else { panic!("one source, one job") };
        let root = root("/home/me/project");
        let may = |file: &str| root.may_name(file, &job, &["/home/me/llvm".into()]);
        for file in [
            "/home/me/project/x.h",
            "/home/me/project/a/../x.h",
            "/usr/include/x.h",
            "/home/me/lib/include/deep/x.h",
            "/home/me/llvm/lib/clang/x.h",
        ] {
            assert!(may(file), "{file}");
        }
        for file in [
            "/home/me/.ssh/id_rsa",
            "/home/me/project/../.ssh/id_rsa",
            "/home/me/project2/x.h",
            "/etc/shadow",
            "/usr/../etc/shadow",
            "/../../etc/shadow",
            "relative.h",
        ] {
            assert!(!may(file), "{file}");
        }
    }
}
