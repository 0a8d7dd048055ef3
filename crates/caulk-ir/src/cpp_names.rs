//! Names of C++ as people write them: without what the standard library's templates have by default.

use std::borrow::Cow;

/// Arguments of templates that are there by default, each after a comma.
const DEFAULTS: [&str; 6] = ["allocator", "char_traits", "default_delete", "less", "hash", "equal_to"];
/// Namespaces of versions of the library.
const VERSIONS: [&str; 3] = ["std::__cxx11::", "std::__1::", "std::__debug::"];
/// Templates of characters that have a name of their own.
const NAMED: [(&str, &str); 8] = [
    ("basic_string<char>", "string"),
    ("basic_string<wchar_t>", "wstring"),
    ("basic_string_view<char>", "string_view"),
    ("basic_ostream<char>", "ostream"),
    ("basic_istream<char>", "istream"),
    ("basic_ifstream<char>", "ifstream"),
    ("basic_ofstream<char>", "ofstream"),
    ("basic_stringstream<char>", "stringstream"),
];

/// Longer names stay as they are: each default takes a pass over the name.
const MAX_BYTES: usize = 16 << 10;

/// `std::string` for `std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >`.
pub fn shortened(name: &str) -> Cow<'_, str> {
    if !name.contains("std::") || name.len() > MAX_BYTES {
        return Cow::Borrowed(name);
    }
    let mut text = VERSIONS.iter().fold(name.to_owned(), |text, version| text.replace(version, "std::"));
    while let Some(range) = default_argument(&text) {
        text.replace_range(range, "");
    }
    let mut closed = text.replace("> >", ">>");
    while closed.contains("> >") {
        closed = closed.replace("> >", ">>");
    }
    let text = closed.replace(" >", ">").replace(" *", "*").replace(" &", "&");
    Cow::Owned(NAMED.iter().fold(text, |text, (template, short)| with_name(&text, template, short)))
}

/// Where an argument stands that is there by default, with the comma before it.
fn default_argument(text: &str) -> Option<std::ops::Range<usize>> {
    let found = DEFAULTS.iter().filter_map(|name| {
        let start = text.find(&format!(", std::{name}<"))?;
        let open = start + ", std::".len() + name.len();
        Some(start..end_of_brackets(text, open)?)
    });
    // The innermost first, which ends first.
    found.min_by_key(|range| range.end)
}

/// Behind the bracket that closes the one at a place.
fn end_of_brackets(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < open) {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// The short name, also for constructors and the destructor.
fn with_name(text: &str, template: &str, short: &str) -> String {
    let class = template.split('<').next().unwrap_or(template);
    text.replace(&format!("std::{template}::~{class}"), &format!("std::{short}::~{short}"))
        .replace(&format!("std::{template}::{class}"), &format!("std::{short}::{short}"))
        .replace(&format!("std::{template}"), &format!("std::{short}"))
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn what_is_there_by_default_goes() {
        let text = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
        assert_eq!(shortened(text), "std::string");
        assert_eq!(shortened(&format!("{text}::~basic_string")), "std::string::~string");
        assert_eq!(
            shortened(&format!("{text}::basic_string<std::allocator<char> >")),
            "std::string::string<std::allocator<char>>"
        );
        assert_eq!(shortened("std::vector<P *, std::allocator<P *> >::push_back"), "std::vector<P*>::push_back");
        let map = "std::map<int, std::vector<int, std::allocator<int> >, std::less<int>, \
                   std::allocator<std::pair<int const, std::vector<int, std::allocator<int> > > > >";
        assert_eq!(shortened(map), "std::map<int, std::vector<int>>");
        assert_eq!(shortened("std::unique_ptr<T, std::default_delete<T> >::reset"), "std::unique_ptr<T>::reset");
        assert_eq!(shortened("std::unique_ptr<T, Closer>"), "std::unique_ptr<T, Closer>");
    }

    #[test]
    fn other_names_stay() {
        for name in ["xmalloc", "ns::T<int> >", "operator new", "std::", "f(, std::less<", "std::move"] {
            assert_eq!(shortened(name), name);
        }
    }
}
