//! The generated part of a harness: how the function is called, and the stubs and wrappers around it.

use std::fmt::Write;

use crate::sites::Site;
use crate::system::{ALLOCATORS, DEALLOCATORS, ENDING, FORBIDDEN};

/// How a value is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Void,
    /// An integer that fits a register, or a pointer.
    Word,
    Double,
    Float,
    /// A structure of so many bytes, copied to the stack. The argument is the block it is copied from.
    Bytes(u64),
}

/// Structures up to this size are passed in registers, whatever is asked.
const MAX_REGISTER_BYTES: u64 = 16;
/// `runtime.c` has room for as many.
const MAX_PARAMETERS: usize = 32;

/// The function that a harness calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// As the linker knows it.
    pub symbol: String,
    pub parameters: Vec<Kind>,
    pub result: Kind,
}

/// A variable that plans set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// As the linker knows it.
    pub symbol: String,
    pub is_thread_local: bool,
}

/// What stands for a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StubKind {
    /// Nothing defines it.
    Returns(StubResult),
    /// Nothing defines it; returns a floating-point number.
    Float,
    /// A variable that nothing defines; of each thread its own, where units declare it so.
    Variable { is_thread_local: bool },
    /// A function of the system or of the project that is called, unless a plan says what it returns. If there is none, a stub.
    Wrapped { kind: StubResult },
    /// A function of the project that is there, and is not called.
    Replaced { kind: StubResult },
    /// One call in the function that is run, with so many words of arguments: made, unless a plan says that it is not.
    Call { kind: StubResult, site: Site, arguments: usize },
}

/// What a stub returns when a plan does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StubResult {
    Number,
    Pointer,
    /// Fresh memory that the caller must free, as a model or a summary says.
    Fresh,
}

