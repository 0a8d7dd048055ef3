//! Exceptions of libraries, by the names of functions: which tell of a failed check of the caller's own values, which tell of what came
//! from outside, and which members throw for lack of memory only.

use caulk_program::{FuncId, Program};
use caulk_summary::Throws;

/// Functions of the library that throw because of an argument. Those for lengths are left out: every string that grows has one.
const CHECKS: [&str; 3] =
    ["_ZSt20__throw_out_of_rangePKc", "_ZSt24__throw_out_of_range_fmtPKcz", "_ZSt24__throw_invalid_argumentPKc"];

/// Functions that read text or ask the file system: what they are given, or find, comes from outside.
const OUTSIDE: [&str; 22] = [
    "_ZN9__gnu_cxx6__stoa",
    "_ZSt19__throw_regex_error",
    "_ZNSt3__14sto",
    "_ZNSt3__15stoul",
    "_ZNSt3__15stoll",
    "_ZNSt3__16stoull",
    "_ZNSt10filesystem9file_size",
    "_ZNSt10filesystem10equivalent",
    "_ZNSt10filesystem10create_dir",
    "_ZNSt10filesystem16create_directory",
    "_ZNSt10filesystem18create_directories",
    "_ZNSt10filesystem14create_symlink",
    "_ZNSt10filesystem16create_hard_link",
    "_ZNSt10filesystem4copy",
    "_ZNSt10filesystem9copy_file",
    "_ZNSt10filesystem6rename",
    "_ZNSt10filesystem11resize_file",
    "_ZNSt10filesystem12read_symlink",
    "_ZNSt10filesystem9canonical",
    "_ZNSt10filesystem11permissions",
    "_ZNSt10filesystem5space",
    "_ZNSt10filesystem7__cxx1118directory_iteratorC",
];

/// Members of the library that throw for lack of memory, or because a stream was told to, and for no other reason.
const QUIET: [&str; 15] = [
    "_Zn",
    "_ZNSo",
    "_ZNKSo",
    "_ZNSi",
    "_ZNSs",
    "_ZNKSs",
    "_ZStls",
    "_ZSt4endl",
    "_ZSt16__ostream_insert",
    "_ZNSt7__cxx1112basic_string",
    "_ZNKSt7__cxx1112basic_string",
    "_ZNSt8ios_base",
    "_ZNSt9basic_ios",
    "_ZNSt6locale",
    "_ZNKSt9basic_ios",
];

/// Names of exceptions that tell of an error of the caller, such as an index that is not within bounds. In lower case, without underscores.
const MISUSE: [&str; 14] = [
    "outofrange",
    "outofbounds",
    "indexerror",
    "badindex",
    "invalidindex",
    "logicerror",
    "lengtherror",
    "illegalargument",
    "illegalstate",
    "nullpointer",
    "nosuchelement",
    "emptystack",
    "assertion",
    "bugcheck",
];

/// Whether the type of an exception says, by its name, that the caller should have known better: code that is right never sees one.
pub(crate) fn tells_misuse(type_symbol: &str) -> bool {
    let name: String = type_symbol.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect();
    MISUSE.iter().any(|misuse| name.contains(misuse))
}

/// Where headers of libraries are.
const SYSTEM: [&str; 4] = ["/usr/include/", "/usr/lib/", "/usr/local/include/", "/usr/local/lib/"];

/// What is known of a function by its name alone, whether it has a body or not.
pub(crate) fn named_throws(symbol: &str) -> Option<Throws> {
    // The versions that are given an error code report through it.
    let is_outside = |start: &&str| symbol.starts_with(*start) && !symbol.contains("error_code");
    if CHECKS.contains(&symbol) {
        Some(Throws::Check)
    } else if OUTSIDE.iter().any(is_outside) {
        Some(Throws::Named)
    } else {
        None
    }
}

/// What a function that was not read may throw: functions of C nothing, and neither do the members that only need memory.
pub(crate) fn unread_throws(symbol: &str) -> Throws {
    let is_c = !symbol.starts_with("_Z");
    let is_quiet = is_c || symbol.starts_with("_ZSt") && symbol.contains("__throw_");
    match is_quiet || QUIET.iter().any(|start| symbol.starts_with(start)) {
        true => Throws::No,
        false => Throws::Perhaps,
    }
}

/// Whether a function is one of namespace `std` or a member of a class of it, or stands in a header of the system.
pub(crate) fn is_library(program: &Program, function: FuncId) -> bool {
    let info = program.function(function);
    is_standard(info.symbol) || info.file.is_some_and(|file| SYSTEM.iter().any(|folder| file.starts_with(folder)))
}

fn is_standard(symbol: &str) -> bool {
    ["_ZSt", "_ZNSt", "_ZNKSt", "_ZNSs", "_ZNKSs", "_ZN9__gnu_cxx"].iter().any(|start| symbol.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_is_named() {
        let file_size = "_ZNSt10filesystem9file_sizeERKNS_7__cxx114pathE";
        assert_eq!(named_throws(file_size), Some(Throws::Named));
        assert_eq!(named_throws(&format!("{file_size}RSt10error_code")), None);
        assert_eq!(named_throws("_ZSt20__throw_out_of_rangePKc"), Some(Throws::Check));
        assert!(tells_misuse("_ZTIN4util26ArrayIndexOutOfBoundsErrorE") && tells_misuse("_ZTISt12out_of_range"));
        assert!(!tells_misuse("_ZTISt13runtime_error"));
        assert_eq!(unread_throws("_ZSt20__throw_length_errorPKc"), Throws::No);
        assert_eq!(unread_throws("getenv"), Throws::No);
        assert_eq!(unread_throws("_Z3mayi"), Throws::Perhaps);
    }
}
