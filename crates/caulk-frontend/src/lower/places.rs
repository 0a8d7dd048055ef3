//! Source files and scopes of debug info.

use caulk_ir::FileId;

use super::unit::Lowering;
use crate::llvm::{Metadata, MetadataKind};

/// Scopes nest this deep at most before we stop looking for the function around a static local.
const MAX_SCOPE_DEPTH: usize = 64;

impl<'m> Lowering<'m> {
    pub fn file(&mut self, node: Metadata<'m>) -> FileId {
        if let Some(&id) = self.files.get(&node) {
            return id;
        }
        let (directory, name) = node.file_path();
        let path =
            tidy(&if name.starts_with('/') || directory.is_empty() { name } else { format!("{directory}/{name}") });
        let path = self.intern(&path);
        // Two nodes may name one file (with and without a checksum, say).
        let known = self.unit.files.iter().find(|(_, p)| **p == path).map(|(id, _)| id);
        let id = known.unwrap_or_else(|| self.unit.files.push(path));
        self.files.insert(node, id);
        id
    }

    /// The name of the function a scope lies in.
    pub fn enclosing_function(&self, mut scope: Metadata<'m>) -> Option<String> {
        for _ in 0..MAX_SCOPE_DEPTH {
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
