//! Prints the tables of a unit. What is wrong in a damaged unit is printed as `<...>`, never a panic.

use std::fmt::{self, Write};

use crate::body::Body;
use crate::constant::{Constant, sign_extend, truncate};
use crate::entity::{Entity, FileId, FunctionId, GlobalId, StructId};
use crate::types::{Field, Pointee, StructType, Type};
use crate::unit::{Alias, AliasTarget, Function, Global, Initialiser, Linkage, Param, Unit};

use super::label::{Name, Ordinal, Ordinals, Quoted, Symbol, string};
use super::print_body::BodyPrinter;
use super::words::{FUNCTION_FLAGS, LINKAGES, PARAM_FLAGS, STRUCT_KINDS, UNKNOWN_REASONS, flag_words, word};

/// A unit with the labels of its tables.
pub(crate) struct Printer<'a> {
    pub unit: &'a Unit,
    structs: Vec<u32>,
    globals: Vec<u32>,
    functions: Vec<u32>,
}

impl<'a> Printer<'a> {
    pub(crate) fn new(unit: &'a Unit) -> Self {
        let mut names = Ordinals::default();
        let structs = unit.structs.values().map(|s| names.next(string(unit, s.name))).collect();
        // Functions and globals are distinguished by symbol alone, so they count together.
        let mut symbols = Ordinals::default();
        let globals = unit.globals.values().map(|g| symbols.next(string(unit, g.symbol))).collect();
        let functions = unit.functions.values().map(|f| symbols.next(string(unit, f.symbol))).collect();
        Self { unit, structs, globals, functions }
    }

