//! Finds out how a project is compiled.
