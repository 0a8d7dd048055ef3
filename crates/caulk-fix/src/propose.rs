//! What could be done about a finding, by the way its memory is lost.

use caulk_report::source::{SourceFile, Sources};
use caulk_report::{Cause, Finding, Site};

use crate::code::Code;
use crate::each_time;
use crate::insert;
use crate::overwrite;
use crate::patch::{Edit, Patch};
use crate::release::{by_family, is_expression, releases};

/// A change that may fix a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The fingerprint of the finding.
    pub finding: String,
    /// What it does, for a menu: "free `p` before line 12".
    pub title: String,
    pub patch: Patch,
    /// What is freed came from the caller, and that is meant: a field of what a destructor was given.
    pub frees_callers: bool,
}

/// Proposals for one finding, the best first. None of them is checked.
pub fn propose(finding: &Finding, sources: &Sources) -> Vec<Proposal> {
    let proposer = Proposer { finding, sources };
    let all = match finding.cause {
        Cause::Return | Cause::OutOfScope | Cause::HolderFreed => proposer.at_each_loss(),
        Cause::NextIteration => proposer.next_iteration(),
        Cause::Overwritten => [proposer.at_each_loss(), overwrite::proposals(finding, sources)].concat(),
        Cause::FieldOverwritten => proposer.field_overwritten(),
        Cause::FieldMissed | Cause::FieldPassedOver => proposer.field_missed(),
        Cause::ResultIgnored => proposer.result_ignored(),
        Cause::Other => Vec::new(),
    };
    let mut distinct: Vec<Proposal> = Vec::new();
    for proposal in all {
        if !distinct.iter().any(|known| known.patch == proposal.patch) {
            distinct.push(proposal);
        }
    }
    distinct
}

struct Proposer<'a> {
    finding: &'a Finding,
    sources: &'a Sources,
}

