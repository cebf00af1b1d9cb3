//! Equality of two answers. The kinds of both sides select the rule; each rule has a module.
//!
//! Constants that are not algebraic are equal if certified balls overlap within `2^-256` beyond the
//! size of all numbers in them. Limits, integrals and infinite sums are equal if both sides agree
//! to the precision that [`approach`] reaches. Everything else is decided exactly or with an error
//! probability below `2^-60`. Answers that cannot be decided are not equal.

mod affine;
pub(crate) mod approach;
mod approximation;
mod ball_cost;
mod branches;
#[cfg(test)]
mod choice_of_points;
mod choices;
pub(crate) mod collection;
mod condition;
mod congruence;
mod critical;
mod curves;
pub(crate) mod evaluate;
pub(crate) mod family;
mod float;
#[cfg(test)]
mod forged_pieces;
#[cfg(test)]
mod forgeries;
mod formal;
mod index;
mod integers;
mod inverse;
mod line;
mod lines;
pub(crate) mod measured;
mod measures;
mod oscillating;
mod parameters;
mod pieces;
pub(crate) mod points;
mod polynomial;
mod progressions;
pub(crate) mod real_set;
pub(crate) mod rename;
mod resolved;
pub(crate) mod rule;
mod sampled;
pub(crate) mod scalar;
mod scan;
mod segments;
pub(crate) mod separation;
mod solution;
pub(crate) mod statement;
pub(crate) mod text_answers;
pub(crate) mod tolerance;
pub(crate) mod vectors;

use std::cell::Cell;

use crate::budget::{Budget, Exhausted};
use crate::normal::{completed, expanded, fold};
use crate::number::Rational;
use crate::options::Options;
use crate::tree::charged::{all_copied, copied, identical, replaced};
use crate::tree::{Expr, Relation};
use rule::Rule;
use statement::Solved;
pub(crate) use text_answers::is_truth_value;

/// The inputs of every rule, and the rule that decided.
pub(crate) struct Context<'a> {
    pub(crate) options: &'a Options,
    pub(crate) budget: &'a Budget,
    /// The decimals in the text of the gold, each with its number of digits after the point.
    pub(crate) decimals: &'a [(Rational, i64)],
    /// Factor by which the answer may be multiplied, set if exactly one side is written with
    /// percent signs.
    pub(crate) percent: Option<Rational>,
    rule: Cell<Rule>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(options: &'a Options, budget: &'a Budget) -> Self {
        Self {
            options,
            budget,
            decimals: &[],
            percent: None,
            rule: Cell::new(Rule::Kind),
        }
    }

    /// The rule that was set last.
    pub(crate) fn rule(&self) -> Rule {
        self.rule.get()
    }

    /// Sets the rule that decides.
    pub(crate) fn set_rule(&self, rule: Rule) {
        self.rule.set(rule);
    }

    /// Whether two folded values are equal, or close enough under the task's tolerance.
    pub(crate) fn same_values(&self, gold: &Expr, answer: &Expr) -> Result<bool, Exhausted> {
        let (equal, rule) = scalar::same(gold, answer, self.budget)?;
        self.set_rule(rule);
        if !equal && tolerance::allows(gold, answer, self)? {
            self.set_rule(Rule::Tolerance);
            return Ok(true);
        }
        Ok(equal)
    }
}

/// The normal form of a whole answer.
pub(crate) fn normal(expr: &Expr, cx: &Context<'_>) -> Result<Expr, Exhausted> {
    cx.budget.charge(10)?;
    let complete = completed(expr, cx.budget)?;
    let expr = expanded(complete.as_ref().unwrap_or(expr), cx.budget)?;
    normal_inside(&expr, cx)
}