impl StubResult {
    fn letter(self) -> char {
        match self {
            StubResult::Number => 'n',
            StubResult::Pointer => 'p',
            StubResult::Fresh => 'a',
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stub {
    pub symbol: String,
    pub kind: StubKind,
    /// A model says what it does, or it has no body by intent: what it is given stays the caller's.
    pub is_known: bool,
    /// The project has a body for it, which is not part of the harness.
    pub is_replaced: bool,
    /// The analysis says that it leaves what it is given to its caller.
    pub is_trusted: bool,
}

impl Stub {
    pub(crate) fn site(&self) -> Option<&Site> {
        match &self.kind {
            StubKind::Call { site, .. } => Some(site),
            _ => None,
        }
    }

    /// Whether it stands for a symbol wherever that is used. A call has the name of what it calls, but is one place alone.
    pub(crate) fn defines(&self, symbol: &str) -> bool {
        self.site().is_none() && self.symbol == symbol
    }

    pub(crate) fn is_wrapped(&self) -> bool {
        matches!(self.kind, StubKind::Wrapped { .. } | StubKind::Replaced { .. })
    }
}

/// Why a function cannot be called.
pub(crate) fn unsupported(target: &Target) -> Option<String> {
    let is_small = |kind: &Kind| matches!(kind, Kind::Bytes(size) if *size <= MAX_REGISTER_BYTES);
    if target.parameters.len() > MAX_PARAMETERS {
        return Some(format!("it has more than {MAX_PARAMETERS} parameters"));
    }
    target.parameters.iter().any(is_small).then(|| "a structure is passed in a way that is not supported".to_owned())
}

/// The source that is linked with `runtime.c`. Stubs are numbered as given; the system's wrappers come after them.
pub(crate) fn generate(target: &Target, variables: &[Variable], stubs: &[Stub]) -> String {
    let mut text =
        String::from("/* Made by Caulk: the call of one function, and what stands for the functions around it. */\n");
    text.push_str("#include <errno.h>\n\n");
    text.push_str("int caulk_scripted(unsigned, long *);\nint caulk_fails(void);\nvoid caulk_ended(long);\n");
    text.push_str("int caulk_is_own(long);\nvoid caulk_note_freed(long);\nlong caulk_resized(long, unsigned long);\n");
    text.push_str(
        "long caulk_stub(unsigned, char, int, const long *, int);\nvoid caulk_note_reachable(unsigned, long, int);\n",
    );
    text.push_str("extern long caulk_arguments[];\n\n");
    declare_stubs(&mut text, stubs);
    declare_variables(&mut text, variables);
    stubs.iter().enumerate().for_each(|(number, stub)| define_stub(&mut text, number, stub));
    define_system(&mut text, stubs);
    define_call(&mut text, target);
    text
}

/// A symbol as a string of C, for an `asm` label. The linker's names hold neither quotes nor backslashes, but a hostile source may say so.
fn quoted(symbol: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.$@".contains(c);
    let symbol: String = symbol.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    format!("\"{symbol}\"")
}

/// Symbols that `asm` labels can name.
pub(crate) fn is_plain(symbol: &str) -> bool {
    !symbol.is_empty() && quoted(symbol).trim_matches('"') == symbol
}

fn declare_stubs(text: &mut String, stubs: &[Stub]) {
    let _ = writeln!(text, "const unsigned caulk_stub_count = {};", stubs.len());
    let _ = writeln!(text, "unsigned caulk_stub_calls[{0}], caulk_stub_uses[{0}];", stubs.len() + 1);
    text.push_str("const char *const caulk_stub_names[] = {\n");
    stubs.iter().for_each(|stub| _ = writeln!(text, "\t{},", quoted(&stub.symbol)));
    text.push_str("\t0\n};\n");
    // What `caulk_site` must know of a call.
    let letter = |stub: &Stub| match stub.kind {
        StubKind::Call { kind, .. } => kind.letter(),
        _ => '-',
    };
    let _ = writeln!(text, "const char caulk_stub_kinds[] = \"{}\";", stubs.iter().map(letter).collect::<String>());
    let count = |stub: &Stub| match stub.kind {
        StubKind::Call { arguments, .. } => char::from(b'0' + arguments.min(MAX_STUB_ARGUMENTS) as u8),
        _ => '-',
    };
    let _ = writeln!(text, "const char caulk_stub_counts[] = \"{}\";", stubs.iter().map(count).collect::<String>());
    let known = |stub: &Stub| if stub.is_known { '1' } else { '0' };
    let _ = writeln!(text, "const char caulk_stub_known[] = \"{}\";\n", stubs.iter().map(known).collect::<String>());
}

fn declare_variables(text: &mut String, variables: &[Variable]) {
    for (number, Variable { symbol, is_thread_local }) in variables.iter().enumerate() {
        // Where a weak one of a thread would be if it is missing, nothing says.
        let (thread, weak) = if *is_thread_local { ("__thread ", "") } else { ("", " __attribute__((weak))") };
        let _ = writeln!(text, "extern {thread}char caulk_variable_{number}[] __asm__({}){weak};", quoted(symbol));
    }
    let _ = writeln!(text, "const unsigned caulk_variable_count = {};", variables.len());
    // Those of a thread have an address only there.
    let _ = writeln!(text, "void *caulk_variable(unsigned number)\n{{\n\tswitch (number) {{");
    (0..variables.len()).for_each(|number| _ = writeln!(text, "\tcase {number}: return caulk_variable_{number};"));
    text.push_str("\tdefault: return 0;\n\t}\n}\n\n");
}

/// Arguments that the stub of a call sees, as many as `runtime.c`.
const MAX_STUB_ARGUMENTS: usize = 32;
const ARGUMENTS: &str = "long a, long b, long c, long d, long e, long f";
/// Room for a variable that nothing defines.
const VARIABLE_BYTES: usize = 1 << 16;

fn define_stub(text: &mut String, number: usize, stub: &Stub) {
    let symbol = match stub.kind {
        StubKind::Replaced { .. } => quoted(&format!("__wrap_{}", stub.symbol)),
        _ => quoted(&stub.symbol),
    };
    let is_known = u8::from(stub.is_known);
    let kind = match stub.kind {
        // The assembly of the function has it.
        StubKind::Call { .. } => return,
        StubKind::Variable { is_thread_local } => {
            // The linker refuses a plain variable in the place of such a one.
            let thread = if is_thread_local { "__thread " } else { "" };
            let _ = writeln!(
                text,
                "__attribute__((weak, aligned(64))) {thread}char caulk_stub_{number}[{VARIABLE_BYTES}] __asm__({symbol});"
            );
            return;
        }
        StubKind::Float => {
            let _ = writeln!(text, "double caulk_stub_{number}(void) __asm__({symbol}) __attribute__((weak));");
            let _ = writeln!(text, "double caulk_stub_{number}(void) {{ caulk_stub_calls[{number}]++; return 0; }}");
            return;
        }
        StubKind::Wrapped { kind } => return define_wrapper(text, number, &stub.symbol, kind.letter(), is_known),
        StubKind::Returns(result) | StubKind::Replaced { kind: result } => result.letter(),
    };
    let _ = writeln!(text, "long caulk_stub_{number}({ARGUMENTS}) __asm__({symbol}) __attribute__((weak));");
    let _ = writeln!(text, "long caulk_stub_{number}({ARGUMENTS})\n{{");
    let _ = writeln!(text, "\tconst long all[] = {{ a, b, c, d, e, f }};");
    let _ = writeln!(text, "\treturn caulk_stub({number}, '{kind}', {is_known}, all, 6);\n}}");
}

/// The linker sends calls of a wrapped function here (`--wrap`).
fn define_wrapper(text: &mut String, number: usize, symbol: &str, kind: char, is_known: u8) {
    let (wrap, real) = (quoted(&format!("__wrap_{symbol}")), quoted(&format!("__real_{symbol}")));
    let _ = writeln!(text, "extern long caulk_real_{number}(long, ...) __asm__({real}) __attribute__((weak));");
    let _ = writeln!(text, "long caulk_wrap_{number}({ARGUMENTS}) __asm__({wrap});");
    let _ = writeln!(text, "long caulk_wrap_{number}({ARGUMENTS})\n{{\n\tlong result;");
    let _ = writeln!(text, "\tconst long all[] = {{ a, b, c, d, e, f }};");
    let _ = writeln!(text, "\tif (caulk_scripted({number}, &result)) {{");
    let _ = writeln!(
        text,
        "\t\tif (!{is_known})\n\t\t\tfor (int i = 0; i < 6; i++)\n\t\t\t\tcaulk_note_reachable({number}, all[i], 0);"
    );
    let _ = writeln!(text, "\t\treturn result;\n\t}}");
    if FORBIDDEN.contains(&symbol) {
        let _ = writeln!(text, "\terrno = EPERM;\n\treturn -1;\n}}");
    } else {
        let _ = writeln!(text, "\tif (caulk_real_{number})\n\t\treturn caulk_real_{number}(a, b, c, d, e, f);");
        let _ = writeln!(text, "\treturn caulk_stub({number}, '{kind}', {is_known}, all, 6);\n}}");
    }
}

/// Allocators that may fail, functions that end the process, and those that must not be called.
fn define_system(text: &mut String, stubs: &[Stub]) {
    for (name, count) in ALLOCATORS {
        let names = &["long a", "long b", "long c"][..*count];
        let (given, passed) = (names.join(", "), &["a", "b", "c"][..*count]);
        let types = vec!["long"; *count].join(", ");
        let _ = writeln!(text, "long __real_{name}({types});");
        let _ = writeln!(text, "long __wrap_{name}({given})\n{{");
        let _ = writeln!(text, "\tif (caulk_fails())\n\t\treturn 0;");
        if *name == "realloc" {
            let _ = writeln!(text, "\tif (caulk_is_own(a))\n\t\treturn caulk_resized(a, b);");
        }
        let _ = writeln!(text, "\treturn __real_{name}({});\n}}", passed.join(", "));
    }
    for name in DEALLOCATORS {
        let _ = writeln!(text, "extern void __real_{name}(long, long) __attribute__((weak));");
        let _ = writeln!(text, "void __wrap_{name}(long a, long b)\n{{");
        let _ = writeln!(text, "\tif (caulk_is_own(a))\n\t\tcaulk_note_freed(a);");
        let _ = writeln!(text, "\telse if (__real_{name})\n\t\t__real_{name}(a, b);\n}}");
    }
    for name in ENDING {
        let _ = writeln!(text, "void __wrap_{name}(long status)\n{{\n\tcaulk_ended(status);\n}}");
    }
    let is_wrapped = |name: &str| stubs.iter().any(|stub| stub.is_wrapped() && stub.symbol == name);
    for name in FORBIDDEN.iter().filter(|name| !is_wrapped(name)) {
        let _ = writeln!(text, "long __wrap_{name}(void)\n{{\n\terrno = EPERM;\n\treturn -1;\n}}");
    }
}

/// The linker's flags for the wrappers.
pub(crate) fn wrapped(stubs: &[Stub]) -> Vec<String> {
    let own = stubs.iter().filter(|stub| stub.is_wrapped()).map(|stub| stub.symbol.as_str());
    let all = ALLOCATORS.iter().map(|(name, _)| *name).chain(ENDING.iter().copied()).chain(FORBIDDEN.iter().copied());
    let all = all.chain(DEALLOCATORS.iter().copied());
    let mut names: Vec<&str> = all.chain(own).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|name| format!("-Wl,--wrap={name}")).collect()
}

fn define_call(text: &mut String, target: &Target) {
    let mut types: Vec<String> = Vec::new();
    let mut values: Vec<String> = Vec::new();
    for (index, kind) in target.parameters.iter().enumerate() {
        let (ty, value) = match kind {
            Kind::Void | Kind::Word => ("long".to_owned(), format!("caulk_arguments[{index}]")),
            Kind::Double => ("double".to_owned(), format!("*(double *)&caulk_arguments[{index}]")),
            Kind::Float => ("float".to_owned(), format!("*(float *)&caulk_arguments[{index}]")),
            Kind::Bytes(size) => {
                let _ = writeln!(text, "struct caulk_bytes_{index} {{ char bytes[{size}]; }};");
                let name = format!("struct caulk_bytes_{index}");
                (name.clone(), format!("*({name} *)caulk_arguments[{index}]"))
            }
        };
        types.push(ty);
        values.push(value);
    }
    let types = if types.is_empty() { "void".to_owned() } else { types.join(", ") };
    let result = match target.result {
        Kind::Double => "double",
        Kind::Float => "float",
        _ => "long",
    };
    let _ = writeln!(text, "extern {result} caulk_target({types}) __asm__({});", quoted(&target.symbol));
    let _ = writeln!(text, "long caulk_invoke(void)\n{{\n\treturn (long)caulk_target({});\n}}", values.join(", "));
}
