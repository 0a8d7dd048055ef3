//! The documents that the editor has open, as it shows them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lsp_types::{DidChangeTextDocumentParams, DidOpenTextDocumentParams, Uri};

use crate::Texts;
use crate::place;

struct Buffer {
    text: String,
    /// It differs from the file.
    is_unsaved: bool,
}

#[derive(Default)]
pub(crate) struct Buffers(BTreeMap<PathBuf, Buffer>);

impl Buffers {
    pub(crate) fn open(&mut self, opened: DidOpenTextDocumentParams) {
        if let Some(path) = place::path(&opened.text_document.uri) {
            self.0.insert(path, Buffer { text: opened.text_document.text, is_unsaved: false });
        }
    }

    /// The whole text is sent with every change, as the server asks for.
    pub(crate) fn change(&mut self, changed: DidChangeTextDocumentParams) {
        let last = changed.content_changes.into_iter().rfind(|change| change.range.is_none());
        let path = place::path(&changed.text_document.uri);
        if let Some((path, change)) = path.zip(last) {
            self.0.insert(path, Buffer { text: change.text, is_unsaved: true });
        }
    }

    pub(crate) fn save(&mut self, uri: &Uri) {
        if let Some(buffer) = place::path(uri).and_then(|path| self.0.get_mut(&path)) {
            buffer.is_unsaved = false;
        }
    }

    pub(crate) fn close(&mut self, uri: &Uri) {
        if let Some(path) = place::path(uri) {
            self.0.remove(&path);
        }
    }

    pub(crate) fn text(&self, uri: &Uri) -> Option<&str> {
        self.0.get(&place::path(uri)?).map(|buffer| buffer.text.as_str())
    }

    /// What is to be read in place of files.
    pub(crate) fn unsaved(&self) -> Texts {
        let unsaved = self.0.iter().filter(|(_, buffer)| buffer.is_unsaved);
        unsaved.map(|(path, buffer)| (path.clone(), buffer.text.clone().into_bytes())).collect()
    }
}