fn normal_inside(expr: &Expr, cx: &Context<'_>) -> Result<Expr, Exhausted> {
    cx.budget.charge(4)?;
    let all = |items: &[Expr]| -> Result<Vec<Expr>, Exhausted> {
        items.iter().map(|item| normal_inside(item, cx)).collect()
    };
    Ok(match expr {
        // `(x, y) = (1, 2)`
        Expr::Chain(sides, relations)
            if let Some(pairs) = statement::pairwise(sides, relations) =>
        {
            return normal_inside(&pairs, cx);
        }
        Expr::Chain(sides, relations) => {
            if let Some(named) = statement::with_named_letter(sides, relations, cx.budget)? {
                return normal_inside(&named, cx);
            }
            if let Some(congruence) = congruence::in_one_form(sides, relations) {
                return normal_inside(&congruence, cx);
            }
            let mut sides = all(sides)?;
            // `8 : 2 = 4`: next to a value a colon divides.
            if sides.iter().any(real_set::is_scalar) {
                for side in &mut sides {
                    if let Expr::Ratio(parts) = &*side
                        && let [a, b] = parts.as_slice()
                        && !statement::is_name(side)
                    {
                        *side = fold(&Expr::quotient(a.clone(), b.clone()), cx.budget)?;
                    }
                }
            }
            // `x ∈ {1, 2}` is one statement for each member.
            if let ([name @ Expr::Symbol(_), Expr::Set(members)], [Relation::In]) =
                (sides.as_slice(), relations.as_slice())
            {
                let statement = |member: &Expr| {
                    Expr::Chain(vec![name.clone(), member.clone()], vec![Relation::Equal])
                };
                return Ok(match members.as_slice() {
                    [one] => statement(one),
                    all => Expr::List(all.iter().map(statement).collect()),
                });
            }
            // `x = 1 ± 2` and `a = 4, -8` are one statement for each value.
            if let (Some((Expr::List(values), names)), true) = (
                sides.split_last(),
                relations
                    .iter()
                    .all(|relation| *relation == Relation::Equal),
            ) && !names.is_empty()
                && names
                    .iter()
                    .all(|name| matches!(name, Expr::Symbol(_) | Expr::Apply(..)))
            {
                let statements = values.iter().map(|value| {
                    let mut sides = all_copied(names, cx.budget)?;
                    sides.push(copied(value, cx.budget)?);
                    Ok(Expr::Chain(sides, relations.clone()))
                });
                return Ok(Expr::List(statements.collect::<Result<_, _>>()?));
            }
            statement::reduced(sides, relations.clone(), cx)?
        }
        Expr::List(items) => Expr::List(all(items)?),
        Expr::Set(items) => Expr::Set(all(items)?),
        Expr::Bracket(open, items, close) => Expr::Bracket(*open, all(items)?, *close),
        Expr::SetOp(op, items) => Expr::SetOp(*op, all(items)?),
        // `\{k^2 : k \in \{1, 2, 3\}\}`
        Expr::SetBuilder(member, conditions)
            if let [Expr::Chain(sides, relations)] = conditions.as_slice()
                && let ([Expr::Symbol(name), Expr::Set(values)], [Relation::In]) =
                    (sides.as_slice(), relations.as_slice()) =>
        {
            let image =
                |value: &Expr| normal_inside(&replaced(member, name, value, cx.budget)?, cx);
            Expr::Set(values.iter().map(image).collect::<Result<_, _>>()?)
        }
        Expr::SetBuilder(member, conditions) => {
            Expr::SetBuilder(Box::new(normal_inside(member, cx)?), all(conditions)?)
        }
        Expr::Where(inner, given) => match condition::definition(inner, given) {
            Some((name, value)) => normal_inside(&replaced(inner, name, value, cx.budget)?, cx)?,
            None => Expr::Where(Box::new(normal_inside(inner, cx)?), given.clone()),
        },
        Expr::Cases(rows) => {
            let mut normal = Vec::with_capacity(rows.len());
            for row in rows {
                normal.push(match row.as_slice() {
                    [value, condition] => {
                        let condition = branches::condition(condition, cx.budget)?;
                        vec![normal_inside(value, cx)?, normal_inside(&condition, cx)?]
                    }
                    row => all(row)?,
                });
            }
            // Rows of one column are a system.
            if normal.iter().all(|row| row.len() == 1) {
                Expr::List(normal.into_iter().flatten().collect())
            } else {
                Expr::Cases(normal)
            }
        }
        Expr::Ratio(items) => Expr::Ratio(all(items)?),
        other => fold(other, cx.budget)?,
    })
}

/// Whether two answers are equivalent, by their normal forms.
pub(crate) fn equivalent(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    if same(gold, answer, cx)? {
        return Ok(true);
    }
    let rule = cx.rule();
    let equal = parameters::same(gold, answer, cx)?;
    cx.set_rule(if equal { Rule::Family } else { rule });
    Ok(equal)
}

