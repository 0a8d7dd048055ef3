//! Calls of the function that a plan may decide, one by one: also of functions of the same unit, which the linker cannot come between.
//!
//! The function's own unit is compiled to assembly, and such a call goes to a small piece of code that asks `runtime.c` (`caulk_site`). That
//! says what the call returns, or the piece jumps to the function, with all registers and the stack as they were.

use std::collections::BTreeMap;
use std::fmt::Write;

/// A call in the source of the function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The linker's name of what is called; None through a pointer.
    pub symbol: Option<String>,
    pub line: u32,
    pub column: u32,
    /// Among those with the same name and place, from 0: macros.
    pub nth: u32,
}

/// Registers that pass arguments, as `caulk_site` finds them, and two that calls need: `%al` counts floating-point arguments, `%r11` is where a
/// pointer leads.
const KEPT: [&str; 8] = ["%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9", "%rax", "%r11"];
const KEPT_FLOATS: usize = 8;
const FLOAT_BYTES: usize = 16;
const WORD_BYTES: usize = 8;
const FRAME_BYTES: usize = KEPT.len() * WORD_BYTES + KEPT_FLOATS * FLOAT_BYTES;

/// A place in the source of the function, which notes that a run came there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    pub line: u32,
    pub column: u32,
}

/// The assembly of a unit in which calls of one function are redirected, and places of that function are noted when they are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirected {
    pub assembly: String,
    /// By their number in the report of a run.
    pub marks: Vec<Mark>,
}

/// The assembly with the calls of `function` at these sites redirected. Sites have numbers; those that are not found stay as they are. None where the
/// assembly is not that of a known machine or has no such function.
pub(crate) fn redirected(assembly: &str, function: &str, sites: &[(usize, &Site)]) -> Option<Redirected> {
    if !assembly.contains("\tcallq\t") {
        return None;
    }
    let label = format!("{function}:");
    let wanted: BTreeMap<&Site, usize> = sites.iter().map(|(number, site)| (*site, *number)).collect();
    let mut text = String::with_capacity(assembly.len() + (sites.len() << 9));
    let mut pieces = String::new();
    let mut met: BTreeMap<(Option<&str>, u32, u32), u32> = BTreeMap::new();
    let (mut is_inside, mut is_found, mut is_inline) = (false, false, false);
    let (mut line_number, mut column) = (0, 0);
    let mut marks = Marks::default();
    for line in assembly.lines() {
        if line.split_whitespace().next() == Some(label.as_str()) {
            (is_inside, is_found) = (true, true);
            text.push_str("\t.globl\tcaulk_target_begin\ncaulk_target_begin:\n");
        } else if is_inside && line.starts_with(".Lfunc_end") {
            is_inside = false;
            text.push_str("\t.globl\tcaulk_target_end\ncaulk_target_end:\n");
        }
        match line.trim() {
            "#APP" => is_inline = true,
            "#NO_APP" => is_inline = false,
            _ => {}
        }
        if let Some(place) = location(line) {
            (line_number, column) = (place.mark.line, place.mark.column);
            text.push_str(line);
            text.push('\n');
            if is_inside {
                marks.add(place, &mut text);
            }
            continue;
        }
        if is_inside && line.trim() == ".cfi_startproc" {
            marks.is_open = true;
        }
        let called = line.strip_prefix("\tcallq\t").filter(|_| is_inside && !is_inline).and_then(target);
        if let Some(called) = called {
            let nth = met.entry((called.symbol, line_number, column)).or_default();
            let symbol = called.symbol.map(str::to_owned);
            let site = Site { symbol, line: line_number, column, nth: *nth };
            *nth += 1;
            if let Some(number) = wanted.get(&site) {
                called.load.iter().for_each(|from| _ = writeln!(text, "\tmovq\t{from}, %r11"));
                let _ = writeln!(text, "\tcallq\tcaulk_site_{number}");
                add_piece(&mut pieces, *number, called.jump);
                continue;
            }
        }
        text.push_str(line);
        text.push('\n');
    }
    text.push_str("\t.text\n");
    text.push_str(&pieces);
    marks.define(&mut text);
    is_found.then_some(Redirected { assembly: text, marks: marks.all })
}

