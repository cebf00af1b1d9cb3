//! Values with a parameter that runs through a set, as in `x = kπ, k ∈ ℤ` and `{2n | n ∈ ℤ}`. The
//! name of the parameter does not matter, nor, over the integers, its start and direction.

use std::ops::Neg as _;

use super::rule::Rule;
use super::{Context, progressions, same as same_answers, scalar, statement};
use crate::budget::{Budget, Exhausted};
use crate::normal::fold;
use crate::tree::charged::{charge_copy, charge_visit, copied, replaced};
use crate::tree::{Constant, Expr, Function, NamedSet, Relation};

/// The parameter of a canonical form.
const PARAMETER: &str = "#k";

/// A value for each member of a set.
#[derive(Debug, Clone)]
pub(crate) struct Family {
    /// The name that has these values, if there is one.
    subject: Option<Expr>,
    value: Expr,
    parameter: Box<str>,
    within: String,
}

/// The family that an expression describes, if it does.
pub(crate) fn of(expr: &Expr, budget: &Budget) -> Result<Option<Family>, Exhausted> {
    if matches!(expr, Expr::Where(..) | Expr::SetBuilder(..)) {
        charge_copy(expr, budget)?;
    }
    match expr {
        // `x = kπ, k ∈ ℤ or x = π/4 + nπ, n ∈ ℤ`
        Expr::List(items)
            if items.len() > 1 && items.iter().all(|item| matches!(item, Expr::Where(..))) =>
        {
            charge_copy(expr, budget)?;
            let all: Option<Vec<Family>> = items.iter().map(described).collect();
            united(all.as_deref().unwrap_or_default(), budget)
        }
        Expr::Chain(sides, relations) => match (sides.as_slice(), relations.as_slice()) {
            ([Expr::Symbol(_), set @ Expr::SetBuilder(..)], [Relation::In]) => of(set, budget),
            _ => Ok(None),
        },
        other => Ok(described(other)),
    }
}

/// Families of one name over one set as one family.
fn united(all: &[Family], budget: &Budget) -> Result<Option<Family>, Exhausted> {
    let Some((first, rest)) = all.split_first() else {
        return Ok(None);
    };
    let mut values = vec![first.value.clone()];
    for family in rest {
        let value = family.with_parameter(&first.parameter, budget)?;
        match value {
            Some(value) if family.subject == first.subject && family.within == first.within => {
                values.push(value);
            }
            _ => return Ok(None),
        }
    }
    let flat = values.into_iter().flat_map(|value| match value {
        Expr::List(items) => items,
        one => vec![one],
    });
    Ok(Some(Family {
        value: Expr::List(flat.collect()),
        ..first.clone()
    }))
}

