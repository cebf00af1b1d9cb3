//! Operations on trees that are charged to a budget before they are done: copies, substitutions,
//! comparisons. Whatever grows with a tree and is done more than once for an answer belongs here;
//! a loop over copies would otherwise take quadratic time and memory.

use std::mem::discriminant;

use super::{Expr, Name};
use crate::budget::{Budget, Exhausted};

/// Bytes of a node: itself in the list of its parent, and the header and slack of its own list.
pub(crate) const NODE_BYTES: u64 = size_of::<Expr>() as u64 + 32;

/// Steps of copying and dropping a node: two calls of the allocator.
const COPY_STEPS: u64 = 4;

/// Nodes that are compared in one step.
const COMPARED_NODES: u64 = 4;

/// Bytes of a node beyond [`NODE_BYTES`], without those of its children.
pub(crate) fn extra_bytes(expr: &Expr) -> u64 {
    match expr {
        Expr::Number(value) => value.bits() / 8,
        Expr::Symbol(name)
        | Expr::Apply(name, _)
        | Expr::Quantity(_, name)
        | Expr::Based(name, _)
        | Expr::Bound(_, name, _)
        | Expr::Word(name)
        | Expr::Text(name)
        | Expr::Choice(_, name)
        | Expr::Huge(name) => name.len() as u64,
        Expr::Where(_, condition) => condition.bytes(),
        _ => 0,
    }
}

/// Charges one copy of a tree.
pub(crate) fn charge_copy(expr: &Expr, budget: &Budget) -> Result<(), Exhausted> {
    let extra = extra_bytes(expr);
    budget.charge(COPY_STEPS + extra / 64)?;
    budget.charge_bytes(NODE_BYTES + extra)?;
    expr.children()
        .try_for_each(|child| charge_copy(child, budget))
}

/// A copy of a tree.
pub(crate) fn copied(expr: &Expr, budget: &Budget) -> Result<Expr, Exhausted> {
    charge_copy(expr, budget)?;
    Ok(expr.clone())
}

/// Copies of trees.
pub(crate) fn all_copied(items: &[Expr], budget: &Budget) -> Result<Vec<Expr>, Exhausted> {
    items.iter().map(|item| copied(item, budget)).collect()
}

/// Charges `steps` for each node of a tree, for a function that visits every one.
pub(crate) fn charge_visit(expr: &Expr, steps: u64, budget: &Budget) -> Result<(), Exhausted> {
    budget.charge(steps)?;
    expr.children()
        .try_for_each(|child| charge_visit(child, steps, budget))
}

/// The same tree with every free occurrence of a name replaced by what `value` returns for it.
pub(crate) fn substituted<'v>(
    expr: &Expr,
    value: &dyn Fn(&str) -> Option<&'v Expr>,
    budget: &Budget,
) -> Result<Expr, Exhausted> {
    Substitution { value, budget }.apply(expr, &mut Vec::new())
}

/// The same tree with every free occurrence of one name replaced.
pub(crate) fn replaced(
    expr: &Expr,
    name: &str,
    value: &Expr,
    budget: &Budget,
) -> Result<Expr, Exhausted> {
    substituted(expr, &|own| (own == name).then_some(value), budget)
}

struct Substitution<'a, 'v> {
    value: &'a dyn Fn(&str) -> Option<&'v Expr>,
    budget: &'a Budget,
}

impl Substitution<'_, '_> {
    /// Names in `hidden` are bound, so they are not replaced.
    fn apply(&self, expr: &Expr, hidden: &mut Vec<Name>) -> Result<Expr, Exhausted> {
        let extra = extra_bytes(expr);
        self.budget.charge(COPY_STEPS + extra / 64)?;
        self.budget.charge_bytes(NODE_BYTES + extra)?;
        match expr {
            Expr::Symbol(name) => {
                self.budget.charge(hidden.len() as u64 / 8)?;
                match (self.value)(name).filter(|_| !hidden.contains(name)) {
                    Some(value) => copied(value, self.budget),
                    None => Ok(expr.clone()),
                }
            }
            // The ends are outside of the scope of the bound variable.
            Expr::Bound(binder, name, parts) => {
                let mut all = Vec::with_capacity(parts.len());
                let body = parts.len().saturating_sub(1);
                for (at, part) in parts.iter().enumerate() {
                    if at == body {
                        hidden.push(name.clone());
                    }
                    all.push(self.apply(part, hidden)?);
                }
                if !parts.is_empty() {
                    hidden.pop();
                }
                Ok(Expr::Bound(*binder, name.clone(), all))
            }
            other => other.try_map_children(&mut |child| self.apply(child, hidden)),
        }
    }
}

/// Whether two trees are identical.
pub(crate) fn identical(a: &Expr, b: &Expr, budget: &Budget) -> Result<bool, Exhausted> {
    compare(a, b, &mut 0, budget)
}

fn compare(a: &Expr, b: &Expr, compared: &mut u64, budget: &Budget) -> Result<bool, Exhausted> {
    *compared += 1;
    if compared.is_multiple_of(COMPARED_NODES) {
        budget.charge(1)?;
    }
    if !same_head(a, b) {
        return Ok(false);
    }
    let (mut own, mut others) = (a.children(), b.children());
    loop {
        match (own.next(), others.next()) {
            (Some(a), Some(b)) => {
                if !compare(a, b, compared, budget)? {
                    return Ok(false);
                }
            }
            (None, None) => return Ok(true),
            _ => return Ok(false),
        }
    }
}

/// Whether two nodes are the same up to their children.
pub(crate) fn same_head(a: &Expr, b: &Expr) -> bool {
    let shape = |a: &[Vec<Expr>], b: &[Vec<Expr>]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.len() == b.len())
    };
    match (a, b) {
        (Expr::Call(a, _), Expr::Call(b, _)) => a == b,
        (Expr::SetOp(a, _), Expr::SetOp(b, _)) => a == b,
        (Expr::Apply(a, _), Expr::Apply(b, _)) | (Expr::Quantity(_, a), Expr::Quantity(_, b)) => {
            a == b
        }
        (Expr::Where(_, a), Expr::Where(_, b)) => a == b,
        (Expr::Chain(_, a), Expr::Chain(_, b)) => a == b,
        (Expr::Bound(a, a_name, _), Expr::Bound(b, b_name, _)) => a == b && a_name == b_name,
        (Expr::Bracket(a_open, _, a_close), Expr::Bracket(b_open, _, b_close)) => {
            a_open == b_open && a_close == b_close
        }
        (Expr::PlusMinus { upper_minus: a, .. }, Expr::PlusMinus { upper_minus: b, .. }) => a == b,
        (Expr::Matrix(a), Expr::Matrix(b)) | (Expr::Cases(a), Expr::Cases(b)) => shape(a, b),
        (
            Expr::Sum(_)
            | Expr::Product(_)
            | Expr::Power(_)
            | Expr::Percent(_)
            | Expr::Ratio(_)
            | Expr::Set(_)
            | Expr::List(_)
            | Expr::SetBuilder(..),
            _,
        ) => discriminant(a) == discriminant(b),
        _ => a.children().next().is_none() && a == b,
    }
}