/// The places of one function.
#[derive(Default)]
struct Marks {
    all: Vec<Mark>,
    numbers: BTreeMap<Mark, usize>,
    /// The number of the function's own file: macros and inlined code of others are not of interest.
    file: Option<u32>,
    /// Instructions may be added: the function has begun.
    is_open: bool,
}

impl Marks {
    /// Adds the instruction that notes a place. It changes neither registers nor flags, so it may stand between any two others.
    fn add(&mut self, place: Location, text: &mut String) {
        let own = *self.file.get_or_insert(place.file);
        if !self.is_open || own != place.file || place.mark.line == 0 {
            return;
        }
        let next = self.all.len();
        let number = *self.numbers.entry(place.mark).or_insert(next);
        if number == next {
            self.all.push(place.mark);
        }
        let _ = writeln!(text, "\tmovb\t$1, caulk_reached+{number}(%rip)");
    }

    fn define(&self, text: &mut String) {
        let count = self.all.len();
        let _ = writeln!(text, "\t.bss\n\t.globl\tcaulk_reached\ncaulk_reached:\n\t.zero\t{}", count.max(1));
        let _ = writeln!(
            text,
            "\t.data\n\t.globl\tcaulk_reached_count\n\t.p2align\t2\ncaulk_reached_count:\n\t.long\t{count}"
        );
    }
}

#[derive(Clone, Copy)]
struct Location {
    file: u32,
    mark: Mark,
}

/// Line and column of `.loc 1 25 7 prologue_end`.
fn location(line: &str) -> Option<Location> {
    let mut words = line.trim_start().strip_prefix(".loc\t")?.split_whitespace();
    let mut number = || words.next()?.parse().ok();
    Some(Location { file: number()?, mark: Mark { line: number()?, column: number()? } })
}

/// What a call instruction calls.
struct Called<'a> {
    symbol: Option<&'a str>,
    /// Where the address comes from, through a pointer.
    load: Option<&'a str>,
    /// Where the piece jumps to.
    jump: &'a str,
}

fn target(operand: &str) -> Option<Called<'_>> {
    let operand = operand.split('#').next()?.trim();
    let Some(pointer) = operand.strip_prefix('*') else {
        let symbol = operand.split('@').next().filter(|name| !name.contains('"'))?;
        return Some(Called { symbol: Some(symbol), load: None, jump: operand });
    };
    // `-fno-plt` calls functions by name through a table.
    let symbol = pointer.split_once("@GOTPCREL").map(|(name, _)| name);
    // The stack pointer is another one when the piece has been called.
    Some(Called { symbol, load: Some(pointer), jump: "*%r11" })
}

fn add_piece(text: &mut String, number: usize, jump: &str) {
    let _ = writeln!(text, "caulk_site_{number}:\n\t.cfi_startproc");
    text.push_str("\tpushq\t%rbp\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbp, -16\n");
    text.push_str("\tmovq\t%rsp, %rbp\n\t.cfi_def_cfa_register %rbp\n");
    let _ = writeln!(text, "\tsubq\t${FRAME_BYTES}, %rsp");
    for_registers(|register, offset| _ = writeln!(text, "\tmovq\t{register}, {offset}(%rsp)"));
    for_floats(|register, offset| _ = writeln!(text, "\tmovups\t{register}, {offset}(%rsp)"));
    let _ = writeln!(text, "\tmovl\t${number}, %edi\n\tmovq\t%rsp, %rsi\n\tcallq\tcaulk_site@PLT");
    let _ = writeln!(text, "\ttestq\t%rax, %rax\n\tjne\t.Lcaulk_decided_{number}");
    for_floats(|register, offset| _ = writeln!(text, "\tmovups\t{offset}(%rsp), {register}"));
    for_registers(|register, offset| _ = writeln!(text, "\tmovq\t{offset}(%rsp), {register}"));
    text.push_str("\t.cfi_remember_state\n\tleave\n\t.cfi_def_cfa %rsp, 8\n\t.cfi_restore %rbp\n");
    let _ = writeln!(text, "\tjmp\t{jump}\n\t.cfi_restore_state\n.Lcaulk_decided_{number}:");
    // A structure in two registers, and one that the caller made room for: as little as a stub can say.
    text.push_str("\tmovq\t(%rsp), %rax\n\txorl\t%edx, %edx\n\txorps\t%xmm0, %xmm0\n");
    text.push_str("\tleave\n\t.cfi_def_cfa %rsp, 8\n\t.cfi_restore %rbp\n\tretq\n\t.cfi_endproc\n");
}

