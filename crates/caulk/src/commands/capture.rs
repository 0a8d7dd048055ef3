//! `caulk capture`: runs a build and writes its compilation database.

use crate::arguments::CaptureOptions;
use crate::error::{Error, Exit};
use crate::message::tell;

use caulk_report::overview::count;

pub(crate) fn run(options: &CaptureOptions) -> Result<Exit, Error> {
    let cwd = std::env::current_dir().map_err(|e| Error::Usage(format!("the current directory is gone: {e}")))?;
    let recorded = caulk_capture::record(&options.build, &options.output, &cwd, &options.lifeline)?;
    let compilations = count(recorded.entries, "compilation", "compilations");
    tell!("{compilations} written to {}", options.output.display());
    if recorded.build_succeeded() {
        return Ok(Exit::Clean);
    }
    tell!("the build itself failed; what it compiled until then was recorded");
    Ok(Exit::Incomplete)
}
