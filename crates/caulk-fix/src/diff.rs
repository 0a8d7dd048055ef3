//! A patch as a unified diff, as `git apply` and `patch -p1` read it.

use std::collections::BTreeMap;

use caulk_report::source::Sources;
use similar::TextDiff;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// The differences between files and what they become.
pub fn unified(sources: &Sources, texts: &BTreeMap<String, Vec<u8>>) -> String {
    let mut out = String::new();
    for (file, new) in texts {
        let Some(old) = sources.get(file) else { continue };
        let (old, new) = (String::from_utf8_lossy(old.bytes()), String::from_utf8_lossy(new));
        let diff = TextDiff::from_lines(&*old, &*new);
        let (a, b) = (format!("a/{file}"), format!("b/{file}"));
        out.push_str(&diff.unified_diff().context_radius(CONTEXT).header(&a, &b).to_string());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_that_tools_can_apply() {
        let sources = Sources::new(std::path::Path::new("/nowhere"), 1);
        sources.put("src/a.c", b"int f(void)\n{\n\treturn 1;\n}\n".to_vec());
        let texts = BTreeMap::from([("src/a.c".to_owned(), b"int f(void)\n{\n\tg();\n\treturn 1;\n}\n".to_vec())]);
        let expected = "--- a/src/a.c\n+++ b/src/a.c\n@@ -1,4 +1,5 @@\n int f(void)\n {\n+\tg();\n \treturn 1;\n }\n";
        assert_eq!(unified(&sources, &texts), expected);
    }
}
