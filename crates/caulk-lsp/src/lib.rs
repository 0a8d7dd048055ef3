//! Caulk in an editor: a server of the language server protocol, on standard input and output.
//!
//! This crate owns the protocol: what an editor is told ([`diagnostics`], [`actions`]), the buffers it has open, and the order of
//! work ([`serve`]). What is found, fixed and known about a project is asked of an [`Engine`], which lives in a thread of its own: one
//! thread reads messages and answers at once what needs no analysis, the other works.
//!
//! *Architecture invariant:* no analysis and no files. Texts come from the editor or, through the engine, from the project.
//! *Architecture invariant:* nothing that an editor sends makes the server panic; what is not understood is refused by the rules of the
//! protocol.

mod actions;
mod buffers;
mod diagnostics;
mod place;
mod projects;
mod server;
mod worker;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use caulk_report::Finding;
use caulk_report::source::SourceFile;

pub use server::{ServeError, serve};

/// Texts in place of files, by absolute path.
pub type Texts = BTreeMap<PathBuf, Vec<u8>>;

/// Bytes of a file that give way to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// As findings name it.
    pub file: String,
    pub start: usize,
    pub end: usize,
    pub text: String,
}

/// What the server asks about a project.
pub trait Engine {
    /// Reads and analyses the project, with these texts in place of files. Says how that went, for the log; the error is for the user.
    fn analyse(&mut self, texts: &Texts) -> Result<String, String>;

    /// The folder that findings' paths are relative to, once the project was analysed.
    fn root(&self) -> Option<PathBuf>;

    /// The findings of the last analysis that count.
    fn findings(&self) -> Vec<Finding>;

    /// A source as the last analysis saw it.
    fn source(&self, file: &str) -> Option<Rc<SourceFile>>;

    /// What is known of a function, by its name in the source, as Markdown.
    fn function(&self, name: &str) -> Option<String>;

    /// What happens to the memory that is allocated in a line, as Markdown.
    fn allocation(&self, file: &str, line: u32) -> Option<String>;

    /// What a fix of a finding would be, in a few words; not checked.
    fn proposed(&self, fingerprint: &str) -> Option<String>;

    /// A checked fix. The error says why there is none.
    fn fix(&mut self, fingerprint: &str) -> Result<Vec<Replacement>, String>;

    /// The whole report of the last analysis, as JSON.
    fn report(&self) -> Option<String>;

    /// The page of a rule, as Markdown.
    fn explain(&self, rule: &str) -> Option<String>;
}
