//! Which language a compile command is in: what `-x` says, else the file's suffix and the compiler's name.

use std::path::Path;

use crate::job::SkipReason;

/// A language Caulk can analyse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    C,
    Cxx,
    /// C after the preprocessor (`.i`).
    PreprocessedC,
    /// C++ after the preprocessor (`.ii`).
    PreprocessedCxx,
}

impl Language {
    /// The word clang's `-x` wants.
    pub fn clang_name(self) -> &'static str {
        match self {
            Language::C => "c",
            Language::Cxx => "c++",
            Language::PreprocessedC => "cpp-output",
            Language::PreprocessedCxx => "c++-cpp-output",
        }
    }

    pub fn is_cxx(self) -> bool {
        matches!(self, Language::Cxx | Language::PreprocessedCxx)
    }

    /// What a C++ driver (`g++`, `clang++`) makes of a file it would else take for C.
    fn in_cxx_driver(self) -> Language {
        match self {
            Language::C => Language::Cxx,
            Language::PreprocessedC => Language::PreprocessedCxx,
            cxx => cxx,
        }
    }
}

/// The language of `source` when the command says `-x explicit` (or nothing) to a C or C++ driver.
pub(crate) fn language_of(source: &Path, explicit: Option<&str>, cxx_driver: bool) -> Result<Language, SkipReason> {
    match explicit {
        // `-x none` means: go by the suffix again.
        None | Some("none") => by_suffix(source, cxx_driver),
        Some("c") => Ok(Language::C),
        Some("c++") => Ok(Language::Cxx),
        Some("cpp-output") => Ok(Language::PreprocessedC),
        Some("c++-cpp-output") => Ok(Language::PreprocessedCxx),
        Some("assembler" | "assembler-with-cpp") => Err(SkipReason::Assembler),
        Some(header) if header.ends_with("-header") => Err(SkipReason::Header),
        Some(other) => Err(SkipReason::OtherLanguage(other.to_owned())),
    }
}

fn by_suffix(source: &Path, cxx_driver: bool) -> Result<Language, SkipReason> {
    let suffix = source.extension().and_then(|s| s.to_str()).unwrap_or("");
    // Case matters: gcc and clang take `.C` for C++ and `.S` for assembler that is preprocessed.
    let language = match suffix {
        "c" => Language::C,
        "i" => Language::PreprocessedC,
        "cc" | "cp" | "cxx" | "cpp" | "CPP" | "c++" | "C" | "CC" | "CXX" | "C++" | "cppm" | "ixx" => Language::Cxx,
        "ii" => Language::PreprocessedCxx,
        "s" | "S" | "sx" | "asm" => return Err(SkipReason::Assembler),
        "h" | "hh" | "hpp" | "hxx" | "H" | "h++" | "inl" => return Err(SkipReason::Header),
        other => return Err(SkipReason::OtherLanguage(other.to_owned())),
    };
    Ok(if cxx_driver { language.in_cxx_driver() } else { language })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file: &str, explicit: Option<&str>, cxx_driver: bool, expected: Result<Language, SkipReason>) {
        assert_eq!(language_of(Path::new(file), explicit, cxx_driver), expected, "{file} -x {explicit:?}");
    }

    #[test]
    fn suffix_decides_when_nothing_else_does() {
        check("a.c", None, false, Ok(Language::C));
        check("a.C", None, false, Ok(Language::Cxx));
        check("a.cc", None, false, Ok(Language::Cxx));
        check("a.i", None, false, Ok(Language::PreprocessedC));
        check("a.S", None, false, Err(SkipReason::Assembler));
        check("a.asm", None, false, Err(SkipReason::Assembler));
        check("a.hpp", None, false, Err(SkipReason::Header));
        check("a.m", None, false, Err(SkipReason::OtherLanguage("m".into())));
        check("a.cu", None, false, Err(SkipReason::OtherLanguage("cu".into())));
        check("Makefile", None, false, Err(SkipReason::OtherLanguage(String::new())));
    }

    #[test]
    fn a_cxx_driver_compiles_c_files_as_cxx() {
        check("a.c", None, true, Ok(Language::Cxx));
        check("a.i", None, true, Ok(Language::PreprocessedCxx));
    }

    #[test]
    fn an_explicit_language_wins() {
        check("a.h", Some("c++"), false, Ok(Language::Cxx));
        check("a.c", Some("c"), true, Ok(Language::C));
        check("a.c", Some("none"), true, Ok(Language::Cxx));
        check("a.h", Some("c-header"), false, Err(SkipReason::Header));
        check("a.c", Some("objective-c"), false, Err(SkipReason::OtherLanguage("objective-c".into())));
    }
}
