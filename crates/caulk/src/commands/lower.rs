//! `caulk lower`: units into the caches, all of them or a share.

use std::io::Write;

use caulk_capture::{Job, JobList};
use caulk_frontend::{LostUnit, UnitSource, fill_caches};
use caulk_report::terminal;
use serde::Serialize;

use crate::arguments::{LowerOptions, Shard, TableFormat};
use crate::caches::{self, Origins};
use crate::error::{Error, Exit};
use crate::input;
use crate::message::tell;
use crate::output::Output;
use crate::progress;
use crate::shares::{Costs, share};

pub(crate) fn run(options: &LowerOptions) -> Result<Exit, Error> {
    if options.input.no_cache {
        return Err(Error::Usage("with --no-cache nothing would be kept of what is compiled".to_owned()));
    }
    let failed = |place: &caulk_files::Destination, source| Error::Write { path: place.to_string(), source };
    if let Some(place) = &options.record_costs {
        place.check().map_err(|e| failed(place, e))?;
    }
    let costs = Costs::read(&options.costs)?;
    let list = input::collect_jobs(&options.input)?;
    let shard = options.shard.unwrap_or(Shard::ALL);
    let weights: Vec<u64> = list.jobs.iter().map(|job| costs.of(job)).collect();
    let own = share(&weights, shard);
    if options.list {
        return print_list(&list, &own, &weights);
    }
    let jobs: Vec<Job> = own.iter().map(|&unit| list.jobs[unit].clone()).collect();
    let results = fill(options, &list, &jobs)?;
    if let Some(place) = &options.record_costs {
        place.write(measured(&jobs, &results).render().as_bytes()).map_err(|e| failed(place, e))?;
    }
    let origins = Origins::of(results.iter().map(|result| result.as_ref().copied()));
    print(
        &Summary { shard: shard.to_string(), units: jobs.len(), of_units: list.jobs.len(), origins },
        options.format,
    )?;
    Ok(if origins.lost == 0 { Exit::Clean } else { Exit::Incomplete })
}

fn fill(options: &LowerOptions, list: &JobList, jobs: &[Job]) -> Result<Vec<Result<UnitSource, LostUnit>>, Error> {
    let config = caches::front_end(&options.input, &list.root)?;
    if config.cache.is_none() {
        return Err(Error::Usage("there is no cache that could keep what is compiled".to_owned()));
    }
    let bar = progress::bar(jobs.len(), "lowering", options.input.quiet);
    let results = fill_caches(jobs, &config, &|job: &Job| {
        bar.set_message(terminal::piece(job.display()));
        bar.inc(1);
    })?;
    bar.finish_and_clear();
    for lost in results.iter().filter_map(|result| result.as_ref().err()) {
        tell!("{} was not read: {}", terminal::piece(&lost.source), lost.reason);
    }
    caches::tell_caches(&config, &Origins::of(results.iter().map(|result| result.as_ref().copied())), &options.input);
    Ok(results)
}

/// What the units that were compiled cost.
fn measured(jobs: &[Job], results: &[Result<UnitSource, LostUnit>]) -> Costs {
    let mut costs = Costs::default();
    for (job, result) in jobs.iter().zip(results) {
        if let Ok(UnitSource::Compiled { took, .. }) = result {
            costs.note(job.display(), u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        }
    }
    costs
}

fn print_list(list: &JobList, own: &[usize], weights: &[u64]) -> Result<Exit, Error> {
    let mut out = Output::new();
    for &unit in own {
        out.text(&format!("{} {}\n", weights[unit], list.jobs[unit].display()))?;
    }
    Ok(Exit::Clean)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    shard: String,
    /// In this share, and in all.
    units: usize,
    of_units: usize,
    #[serde(flatten)]
    origins: Origins,
}

fn print(summary: &Summary, format: TableFormat) -> Result<(), Error> {
    let mut out = Output::new();
    match format {
        TableFormat::Json => {
            let text = serde_json::to_string_pretty(summary).map_err(std::io::Error::from)?;
            Ok(writeln!(out, "{text}")?)
        }
        TableFormat::Text => {
            let Origins { from_cache, from_remote_cache, compiled, stored_remotely, lost } = summary.origins;
            let rows = [
                (format!("units of share {}", summary.shard), format!("{} of {}", summary.units, summary.of_units)),
                ("from the cache".to_owned(), from_cache.to_string()),
                ("from the remote cache".to_owned(), from_remote_cache.to_string()),
                ("compiled".to_owned(), compiled.to_string()),
                ("stored in the remote cache".to_owned(), stored_remotely.to_string()),
                ("lost".to_owned(), lost.to_string()),
            ];
            let text: String = rows.iter().map(|(name, value)| format!("{name:<28}{value}\n")).collect();
            Ok(out.text(&text)?)
        }
    }
}
