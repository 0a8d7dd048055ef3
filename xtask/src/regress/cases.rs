//! The programs in the documents of `tests/cases`, as files.

use std::path::Path;

use anyhow::{Context, Result};

/// Paths and texts: the files of each section in a folder of its own.
pub(crate) fn files(folder: &Path) -> Result<Vec<(String, String)>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut documents = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    documents.retain(|path| path.extension().is_some_and(|e| e == "md"));
    documents.sort();
    let mut files = Vec::new();
    for path in documents {
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        files.extend(blocks(&text).map(|(file, code)| (format!("{name}-{file}"), code)));
    }
    Ok(files)
}

/// Each block marked `c` or `cpp`: `SECTION/NAME`, and what is in it.
fn blocks(text: &str) -> impl Iterator<Item = (String, String)> {
    let mut found = Vec::new();
    let mut open: Option<(String, String)> = None;
    let (mut section, mut is_other) = (0, false);
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(_), None) if is_other => is_other = false,
            (Some(mark), None) => {
                open = name(mark, found.len()).map(|name| (format!("{section}/{name}"), String::new()));
                is_other = open.is_none();
            }
            (None, Some((_, code))) => *code += &format!("{line}\n"),
            (None, None) => section += usize::from(line.starts_with('#') && !is_other),
        }
    }
    found.into_iter()
}

/// The name of a block's file; none when it is no code.
fn name(mark: &str, number: usize) -> Option<String> {
    let (language, rest) = mark.split_once(' ').unwrap_or((mark, ""));
    if !["c", "cpp"].contains(&language) {
        return None;
    }
    let given = rest.trim().strip_prefix("name=").map(str::to_owned);
    Some(given.unwrap_or_else(|| format!("{number}.{language}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_code_are_files_and_others_are_not() {
        let text = "# T\n```c\nint a;\n# no heading\n```\n## U\n```summary\n# f\n```\n```cpp name=b.cpp\nint b;\n```\n";
        let found: Vec<_> = blocks(text).collect();
        let expected = [("1/0.c", "int a;\n# no heading\n"), ("2/b.cpp", "int b;\n")];
        assert_eq!(found, expected.map(|(name, code)| (name.to_owned(), code.to_owned())));
    }
}
