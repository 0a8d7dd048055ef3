//! Source files and scopes of debug info.

use caulk_ir::{FileId, StrId};
use rustc_hash::FxHashMap;

use super::unit::Lowering;
use crate::bounds::BOUNDS;
use crate::llvm::{Metadata, MetadataKind};

/// What the nodes of files, and the scopes in them, became.
#[derive(Default)]
pub(super) struct FileTable<'m> {
    by_node: FxHashMap<Metadata<'m>, FileId>,
    by_path: FxHashMap<StrId, FileId>,
    by_scope: FxHashMap<Metadata<'m>, FileId>,
}

impl<'m> Lowering<'m> {
    pub(crate) fn file(&mut self, node: Metadata<'m>) -> FileId {
        if let Some(&id) = self.files.by_node.get(&node) {
            return id;
        }
        let (directory, name) = node.file_path(self.module);
        let path =
            tidy(&if name.starts_with('/') || directory.is_empty() { name } else { format!("{directory}/{name}") });
        let path = self.intern(&path);
        let id = self.file_at(path);
        self.files.by_node.insert(node, id);
        id
    }

    /// Two nodes may name one file (with and without a checksum, say).
    pub(crate) fn file_at(&mut self, path: StrId) -> FileId {
        *self.files.by_path.entry(path).or_insert_with(|| self.unit.files.push(path))
    }

    /// The file a scope lies in; the first one when debug info does not say.
    pub(crate) fn file_of_scope(&mut self, scope: Option<Metadata<'m>>) -> FileId {
        let Some(scope) = scope else { return FileId(0) };
        if let Some(&id) = self.files.by_scope.get(&scope) {
            return id;
        }
        let id = scope.scope_file(self.module).map_or(FileId(0), |f| self.file(f));
        self.files.by_scope.insert(scope, id);
        id
    }

    /// The name of the function a scope lies in.
    pub(crate) fn enclosing_function(&self, mut scope: Metadata<'m>) -> Option<String> {
        for _ in 0..BOUNDS.scope_depth {
            match scope.kind() {
                MetadataKind::Subprogram => return scope.operands(self.module).string(2),
                MetadataKind::LexicalBlock => scope = scope.operands(self.module).node(1)?,
                _ => return None,
            }
        }
        None
    }
}

/// Removes `.` and resolves `..` by the letters alone: a file that is gone must still have a name.
fn tidy(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|p| *p != "..") => drop(parts.pop()),
            ".." if absolute => {}
            _ => parts.push(part),
        }
    }
    format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::tidy;

    #[test]
    fn paths_are_tidied_by_their_letters() {
        assert_eq!(tidy("/a/b/../c/./d.c"), "/a/c/d.c");
        assert_eq!(tidy("/../a.c"), "/a.c");
        assert_eq!(tidy("../x/../a.c"), "../a.c");
    }
}