fn for_registers(mut each: impl FnMut(&str, usize)) {
    KEPT.iter().enumerate().for_each(|(at, register)| each(register, at * WORD_BYTES));
}

fn for_floats(mut each: impl FnMut(&str, usize)) {
    (0..KEPT_FLOATS).for_each(|at| each(&format!("%xmm{at}"), KEPT.len() * WORD_BYTES + at * FLOAT_BYTES));
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASSEMBLY: &str = "other:\n\t.loc\t1 3 9\n\tcallq\tg@PLT\n.Lfunc_end0:\nf:                 # @f\n\t.loc\t1 7 9 prologue_end\n\
                            \tcallq\tg@PLT\n\tcallq\tg@PLT\n\t.loc\t1 8 2\n\tcallq\t*-8(%rbp)\n\tcallq\th\n.Lfunc_end1:\n";

    fn site(symbol: Option<&str>, line: u32, column: u32, nth: u32) -> Site {
        Site { symbol: symbol.map(str::to_owned), line, column, nth }
    }

    #[test]
    fn calls_of_one_function_are_redirected() {
        let (second, pointer) = (site(Some("g"), 7, 9, 1), site(None, 8, 2, 0));
        let text = redirected(ASSEMBLY, "f", &[(4, &second), (5, &pointer)]).expect("the function is there").assembly;
        let calls: Vec<&str> = text.lines().filter(|line| line.starts_with("\tcallq\t")).take(5).collect();
        let expected = ["g@PLT", "g@PLT", "caulk_site_4", "caulk_site_5", "h"];
        assert_eq!(calls, expected.map(|name| format!("\tcallq\t{name}")));
        assert!(text.contains("\tmovq\t-8(%rbp), %r11\n\tcallq\tcaulk_site_5"));
        assert!(text.contains("\tjmp\tg@PLT\n") && text.contains("\tjmp\t*%r11\n"));
        assert!(text.contains("caulk_target_begin:\nf:") && text.contains("caulk_target_end:\n.Lfunc_end1:"));
    }

    #[test]
    fn places_of_one_function_are_noted() {
        let assembly = ASSEMBLY
            .replace("# @f\n", "# @f\n\t.loc\t1 6 0\n\t.cfi_startproc\n")
            .replace("\tcallq\th\n", "\t.loc\t2 90 1\n\tcallq\th\n\t.loc\t1 7 9\n\tjne\t.LBB0_1\n");
        let Redirected { assembly, marks } = redirected(&assembly, "f", &[]).expect("the function is there");
        assert_eq!(marks, [Mark { line: 7, column: 9 }, Mark { line: 8, column: 2 }]);
        let first = "\tmovb\t$1, caulk_reached+0(%rip)\n";
        assert!(assembly.contains(&format!("\t.loc\t1 7 9\n{first}\tjne\t")), "it stands before the jump too");
        assert!(!assembly.contains(&format!("\t.loc\t1 3 9\n{first}")), "other functions are left alone");
        assert!(assembly.contains("caulk_reached:\n\t.zero\t2\n"));
    }

    #[test]
    fn other_machines_and_functions_have_no_sites() {
        assert_eq!(redirected("f:\n\tbl\tg\n.Lfunc_end0:\n", "f", &[]), None);
        assert_eq!(redirected(ASSEMBLY, "absent", &[]), None);
    }
}
