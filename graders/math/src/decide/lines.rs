//! Lines with rational coefficients, in symmetric form `(x - 1)/2 = y/3 = z` and as parametric
//! equations `x = 1 + 2t, y = 3t, z = t`. They are equal if their directions are parallel and the
//! difference of their points is, too.

use std::collections::BTreeMap;

use super::affine::coefficients;
use super::parameters::solved;
use super::{Context, real_set, rename};
use crate::budget::Exhausted;
use crate::normal::fold;
use crate::number::Rational;
use crate::tree::charged::charge_visit;
use crate::tree::{End, Expr, Relation};

/// Names of the parameter of a line.
const PARAMETERS: [&str; 7] = ["t", "s", "u", "r", "lambda", "mu", "tau"];

/// Names of the coordinates, in the order of components without names.
const COORDINATES: [&str; 3] = ["x", "y", "z"];

/// A line: a coordinate of a point and of the direction for each name.
struct Line {
    coordinates: BTreeMap<String, (Rational, Rational)>,
    /// Whether it is given as components, which may also be a function of the parameter.
    is_tuple: bool,
}

/// Whether two answers are the same line; false if they are not lines.
pub(super) fn same(gold: &Expr, answer: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    let (Some(gold), Some(answer)) = (of(gold, cx)?, of(answer, cx)?) else {
        return Ok(false);
    };
    cx.budget.charge(200)?;
    Ok(gold.is_same(&answer) == Some(true))
}

fn of(expr: &Expr, cx: &Context<'_>) -> Result<Option<Line>, Exhausted> {
    charge_visit(expr, 2, cx.budget)?;
    match expr {
        Expr::Chain(sides, relations) if sides.len() > 2 => symmetric(sides, relations, cx),
        Expr::List(items) => match equations(items, cx)? {
            Some(line) => Ok(Some(line)),
            None => mixed(items, cx),
        },
        other => match solved(other) {
            (Some(Expr::Symbol(_)) | None, Expr::Bracket(End::Round | End::Angle, items, _)) => {
                components(items, cx)
            }
            _ => Ok(None),
        },
    }
}

/// Start and step of an expression that is linear in a name with rational coefficients.
fn rational(
    expr: &Expr,
    name: &str,
    cx: &Context<'_>,
) -> Result<Option<(Rational, Rational)>, Exhausted> {
    if !real_set::is_scalar(expr) {
        return Ok(None);
    }
    let Some((start, step)) = coefficients(expr, name, cx.budget)? else {
        return Ok(None);
    };
    let (start, step) = (fold(&start, cx.budget)?, fold(&step, cx.budget)?);
    let number = |value: Expr| value.as_number().cloned();
    Ok(number(start).zip(number(step)))
}

/// `a_i x_i + b_i` for a different name on each side, all equal.
fn symmetric(
    sides: &[Expr],
    relations: &[Relation],
    cx: &Context<'_>,
) -> Result<Option<Line>, Exhausted> {
    let mut coordinates = BTreeMap::new();
    for side in sides {
        let names = rename::symbols(side);
        let mut names = names.iter();
        let (Some(name), None) = (names.next(), names.next()) else {
            return Ok(None);
        };
        let Some((constant, factor)) = rational(side, name, cx)? else {
            return Ok(None);
        };
        let (Some(step), Some(start)) = (factor.recip(), constant.neg().div(&factor)) else {
            return Ok(None);
        };
        if coordinates
            .insert((*name).to_owned(), (start, step))
            .is_some()
        {
            return Ok(None);
        }
    }
    let is_equation = relations
        .iter()
        .all(|relation| *relation == Relation::Equal);
    Ok(is_equation.then_some(Line {
        coordinates,
        is_tuple: false,
    }))
}

/// `x = 1 + 2t, y = 3t, z = 4`
fn equations(items: &[Expr], cx: &Context<'_>) -> Result<Option<Line>, Exhausted> {
    let named = items.iter().map(|item| match solved(item) {
        (Some(Expr::Symbol(name)), value) => Some((&**name, value)),
        _ => None,
    });
    let Some(named) = named.collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    parametric(&named, false, cx)
}

