//! Equality of two answers, kind by kind: the kinds of both sides choose the rule, each rule lives
//! in a room of its own.
//!
//! Constants that are not algebraic are equal when certified balls overlap within `2^-256` beyond
//! the size of all numbers in them, limits, integrals and infinite sums when both sides agree as
//! far as [`approach`] knows them; everything else is decided exactly or with an error below
//! `2^-60`. What cannot be decided is not equal.

pub(crate) mod approach;
mod choices;
pub(crate) mod collection;
pub(crate) mod evaluate;
pub(crate) mod family;
pub(crate) mod measured;
pub(crate) mod points;
mod price;
pub(crate) mod real_set;
pub(crate) mod rename;
pub(crate) mod rule;
pub(crate) mod scalar;
pub(crate) mod separation;
pub(crate) mod statement;
pub(crate) mod tolerance;
pub(crate) mod vectors;
mod words;

use std::cell::Cell;

use crate::budget::{Budget, Exhausted};
use crate::normal::{expanded, fold};
use crate::number::Rational;
use crate::options::Options;
use crate::tree::{Expr, Relation};
use rule::Rule;
use statement::Solved;

/// What every rule works with.
pub(crate) struct Context<'a> {
    pub(crate) options: &'a Options,
    pub(crate) budget: &'a Budget,
    /// Decimals the gold is written with and their digits after the point.
    pub(crate) decimals: &'a [(Rational, i64)],
    /// What the answer may be multiplied by because exactly one side is written with percent signs.
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

    /// The rule that decided last.
    pub(crate) fn rule(&self) -> Rule {
        self.rule.get()
    }

    /// Notes the rule that decides.
    pub(crate) fn by(&self, rule: Rule) {
        self.rule.set(rule);
    }

    /// Whether two folded values are equal, within the task's tolerance.
    pub(crate) fn values(&self, gold: &Expr, answer: &Expr) -> Result<bool, Exhausted> {
        let (equal, rule) = scalar::same(gold, answer, self.budget)?;
        self.by(rule);
        if !equal && tolerance::allows(gold, answer, self)? {
            self.by(Rule::Tolerance);
            return Ok(true);
        }
        Ok(equal)
    }
}

/// The normal form of a whole answer.
pub(crate) fn normal(expr: &Expr, cx: &Context<'_>) -> Result<Expr, Exhausted> {
    cx.budget.charge(10)?;
    let expr = expanded(expr);
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
            if let Some(congruence) = statement::congruence(sides, relations) {
                return normal_inside(&congruence, cx);
            }
            let mut sides = all(sides)?;
            // `8 : 2 = 4`: beside a value a colon divides.
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
            // `x ∈ {1, 2}` gives a statement for each member.
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
            // `x = 1 ± 2` and `a = 4, -8` give one statement for each value.
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
                    let mut sides = names.to_vec();
                    sides.push(value.clone());
                    Expr::Chain(sides, relations.clone())
                });
                return Ok(Expr::List(statements.collect()));
            }
            statement::reduced(sides, relations.clone(), cx)?
        }
        Expr::List(items) => Expr::List(all(items)?),
        Expr::Set(items) => Expr::Set(all(items)?),
        Expr::Bracket(open, items, close) => Expr::Bracket(*open, all(items)?, *close),
        Expr::SetOp(op, items) => Expr::SetOp(*op, all(items)?),
        Expr::SetBuilder(member, conditions) => {
            Expr::SetBuilder(Box::new(normal_inside(member, cx)?), all(conditions)?)
        }
        Expr::Where(inner, condition) => {
            Expr::Where(Box::new(normal_inside(inner, cx)?), condition.clone())
        }
        Expr::Cases(rows) => {
            let mut normal = Vec::with_capacity(rows.len());
            for row in rows {
                normal.push(all(row)?);
            }
            // One column is a system.
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

/// Whether two normal forms say the same.
pub(crate) fn same(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    cx.budget.charge(20)?;
    if gold == answer {
        cx.by(Rule::SameTree);
        return Ok(true);
    }
    if let (Some(a), Some(b)) = (family::of(gold), family::of(answer)) {
        return family::same(&a, &b, cx);
    }
    match (gold, answer) {
        (Expr::Where(a, a_text), Expr::Where(b, b_text)) => {
            // Two different conditions make two different statements.
            if a_text != b_text {
                cx.by(Rule::Text);
                return Ok(false);
            }
            same(a, b, cx)
        }
        (Expr::Where(inner, condition), other) | (other, Expr::Where(inner, condition)) => {
            if restricts(condition, inner) {
                cx.by(Rule::Text);
                return Ok(false);
            }
            if matches!(gold, Expr::Where(..)) {
                same(inner, other, cx)
            } else {
                same(other, inner, cx)
            }
        }
        // `a = b = 1` gives each name a value.
        (Expr::Chain(sides, relations), Expr::List(_) | Expr::Bracket(..))
            if let Some(each) = statement::for_each_name(sides, relations) =>
        {
            same(&each, answer, cx)
        }
        (Expr::List(_) | Expr::Bracket(..), Expr::Chain(sides, relations))
            if let Some(each) = statement::for_each_name(sides, relations) =>
        {
            same(gold, &each, cx)
        }
        (Expr::Chain(..), _) | (_, Expr::Chain(..)) => statements(gold, answer, cx),
        _ => things(gold, answer, cx),
    }
}

/// Whether a condition says for which values of its own variables a value holds: `n + 1 if n is
/// even` is not `n + 1`. That a parameter is whole or real, or not zero, goes without saying.
fn restricts(condition: &str, value: &Expr) -> bool {
    let harmless = [
        "In Integers",
        "In Reals",
        "NotEqual",
        "integer",
        "real",
        "constant",
        "arbitrary",
    ];
    let mentioned = |name: &str| {
        condition
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| word == name)
    };
    // Of a set of numbers everything that is said of them.
    if matches!(value, Expr::Chain(_, relations) if relations.iter().any(|relation| relation.is_order()))
    {
        return value.any(&|part| matches!(part, Expr::Symbol(name) if condition.split(|c: char| !c.is_alphanumeric()).any(|word| word == &**name)));
    }
    // What a function is of may be said to be anything.
    let value = match value {
        Expr::Chain(sides, _) => sides.last().unwrap_or(value),
        other => other,
    };
    !harmless.iter().any(|words| condition.contains(words))
        && value.any(&|part| matches!(part, Expr::Symbol(name) if mentioned(name)))
}

