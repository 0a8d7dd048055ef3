//! The projects that one server serves: the folders that the editor has open, each with an engine of its own.

use std::path::{Path, PathBuf};

use lsp_types::{InitializeParams, Uri, WorkspaceFolder};

use crate::Engine;
use crate::place;

/// A folder, or the project of the current directory, and what is known of it.
pub(crate) struct Project<E> {
    folder: Option<PathBuf>,
    pub engine: E,
}

pub(crate) type Make<E> = Box<dyn Fn(Option<&Path>) -> E + Send>;

pub(crate) struct Projects<E> {
    make: Make<E>,
    all: Vec<Project<E>>,
}

impl<E: Engine> Projects<E> {
    /// One for each folder; one for the current directory if the editor has a single folder open, or none.
    pub(crate) fn new(make: Make<E>, folders: &[PathBuf]) -> Self {
        let mut projects = Self { make, all: Vec::new() };
        match folders {
            [] | [_] => {
                let engine = (projects.make)(None);
                projects.all.push(Project { folder: folders.first().cloned(), engine });
            }
            several => several.iter().for_each(|folder| projects.open(folder)),
        }
        projects
    }

    pub(crate) fn open(&mut self, folder: &Path) {
        if !self.all.iter().any(|project| project.folder.as_deref() == Some(folder)) {
            let engine = (self.make)(Some(folder));
            self.all.push(Project { folder: Some(folder.to_owned()), engine });
        }
    }

    /// The last project stays, so that there is always one to ask.
    pub(crate) fn close(&mut self, folder: &Path) {
        if self.all.len() > 1 {
            self.all.retain(|project| project.folder.as_deref() != Some(folder));
        }
    }

    pub(crate) fn engines(&self) -> impl Iterator<Item = &E> {
        self.all.iter().map(|project| &project.engine)
    }

    /// Those that a change of a file may matter to: its own project, or all if it is in none.
    pub(crate) fn touched_by(&mut self, file: Option<&Path>) -> impl Iterator<Item = &mut E> {
        let owner = file.and_then(|file| self.owner(file));
        self.all
            .iter_mut()
            .enumerate()
            .filter_map(move |(at, project)| owner.is_none_or(|owner| owner == at).then_some(&mut project.engine))
    }

    /// The project that a document belongs to, or the first.
    pub(crate) fn of(&self, uri: Option<&Uri>) -> &E {
        &self.all[self.index(uri)].engine
    }

    pub(crate) fn of_mut(&mut self, uri: Option<&Uri>) -> &mut E {
        let at = self.index(uri);
        &mut self.all[at].engine
    }

    fn index(&self, uri: Option<&Uri>) -> usize {
        uri.and_then(place::path).and_then(|file| self.owner(&file)).unwrap_or(0)
    }

    /// The innermost folder counts.
    fn owner(&self, file: &Path) -> Option<usize> {
        let depth = |project: &Project<E>| {
            project.folder.as_ref().filter(|folder| file.starts_with(folder)).map(|folder| folder.components().count())
        };
        let all = self.all.iter().enumerate().filter_map(|(at, project)| Some((depth(project)?, at)));
        all.max().map(|(_, at)| at)
    }
}

/// The folders that the editor has open at first.
pub(crate) fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    params.workspace_folders.iter().flatten().filter_map(path).collect()
}

pub(crate) fn path(folder: &WorkspaceFolder) -> Option<PathBuf> {
    // An editor may write a slash at the end.
    place::path(&folder.uri).map(|path| path.components().collect())
}
