//! The statement that gives memory back: as another path of the function does it, or as its family is freed.

use caulk_report::source::Sources;
use caulk_report::{Finding, Site};

use crate::code::Code;

/// The statements that could release what an expression points to, the best first.
pub(crate) fn releases(finding: &Finding, expression: Option<&str>, sources: &Sources) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |statement: Option<String>| all.extend(statement.filter(|s| !s.is_empty()));
    // What the other path frees is named there as this path names it, unless it is reached in another way.
    let guarded = |statement: String| match expression.filter(|e| is_expression(e) && needs_something(&finding.family))
    {
        Some(expression) => format!("if ({expression}) {statement}"),
        None => statement,
    };
    add(finding.freed_at.as_ref().and_then(|site| example(site, sources)).map(guarded));
    if let Some(expression) = expression.filter(|e| is_expression(e)) {
        add(finding.freed_at.as_ref().and_then(|site| renamed(site, expression, sources)));
        add(by_family(&finding.family, expression));
    }
    // What held it last may point into the middle of it: what it was first assigned to does not.
    if expression.is_some() {
        add(assigned(finding, sources).and_then(|name| by_family(&finding.family, &name)));
    }
    let mut distinct: Vec<String> = Vec::new();
    for statement in all {
        if !distinct.contains(&statement) {
            distinct.push(statement);
        }
    }
    distinct
}

/// What the result of the allocating call is assigned to: `p` in `char *p = malloc(n);`.
fn assigned(finding: &Finding, sources: &Sources) -> Option<String> {
    let site = &finding.allocation.site;
    let file = sources.get(&site.file).filter(|_| site.function == finding.loss.function)?;
    let code = Code::new(&file);
    let at = code.token_at(&file, site.line, site.column)?;
    let statement = code.statement(at)?;
    let equals = (statement.first..statement.last).find(|at| code.word(*at) == b"=")?;
    let mut first = equals.checked_sub(1).filter(|at| code.is_name(*at))?;
    while first >= statement.first + 2 && matches!(code.word(first - 1), b"." | b"->") && code.is_name(first - 2) {
        first -= 2;
    }
    code.quote(first, equals)
}

/// `free(x);` for a family. Families are named after what frees them.
pub(crate) fn by_family(family: &str, expression: &str) -> Option<String> {
    match family {
        "delete" => Some(format!("delete {expression};")),
        "delete[]" => Some(format!("delete[] {expression};")),
        "exception" => None,
        // 0 is a descriptor, and -1 is none.
        "close" => Some(format!("if ({expression} >= 0) close({expression});")),
        _ if needs_something(family) => Some(format!("if ({expression}) {family}({expression});")),
        name if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => Some(format!("{name}({expression});")),
        _ => None,
    }
}

/// Whether what frees a family does not take a null pointer.
fn needs_something(family: &str) -> bool {
    matches!(family, "fclose" | "closedir" | "pclose" | "close")
}

/// Whether the name of a holder is an expression that a compiler can read: `p`, `a->b`, `*out`; not `list[*]`.
pub(crate) fn is_expression(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '>' | '*' | '&');
    !name.is_empty() && name.chars().all(is_plain)
}

/// The call at a place, if it is a statement of its own: `strbuf_release(&sb);`.
fn example(site: &Site, sources: &Sources) -> Option<String> {
    let file = sources.get(&site.file)?;
    let code = Code::new(&file);
    let at = code.token_at(&file, site.line, site.column)?;
    let statement = code.statement(at)?;
    let is_delete = code.word(statement.first) == b"delete";
    let is_call = code.is_name(statement.first)
        && code.word(statement.first + 1) == b"("
        && code.partner(statement.first + 1).is_some_and(|close| close + 1 == statement.last)
        && !matches!(code.word(statement.first), b"if" | b"while" | b"for" | b"switch" | b"return");
    (is_delete || is_call).then(|| code.quote(statement.first, statement.last + 1))?
}

/// The same with another expression as its only argument.
fn renamed(site: &Site, expression: &str, sources: &Sources) -> Option<String> {
    let statement = example(site, sources)?;
    let (name, arguments) = statement.split_once('(')?;
    let is_single = !arguments.contains(',') && arguments.matches('(').count() == 0;
    is_single.then(|| format!("{name}({expression});"))
}
