//! What each rule means. The texts are the pages of the manual, so that the manual, `caulk explain` and SARIF say the same.

use crate::finding::Kind;

pub struct Rule {
    pub id: &'static str,
    /// For services that want a name in one word.
    pub name: &'static str,
    pub short: &'static str,
    pub full: &'static str,
    /// The number of the weakness in the Common Weakness Enumeration.
    pub cwe: &'static str,
    /// How bad it is for security, from 0 to 10 as CVSS counts: services sort by it.
    pub severity: &'static str,
    /// The page of the manual, in Markdown.
    pub page: &'static str,
}

impl Rule {
    /// The page of the weakness on the web.
    pub fn cwe_page(&self) -> String {
        format!("https://cwe.mitre.org/data/definitions/{}.html", self.cwe.trim_start_matches("CWE-"))
    }

    /// Whether findings are notes, which fail no check.
    pub fn is_note(&self) -> bool {
        self.id == Kind::HeldAtExit.rule()
    }
}

const LOST: Rule = Rule {
    id: "lost",
    name: "LostMemory",
    short: "Memory leak: the last reference is lost",
    full: "The last pointer to allocated memory is overwritten, or freed with the structure that holds it, before the memory \
           is freed. Nothing can free it any more.",
    cwe: "CWE-401",
    severity: "5.0",
    page: include_str!("../../../docs/rules/lost.md"),
};

const FORGOTTEN: Rule = Rule {
    id: "forgotten",
    name: "ForgottenMemory",
    short: "Memory leak: never freed on this path",
    full: "Allocated memory is held by a local variable when that goes out of scope or its function returns. Nothing has freed \
           it, and nothing else keeps it.",
    cwe: "CWE-401",
    severity: "5.0",
    page: include_str!("../../../docs/rules/forgotten.md"),
};

const HELD_AT_EXIT: Rule = Rule {
    id: "held-at-exit",
    name: "HeldAtExit",
    short: "Memory that main still holds when the program ends",
    full: "Only local variables of main refer to the memory when main returns. The system takes it back, so nothing is lost; a \
           program that becomes a library, or a check with a sanitizer, would see a leak.",
    cwe: "CWE-401",
    severity: "1.0",
    page: include_str!("../../../docs/rules/held-at-exit.md"),
};

const RESOURCE: Rule = Rule {
    id: "resource",
    name: "UnclosedResource",
    short: "Resource leak: a stream, handle or descriptor is not closed",
    full: "A stream, directory, mapping, library handle or descriptor is opened, and on this path nothing closes or keeps it. The \
           process may run out of them.",
    cwe: "CWE-775",
    severity: "5.0",
    page: include_str!("../../../docs/rules/resource.md"),
};

pub const ALL: [&Rule; 4] = [&LOST, &FORGOTTEN, &HELD_AT_EXIT, &RESOURCE];

pub fn of(kind: Kind) -> &'static Rule {
    match kind {
        Kind::Lost => &LOST,
        Kind::Forgotten => &FORGOTTEN,
        Kind::HeldAtExit => &HELD_AT_EXIT,
        Kind::Resource => &RESOURCE,
    }
}
