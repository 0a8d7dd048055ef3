//! Z3 behind a safe face: one context and one solver, terms translated once, push and pop around each question.
//!
//! Where terms have no value (a wrap that is ruled out, a zero divisor) the facts do not hold, so for every operand a fact
//! surely depends on, the condition for having a value is asserted with it.

use std::ptr;
use std::sync::Mutex;

use rustc_hash::FxHashMap;
use z3_sys::*;

use crate::facts::Answer;
use crate::node::{BinaryOp, Comparison, NoWrap, Node, SymbolId, TermId};
use crate::pool::TermPool;

/// Z3 4.8 sets up memory shared by all contexts when one is made or dropped; only that needs care between threads.
static CONTEXT_LIFETIME: Mutex<()> = Mutex::new(());

/// One Z3 context with one solver, for the terms of one pool.
pub(crate) struct Session {
    context: Z3_context,
    solver: Z3_solver,
    terms: FxHashMap<TermId, Z3_ast>,
}

// SAFETY: a context may be used from any thread, by one at a time, and nothing of it leaves the session.
unsafe impl Send for Session {}

impl Session {
    pub(crate) fn new(rlimit: u32) -> Session {
        let guard = CONTEXT_LIFETIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // SAFETY: plain construction in the order the manual asks for. The context counts references; the solver's is taken
        // here and given back in `drop`. Without an error handler, errors come back as null.
        let (context, solver) = unsafe {
            let config = Z3_mk_config();
            let context = Z3_mk_context_rc(config);
            Z3_del_config(config);
            Z3_set_error_handler(context, None);
            let solver = Z3_mk_simple_solver(context);
            Z3_solver_inc_ref(context, solver);
            let parameters = Z3_mk_params(context);
            Z3_params_inc_ref(context, parameters);
            Z3_params_set_uint(context, parameters, Z3_mk_string_symbol(context, c"rlimit".as_ptr()), rlimit);
            Z3_solver_set_params(context, solver, parameters);
            Z3_params_dec_ref(context, parameters);
            (context, solver)
        };
        drop(guard);
        Session { context, solver, terms: FxHashMap::default() }
    }

    /// Whether all literals can hold, and if so values of the symbols asked for.
    pub(crate) fn check(&mut self, pool: &TermPool, literals: &[TermId], symbols: &[SymbolId]) -> (Answer, Vec<u64>) {
        let mut assertions = Vec::with_capacity(literals.len());
        for &literal in literals {
            let Some(ast) = self.translate(pool, literal) else { return (Answer::Unknown, Vec::new()) };
            assertions.push(ast);
            self.value_conditions(pool, literal, &mut assertions);
        }
        // SAFETY: the assertions are terms of this context, kept alive by `terms` or by the count `keep` took.
        let answer = unsafe {
            Z3_solver_push(self.context, self.solver);
            for ast in assertions {
                Z3_solver_assert(self.context, self.solver, ast);
            }
            match Z3_solver_check(self.context, self.solver) {
                Z3_L_TRUE => Answer::Sat,
                Z3_L_FALSE => Answer::Unsat,
                _ => Answer::Unknown,
            }
        };
        let values = if answer == Answer::Sat { self.values(pool, symbols) } else { Vec::new() };
        // SAFETY: undoes the push above.
        unsafe { Z3_solver_pop(self.context, self.solver, 1) };
        (answer, values)
    }

    fn values(&mut self, pool: &TermPool, symbols: &[SymbolId]) -> Vec<u64> {
        let asts: Vec<_> = symbols.iter().map(|&s| self.translate(pool, pool.symbol_term(s))).collect();
        // SAFETY: the model is held while it is read; what evaluation gives is read before anything else is made.
        unsafe {
            let model = Z3_solver_get_model(self.context, self.solver);
            if model.is_null() {
                return Vec::new();
            }
            Z3_model_inc_ref(self.context, model);
            let values = asts.into_iter().map(|ast| self.value(model, ast?)).map(Option::unwrap_or_default).collect();
            Z3_model_dec_ref(self.context, model);
            values
        }
    }