impl Proposer<'_> {
    fn proposal(&self, what: &str, edits: Vec<Edit>, frees_callers: bool) -> Option<Proposal> {
        let patch = Patch::new(edits)?;
        let finding = self.finding.fingerprint.clone();
        let lines = self.finding.loss.line;
        (!patch.is_empty()).then(|| Proposal {
            finding,
            title: format!("insert `{}` before line {lines}", what.trim_end_matches(';')),
            patch,
            frees_callers,
        })
    }

    /// The memory is released wherever it is lost.
    fn at_each_loss(&self) -> Vec<Proposal> {
        let releases = releases(self.finding, self.finding.variable.as_deref(), self.sources);
        let of = |statement: &String| {
            let others = self.finding.also_lost_at.iter().map(|other| &other.site);
            let mut edits = Vec::new();
            for site in [&self.finding.loss].into_iter().chain(others) {
                edits.extend(self.before_loss(site, statement)?);
            }
            self.proposal(statement, edits, false)
        };
        releases.iter().filter_map(of).collect()
    }

    /// Releases it before the statement that loses it.
    fn before_loss(&self, site: &Site, statement: &str) -> Option<Vec<Edit>> {
        let file = self.sources.get(&site.file)?;
        let code = Code::new(&file);
        let at = code.token_at(&file, site.line, site.column)?;
        let mut lines = vec![statement.to_owned()];
        if code.word(at) == b"}" {
            return Some(insert::before_brace(&code, &site.file, at, &lines));
        }
        let lost = code.statement(at)?;
        // Freed first and used then is no fix.
        let name = self.finding.variable.as_deref().and_then(|name| name.split(['.', '-', '>', '[']).next());
        let is_used = name.is_some_and(|name| code.mentions(lost.first + 1..lost.last, name));
        let is_exit = matches!(code.word(lost.first), b"return" | b"goto" | b"break" | b"continue");
        let is_made_from_it = overwrite::left_side(&code, lost).is_some_and(|(left, equals)| {
            let name = left.rsplit(['.', '>', '*']).next().unwrap_or_default();
            code.mentions(equals + 1..lost.last, name)
        });
        if (is_exit && is_used) || is_made_from_it {
            return None;
        }
        // The call that sets it may fail, and leave it as it was.
        let variable = self.finding.variable.as_deref().filter(|name| is_expression(name));
        if self.finding.cause == Cause::Overwritten && overwrite::left_side(&code, lost).is_none() {
            lines.push(format!("{} = NULL;", variable?));
        }
        Some(insert::before(&code, &site.file, lost, &lines))
    }

    /// At the end of the loop's body, or before the next allocation.
    fn next_iteration(&self) -> Vec<Proposal> {
        let site = &self.finding.loss;
        let Some(file) = self.sources.get(&site.file) else { return Vec::new() };
        let code = Code::new(&file);
        let Some(at) = code.token_at(&file, site.line, site.column) else { return Vec::new() };
        let mut all = Vec::new();
        for statement in releases(self.finding, self.finding.variable.as_deref(), self.sources) {
            let lines = [statement.clone()];
            // A call that fails may leave the variable as the iteration before has left it: freed.
            let name = self.finding.variable.as_deref().unwrap_or_default();
            let end = code.loop_end(at).filter(|brace| each_time::is_set(&code, *brace, name));
            let at_end = end.map(|brace| insert::before_brace(&code, &site.file, brace, &lines));
            let first = code.start(at).filter(|_| self.is_assigned(&code, at));
            let before = first.and_then(|first| insert::before_start(&code, &site.file, first, &lines));
            for edits in [at_end, before].into_iter().flatten() {
                all.extend(self.proposal(&statement, edits, false));
            }
        }
        all
    }

    /// Whether the statement at a place assigns the variable, so that it has a new value whatever happens.
    fn is_assigned(&self, code: &Code<'_>, at: usize) -> bool {
        let left = code.statement(at).and_then(|statement| overwrite::left_side(code, statement));
        left.is_some_and(|(left, _)| Some(left.as_str()) == self.finding.variable.as_deref())
    }

    /// `x->f = new;`: what the field held is released first.
    fn field_overwritten(&self) -> Vec<Proposal> {
        let site = &self.finding.loss;
        let found = self.sources.get(&site.file).and_then(|file| {
            let code = Code::new(&file);
            let at = code.token_at(&file, site.line, site.column)?;
            let statement = code.statement(at)?;
            let (left, equals) = overwrite::left_side(&code, statement)?;
            let name = left.rsplit(['.', '>']).next()?;
            if code.mentions(equals + 1..statement.last, name) {
                return None;
            }
            let release = by_family(&self.finding.family, &left)?;
            let edits = insert::before(&code, &site.file, statement, std::slice::from_ref(&release));
            self.proposal(&release, edits, true)
        });
        found.into_iter().collect()
    }

    /// The field that a destructor misses.
    fn field_missed(&self) -> Vec<Proposal> {
        let site = &self.finding.loss;
        let Some(field) = self.finding.variable.as_deref().and_then(|name| name.rsplit('.').next()) else {
            return Vec::new();
        };
        let Some(file) = self.sources.get(&site.file) else { return Vec::new() };
        let code = Code::new(&file);
        let Some((statement, member)) = member(&code, &file, site, field, self.finding.cause) else {
            return Vec::new();
        };
        let Some(release) = by_family(&self.finding.family, &member) else { return Vec::new() };
        let reset = format!("{member} = NULL;");
        let mut all = Vec::new();
        for lines in [vec![release.clone()], vec![release.clone(), reset]] {
            let edits = insert::before(&code, &site.file, statement, &lines);
            all.extend(self.proposal(&release, edits, true));
        }
        all
    }

    /// `make();` becomes `free(make());`.
    fn result_ignored(&self) -> Vec<Proposal> {
        let site = &self.finding.allocation.site;
        let found = self.sources.get(&site.file).and_then(|file| {
            let code = Code::new(&file);
            let at = code.token_at(&file, site.line, site.column)?;
            let statement = code.statement(at)?;
            let call = code.quote(statement.first, statement.last)?;
            let is_call = code.is_name(statement.first)
                && code.word(statement.first + 1) == b"("
                && code.partner(statement.first + 1).is_some_and(|close| close + 1 == statement.last);
            let wrapped = by_family(&self.finding.family, &call).filter(|text| is_call && !text.starts_with("if "))?;
            let (start, end) = (code.tokens[statement.first].start, code.tokens[statement.last].end);
            self.proposal(&wrapped, vec![Edit { file: site.file.clone(), start, end, text: wrapped.clone() }], false)
        });
        found.into_iter().collect()
    }
}

/// The statement at a place, and the field of what it frees: `free(x);` and `x->field`.
fn member(
    code: &Code<'_>,
    file: &SourceFile,
    site: &Site,
    field: &str,
    cause: Cause,
) -> Option<(crate::code::Statement, String)> {
    let at = code.token_at(file, site.line, site.column)?;
    let statement = code.statement(at)?;
    let argument = match code.word(statement.first) {
        b"delete" => code.quote(statement.first + 1, statement.last)?,
        _ => {
            let open = (statement.first..statement.last).find(|at| code.word(*at) == b"(")?;
            code.quote(open + 1, code.partner(open)?)?
        }
    };
    let argument = match cause {
        // The place is where another field of the structure is freed.
        Cause::FieldPassedOver => {
            let end = argument.rfind("->").or_else(|| argument.rfind('.'))?;
            let (base, rest) = argument.split_at(end);
            return is_expression(base)
                .then(|| (statement, format!("{base}{}{field}", if rest.starts_with('.') { "." } else { "->" })));
        }
        _ => argument,
    };
    let member = match argument.strip_prefix('&') {
        Some(variable) => format!("{variable}.{field}"),
        None => format!("{argument}->{field}"),
    };
    is_expression(&member).then_some((statement, member))
}