fn described(expr: &Expr) -> Option<Family> {
    match expr {
        Expr::Where(inner, condition) => {
            let (parameter, within) = membership(condition)?;
            let (subject, value) = named(inner);
            Some(Family {
                subject,
                value,
                parameter: parameter.into(),
                within,
            })
        }
        Expr::SetBuilder(member, conditions) => {
            let (value, condition) = match conditions.as_slice() {
                [condition] => ((**member).clone(), condition),
                // `{x | x = 2k, k ∈ ℤ}`
                [Expr::Chain(sides, relations), condition]
                    if relations == &[Relation::Equal] && sides.first() == Some(&**member) =>
                {
                    (sides.last()?.clone(), condition)
                }
                _ => return None,
            };
            match condition {
                Expr::Chain(sides, relations) => match (sides.as_slice(), relations.as_slice()) {
                    ([Expr::Symbol(parameter), set @ Expr::Named(_)], [Relation::In]) => {
                        Some(Family {
                            subject: None,
                            value,
                            parameter: parameter.clone(),
                            within: set.to_string(),
                        })
                    }
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

/// A value and the condition on its parameter, with the same name for all parameters; `None` if the
/// condition does not say which set the parameter runs through.
pub(crate) fn with_plain_parameter(
    inner: &Expr,
    condition: &str,
    budget: &Budget,
) -> Result<Option<(Expr, String)>, Exhausted> {
    budget.charge(condition.len() as u64)?;
    budget.charge_bytes(2 * condition.len() as u64)?;
    let Some((parameter, within)) = membership(condition).filter(|(own, _)| *own != PARAMETER)
    else {
        return Ok(None);
    };
    charge_visit(inner, 1, budget)?;
    if !inner.any(&|part| matches!(part, Expr::Symbol(own) if **own == *parameter)) {
        return Ok(None);
    }
    let inner = replaced(inner, parameter, &Expr::symbol(PARAMETER), budget)?;
    Ok(Some((inner, format!("{PARAMETER} In {within}"))))
}

/// The name and its value: the family of `x = kπ` is that of `kπ`.
fn named(inner: &Expr) -> (Option<Expr>, Expr) {
    let solved = |expr: &Expr| match expr {
        Expr::Chain(sides, relations) => {
            let solved = statement::solved(sides, relations)?;
            let [name] = solved.names else {
                return None;
            };
            Some((name.clone(), solved.value.clone()))
        }
        _ => None,
    };
    if let Expr::List(items) = inner {
        // The values of one name. If there are several names, the list stays as it is.
        let all: Option<Vec<(Expr, Expr)>> = items.iter().map(solved).collect();
        if let Some(all) = all
            && let Some((subject, _)) = all.first().cloned()
            && all.iter().all(|(name, _)| *name == subject)
        {
            return (
                Some(subject),
                Expr::List(all.into_iter().map(|(_, value)| value).collect()),
            );
        }
        return (None, inner.clone());
    }
    match solved(inner) {
        Some((name, value)) => (Some(name), value),
        None => (None, inner.clone()),
    }
}

/// The parameter and its set in a condition: `k In Integers`, `k is any integer`, `k In Z`.
fn membership(condition: &str) -> Option<(&str, String)> {
    let (parameter, rest) = condition.split_once(' ')?;
    if parameter.is_empty()
        || !parameter
            .chars()
            .all(|c| c.is_alphanumeric() || "_{}'".contains(c))
    {
        return None;
    }
    let named = |set: NamedSet| Some((parameter, Expr::Named(set).to_string()));
    match rest.to_lowercase().as_str() {
        "in integers"
        | "in z"
        | "is integer"
        | "is any integer"
        | "is some integer"
        | "any integer"
        | "integer"
        | "is arbitrary integer"
        | "is integers"
        | "are integers" => named(NamedSet::Integers),
        "in naturals" | "in n" | "is natural number" => named(NamedSet::Naturals),
        "is positive integer" | "is any positive integer" => named(NamedSet::PositiveIntegers),
        "is nonnegative integer" | "is any nonnegative integer" => {
            named(NamedSet::NonnegativeIntegers)
        }
        // `n = 0, ±1, ±2, …`
        other if is_every_integer(other) => named(NamedSet::Integers),
        "equal 1, 2, …" | "equal 1, 2, 3, …" => named(NamedSet::PositiveIntegers),
        "equal 0, 1, 2, …" | "equal 0, 1, 2, 3, …" => named(NamedSet::NonnegativeIntegers),

        "in reals" | "in r" | "is real" | "is real number" | "is any real number" => {
            named(NamedSet::Reals)
        }
        other if other.starts_with("equal ") && other.contains(", ") => {
            let values = rest.trim_start_matches("Equal ");
            Some((parameter, format!("{{{values}}}")))
        }
        other => other
            .strip_prefix("in ")
            .map(|_| (parameter, rest.trim_start_matches("In ").to_owned())),
    }
}

/// Whether a condition lists all integers: `= 0, ±1, ±2, …`.
fn is_every_integer(condition: &str) -> bool {
    let Some(values) = condition
        .strip_prefix("equal 0, ")
        .and_then(|all| all.strip_suffix(", …"))
    else {
        return false;
    };
    (1i64..).zip(values.split(", ")).all(|(next, value)| {
        let value = value.strip_prefix(['±', '∓']);
        value.is_some_and(|value| value.parse() == Ok(next))
    })
}

/// Whether two sets of a parameter may be the same: natural numbers begin at 0 or at 1.
fn same_set(a: &str, b: &str) -> bool {
    let is = |name: &str, set: NamedSet| name == Expr::Named(set).to_string();
    let begins = |name: &str| {
        is(name, NamedSet::PositiveIntegers) || is(name, NamedSet::NonnegativeIntegers)
    };
    a == b || is(a, NamedSet::Naturals) && begins(b) || is(b, NamedSet::Naturals) && begins(a)
}

impl Family {
    /// Whether the parameters of two families run through different sets.
    pub(super) fn is_over_other_set(&self, other: &Self) -> bool {
        self.within != other.within
    }

    pub(super) fn value(&self) -> &Expr {
        &self.value
    }

    pub(super) fn parameter(&self) -> &str {
        &self.parameter
    }

    /// Whether these are the values of this name.
    pub(super) fn is_subject(&self, name: &str) -> bool {
        matches!(&self.subject, Some(Expr::Symbol(own)) if **own == *name)
    }

    pub(super) fn is_parameter(&self, name: &str) -> bool {
        *self.parameter == *name
    }

    /// Whether every value that depends on the parameter contains a multiple of pi.
    pub(super) fn is_angle(&self) -> bool {
        let is_angle = |value: &Expr| {
            let varies =
                value.any(&|part| matches!(part, Expr::Symbol(own) if *own == self.parameter));
            !varies || value.any(&|part| *part == Expr::Constant(Constant::Pi))
        };
        match &self.value {
            Expr::List(items) => items.iter().all(is_angle),
            value => is_angle(value),
        }
    }

    /// Whether the parameter runs through this set.
    pub(super) fn is_over(&self, set: NamedSet) -> bool {
        self.within == Expr::Named(set).to_string()
    }

    /// The values of an answer with a parameter that is an integer.
    pub(super) fn over_integers(expr: &Expr, parameter: &str) -> Self {
        let (subject, value) = named(expr);
        Self {
            subject,
            value,
            parameter: parameter.into(),
            within: Expr::Named(NamedSet::Integers).to_string(),
        }
    }

    /// The values of an answer that does not name the set of its parameter.
    pub(super) fn of_same_set(&self, expr: &Expr, parameter: &str) -> Self {
        let (subject, value) = named(expr);
        Self {
            subject,
            value,
            parameter: parameter.into(),
            within: self.within.clone(),
        }
    }

    /// The values of a congruence, `x ≡ 3 (mod 7)`, if this family runs through the integers.
    pub(super) fn of_class(&self, expr: &Expr) -> Option<Self> {
        let Expr::Chain(sides, relations) = expr else {
            return None;
        };
        let ([subject, Expr::Call(Function::Residue, parts)], [Relation::Congruent]) =
            (sides.as_slice(), relations.as_slice())
        else {
            return None;
        };
        let [Expr::Number(remainder), Expr::Number(modulus)] = parts.as_slice() else {
            return None;
        };
        let step = Expr::Product(vec![
            Expr::Number(modulus.clone()),
            Expr::symbol(&self.parameter),
        ]);
        (self.is_over(NamedSet::Integers) && !modulus.is_zero()).then(|| Self {
            subject: Some(subject.clone()),
            value: Expr::Sum(vec![Expr::Number(remainder.clone()), step]),
            parameter: self.parameter.clone(),
            within: self.within.clone(),
        })
    }

    /// The value with another name for the parameter; `None` if that name is taken.
    fn with_parameter(&self, name: &str, budget: &Budget) -> Result<Option<Expr>, Exhausted> {
        if *self.parameter == *name {
            return copied(&self.value, budget).map(Some);
        }
        let taken = self
            .value
            .any(&|part| matches!(part, Expr::Symbol(own) if **own == *name));
        if taken {
            return Ok(None);
        }
        replaced(&self.value, &self.parameter, &Expr::symbol(name), budget).map(Some)
    }
}

/// Whether two families have the same values.
pub(crate) fn same(gold: &Family, answer: &Family, cx: &Context<'_>) -> Result<bool, Exhausted> {
    cx.set_rule(Rule::Family);
    let other_subject = matches!((&gold.subject, &answer.subject), (Some(a), Some(b)) if a != b);
    if !same_set(&gold.within, &answer.within) || other_subject {
        return Ok(false);
    }
    let Some(renamed) = answer.with_parameter(&gold.parameter, cx.budget)? else {
        return Ok(false);
    };
    let answer_value = super::normal(&renamed, cx)?;
    if same_answers(&gold.value, &answer_value, cx)? {
        cx.set_rule(Rule::Family);
        return Ok(true);
    }
    cx.set_rule(Rule::Family);
    if gold.within != Expr::Named(NamedSet::Integers).to_string() {
        return Ok(false);
    }
    progressions::same_unions(&gold.value, &answer_value, &gold.parameter, cx)
}

/// Start and step of an expression that is linear in the parameter; `None` if it is not.
pub(super) fn progression(
    value: &Expr,
    parameter: &str,
    cx: &Context<'_>,
) -> Result<Option<(Expr, Expr)>, Exhausted> {
    let at = |k: i64| {
        let member = replaced(value, parameter, &Expr::int(k), cx.budget)?;
        fold(&member, cx.budget)
    };
    let (start, next) = (at(0)?, at(1)?);
    let step = fold(&Expr::Sum(vec![next, start.clone().neg()]), cx.budget)?;
    // `|k|` is linear only where k is positive.
    charge_copy(&step, cx.budget)?;
    let term = Expr::Product(vec![step.clone(), Expr::symbol(parameter)]);
    let linear = fold(&Expr::Sum(vec![start.clone(), term]), cx.budget)?;
    Ok(scalar::same(value, &linear, cx.budget)?
        .0
        .then_some((start, step)))
}