    /// # Safety
    /// `model` and `ast` belong to this context and are alive.
    unsafe fn value(&self, model: Z3_model, ast: Z3_ast) -> Option<u64> {
        // SAFETY: as the caller promises; what evaluation gives is held while it is read.
        unsafe {
            let mut result: Z3_ast = ptr::null_mut();
            if !Z3_model_eval(self.context, model, ast, true, &mut result) || result.is_null() {
                return None;
            }
            Z3_inc_ref(self.context, result);
            let mut value = 0u64;
            let found = match Z3_get_bool_value(self.context, result) {
                Z3_L_TRUE => Some(1),
                Z3_L_FALSE => Some(0),
                _ => Z3_get_numeral_uint64(self.context, result, &mut value).then_some(value),
            };
            Z3_dec_ref(self.context, result);
            found
        }
    }

    /// Terms live as long as the context: they are few, and asked again and again.
    fn keep(&self, ast: Z3_ast) -> Option<Z3_ast> {
        if ast.is_null() {
            return None;
        }
        // SAFETY: a term this context just made.
        unsafe { Z3_inc_ref(self.context, ast) };
        Some(ast)
    }

    fn translate(&mut self, pool: &TermPool, term: TermId) -> Option<Z3_ast> {
        if let Some(&ast) = self.terms.get(&term) {
            return Some(ast);
        }
        let width = pool.width(term);
        let operands = pool.node(term).operands();
        let mut o = [ptr::null_mut(); 3];
        for (slot, &operand) in o.iter_mut().zip(&operands) {
            *slot = self.translate(pool, operand)?;
        }
        let c = self.context;
        // SAFETY: all operands are live terms of this context, of the sorts the pool's widths say.
        let ast = unsafe {
            match pool.node(term) {
                Node::Const(value) if width == 1 => {
                    if value != 0 {
                        Z3_mk_true(c)
                    } else {
                        Z3_mk_false(c)
                    }
                }
                Node::Const(value) => self.number(value, width),
                Node::Symbol(symbol) => {
                    let sort = if width == 1 { Z3_mk_bool_sort(c) } else { Z3_mk_bv_sort(c, width as u32) };
                    Z3_mk_const(c, Z3_mk_int_symbol(c, symbol.0 as i32), sort)
                }
                Node::Not(_) => Z3_mk_not(c, o[0]),
                Node::Binary(BinaryOp::And, ..) if width == 1 => Z3_mk_and(c, 2, o.as_ptr()),
                Node::Binary(..) if width == 1 => Z3_mk_xor(c, o[0], o[1]),
                Node::Binary(op, ..) => binary_function(op)(c, o[0], o[1]),
                Node::Compare(Comparison::Eq, ..) => Z3_mk_eq(c, o[0], o[1]),
                Node::Compare(Comparison::Ult, ..) => Z3_mk_bvult(c, o[0], o[1]),
                Node::Compare(Comparison::Slt, ..) => Z3_mk_bvslt(c, o[0], o[1]),
                Node::ZExt(a) if pool.width(a) == 1 => Z3_mk_ite(c, o[0], self.number(1, width), self.number(0, width)),
                Node::SExt(a) if pool.width(a) == 1 => {
                    Z3_mk_ite(c, o[0], self.number(u64::MAX, width), self.number(0, width))
                }
                Node::ZExt(a) => Z3_mk_zero_ext(c, (width - pool.width(a)) as u32, o[0]),
                Node::SExt(a) => Z3_mk_sign_ext(c, (width - pool.width(a)) as u32, o[0]),
                Node::Trunc(_) => Z3_mk_extract(c, width as u32 - 1, 0, o[0]),
                Node::Ite(..) => Z3_mk_ite(c, o[0], o[1], o[2]),
            }
        };
        let ast = self.keep(ast)?;
        self.terms.insert(term, ast);
        Some(ast)
    }

    fn number(&self, value: u64, width: u8) -> Z3_ast {
        // SAFETY: the sort is made here; the number is kept, so that it lives until it is used.
        unsafe {
            let sort = Z3_mk_bv_sort(self.context, width as u32);
            let ast = Z3_mk_unsigned_int64(self.context, value & crate::bits::mask(width), sort);
            self.keep(ast).unwrap_or(ptr::null_mut())
        }
    }

