//! How near two units stand: what is known of link targets without the link commands. Object files tell most (one
//! directory for each CMake target, a prefix for each automake program), directories the rest.

use std::path::{Component, Path};

use rustc_hash::FxHashMap;

use caulk_ir::EntityVec;

use crate::ids::UnitId;

/// Where each unit stands, interned so that comparing is cheap.
#[derive(Debug, Default)]
pub(crate) struct Nearness {
    units: EntityVec<UnitId, Whereabouts>,
}

#[derive(Debug, Default)]
struct Whereabouts {
    /// The link target, where the object's path names one.
    target: Option<u32>,
    object_directory: Option<u32>,
    /// The directory of the source, outermost component first.
    directory: Vec<u32>,
}

/// How well a definition suits a reference; smaller is better.
pub(crate) type Rank = (u8, usize, usize, UnitId);

impl Nearness {
    /// Of each unit its source path and its object path.
    pub(crate) fn new<'a>(units: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> Self {
        let mut names: FxHashMap<String, u32> = FxHashMap::default();
        let mut intern = |text: String| {
            let next = names.len() as u32;
            *names.entry(text).or_insert(next)
        };
        let units = units.map(|(source, object)| {
            let source = Path::new(source);
            let parts = source.parent().into_iter().flat_map(Path::components);
            let directory = parts
                .filter(|part| *part != Component::CurDir)
                .map(|part| intern(part.as_os_str().to_string_lossy().into_owned()))
                .collect();
            let target = object.and_then(|o| link_target(Path::new(o), source)).map(|t| intern(format!("target {t}")));
            let object_directory = object.map(|o| intern(format!("objects {}", object_directory(Path::new(o)))));
            Whereabouts { target, object_directory, directory }
        });
        Self { units: units.collect::<Vec<_>>().into() }
    }

    pub(crate) fn same_target(&self, a: UnitId, b: UnitId) -> bool {
        let (a, b) = (&self.units[a], &self.units[b]);
        a.target.is_some() && a.target == b.target
    }

    /// The same link target, or nothing against it and objects in one directory.
    pub(crate) fn same_place(&self, a: UnitId, b: UnitId) -> bool {
        let (x, y) = (&self.units[a], &self.units[b]);
        match (x.target, y.target) {
            (Some(_), Some(_)) => x.target == y.target,
            _ => match (x.object_directory, y.object_directory) {
                (Some(p), Some(q)) => p == q,
                _ => x.directory == y.directory,
            },
        }
    }

    /// How well a definition in `definition` suits a reference from `from`, in the program of `root` if in one.
    pub(crate) fn rank(&self, definition: UnitId, from: UnitId, root: Option<UnitId>) -> Rank {
        let any = |test: &dyn Fn(UnitId) -> bool| test(from) || root.is_some_and(test);
        let class = if any(&|unit| self.same_target(definition, unit)) {
            0
        } else if any(&|unit| self.same_place(definition, unit)) {
            1
        } else {
            2
        };
        let to_root = root.map_or(0, |root| self.distance(definition, root));
        (class, self.distance(definition, from), to_root, definition)
    }

    /// How many steps up and down lead from one directory to the other.
    fn distance(&self, a: UnitId, b: UnitId) -> usize {
        let (a, b) = (&self.units[a].directory, &self.units[b].directory);
        let common = a.iter().zip(b).take_while(|(x, y)| x == y).count();
        a.len() + b.len() - 2 * common
    }
}

/// `CMakeFiles/foo.dir` of CMake; `src/foo` of automake, which calls the object of `x.c` in program foo `src/foo-x.o`.
fn link_target(object: &Path, source: &Path) -> Option<String> {
    let mut path = String::new();
    for part in object.parent()?.components() {
        path.push_str(&part.as_os_str().to_string_lossy());
        if path.ends_with(".dir") {
            return Some(path);
        }
        path.push('/');
    }
    let (object_stem, stem) = (object.file_stem()?.to_str()?, source.file_stem()?.to_str()?);
    let program = object_stem.strip_suffix(stem)?.strip_suffix('-')?;
    Some(format!("{}/{program}", object_directory(object)))
}

/// Libtool puts the position-independent object into `.libs` beside the other one.
fn object_directory(object: &Path) -> String {
    let parent = object.parent().unwrap_or(Path::new(""));
    let parent = if parent.ends_with(".libs") { parent.parent().unwrap_or(Path::new("")) } else { parent };
    parent.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(object: &str, source: &str) -> Option<String> {
        link_target(Path::new(object), Path::new(source))
    }

    #[test]
    fn object_paths_name_the_target() {
        assert_eq!(
            target("lib/CMakeFiles/foo.dir/sub/x.c.o", "/p/lib/sub/x.c").as_deref(),
            Some("lib/CMakeFiles/foo.dir")
        );
        assert_eq!(target("src/prog-x.o", "src/x.c").as_deref(), Some("src/prog"));
        assert_eq!(target("src/.libs/libfoo_la-x.o", "src/x.c").as_deref(), Some("src/libfoo_la"));
        assert_eq!(target("src/x.o", "src/x.c"), None);
        assert_eq!(object_directory(Path::new("src/.libs/x.o")), "src");
    }

    #[test]
    fn the_same_target_is_nearer_than_the_same_directory() {
        let units = [
            ("/p/tools/a.c", Some("CMakeFiles/a.dir/a.c.o")),
            ("/p/tools/helper.c", Some("CMakeFiles/b.dir/helper.c.o")),
            ("/p/other/helper.c", Some("CMakeFiles/a.dir/other/helper.c.o")),
            ("/p/lib/deep/x.c", None),
        ];
        let near = Nearness::new(units.into_iter());
        let a = UnitId(0);
        assert!(near.rank(UnitId(2), a, None) < near.rank(UnitId(1), a, None));
        assert!(near.rank(UnitId(1), a, None) < near.rank(UnitId(3), a, None));
    }
}
