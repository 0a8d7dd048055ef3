//! One file a command.

pub mod candidates;
pub mod capture;
pub mod check;
pub mod explain;
pub mod generate;
pub mod graph;
pub mod init;
pub mod ir;
pub mod program;
pub mod proof;
pub mod prove;
pub mod query;
mod second_look;
mod second_opinion;
pub mod summaries;
pub mod why;