/// Whether two normal forms are equivalent.
pub(crate) fn same(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    cx.budget.charge(20)?;
    if identical(gold, answer, cx.budget)? {
        cx.set_rule(Rule::SameTree);
        return Ok(true);
    }
    match (family::of(gold, cx.budget)?, family::of(answer, cx.budget)?) {
        (Some(a), Some(b)) => return family::same(&a, &b, cx),
        // `x = 7k + 3, k ∈ ℤ` and `x ≡ 3 (mod 7)`
        (Some(a), None) if let Some(b) = a.of_class(answer) => return family::same(&a, &b, cx),
        (None, Some(b)) if let Some(a) = b.of_class(gold) => return family::same(&a, &b, cx),
        _ => {}
    }
    match (
        approximation::exact_side(gold),
        approximation::exact_side(answer),
    ) {
        (Some(gold), None) => return same(gold, answer, cx),
        (None, Some(answer)) => return same(gold, answer, cx),
        _ => {}
    }
    match (gold, answer) {
        (Expr::Where(a, a_text), Expr::Where(b, b_text)) => {
            // Different conditions make different statements.
            cx.budget.charge((a_text.len() + b_text.len()) as u64)?;
            if a_text != b_text && !condition::same((a, a_text), (b, b_text), cx)? {
                cx.set_rule(Rule::Condition);
                return Ok(false);
            }
            same(a, b, cx)
        }
        (Expr::Where(inner, condition), other) | (other, Expr::Where(inner, condition)) => {
            cx.budget.charge(condition.len() as u64)?;
            if condition::restricts(condition, inner, Some(other), cx)? {
                cx.set_rule(Rule::Condition);
                return Ok(false);
            }
            let conditional = if matches!(gold, Expr::Where(..)) {
                gold
            } else {
                answer
            };
            if parameters::is_continuous(conditional, cx)? {
                cx.set_rule(Rule::Family);
                return Ok(false);
            }
            if matches!(gold, Expr::Where(..)) {
                same(inner, other, cx)
            } else {
                same(other, inner, cx)
            }
        }
        // `a = b = 1` is one statement for each name.
        (Expr::Chain(..), Expr::List(_) | Expr::Bracket(..)) => {
            match statement::for_each_name(gold, cx.budget)? {
                Some(each) => same(&each, answer, cx),
                None => same_statements(gold, answer, cx),
            }
        }
        (Expr::List(_) | Expr::Bracket(..), Expr::Chain(..)) => {
            match statement::for_each_name(answer, cx.budget)? {
                Some(each) => same(gold, &each, cx),
                None => same_statements(gold, answer, cx),
            }
        }
        (Expr::Chain(..), _) | (_, Expr::Chain(..)) => same_statements(gold, answer, cx),
        _ => same_objects(gold, answer, cx),
    }
}

fn as_solved(expr: &Expr) -> Option<Solved<'_>> {
    match expr {
        Expr::Chain(sides, relations) => statement::solved(sides, relations),
        _ => None,
    }
}

fn refs(sides: &[Expr]) -> Vec<&Expr> {
    sides.iter().collect()
}

/// Compares two answers of which at least one is a chain.
fn same_statements(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    let equation = |expr: &Expr| match expr {
        Expr::Chain(_, relations) => relations.iter().all(|one| *one == Relation::Equal),
        _ => false,
    };
    match (as_solved(gold), as_solved(answer)) {
        (Some(a), Some(b)) => {
            cx.set_rule(Rule::Solved);
            if statement::names_differ(&a, &b) {
                return Ok(false);
            }
            for (a_name, b_name) in a
                .names
                .iter()
                .flat_map(|a_name| b.names.iter().map(move |b_name| (a_name, b_name)))
            {
                cx.budget.charge(8)?;
                if let Some(value) = statement::renamed(a_name, b_name, b.value, cx.budget)?
                    && same(a.value, &normal_inside(&value, cx)?, cx)?
                {
                    return Ok(true);
                }
            }
            if let (Expr::Chain(a, _), Expr::Chain(b, _)) = (gold, answer) {
                cx.set_rule(Rule::Equation);
                return statement::multiples(&refs(a), &refs(b), false, cx);
            }
            Ok(false)
        }
        (Some(a), None) if !matches!(answer, Expr::Chain(..)) => {
            same_as_solved(&a, answer, true, cx)
        }
        (None, Some(b)) if !matches!(gold, Expr::Chain(..)) => same_as_solved(&b, gold, false, cx),
        _ => {
            if let (Expr::Chain(a, _), Expr::Chain(b, _)) = (gold, answer)
                && equation(gold)
                && equation(answer)
            {
                cx.set_rule(Rule::Equation);
                if statement::multiples(&refs(a), &refs(b), false, cx)? {
                    return Ok(true);
                }
            }
            if let (Some(a), Some(b)) = (real_set::of(gold, cx)?, real_set::of(answer, cx)?) {
                let equal = real_set::same(&a, &b, cx)?;
                cx.set_rule(Rule::RealSet);
                if equal {
                    return Ok(true);
                }
            }
            same_chains(gold, answer, cx)
        }
    }
}