    /// Adds the conditions under which everything the term surely depends on has a value.
    fn value_conditions(&mut self, pool: &TermPool, term: TermId, out: &mut Vec<Z3_ast>) {
        let width = pool.width(term);
        match pool.node(term) {
            Node::Binary(BinaryOp::And, ..) if width == 1 => return,
            Node::Ite(c, _, _) => return self.value_conditions(pool, c, out),
            Node::Binary(op, no_wrap, a, b) if width > 1 => {
                if let (Some(a), Some(b)) = (self.translate(pool, a), self.translate(pool, b)) {
                    let conditions = self.operation_conditions(op, no_wrap, a, b, width);
                    out.extend(conditions);
                }
            }
            _ => {}
        }
        for operand in pool.node(term).operands() {
            self.value_conditions(pool, operand, out);
        }
    }

    fn operation_conditions(&self, op: BinaryOp, no_wrap: NoWrap, a: Z3_ast, b: Z3_ast, width: u8) -> Vec<Z3_ast> {
        let c = self.context;
        let mut conditions = Vec::new();
        // Kept at once: Z3 lets go of a term without a reference when the next one is made.
        let mut add = |ast| conditions.extend(self.keep(ast));
        // SAFETY: `a` and `b` are live bit-vectors of this context and of this width.
        unsafe {
            match op {
                BinaryOp::Add => {
                    if no_wrap.signed {
                        add(Z3_mk_bvadd_no_overflow(c, a, b, true));
                        add(Z3_mk_bvadd_no_underflow(c, a, b));
                    }
                    if no_wrap.unsigned {
                        add(Z3_mk_bvadd_no_overflow(c, a, b, false));
                    }
                }
                BinaryOp::Sub => {
                    if no_wrap.signed {
                        add(Z3_mk_bvsub_no_overflow(c, a, b));
                        add(Z3_mk_bvsub_no_underflow(c, a, b, true));
                    }
                    if no_wrap.unsigned {
                        add(Z3_mk_bvsub_no_underflow(c, a, b, false));
                    }
                }
                BinaryOp::Mul => {
                    if no_wrap.signed {
                        add(Z3_mk_bvmul_no_overflow(c, a, b, true));
                        add(Z3_mk_bvmul_no_underflow(c, a, b));
                    }
                    if no_wrap.unsigned {
                        add(Z3_mk_bvmul_no_overflow(c, a, b, false));
                    }
                }
                BinaryOp::UDiv | BinaryOp::URem | BinaryOp::SDiv | BinaryOp::SRem => {
                    add(Z3_mk_not(c, Z3_mk_eq(c, b, self.number(0, width))));
                    if matches!(op, BinaryOp::SDiv | BinaryOp::SRem) {
                        add(Z3_mk_bvsdiv_no_overflow(c, a, b));
                    }
                }
                BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr => {
                    add(Z3_mk_bvult(c, b, self.number(width as u64, width)));
                }
                BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {}
            }
        }
        conditions
    }
}

fn binary_function(op: BinaryOp) -> unsafe extern "C" fn(Z3_context, Z3_ast, Z3_ast) -> Z3_ast {
    match op {
        BinaryOp::Add => Z3_mk_bvadd,
        BinaryOp::Sub => Z3_mk_bvsub,
        BinaryOp::Mul => Z3_mk_bvmul,
        BinaryOp::UDiv => Z3_mk_bvudiv,
        BinaryOp::SDiv => Z3_mk_bvsdiv,
        BinaryOp::URem => Z3_mk_bvurem,
        BinaryOp::SRem => Z3_mk_bvsrem,
        BinaryOp::Shl => Z3_mk_bvshl,
        BinaryOp::LShr => Z3_mk_bvlshr,
        BinaryOp::AShr => Z3_mk_bvashr,
        BinaryOp::And => Z3_mk_bvand,
        BinaryOp::Or => Z3_mk_bvor,
        BinaryOp::Xor => Z3_mk_bvxor,
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _guard = CONTEXT_LIFETIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // SAFETY: nothing of the context is used after this.
        unsafe {
            Z3_solver_dec_ref(self.context, self.solver);
            Z3_del_context(self.context);
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("terms", &self.terms.len()).finish_non_exhaustive()
    }
}
