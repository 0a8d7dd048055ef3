//! Reads clang's complaints about its command line, so that one unknown flag does not cost a whole unit.

/// Parts of clang's messages about a value, and the flags the value can have come from.
const VALUE_MESSAGES: &[(&str, &[&str])] = &[
    ("unknown target CPU", &["-march=", "-mcpu=", "-mtune="]),
    ("unknown target ABI", &["-mabi="]),
    ("unknown target triple", &["--target="]),
    ("unknown FP unit", &["-mfpmath=", "-mfpu="]),
    ("does not contain a GCC installation", &["--gcc-install-dir="]),
];

/// The flags without those that `clang_stderr` rejects, or `None` when it rejects none of them.
///
/// Only errors of the command line count. Every element of `flags` must be a complete flag (see
/// [`crate::CompileJob::flags`]), so removing one never changes another. The language (`-x...`) is never removed.
pub fn without_rejected(flags: &[String], clang_stderr: &str) -> Option<Vec<String>> {
    let complaints: Vec<Complaint> = clang_stderr.lines().filter_map(Complaint::parse).collect();
    let kept: Vec<String> = flags
        .iter()
        .filter(|flag| flag.starts_with("-x") || !complaints.iter().any(|complaint| complaint.is_about(flag)))
        .cloned()
        .collect();
    (kept.len() < flags.len()).then_some(kept)
}

/// One error line of the driver or of the front end about its arguments.
struct Complaint<'a> {
    message: &'a str,
    quoted: Vec<&'a str>,
}