fn as_solved(expr: &Expr) -> Option<Solved> {
    match expr {
        Expr::Chain(sides, relations) => statement::solved(sides, relations),
        _ => None,
    }
}

/// At least one side is a chain.
fn statements(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    let equation = |expr: &Expr| matches!(expr, Expr::Chain(_, relations) if relations.iter().all(|relation| *relation == Relation::Equal));
    match (as_solved(gold), as_solved(answer)) {
        (Some(a), Some(b)) => {
            cx.by(Rule::Solved);
            for (a_name, b_name) in a
                .names
                .iter()
                .flat_map(|a_name| b.names.iter().map(move |b_name| (a_name, b_name)))
            {
                if let Some(value) = statement::renamed(a_name, b_name, &b.value)
                    && same(&a.value, &normal_inside(&value, cx)?, cx)?
                {
                    return Ok(true);
                }
            }
            if let (Expr::Chain(a, _), Expr::Chain(b, _)) = (gold, answer) {
                cx.by(Rule::Equation);
                return statement::multiples(a, b, false, cx);
            }
            Ok(false)
        }
        (Some(a), None) if !matches!(answer, Expr::Chain(..)) => bare(&a, answer, true, cx),
        (None, Some(b)) if !matches!(gold, Expr::Chain(..)) => bare(&b, gold, false, cx),
        _ => {
            if let (Expr::Chain(a, _), Expr::Chain(b, _)) = (gold, answer)
                && equation(gold)
                && equation(answer)
            {
                cx.by(Rule::Equation);
                if statement::multiples(a, b, false, cx)? {
                    return Ok(true);
                }
            }
            if let (Some(a), Some(b)) = (real_set::of(gold, cx)?, real_set::of(answer, cx)?) {
                let equal = real_set::same(&a, &b, cx)?;
                cx.by(Rule::RealSet);
                if equal {
                    return Ok(true);
                }
            }
            chains(gold, answer, cx)
        }
    }
}

/// A solved equation against something without a name.
fn bare(
    solved: &Solved,
    other: &Expr,
    gold_is_solved: bool,
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    let equal = if gold_is_solved {
        same(&solved.value, other, cx)?
    } else {
        same(other, &solved.value, cx)?
    };
    if equal && cx.rule() != Rule::Tolerance {
        cx.by(Rule::Solved);
    }
    Ok(equal)
}

/// Two chains side by side, the second also read backwards; orders of two sides up to positive
/// multiples.
fn chains(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    let (Expr::Chain(a, a_relations), Expr::Chain(b, b_relations)) = (gold, answer) else {
        return Ok(false);
    };
    cx.by(Rule::Chain);
    if let ([a_relation], [b_relation]) = (a_relations.as_slice(), b_relations.as_slice())
        && a_relation.is_order()
        && b_relation.is_order()
    {
        let turned: Vec<Expr> = b.iter().rev().cloned().collect();
        if a_relation == b_relation && statement::multiples(a, b, true, cx)?
            || *a_relation == b_relation.reversed() && statement::multiples(a, &turned, true, cx)?
        {
            cx.by(Rule::Equation);
            return Ok(true);
        }
    }
    if a.len() != b.len() {
        return Ok(false);
    }
    let forwards = a_relations == b_relations;
    if forwards && collection::ordered(a, b, cx)? {
        cx.by(Rule::Chain);
        return Ok(true);
    }
    let backwards = a_relations
        .iter()
        .zip(b_relations.iter().rev())
        .all(|(a, b)| a.turns() && *a == b.reversed());
    if backwards {
        let turned: Vec<Expr> = b.iter().rev().cloned().collect();
        let equal = collection::ordered(a, &turned, cx)?;
        cx.by(Rule::Chain);
        return Ok(equal);
    }
    cx.by(Rule::Chain);
    Ok(false)
}

/// Two values, then two values whose names are read otherwise.
fn values(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    if cx.values(gold, answer)? {
        return Ok(true);
    }
    if let Some(answer) = rename::with_constant_of(gold, answer) {
        return cx.values(gold, &fold(&answer, cx.budget)?);
    }
    let otherwise = |expr: &Expr, other: &Expr| {
        rename::with_choices(expr)
            .or_else(|| rename::with_runs_split(expr, other))
            .map(|expr| fold(&expr, cx.budget))
            .transpose()
    };
    match (otherwise(gold, answer)?, otherwise(answer, gold)?) {
        (None, None) => Ok(false),
        (a, b) => cx.values(a.as_ref().unwrap_or(gold), b.as_ref().unwrap_or(answer)),
    }
}

/// Neither side is a chain.
fn things(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    if real_set::is_scalar(gold) && real_set::is_scalar(answer) {
        return values(gold, answer, cx);
    }
    if let Some(equal) = vectors::same(gold, answer, cx)? {
        return Ok(equal);
    }
    if let Some(equal) = measured::same(gold, answer, cx)? {
        return Ok(equal);
    }
    if let Some(equal) = words::same(gold, answer, cx)? {
        return Ok(equal);
    }
    collection::same(gold, answer, cx)
}
