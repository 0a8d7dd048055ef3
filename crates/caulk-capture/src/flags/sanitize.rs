//! The arguments of a foreign compile command, cut down to what clang may hear.

use super::table::{self, Action, Form, Rule, Why};
use super::target::is_plain_target;

/// Flags for clang's inner command that builds use and that only change the language.
const FRONT_END_ALLOWED: &[&str] = &["-fcxx-exceptions", "-fexceptions"];

/// Preprocessor flags that `-Wp,` and `-Xpreprocessor` may carry. The others there (`-MD,file`) write files.
const PREPROCESSOR_ALLOWED: &[&str] = &["-D", "-U", "-I"];

/// A flag that is not passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// As it was written, with its value.
    pub text: String,
    pub why: Why,
}

/// What is left of a command's arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sanitized {
    /// Every element is one complete flag with its value attached.
    pub flags: Vec<String>,
    pub dropped: Vec<Dropped>,
    /// Words that name files.
    pub inputs: Vec<String>,
    /// The value of the last `-o`.
    pub output: Option<String>,
    /// The value of the last `-x`.
    pub language: Option<String>,
    /// `--driver-mode=g++`.
    pub cxx_mode: bool,
}

/// Sorts the arguments of a compile command (without the compiler, response files expanded) by the flag table.
pub fn sanitize(arguments: &[String]) -> Sanitized {
    let mut sanitizer = Sanitizer { words: arguments, at: 0, front_end: Vec::new(), out: Sanitized::default() };
    while let Some(word) = sanitizer.next() {
        sanitizer.word(word);
    }
    sanitizer.finish_front_end();
    sanitizer.out
}

struct Sanitizer<'a> {
    words: &'a [String],
    at: usize,
    /// Words passed with `-Xclang`; some only make sense together (`-Xclang -include -Xclang file`).
    front_end: Vec<&'a str>,
    out: Sanitized,
}

impl<'a> Sanitizer<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at)?;
        self.at += 1;
        Some(word)
    }

    fn word(&mut self, word: &'a str) {
        if word.contains('\0') {
            // No program can be started with such a word.
            self.drop(word, None, Why::Malformed);
        } else if word.starts_with('@') {
            // What could not be expanded here must not be expanded by clang.
            self.drop(word, None, Why::Refused);
        } else if word == "--" {
            while let Some(input) = self.next() {
                self.input(input);
            }
        } else if !word.starts_with('-') || word == "-" {
            self.input(word);
        } else if let Some(rule) = table::find(word) {
            self.ruled(rule, word);
        } else if names_a_path(word) {
            self.drop(word, None, Why::Refused);
        } else if word.starts_with("-f") || word.starts_with("-m") {
            self.out.flags.push(word.to_owned());
        } else {
            self.drop(word, None, Why::Unknown);
        }
    }

    fn ruled(&mut self, rule: &Rule, word: &'a str) {
        let attached = word.get(rule.name.len()..).unwrap_or("");
        // `value` is what the flag says; `next` is the second word, when there is one.
        let (value, next) = match rule.form {
            Form::Alone => ("", None),
            Form::Attached => (attached, None),
            Form::Either if !attached.is_empty() => (attached, None),
            Form::Long if !attached.is_empty() => (attached.strip_prefix('=').unwrap_or(attached), None),
            Form::Next | Form::Either | Form::Long | Form::AttachedThenNext => {
                let next = self.next();
                (next.unwrap_or(""), next)
            }
        };
        match rule.action {
            Action::Drop(why) => self.drop(word, next, why),
            Action::Keep if rule.form == Form::Alone => self.out.flags.push(word.to_owned()),
            Action::Keep => self.join(rule.name, value, word, next),
            Action::Join(name) => self.join(name, value, word, next),
            Action::JoinTarget(_) if !is_plain_target(value) => self.drop(word, next, Why::Refused),
            Action::JoinTarget(name) => self.join(name, value, word, next),
            Action::Replace(name) => self.out.flags.push(name.to_owned()),
            Action::Include => self.include(value, word, next),
            Action::NameOutput => {
                self.out.output = Some(value.to_owned());
                self.drop(word, next, Why::Output);
            }
            // Comes back as the language of the job.
            Action::SetLanguage => self.out.language = Some(value.to_owned()),
            Action::SetDriverMode => self.out.cxx_mode = value == "g++",
            Action::PassToPreprocessor => self.preprocessor(value, word, next),
            Action::PassToFrontEnd => self.front_end.extend(Some(value).filter(|v| !v.is_empty())),
        }
    }

    /// Passes on `name` with `value` attached, if that still means the same flag to clang.
    fn join(&mut self, name: &str, value: &str, word: &str, next: Option<&str>) {
        let joined = format!("{name}{value}");
        // `-isystem` `-after` must not become `-isystem-after`, nor may `-I` without a value take the flag behind it.
        let same =
            table::find(&joined).is_some_and(|found| found.name == name.trim_end_matches('=') || found.name == name);
        if same && !value.is_empty() && !value.contains('\0') {
            self.out.flags.push(joined);
        } else {
            self.drop(word, next, Why::Malformed);
        }
    }

    /// `-include FILE` goes to clang's inner command directly: the driver would look for `FILE.pch` beside it first and
    /// load what the build left there.
    fn include(&mut self, file: &str, word: &str, next: Option<&str>) {
        if file.is_empty() || file.starts_with('-') || file.contains('\0') {
            self.drop(word, next, Why::Malformed);
        } else {
            self.out.flags.push(format!("-Xclang=-include{file}"));
        }
    }

    /// `-Wp,-DX,-MD,file`: macros and include paths are translated, the rest would write files.
    fn preprocessor(&mut self, list: &str, word: &str, next: Option<&str>) {
        let mut pieces = list.split(',');
        let mut all_kept = true;
        while let Some(piece) = pieces.next() {
            let flag = PREPROCESSOR_ALLOWED.iter().find(|flag| piece.starts_with(**flag));
            let joined = match flag {
                Some(_) if piece.len() > 2 => Some(piece.to_owned()),
                Some(flag) => pieces.next().filter(|v| !v.is_empty()).map(|v| format!("{flag}{v}")),
                None => None,
            };
            match joined {
                Some(joined) if joined != "-I-" && !joined.contains('\0') => self.out.flags.push(joined),
                _ => all_kept = false,
            }
        }
        if !all_kept {
            self.drop(word, next, Why::Refused);
        }
    }

    /// What `-Xclang` carried: headers to include (CMake writes them so when it precompiles headers) and a few harmless
    /// switches.
    fn finish_front_end(&mut self) {
        let words = std::mem::take(&mut self.front_end);
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let header = word.strip_prefix("-include").filter(|file| !file.is_empty() && !file.starts_with('-'));
            if let Some(file) = header {
                self.include(file, "-Xclang", Some(word));
            } else if word == "-include" {
                let file = words.next().unwrap_or("");
                self.include(file, "-Xclang -include", Some(file));
            } else if word == "-include-pch" {
                self.drop("-Xclang -include-pch", words.next(), Why::Precompiled);
            } else if FRONT_END_ALLOWED.contains(&word) {
                self.out.flags.push(format!("-Xclang={word}"));
            } else {
                self.drop("-Xclang", Some(word), Why::Refused);
            }
        }
    }

    fn input(&mut self, word: &str) {
        self.out.inputs.push(word.to_owned());
    }

    fn drop(&mut self, word: &str, next: Option<&str>, why: Why) {
        let text = match next {
            Some(next) => format!("{word} {next}"),
            None => word.to_owned(),
        };
        self.out.dropped.push(Dropped { text, why });
    }
}

