//! One file a command.

pub(crate) mod candidates;
pub(crate) mod capture;
pub(crate) mod check;
pub(crate) mod explain;
pub(crate) mod fix;
pub(crate) mod generate;
pub(crate) mod graph;
pub(crate) mod init;
pub(crate) mod ir;
pub(crate) mod lower;
pub(crate) mod lsp;
pub(crate) mod program;
pub(crate) mod proof;
pub(crate) mod prove;
pub(crate) mod prove_leak;
pub(crate) mod query;
pub(crate) mod rules;
mod second_look;
mod second_opinion;
mod statistics;
pub(crate) mod summaries;
pub(crate) mod why;
mod why_structures;
