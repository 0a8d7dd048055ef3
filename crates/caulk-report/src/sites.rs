//! From instructions to places that mean something to the reader.

use std::cell::RefCell;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use caulk_ir::{AddressStep, Body, Inst, InstId, Operand, Place};
use caulk_program::{CallSite, FuncId, Program};
use caulk_useflow::{Analysis, Slot};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::config::ReportConfig;
use crate::demangle;
use crate::finding::{Call, Site};

/// Bodies decoded lately; those of one finding are asked for again and again.
const MAX_BODIES: usize = 64;

pub(crate) struct Sites<'a> {
    program: &'a Program,
    analysis: &'a Analysis,
    config: &'a ReportConfig,
    root: PathBuf,
    bodies: RefCell<FxHashMap<FuncId, Option<Rc<Body>>>>,
}

impl<'a> Sites<'a> {
    pub(crate) fn new(program: &'a Program, analysis: &'a Analysis, config: &'a ReportConfig, root: &Path) -> Self {
        Self { program, analysis, config, root: root.to_owned(), bodies: RefCell::default() }
    }

    pub(crate) fn body(&self, function: FuncId) -> Option<Rc<Body>> {
        let mut bodies = self.bodies.borrow_mut();
        if bodies.len() > MAX_BODIES {
            bodies.clear();
        }
        bodies.entry(function).or_insert_with(|| self.program.body(function).map(Rc::new)).clone()
    }

    /// The place of an instruction: in the user's own code, where the compiler inlined a function of a system header.
    pub(crate) fn of(&self, function: FuncId, inst: InstId) -> Site {
        let info = self.program.function(function);
        let name = demangle::display(info.name);
        let place = self.body(function).and_then(|body| self.place(function, &body, inst));
        let (file, line, column) = place.unwrap_or_else(|| (info.file.unwrap_or("?").to_owned(), info.line, 0));
        Site { file: self.shown(&file), line, column, function: name }
    }

    fn place(&self, function: FuncId, body: &Body, inst: InstId) -> Option<(String, u32, u32)> {
        let unit = self.program.unit(self.program.function(function).unit);
        let file_of = |place: &Place| unit.files.get(place.file).map_or("?", |f| unit.str(*f));
        // The compiler's own instructions have no line; those before them say where they belong.
        let block = body.blocks.values().find(|b| b.first <= inst && inst < b.end);
        let first = block.map_or(inst, |b| b.first);
        let mut known = (first.0..=inst.0).rev().map(|i| *body.place(InstId(i))).filter(|p| p.line > 0);
        let mut place = known.next()?;
        while let Some(inlined) = place.inlined.filter(|_| self.is_system(file_of(&place))) {
            place = body.places[inlined.at];
        }
        Some((file_of(&place).to_owned(), place.line, place.column))
    }

    /// Whether a file, by its path in the report or a whole one, is not the user's.
    pub(crate) fn is_system(&self, file: &str) -> bool {
        self.config.is_system(&self.root.join(file).to_string_lossy())
    }

    fn shown(&self, file: &str) -> String {
        shown_path(file, &self.root)
    }