impl<'a> Complaint<'a> {
    /// `clang-19: error: MESSAGE` or `error: MESSAGE`. Errors in the source have a place in front.
    fn parse(line: &'a str) -> Option<Complaint<'a>> {
        let line = line.trim_end();
        let (before, message) = line.split_once("error: ")?;
        let before = before.trim_end_matches("fatal ").trim_end();
        let program = before.strip_suffix(':').unwrap_or(before);
        let from_driver = program.is_empty() || (program.contains("clang") && !program.contains(':'));
        if !from_driver {
            return None;
        }
        // What clang suggests instead is not what it rejects.
        let message = message.split("; did you mean").next().unwrap_or(message);
        let quoted = message.split('\'').skip(1).step_by(2).collect();
        Some(Complaint { message, quoted })
    }

    fn is_about(&self, flag: &str) -> bool {
        self.names(flag) || self.names_option_and_value(flag) || self.names_value(flag)
    }

    /// `unknown argument: '-fX'`, `invalid value 'v' in '-fX=v'`, `invalid argument '-std=c++17' not allowed with 'C'`.
    fn names(&self, flag: &str) -> bool {
        // Of two flags that do not go together the first is the one rejected.
        let candidates = match self.message.contains("allowed with") {
            true => &self.quoted[..self.quoted.len().min(1)],
            false => &self.quoted[..],
        };
        candidates.iter().any(|word| {
            let word = word.trim();
            // `unsupported option '-mcpu=' for target`, `invalid value 'x' in 'mstack-protector-guard='`.
            let is_beginning = word.ends_with('=')
                && (flag.starts_with(word) || flag.strip_prefix('-').is_some_and(|f| f.starts_with(word)))
                && !self.has_value();
            // clang may print a flag and its value as two words.
            let joined = |by: &str| word.starts_with('-') && word.replacen(' ', by, 1) == flag;
            is_beginning || joined("") || joined("=")
        })
    }

    /// `unsupported argument 'huge' to option '-mcmodel='`, `invalid argument 'x' to -fmessage-length=`.
    fn names_option_and_value(&self, flag: &str) -> bool {
        if !self.has_value() {
            return false;
        }
        let Some(value) = self.quoted.first() else {
            return false;
        };
        let unquoted = self.message.split_whitespace().filter(|word| word.starts_with('-'));
        let mut options = self.quoted.iter().skip(1).copied().chain(unquoted);
        options.any(|option| {
            let option = option.trim_start_matches('-');
            let said = flag.trim_start_matches('-').strip_prefix(option).map(|v| v.trim_start_matches('='));
            // A list (`-mrecip=a,b`) is complained about by its element.
            !option.is_empty() && said.is_some_and(|said| said == *value || said.split([',', '+']).any(|v| v == *value))
        })
    }

    fn has_value(&self) -> bool {
        ["unsupported argument '", "invalid value '", "invalid integral value '", "invalid argument '"]
            .iter()
            .any(|start| self.message.starts_with(start))
    }

    /// `unknown target CPU 'x'`.
    fn names_value(&self, flag: &str) -> bool {
        let Some(value) = self.quoted.first() else {
            return false;
        };
        VALUE_MESSAGES.iter().any(|(start, options)| {
            self.message.contains(start) && options.iter().any(|option| flag.strip_prefix(option) == Some(*value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(flags: &str, stderr: &str, expected: Option<&str>) {
        let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
        let found = without_rejected(&flags, stderr).map(|flags| flags.join(" "));
        assert_eq!(found.as_deref(), expected, "{stderr}");
    }

    #[test]
    fn the_messages_of_clang_19() {
        check("-DX -fno-such -xc", "clang-19: error: unknown argument: '-fno-such'\n", Some("-DX -xc"));
        check("-msse9", "clang-19: error: unknown argument '-msse9'; did you mean '-msse2'?", Some(""));
        check("-msse9 -msse2", "clang: error: unknown argument '-msse9'; did you mean '-msse2'?", Some("-msse2"));
        check(
            "-mcpu=foo -I.",
            "clang-19: error: unsupported option '-mcpu=' for target 'x86_64-pc-linux-gnu'",
            Some("-I."),
        );
        check(
            "-mcmodel=huge",
            "clang-19: error: unsupported argument 'huge' to option '-mcmodel=' for target 'x'",
            Some(""),
        );
        check(
            "-mcmodel=small",
            "clang-19: error: unsupported argument 'huge' to option '-mcmodel=' for target 'x'",
            None,
        );
        check("-fvisibility=foo", "error: invalid value 'foo' in '-fvisibility=foo'", Some(""));
        check("-fpack-struct=foo", "error: invalid integral value 'foo' in '-fpack-struct=foo'", Some(""));
        check(
            "-mstack-protector-guard=foo -DX",
            "clang-19: error: invalid value 'foo' in 'mstack-protector-guard=', expected one of: tls global",
            Some("-DX"),
        );
        check("-fpatchable=a,b", "clang-19: error: invalid argument 'a,b' to -fpatchable=", Some(""));
        check(
            "-march=bogus -mtune=ok",
            "error: unknown target CPU 'bogus'\nnote: valid target CPU values are: a",
            Some("-mtune=ok"),
        );
        check("-fbracket-depth=x", "error: invalid integral value 'x' in '-fbracket-depth x'", Some(""));
        check("--gcc-install-dir=/no", "clang-19: error: '/no' does not contain a GCC installation", Some(""));
        check("--target=foo", "error: unknown target triple 'foo'", Some(""));
        check("-std=c++17 -xc", "error: invalid argument '-std=c++17' not allowed with 'C'", Some("-xc"));
        check("-mrecord-x", "/usr/bin/clang-19: error: unsupported option '-mrecord-x' for target 'y'", Some(""));
    }

    #[test]
    fn several_at_once() {
        check(
            "-fa -fb -fc",
            "clang-19: error: unknown argument: '-fa'\nclang-19: error: unknown argument: '-fc'\n",
            Some("-fb"),
        );
    }

    #[test]
    fn what_is_no_error_of_the_command_line() {
        check("-fplt", "clang-19: warning: argument unused during compilation: '-fplt'", None);
        check("-fplt", "a.c:1:2: error: unknown thing '-fplt'", None);
        check("-fplt", "clang.c:1:2: error: unknown thing '-fplt'", None);
        check("-fgcse", "clang-19: warning: optimization flag '-fgcse' is not supported", None);
        check("-fplt", "", None);
        check("-xc", "error: unknown argument: '-xc'", None);
        check("-fplt", "error: '", None);
    }
}
