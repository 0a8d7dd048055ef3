//! The report for a browser: a folder that opens from disk, with no network.
//!
//! `index.html` lists the findings (the rows are in `findings.js`, drawn by `index.js`), and each finding has a page of its own
//! under `finding/`, which is complete without scripts. No page has a script or a style in itself, and a policy in each
//! forbids any: what comes from the source or from file names is only ever text.

mod escape;
mod highlight;
mod index;
mod page;
mod states;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;

use caulk_files::{Destination, Folder};
use highlight::Library;

use crate::report::Report;
use crate::source::Sources;

/// Says that a folder is a report, which another may replace.
const MARKER: &str = "caulk-report.txt";

const CSS: &str = include_str!("assets/report.css");
const THEME_JS: &str = include_str!("assets/theme.js");
const INDEX_JS: &str = include_str!("assets/index.js");
const FINDING_JS: &str = include_str!("assets/finding.js");

/// A file of the report, by its path in the folder.
pub struct Page {
    pub path: String,
    pub text: String,
}

/// All files of the report.
pub fn render(report: &Report, sources: &Sources) -> Vec<Page> {
    let page = |path: &str, text: &str| Page { path: path.to_owned(), text: text.to_owned() };
    let mut pages = vec![
        page("index.html", &index::page(report)),
        page("findings.js", &index::data(report)),
        page("report.css", CSS),
        page("theme.js", THEME_JS),
        page("index.js", INDEX_JS),
        page("finding.js", FINDING_JS),
        page(MARKER, "A report of Caulk. Open index.html. The next report may replace this folder.\n"),
    ];
    let library = Library::new(sources);
    let names = page_names(report);
    for (at, finding) in report.findings.iter().enumerate() {
        let neighbours =
            page::Neighbours { before: at.checked_sub(1).map(|i| names[i].clone()), after: names.get(at + 1).cloned() };
        let path = format!("finding/{}", names[at]);
        pages.push(Page { path, text: page::page(finding, &library, &neighbours, &report.files_changed) });
    }
    pages
}

/// The page of each finding: the same from one report to the next, so that an address can be sent to others. At level 0 several
/// findings share a fingerprint; a number distinguishes them.
fn page_names(report: &Report) -> Vec<String> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let name = |fingerprint: &str, before: usize| match before {
        0 => format!("{fingerprint}.html"),
        n => format!("{fingerprint}.{}.html", n + 1),
    };
    let mut names = Vec::with_capacity(report.findings.len());
    for finding in &report.findings {
        let before = seen.entry(&finding.fingerprint).or_default();
        names.push(name(&finding.fingerprint, *before));
        *before += 1;
    }
    names
}

/// The head that all pages share. `up` leads to the folder of the report.
fn head(title: &str, up: &str, script: &str) -> String {
    let title = escape::text(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'self' file:; \
         style-src 'self' file:; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <link rel=\"stylesheet\" href=\"{up}report.css\">\n<script src=\"{up}theme.js\"></script>\n\
         <script src=\"{up}{script}\" defer></script>\n</head>\n"
    )
}

/// Whether a report could be written here now. Nothing is left behind.
pub fn check(place: &Destination) -> io::Result<()> {
    let (parent, name) = place.parent()?;
    is_replaceable(&parent, &name)?;
    parent.check()
}

/// Whether there is a report already; an error if there is something else.
fn is_replaceable(parent: &Folder, name: &OsStr) -> io::Result<bool> {
    if !parent.exists(name) {
        return Ok(false);
    }
    let folder = parent.folder(name)?;
    if !folder.has_file(OsStr::new(MARKER)) && !folder.is_empty()? {
        return Err(io::Error::other("the folder holds something that is not a report; name another"));
    }
    Ok(true)
}

/// Writes the report aside and moves it into place. Only what is empty or a report already is replaced.
pub fn write(place: &Destination, pages: &[Page]) -> io::Result<()> {
    let (parent, name) = place.parent()?;
    let was_there = is_replaceable(&parent, &name)?;
    let aside = parent.aside()?;
    let (new, old) = (OsStr::new("new"), OsStr::new("old"));
    let folder = aside.folder.make_folder(new)?;
    for page in pages {
        write_page(&folder, page)?;
    }
    if was_there {
        parent.rename(&name, &aside.folder, old)?;
    }
    aside.folder.rename(new, &parent, &name).inspect_err(|_| {
        if was_there {
            let _ = aside.folder.rename(old, &parent, &name);
        }
    })
}

fn write_page(folder: &Folder, page: &Page) -> io::Result<()> {
    match page.path.split_once('/') {
        Some((inner, name)) => folder.make_folder(OsStr::new(inner))?.write_new(OsStr::new(name), page.text.as_bytes()),
        None => folder.write_new(OsStr::new(&page.path), page.text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reports_are_replaced() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let report = folder.path().join("report");
        let page = |text: &str| vec![Page { path: MARKER.to_owned(), text: text.to_owned() }];
        let place = Destination::named(report.clone());
        write(&place, &page("1")).expect("a new folder");
        write(&place, &page("2")).expect("a report is replaced");
        assert_eq!(std::fs::read_to_string(report.join(MARKER)).expect("written"), "2");
        std::fs::remove_file(report.join(MARKER)).expect("it is there");
        std::fs::write(report.join("thesis.txt"), "x").expect("writable");
        assert!(write(&place, &page("3")).is_err());
        assert!(report.join("thesis.txt").exists());
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 1, "nothing is left behind");
    }
}