    /// What a call calls, for people: `free()`.
    pub(crate) fn callee(&self, function: FuncId, call: InstId) -> Option<String> {
        const MAX_NAMED: usize = 2;
        let site = self.program.call_site(function, call)?;
        let mut names: Vec<String> = Vec::new();
        for target in self.program.targets(site) {
            let name = format!("{}()", demangle::display(self.program.function(*target).name));
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Some(match names.as_slice() {
            [] => "a function pointer".to_owned(),
            several if several.len() <= MAX_NAMED => several.join(" or "),
            several => format!("{} or {} others", several[0], several.len() - 1),
        })
    }

    pub(crate) fn call(&self, function: FuncId, inst: InstId) -> Call {
        let callee = self.callee(function, inst).unwrap_or_else(|| "an allocation".to_owned());
        Call { site: self.of(function, inst), callee }
    }

    /// The call in a line of a function: the one that reaches `next`, or else the first that allocates.
    pub(crate) fn call_in_line(&self, function: FuncId, line: u32, next: Option<FuncId>) -> Call {
        let reaches = |site: &&CallSite| match next {
            Some(next) => self.program.targets(site).contains(&next),
            None => self.allocates(site),
        };
        let found = self
            .body(function)
            .and_then(|body| self.calls_in_line(function, &body, line).find(reaches).map(|site| site.inst));
        match found {
            Some(inst) => self.call(function, inst),
            None => self.line_alone(function, line, next),
        }
    }

    /// The call in a line of a function that allocates: the n-th, if there are as many as blocks that are made there.
    pub(crate) fn allocator_in_line(&self, function: FuncId, line: u32, (nth, blocks): (usize, usize)) -> Call {
        let Some(body) = self.body(function).filter(|_| blocks > 1) else {
            return self.call_in_line(function, line, None);
        };
        let calls: Vec<InstId> =
            self.calls_in_line(function, &body, line).filter(|s| self.allocates(s)).map(|s| s.inst).collect();
        match calls.get(nth).filter(|_| calls.len() == blocks) {
            Some(inst) => self.call(function, *inst),
            None => self.call_in_line(function, line, None),
        }
    }

    /// The call in a line of a function that fills a field: the one whose result is stored there, or else the first that
    /// allocates.
    pub(crate) fn call_for_field(&self, function: FuncId, line: u32, (ty, offset): Slot) -> Call {
        let unit = self.program.function(function).unit;
        let is_field = |step: &AddressStep| match step {
            AddressStep::Field { ty: own, offset: at } => {
                *at == offset && self.program.resolve_struct(unit, *own) == ty
            }
            AddressStep::Bytes { .. } | AddressStep::Index { .. } => false,
        };
        let found = self.body(function).and_then(|body| {
            let fills = |site: &&CallSite| {
                self.allocates(site) && stores(&body, site.inst).any(|steps| steps.last().is_some_and(is_field))
            };
            self.calls_in_line(function, &body, line).find(fills).map(|site| site.inst)
        });
        match found {
            Some(inst) => self.call(function, inst),
            None => self.call_in_line(function, line, None),
        }
    }

    fn calls_in_line<'b>(&'b self, function: FuncId, body: &'b Body, line: u32) -> impl Iterator<Item = &'b CallSite> {
        self.program.call_sites(function).iter().filter(move |site| body.place(site.inst).line == line)
    }

    fn allocates(&self, site: &CallSite) -> bool {
        self.program.targets(site).iter().any(|target| self.analysis.summary(*target).allocates())
    }

    fn line_alone(&self, function: FuncId, line: u32, next: Option<FuncId>) -> Call {
        let info = self.program.function(function);
        let site = Site {
            file: self.shown(info.file.unwrap_or("?")),
            line,
            column: 0,
            function: demangle::display(info.name),
        };
        let callee = next.map(|n| format!("{}()", demangle::display(self.program.function(n).name)));
        Call { site, callee: callee.unwrap_or_else(|| "an allocation".to_owned()) }
    }

    /// The nearest call in the user's own code that leads to a function of a system header.
    pub(crate) fn users_call(&self, function: FuncId) -> Option<(FuncId, InstId)> {
        let mut seen: FxHashSet<FuncId> = FxHashSet::default();
        let mut level = vec![function];
        for _ in 0..self.config.max_climb {
            let mut above = Vec::new();
            for &callee in &level {
                for caller in self.program.callers(callee).filter(|c| seen.insert(*c)) {
                    if self.program.function(caller).file.is_some_and(|f| !self.is_system(f)) {
                        let sites = self.program.call_sites(caller);
                        let call = sites.iter().find(|s| self.program.targets(s).contains(&callee));
                        return call.map(|site| (caller, site.inst));
                    }
                    above.push(caller);
                }
            }
            level = above;
        }
        None
    }
}

/// The steps of each address that an instruction's result is stored to.
fn stores(body: &Body, inst: InstId) -> impl Iterator<Item = &[AddressStep]> {
    body.insts.values().filter_map(move |store| {
        let Inst::Store { value: Operand::Value(value), address: Operand::Value(address), .. } = store else {
            return None;
        };
        match &body.insts[*address] {
            Inst::Address { steps, .. } if *value == inst => Some(steps.as_slice()),
            _ => None,
        }
    })
}

/// A path as the report shows it: relative to the root, where the file lies below it.
pub fn shown_path(file: &str, root: &Path) -> String {
    let path = folded(Path::new(file));
    let below = path.strip_prefix(root).ok().filter(|p| !p.as_os_str().is_empty());
    below.unwrap_or(&path).to_string_lossy().into_owned()
}

/// Without `.` and `..`, as far as the text tells.
fn folded(path: &Path) -> PathBuf {
    let mut folded = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if folded.file_name().is_some() => {
                folded.pop();
            }
            part => folded.push(part),
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_without_detours() {
        assert_eq!(folded(Path::new("/p/build/../src/./a.c")), Path::new("/p/src/a.c"));
        assert_eq!(folded(Path::new("../a.c")), Path::new("../a.c"));
    }
}
