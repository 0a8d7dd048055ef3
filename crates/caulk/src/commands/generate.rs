//! What is made from the definitions of the arguments: completions for shells, and the manual page.

use std::io::Write;

use clap::CommandFactory;

use crate::arguments::{Arguments, CompletionsOptions, ManOptions};
use crate::error::{Error, Exit};
use crate::output::Output;

pub(crate) fn completions(options: &CompletionsOptions) -> Result<Exit, Error> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "caulk", &mut script);
    Output::new().write_all(&script)?;
    Ok(Exit::Clean)
}

/// The page of the program on standard output, or those of all commands to a folder.
pub(crate) fn man(options: &ManOptions) -> Result<Exit, Error> {
    let program = Arguments::command();
    match &options.output {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(program).render(&mut page)?;
            Output::new().write_all(&page)?;
        }
        Some(folder) => {
            let failed = |source| Error::Write { path: folder.display().to_string(), source };
            std::fs::create_dir_all(folder).map_err(failed)?;
            clap_mangen::generate_to(program, folder).map_err(failed)?;
        }
    }
    Ok(Exit::Clean)
}