/// Whether a flag that the table does not know has a path for its value. The table knows all of them that matter to what a
/// program means; of the others it is not known here what clang does with the file.
fn names_a_path(word: &str) -> bool {
    word.split_once('=').is_some_and(|(_, value)| value.contains('/') || value.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(words: &str) -> Sanitized {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        sanitize(&words)
    }

    fn check(words: &str, expected: &str) {
        assert_eq!(run(words).flags.join(" "), expected, "{words}");
    }

    #[test]
    fn values_are_attached_to_their_flags() {
        check("-I inc -Iinc2 -D X=1 -isystem /s", "-Iinc -Iinc2 -DX=1 -isystem/s");
        check("-target arm-linux --sysroot /r --std=c99", "--target=arm-linux --sysroot=/r -std=c99");
        check("--include-directory=a --define-macro B", "-Ia -DB");
        check("-include config.h --include=b.h", "-Xclang=-includeconfig.h -Xclang=-includeb.h");
        check("-fplan9-extensions", "-fms-extensions");
    }

    #[test]
    fn a_value_that_would_become_another_flag_goes_with_it() {
        check("-isystem -after -DX", "-DX");
        check("-I - -DX", "-DX");
        check("-include -pch -DX", "-DX");
        check("-DX -I", "-DX");
        assert_eq!(sanitize(&["-I".into(), String::new(), "-DX".into()]).flags, ["-DX"]);
    }

    #[test]
    fn a_value_that_looks_like_a_flag_stays_a_value() {
        check("-D -fplugin=x.so -DX", "-D-fplugin=x.so -DX");
        check("-o -fno-rtti -DX", "-DX");
    }

    #[test]
    fn a_target_that_is_a_path_goes() {
        check(
            "--target=arm-none-eabi --gcc-triple=x86_64-linux-gnu",
            "--target=arm-none-eabi --gcc-triple=x86_64-linux-gnu",
        );
        check("--target=./x -target ../y --target /z --gcc-triple=../w -DX", "-DX");
    }

    #[test]
    fn an_unknown_flag_that_names_a_path_goes() {
        check("-fread-this=./x -mread-that=/y/z -fsome=word -mcpu=cortex-m4", "-fsome=word -mcpu=cortex-m4");
    }

    #[test]
    fn preprocessor_lists_are_translated() {
        check("-Wp,-DX,-MD,dep.d,-U,Y -Wp,-MMD,a.d", "-DX -UY");
        check("-Xpreprocessor -DX -Xpreprocessor -MDx", "-DX");
        check("-Wp,-I,-,-D", "");
    }

    #[test]
    fn headers_cmake_precompiled_are_included_as_text() {
        check(
            "-Winvalid-pch -Xclang -include-pch -Xclang cmake_pch.h.pch -Xclang -include -Xclang cmake_pch.h -DX",
            "-DX -Xclang=-includecmake_pch.h",
        );
        check("-include-pch a.pch", "");
    }

    #[test]
    fn what_is_remembered_and_not_passed_on() {
        let found = run("-c a.c -o out/a.o -x c++ --driver-mode=g++ b.o");
        assert_eq!(found.output.as_deref(), Some("out/a.o"));
        assert_eq!(found.language.as_deref(), Some("c++"));
        assert!(found.cxx_mode);
        assert_eq!(found.inputs, ["a.c", "b.o"]);
        assert!(found.flags.is_empty());
    }

    #[test]
    fn after_two_dashes_everything_is_a_file() {
        let found = run("-DX -- -fplugin=x.c");
        assert_eq!((found.flags.join(" ").as_str(), found.inputs.join(" ").as_str()), ("-DX", "-fplugin=x.c"));
    }
}
