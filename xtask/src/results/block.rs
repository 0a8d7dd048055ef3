//! A part of a document between two comments, which is written by a program.

use anyhow::{Context, Result};

const START: &str = "<!-- results: written by `cargo xtask results` -->\n";
const END: &str = "<!-- end of results -->\n";

pub(crate) fn marked(block: &str) -> String {
    format!("{START}{block}{END}")
}

/// What stands between the marks.
pub(crate) fn find(document: &str) -> Option<&str> {
    let (_, rest) = document.split_once(START)?;
    rest.split_once(END).map(|(block, _)| block)
}

/// The document with another block.
pub(crate) fn replace(document: &str, block: &str) -> Result<String> {
    let old =
        find(document).with_context(|| format!("it has no part between {:?} and {:?}", START.trim(), END.trim()))?;
    Ok(document.replacen(&marked(old), &marked(block), 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::repository;

    #[test]
    fn only_the_block_changes() {
        let document = format!("before\n{}after\n", marked("old\n"));
        assert_eq!(replace(&document, "new\n").unwrap(), format!("before\n{}after\n", marked("new\n")));
        assert!(replace("no marks", "new\n").is_err());
    }

    /// The README's table is cut from the results, never written by hand.
    #[test]
    fn the_readme_says_what_the_results_say() {
        let read = |name: &str| std::fs::read_to_string(repository().join(name)).unwrap();
        let (readme, results) = (read("README.md"), read("bench/RESULTS.md"));
        assert!(find(&results).is_some());
        assert_eq!(find(&readme), find(&results));
    }
}