    pub(crate) fn body(&'a self, function: FunctionId, body: &'a Body) -> BodyPrinter<'a> {
        BodyPrinter::new(self, function, body)
    }

    pub(crate) fn unit(&self, out: &mut dyn Write) -> fmt::Result {
        let unit = self.unit;
        writeln!(out, "unit {} pointer {}", Quoted(&unit.source), unit.pointer_bytes)?;
        self.files(out)?;
        for (reason, count) in &unit.unknowns {
            writeln!(out, "unknown {} {count}", word(UNKNOWN_REASONS, *reason))?;
        }
        for (id, ty) in unit.structs.iter() {
            self.struct_type(out, id, ty)?;
        }
        for (id, global) in unit.globals.iter() {
            self.global(out, id, global)?;
        }
        for alias in &unit.aliases {
            self.alias(out, alias)?;
        }
        for (id, function) in unit.functions.iter() {
            if function.body.is_some() {
                writeln!(out)?;
            }
            self.function(out, id, function.body.as_ref())?;
        }
        Ok(())
    }

    /// The usual table, of the main source file alone, goes without saying.
    fn files(&self, out: &mut dyn Write) -> fmt::Result {
        let files = self.unit.files.as_slice();
        match files {
            [] => writeln!(out, "no files"),
            [only] if string(self.unit, *only) == self.unit.source => Ok(()),
            _ => files
                .iter()
                .enumerate()
                .try_for_each(|(i, path)| writeln!(out, "file {i} {}", Quoted(string(self.unit, *path)))),
        }
    }

    fn struct_type(&self, out: &mut dyn Write, id: StructId, ty: &StructType) -> fmt::Result {
        write!(out, "{} {} size {}", word(STRUCT_KINDS, ty.kind), self.struct_label(id), ty.size)?;
        if let Some(identity) = ty.identity {
            write!(out, " identity {}", Quoted(string(self.unit, identity)))?;
        }
        if ty.fields.is_empty() {
            return writeln!(out);
        }
        writeln!(out, " {{")?;
        for field in &ty.fields {
            self.field(out, field)?;
        }
        writeln!(out, "}}")
    }

    fn field(&self, out: &mut dyn Write, field: &Field) -> fmt::Result {
        match field.name {
            Some(name) => write!(out, "  {}", Name(string(self.unit, name)))?,
            None => write!(out, "  _")?,
        }
        let base = if field.is_base { " base" } else { "" };
        writeln!(out, ": {} size {}{base}{}", field.offset, field.size, self.pointee(field.pointee))
    }

    fn global(&self, out: &mut dyn Write, id: GlobalId, global: &Global) -> fmt::Result {
        write!(out, "global {}{} size {}", linkage(global.linkage), self.global_label(id), global.size)?;
        if global.is_const {
            write!(out, " const")?;
        }
        if global.thread_local {
            write!(out, " thread_local")?;
        }
        if let Some(name) = global.name {
            write!(out, " name {}", Name(string(self.unit, name)))?;
        }
        write!(out, "{}{}", position(global.file, global.line), self.pointee(global.pointee))?;
        match &global.init {
            Initialiser::Zero => writeln!(out),
            Initialiser::External => writeln!(out, " = external"),
            Initialiser::Text(text) => writeln!(out, " = {}", Quoted(string(self.unit, *text))),
            Initialiser::Items { items, complete } => {
                let items = items.iter().map(|i| format!("+{} {}", i.offset, self.constant(i.value, None)));
                let rest = (!complete).then(|| "...".to_owned());
                let items: Vec<String> = items.chain(rest).collect();
                match items.is_empty() {
                    true => writeln!(out, " = {{ }}"),
                    false => writeln!(out, " = {{ {} }}", items.join(", ")),
                }
            }
        }
    }

    fn alias(&self, out: &mut dyn Write, alias: &Alias) -> fmt::Result {
        let target = match alias.target {
            AliasTarget::Function(f) => self.function_label(f),
            AliasTarget::Global(g) => self.global_label(g),
        };
        writeln!(out, "alias {}{} = {target}", linkage(alias.linkage), Symbol(string(self.unit, alias.symbol)))
    }

    pub(crate) fn function(&self, out: &mut dyn Write, id: FunctionId, body: Option<&Body>) -> fmt::Result {
        let Some(function) = self.unit.functions.get(id) else {
            return writeln!(out, "<no {id}>");
        };
        let head = if function.is_definition { "define" } else { "declare" };
        let body = body.map(|b| self.body(id, b));
        write!(out, "{head} {}{}", linkage(function.linkage), self.function_label(id))?;
        write!(out, "({})", self.params(function, body.as_ref()))?;
        let (ret, pointee) = (function.signature.ret, self.pointee(function.ret_pointee));
        if ret != Type::Void || !pointee.is_empty() {
            write!(out, " -> {ret}")?;
        }
        write!(out, "{}{pointee}", self.attributes(function))?;
        match body {
            None => writeln!(out),
            Some(body) => {
                writeln!(out, " {{")?;
                body.print(out)?;
                writeln!(out, "}}")
            }
        }
    }

    fn params(&self, function: &Function, body: Option<&BodyPrinter<'_>>) -> String {
        let mut params = Vec::new();
        for (index, ty) in function.signature.params.iter().enumerate() {
            let place = body.map_or(String::new(), |b| b.param_place(index));
            let text = function.params.get(index).map_or_else(|| ty.to_string(), |p| self.param(p, *ty));
            params.push(text + &place);
        }
        if function.signature.variadic {
            params.push("...".to_owned());
        }
        params.join(", ")
    }

    fn param(&self, param: &Param, ty: Type) -> String {
        let name = param.name.map_or(String::new(), |n| format!("{}: ", Name(string(self.unit, n))));
        format!("{name}{ty}{}{}", flag_words(PARAM_FLAGS, &param.flags), self.pointee(param.pointee))
    }

    fn attributes(&self, function: &Function) -> String {
        let mut text = flag_words(FUNCTION_FLAGS, &function.flags);
        if let Some(param) = function.flags.alloc_size {
            text += &format!(" alloc_size {param}");
        }
        if let Some(name) = function.name {
            text += &format!(" name {}", Name(string(self.unit, name)));
        }
        text += &position(function.file, function.line);
        for annotation in &function.annotations {
            text += &format!(" annotation {}", Quoted(string(self.unit, *annotation)));
        }
        text
    }

    /// Nothing for the default; it comes last wherever it stands, so that the name of a structure cannot be taken for
    /// an attribute.
    pub(crate) fn pointee(&self, pointee: Pointee) -> String {
        if pointee == Pointee::default() {
            return String::new();
        }
        let stars = "*".repeat(usize::from(pointee.depth));
        let target = pointee.target.map_or(String::new(), |t| self.struct_label(t));
        let words = [if pointee.is_const { "const" } else { "" }, &stars, if pointee.is_function { "fn" } else { "" }];
        let mut text = String::from(" ->");
        for word in words.into_iter().filter(|w| !w.is_empty()) {
            text += " ";
            text += word;
        }
        // `*node` without a space between, as in C.
        if !target.is_empty() && (pointee.depth == 0 || pointee.is_function) {
            text += " ";
        }
        text + &target
    }

    /// `context` is the type that stands before the operand, or goes without saying; a number needs no type of its own
    /// when it has that one.
    pub(crate) fn constant(&self, constant: Constant, context: Option<Type>) -> String {
        let typed = |text: String, ty: Type| if context == Some(ty) { text } else { format!("{text}:{ty}") };
        let ty = constant.ty();
        match constant {
            Constant::Int { bits: 1, value: 0 } => "false".to_owned(),
            Constant::Int { bits: 1, value: 1 } => "true".to_owned(),
            Constant::Int { bits, value } => typed(integer(bits, value), ty),
            Constant::Null => "null".to_owned(),
            Constant::Pointer(value) => format!("ptr({})", value as i64),
            Constant::Global { global, offset: 0 } => self.global_label(global),
            Constant::Global { global, offset } => format!("{}{offset:+}", self.global_label(global)),
            Constant::Function(function) => format!("&{}", self.function_label(function)),
            Constant::Float { value, .. } => typed(float(value), ty),
            Constant::Zero(_) => typed("zero".to_owned(), ty),
            Constant::Undef(_) => typed("undef".to_owned(), ty),
            Constant::Opaque(_) => typed("opaque".to_owned(), ty),
        }
    }

    pub(crate) fn struct_label(&self, id: StructId) -> String {
        match (self.unit.structs.get(id), self.structs.get(id.index())) {
            (Some(ty), Some(n)) => format!("{}{}", Name(string(self.unit, ty.name)), Ordinal(*n)),
            _ => format!("<no {id}>"),
        }
    }

    pub(crate) fn function_label(&self, id: FunctionId) -> String {
        match (self.unit.functions.get(id), self.functions.get(id.index())) {
            (Some(f), Some(n)) => format!("{}{}", Symbol(string(self.unit, f.symbol)), Ordinal(*n)),
            _ => format!("<no {id}>"),
        }
    }

    pub(crate) fn global_label(&self, id: GlobalId) -> String {
        match (self.unit.globals.get(id), self.globals.get(id.index())) {
            (Some(g), Some(n)) => format!("{}{}", Symbol(string(self.unit, g.symbol)), Ordinal(*n)),
            _ => format!("<no {id}>"),
        }
    }
}

fn linkage(linkage: Linkage) -> String {
    if linkage == Linkage::External { String::new() } else { format!("{} ", word(LINKAGES, linkage)) }
}

/// Where something is declared.
fn position(file: Option<FileId>, line: u32) -> String {
    match (file, line) {
        (None, 0) => String::new(),
        (None, line) => format!(" line {line}"),
        (Some(file), line) => format!(" at {}:{line}", file.0),
    }
}

/// A number is shown signed; one that has bits outside of its type, which no valid unit holds, is shown raw.
pub(super) fn integer(bits: u16, value: u64) -> String {
    if truncate(value, bits) == value { sign_extend(value, bits).to_string() } else { format!("{value:#x}") }
}

/// Only the bits tell infinities and the kinds of NaN apart.
fn float(value: u64) -> String {
    let number = f64::from_bits(value);
    if number.is_finite() { format!("{number:?}") } else { format!("{value:#x}") }
}
