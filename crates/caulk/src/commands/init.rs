//! `caulk init`: a settings file to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

use crate::error::{Error, Exit};
use crate::message::tell;
use crate::settings::{FILE_NAME, TEMPLATE};

pub(crate) fn run() -> Result<Exit, Error> {
    let failed = |source: std::io::Error| match source.kind() {
        ErrorKind::AlreadyExists => Error::Usage(format!("there is a {FILE_NAME} already; it is left as it is")),
        _ => Error::Write { path: FILE_NAME.to_owned(), source },
    };
    let mut file = OpenOptions::new().write(true).create_new(true).open(FILE_NAME).map_err(failed)?;
    file.write_all(TEMPLATE.as_bytes()).map_err(failed)?;
    tell!("{FILE_NAME} written; all settings are there, commented out");
    Ok(Exit::Clean)
}
