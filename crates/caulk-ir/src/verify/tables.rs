//! The tables of a unit: every id exists, and every order that is promised is kept.

use std::collections::HashMap;

use crate::constant::{Constant, truncate};
use crate::entity::{Entity, EntityVec, FileId, StrId};
use crate::types::{Pointee, StructKind, StructType, Type};
use crate::unit::{AliasTarget, Function, Global, Initialiser, Unit};

use super::VerifyError;

pub(super) fn check(unit: &Unit) -> Vec<VerifyError> {
    let mut check = TableCheck { unit, subject: String::new(), errors: Vec::new() };
    check.subject = format!("unit {:?}", unit.source);
    if !matches!(unit.pointer_bytes, 1 | 2 | 4 | 8) {
        check.report(format!("a pointer cannot have {} bytes", unit.pointer_bytes));
    }
    if let Some(text) = unit.strings.repeated() {
        check.report(format!("the string {text:?} stands twice in its table"));
    }
    for (id, path) in unit.files.iter() {
        check.subject = id.to_string();
        check.string(*path, "path");
    }
    for (id, ty) in unit.structs.iter() {
        check.subject = id.to_string();
        check.struct_type(ty);
    }
    for (id, global) in unit.globals.iter() {
        check.subject = id.to_string();
        check.global(global);
    }
    for (id, function) in unit.functions.iter() {
        check.subject = id.to_string();
        check.function(function);
    }
    check.aliases();
    check.symbols();
    check.errors
}

struct TableCheck<'a> {
    unit: &'a Unit,
    subject: String,
    errors: Vec<VerifyError>,
}

impl TableCheck<'_> {
    fn report(&mut self, problem: impl Into<String>) {
        let subject = self.subject.clone();
        self.errors.push(VerifyError { function: None, block: None, inst: None, subject, problem: problem.into() });
    }

    /// Takes the name for messages, or says that there is none.
    fn named(&mut self, what: &str, name: StrId) {
        if self.unit.strings.contains(name) {
            self.subject = format!("{what}{}", self.unit.str(name));
        } else {
            self.string(name, "name");
        }
    }

    fn string(&mut self, id: StrId, what: &str) {
        if !self.unit.strings.contains(id) {
            self.report(format!("its {what}, {id}, does not exist"));
        }
    }

    fn pointee(&mut self, pointee: Pointee) {
        if let Some(problem) = pointee_problem(self.unit, pointee) {
            self.report(problem);
        }
    }

    fn file(&mut self, file: Option<FileId>) {
        if let Some(file) = file.filter(|f| !exists(&self.unit.files, *f)) {
            self.report(format!("{file} does not exist"));
        }
    }

    fn struct_type(&mut self, ty: &StructType) {
        self.named("struct ", ty.name);
        if let Some(identity) = ty.identity {
            self.string(identity, "identity");
        }
        if !ty.fields.is_sorted_by_key(|f| f.offset) {
            self.report("its fields do not stand by rising offset");
        }
        for field in &ty.fields {
            if let Some(name) = field.name {
                self.string(name, "field's name");
            }
            if field.offset.checked_add(field.size).is_none() {
                self.report(format!("the field at {} ends beyond all memory", field.offset));
            }
            if ty.kind == StructKind::Union && field.offset != 0 {
                self.report(format!("it is a union, and has a field at {}", field.offset));
            }
            self.pointee(field.pointee);
        }
    }

    fn global(&mut self, global: &Global) {
        self.named("@", global.symbol);
        if let Some(name) = global.name {
            self.string(name, "source name");
        }
        self.file(global.file);
        self.pointee(global.pointee);
        match &global.init {
            Initialiser::External | Initialiser::Zero => {}
            Initialiser::Text(text) => self.string(*text, "text"),
            Initialiser::Items { items, .. } => {
                if !items.is_sorted_by(|a, b| a.offset < b.offset) {
                    self.report("its initial values do not stand by rising offset");
                }
                for item in items {
                    if item.offset >= global.size {
                        self.report(format!("its initial value at {} lies outside of it", item.offset));
                    }
                    if let Some(problem) = constant_problem(self.unit, item.value) {
                        self.report(problem);
                    }
                }
            }
        }
    }

    fn function(&mut self, function: &Function) {
        self.named("@", function.symbol);
        if let Some(name) = function.name {
            self.string(name, "source name");
        }
        self.file(function.file);
        self.pointee(function.ret_pointee);
        for annotation in &function.annotations {
            self.string(*annotation, "annotation");
        }
        let types = &function.signature.params;
        if types.len() != function.params.len() {
            self.report(format!("{} parameters, but {} in its signature", function.params.len(), types.len()));
        }
        if types.contains(&Type::Void) {
            self.report("a parameter cannot be void");
        }
        for param in &function.params {
            if let Some(name) = param.name {
                self.string(name, "parameter's name");
            }
            self.pointee(param.pointee);
        }
        if function.flags.alloc_size.is_some_and(|p| usize::from(p) >= types.len()) {
            self.report("alloc_size names a parameter that it does not have");
        }
    }

    fn aliases(&mut self) {
        for alias in &self.unit.aliases {
            self.subject = "alias".to_owned();
            self.named("alias @", alias.symbol);
            let missing = match alias.target {
                AliasTarget::Function(f) if !exists(&self.unit.functions, f) => f.to_string(),
                AliasTarget::Global(g) if !exists(&self.unit.globals, g) => g.to_string(),
                _ => continue,
            };
            self.report(format!("{missing} does not exist"));
        }
    }

    /// A symbol has one meaning in a unit, or linking would have to guess.
    fn symbols(&mut self) {
        let globals = self.unit.globals.values().map(|g| g.symbol);
        let functions = self.unit.functions.values().map(|f| f.symbol);
        let aliases = self.unit.aliases.iter().map(|a| a.symbol);
        let mut seen: HashMap<&str, u32> = HashMap::new();
        for symbol in globals.chain(functions).chain(aliases).filter(|s| self.unit.strings.contains(*s)) {
            let text = self.unit.str(symbol);
            let count = seen.entry(text).or_default();
            *count += 1;
            if *count == 2 {
                self.subject = format!("@{text}");
                self.report("several things have this symbol");
            }
        }
    }
}

pub(super) fn exists<K: Entity, V>(table: &EntityVec<K, V>, id: K) -> bool {
    id.index() < table.len()
}

pub(super) fn pointee_problem(unit: &Unit, pointee: Pointee) -> Option<String> {
    let target = pointee.target.filter(|t| !exists(&unit.structs, *t))?;
    Some(format!("{target} does not exist"))
}

pub(super) fn constant_problem(unit: &Unit, constant: Constant) -> Option<String> {
    match constant {
        Constant::Int { bits, .. } if !(1..=64).contains(&bits) => {
            Some(format!("an integer constant cannot have {bits} bits"))
        }
        Constant::Int { bits, value } if truncate(value, bits) != value => {
            Some(format!("the constant {value:#x} does not fit into i{bits}"))
        }
        Constant::Global { global, .. } if !exists(&unit.globals, global) => Some(format!("{global} does not exist")),
        Constant::Function(f) if !exists(&unit.functions, f) => Some(format!("{f} does not exist")),
        Constant::Zero(Type::Void) | Constant::Undef(Type::Void) | Constant::Opaque(Type::Void) => {
            Some("a constant cannot be void".to_owned())
        }
        _ => None,
    }
}
