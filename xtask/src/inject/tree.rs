//! A copy of a project's tree, with a database of its own: what is deleted is deleted there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use caulk_capture::CompileJob;

use crate::bench::database;
use crate::bench::project::Project;

/// A project whose files may be changed.
#[derive(Debug)]
pub(crate) struct Tree {
    pub root: PathBuf,
    pub project: Project,
}

impl Tree {
    /// Copies the tree below `work`, where an older copy is replaced.
    pub(crate) fn copy(project: &Project, work: &Path) -> Result<Self> {
        let from = root_of(&project.jobs, &project.database)?;
        let folder = work.join(&project.name);
        let root = folder.join("tree");
        if root.exists() {
            std::fs::remove_dir_all(&root).with_context(|| format!("cannot remove {}", root.display()))?;
        }
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let status = Command::new("cp").arg("-a").arg(&from).arg(&root).status().context("cannot run cp")?;
        ensure!(status.success(), "cannot copy {}", from.display());
        let moved: Vec<database::Command> = project.jobs.iter().map(|job| moved(job, &from, &root)).collect();
        let path = folder.join(caulk_capture::DATABASE_NAME);
        database::write(&path, &moved)?;
        Ok(Self { project: Project::from_database(&project.name, &path, work)?, root })
    }
}

/// The deepest folder that holds all sources and, where the database lies among them, the database.
fn root_of(jobs: &[CompileJob], database: &Path) -> Result<PathBuf> {
    let mut root = jobs.first().context("the database lists nothing")?.source.clone();
    let beside = database.parent().filter(|folder| jobs.iter().any(|job| job.source.starts_with(folder)));
    for path in jobs.iter().map(|job| job.source.as_path()).chain(beside) {
        while !path.starts_with(&root) {
            ensure!(root.pop(), "the sources have no folder in common");
        }
    }
    if root.is_file() {
        root.pop();
    }
    ensure!(root.components().count() > 2, "{} is too much to copy", root.display());
    Ok(root)
}

/// The same job in the copy. Flags name folders anywhere in them: `-I/src/include`.
fn moved(job: &CompileJob, from: &Path, to: &Path) -> database::Command {
    let path = |path: &Path| path.strip_prefix(from).map_or_else(|_| path.to_owned(), |below| to.join(below));
    let (old, new) = (from.display().to_string(), to.display().to_string());
    let flag = |flag: &String| {
        let mut words = flag.split(old.as_str());
        let mut moved = words.next().unwrap_or_default().to_owned();
        for word in words {
            let is_whole = word.is_empty() || word.starts_with(['/', '"', ':', ' ']);
            moved += if is_whole { &new } else { &old };
            moved += word;
        }
        moved
    };
    database::Command {
        directory: path(&job.directory),
        file: path(&job.source),
        flags: job.flags.iter().map(flag).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_compiled_from_its_own_files() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let from = folder.path().join("p");
        std::fs::create_dir_all(from.join("sub")).expect("the folder is new");
        std::fs::write(from.join("sub/a.c"), "int a;\n").expect("the folder is new");
        std::fs::write(from.join("b.c"), "int b;\n").expect("the folder is new");
        let command = |file: &str| database::Command {
            directory: from.clone(),
            file: from.join(file),
            flags: vec![format!("-I{}", from.join("sub").display()), format!("-I{}other", from.display())],
        };
        let database = from.join(caulk_capture::DATABASE_NAME);
        database::write(&database, &[command("sub/a.c"), command("b.c")]).expect("the folder is new");
        let project = Project::from_database("p", &database, &folder.path().join("work")).expect("a database");
        let tree = Tree::copy(&project, &folder.path().join("work")).expect("a copy");
        assert!(tree.project.jobs.iter().all(|job| job.source.starts_with(&tree.root)), "{tree:?}");
        let flags = &tree.project.jobs[0].flags;
        assert!(flags.contains(&format!("-I{}", tree.root.join("sub").display())), "{flags:?}");
        assert!(flags.contains(&format!("-I{}other", from.display())), "{flags:?}");
        std::fs::write(tree.root.join("b.c"), "").expect("the copy may be changed");
        assert_eq!(std::fs::read_to_string(from.join("b.c")).expect("it is still there"), "int b;\n");
    }
}
