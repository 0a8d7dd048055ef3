//! What each rule means. The texts are the pages of the manual, so that the manual, `caulk explain` and SARIF say the same.

use crate::finding::Kind;

pub struct Rule {
    pub id: &'static str,
    /// For services that want a name in one word.
    pub name: &'static str,
    pub short: &'static str,
    pub full: &'static str,
    /// The page of the manual, in Markdown.
    pub page: &'static str,
}

const LOST: Rule = Rule {
    id: "lost",
    name: "LostMemory",
    short: "Memory leak: the last reference is lost",
    full: "The last pointer to allocated memory is overwritten, or freed with the structure that holds it, before the memory \
           is freed. Nothing can free it any more.",
    page: include_str!("../../../docs/rules/lost.md"),
};

const FORGOTTEN: Rule = Rule {
    id: "forgotten",
    name: "ForgottenMemory",
    short: "Memory leak: never freed on this path",
    full: "Allocated memory is held by a local variable when that goes out of scope or its function returns. Nothing has freed \
           it, and nothing else keeps it.",
    page: include_str!("../../../docs/rules/forgotten.md"),
};

pub const ALL: [&Rule; 2] = [&LOST, &FORGOTTEN];

pub fn of(kind: Kind) -> &'static Rule {
    match kind {
        Kind::Lost => &LOST,
        Kind::Forgotten => &FORGOTTEN,
    }
}