/// Compares a solved equation with an answer without a name.
fn same_as_solved(
    solved: &Solved<'_>,
    other: &Expr,
    gold_is_solved: bool,
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    let equal = if gold_is_solved {
        same(solved.value, other, cx)?
    } else {
        same(other, solved.value, cx)?
    };
    if equal && cx.rule() != Rule::Tolerance {
        cx.set_rule(Rule::Solved);
    }
    Ok(equal)
}

/// Compares two chains side by side, the second one also reversed. Inequalities of two sides are
/// compared up to positive factors.
fn same_chains(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    let (Expr::Chain(a, a_relations), Expr::Chain(b, b_relations)) = (gold, answer) else {
        return Ok(false);
    };
    cx.set_rule(Rule::Chain);
    if let ([a_relation], [b_relation]) = (a_relations.as_slice(), b_relations.as_slice())
        && a_relation.is_order()
        && b_relation.is_order()
    {
        let (a, b) = (refs(a), refs(b));
        let reversed: Vec<&Expr> = b.iter().rev().copied().collect();
        if a_relation == b_relation && statement::multiples(&a, &b, true, cx)?
            || *a_relation == b_relation.reversed()
                && statement::multiples(&a, &reversed, true, cx)?
        {
            cx.set_rule(Rule::Equation);
            return Ok(true);
        }
    }
    if a.len() != b.len() {
        return Ok(false);
    }
    let forwards = a_relations == b_relations;
    if forwards && collection::ordered(a, b, cx)? {
        cx.set_rule(Rule::Chain);
        return Ok(true);
    }
    let backwards = a_relations
        .iter()
        .zip(b_relations.iter().rev())
        .all(|(a, b)| a.is_reversible() && *a == b.reversed());
    if backwards {
        let equal = collection::ordered(a, b.iter().rev(), cx)?;
        cx.set_rule(Rule::Chain);
        return Ok(equal);
    }
    cx.set_rule(Rule::Chain);
    Ok(false)
}

/// Compares two values, then the values in which names have another meaning.
fn same_scalars(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    if cx.same_values(gold, answer)? {
        return Ok(true);
    }
    if let Some(answer) = rename::with_constant_of(gold, answer, cx.budget)? {
        return cx.same_values(gold, &fold(&answer, cx.budget)?);
    }
    let otherwise = |expr: &Expr, other: &Expr| {
        rename::with_choices(expr, cx.budget)?
            .or_else(|| rename::with_runs_split(expr, other))
            .map(|expr| fold(&expr, cx.budget))
            .transpose()
    };
    match (otherwise(gold, answer)?, otherwise(answer, gold)?) {
        (None, None) => Ok(false),
        (a, b) => cx.same_values(a.as_ref().unwrap_or(gold), b.as_ref().unwrap_or(answer)),
    }
}

/// Compares two answers that are not chains.
fn same_objects(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    if let Some(equal) = choices::by_value(gold, answer, cx)? {
        cx.set_rule(Rule::Choice);
        return Ok(equal);
    }
    if congruence::same_classes(gold, answer, cx)? {
        return Ok(true);
    }
    if real_set::is_scalar(gold) && real_set::is_scalar(answer) {
        return same_scalars(gold, answer, cx);
    }
    // `|x|` and a definition by cases.
    let function = |expr: &Expr| real_set::is_scalar(expr) || branches::is_function(expr);
    if function(gold) && function(answer) {
        return Ok(collection::same(gold, answer, cx)? || cx.same_values(gold, answer)?);
    }
    if let Some(equal) = vectors::same(gold, answer, cx)? {
        return Ok(equal);
    }
    if let Some(equal) = measured::same(gold, answer, cx)? {
        return Ok(equal);
    }
    if let Some(equal) = text_answers::same(gold, answer, cx)? {
        return Ok(equal);
    }
    collection::same(gold, answer, cx)
}