/// `(1 + 2t, 3t, 4)`
fn components(items: &[Expr], cx: &Context<'_>) -> Result<Option<Line>, Exhausted> {
    if items.len() > COORDINATES.len() {
        return Ok(None);
    }
    let named: Vec<(&str, &Expr)> = COORDINATES.into_iter().zip(items).collect();
    parametric(&named, true, cx)
}

fn parametric(
    named: &[(&str, &Expr)],
    is_tuple: bool,
    cx: &Context<'_>,
) -> Result<Option<Line>, Exhausted> {
    let mut found = named.iter().flat_map(|(_, value)| rename::symbols(value));
    let Some(parameter) = found.next() else {
        return Ok(None);
    };
    if named.len() < 2 || !PARAMETERS.contains(&parameter) || found.any(|name| name != parameter) {
        return Ok(None);
    }
    let mut coordinates = BTreeMap::new();
    for (name, value) in named {
        let Some(coordinate) = rational(value, parameter, cx)? else {
            return Ok(None);
        };
        if *name == parameter || coordinates.insert((*name).to_owned(), coordinate).is_some() {
            return Ok(None);
        }
    }
    Ok(Some(Line {
        coordinates,
        is_tuple,
    }))
}

/// `(x - 1)/2 = z/3, y = 4`
fn mixed(items: &[Expr], cx: &Context<'_>) -> Result<Option<Line>, Exhausted> {
    let mut line: Option<Line> = None;
    let mut constants = Vec::new();
    for item in items {
        match solved(item) {
            (Some(Expr::Symbol(name)), Expr::Number(value)) => {
                constants.push((name.to_string(), (value.clone(), Rational::small(0))));
            }
            _ => match item {
                Expr::Chain(sides, relations) if line.is_none() => {
                    line = symmetric(sides, relations, cx)?;
                    if line.is_none() {
                        return Ok(None);
                    }
                }
                _ => return Ok(None),
            },
        }
    }
    let Some(mut line) = line else {
        return Ok(None);
    };
    for (name, coordinate) in constants {
        if line.coordinates.insert(name, coordinate).is_some() {
            return Ok(None);
        }
    }
    Ok(Some(line))
}

impl Line {
    fn is_same(&self, other: &Self) -> Option<bool> {
        if !self.coordinates.keys().eq(other.coordinates.keys()) {
            return Some(false);
        }
        let direction: Vec<&Rational> = self.coordinates.values().map(|(_, step)| step).collect();
        let steps: Vec<&Rational> = other.coordinates.values().map(|(_, step)| step).collect();
        let starts = self.coordinates.values().zip(other.coordinates.values());
        let apart = starts.map(|((own, _), (other, _))| other.sub(own));
        let apart: Vec<Rational> = apart.collect::<Option<_>>()?;
        let is_line = |steps: &[&Rational]| steps.iter().any(|step| !step.is_zero());
        // Multiples of one vector are also values of a function, such as a velocity.
        let origin: Vec<&Rational> = self.coordinates.values().map(|(start, _)| start).collect();
        if self.is_tuple && other.is_tuple && are_parallel(&origin, &direction)? {
            return Some(false);
        }
        let apart: Vec<&Rational> = apart.iter().collect();
        Some(
            is_line(&direction)
                && is_line(&steps)
                && are_parallel(&steps, &direction)?
                && are_parallel(&apart, &direction)?,
        )
    }
}

fn are_parallel(a: &[&Rational], b: &[&Rational]) -> Option<bool> {
    for (at, (a_own, b_own)) in a.iter().zip(b).enumerate() {
        for (a_other, b_other) in a.iter().zip(b).skip(at + 1) {
            if a_own.mul(b_other)? != a_other.mul(b_own)? {
                return Some(false);
            }
        }
    }
    Some(true)
}
