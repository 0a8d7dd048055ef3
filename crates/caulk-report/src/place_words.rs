//! Names of places beside the text of the source: whether an assignment says more of a place, and whether a line speaks of it.

/// Whether the left side of an assignment says more of a place than its name: `u.groups` of `u`, `line[n]` of `line` or `line[*]`.
pub(crate) fn is_closer(written: &str, name: &str) -> bool {
    let array = name.split('[').next().unwrap_or(name);
    let goes_on = |from: &str, with: &[char]| written.strip_prefix(from).is_some_and(|rest| rest.starts_with(with));
    let is_computed = written.contains(['(', '=']);
    !is_computed && (goes_on(name, &['.', '[']) || (name != array && goes_on(array, &['['])))
}

/// Whether a name is that of a field or an element, and not of a variable.
pub(crate) fn is_place(name: &str) -> bool {
    names_in(name).nth(1).is_some()
}

/// Whether a line has the field that a name ends in, or what holds it.
pub(crate) fn mentions(line: &str, name: &str) -> bool {
    names_in(line).any(|word| names_in(name).any(|part| part == word))
}

fn names_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_more_of_a_place() {
        for (written, name) in [("u->v.names", "u->v"), ("line[n]", "line"), ("s.line[n].text", "s.line[*]")] {
            assert!(is_closer(written, name), "{written}");
        }
        for (written, name) in [("values", "value"), ("u->v", "u->v"), ("line[f(n)]", "line"), ("other[n]", "line[*]")]
        {
            assert!(!is_closer(written, name), "{written}");
        }
    }

    #[test]
    fn lines_that_free_a_place() {
        assert!(is_place("rule->value") && !is_place("rule"));
        for line in ["free(rule->value);", "free(old_rule->value);", "rule_free(rule);"] {
            assert!(mentions(line, "rule->value"), "{line}");
        }
        assert!(!mentions("free(errmsg);", "rule->value"));
    }
}
