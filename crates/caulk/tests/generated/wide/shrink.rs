//! Smaller functions with the same wrong answer, for messages.

use super::shape::{Function, Statement};

/// Everything that is one statement or one block smaller.
pub(crate) fn smaller(function: &Function) -> Vec<Function> {
    let bodies = blocks(&function.body).into_iter().map(|body| Function { body, ..function.clone() });
    let cleanups = blocks(&function.cleanup).into_iter().map(|cleanup| Function { cleanup, ..function.clone() });
    bodies.chain(cleanups).collect()
}

fn blocks(block: &[Statement]) -> Vec<Vec<Statement>> {
    let mut found = Vec::new();
    for (index, statement) in block.iter().enumerate() {
        let mut replace = |by: Vec<Statement>| {
            let mut shorter = block.to_vec();
            shorter.splice(index..=index, by);
            found.push(shorter);
        };
        replace(Vec::new());
        match statement {
            Statement::If(condition, then, other) => {
                replace(then.clone());
                replace(other.clone());
                for then in blocks(then) {
                    replace(vec![Statement::If(*condition, then, other.clone())]);
                }
                for other in blocks(other) {
                    replace(vec![Statement::If(*condition, then.clone(), other)]);
                }
            }
            Statement::Loop(bound, inner) => {
                // A `break` needs its loop.
                for inner in blocks(inner) {
                    replace(vec![Statement::Loop(*bound, inner)]);
                }
            }
            Statement::Do(_) | Statement::Break | Statement::Goto | Statement::Return => {}
        }
    }
    found
}
