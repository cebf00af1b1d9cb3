//! Equations: which side is a name and which a value, when two equations are equivalent, and what a
//! chain reduces to.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Neg as _;

use super::evaluate::{NoValue, Point, ball};
use super::measures::is_quantity;
use super::{Context, approach, approximation, curves, rename, scalar};
use crate::budget::{Budget, Exhausted};
use crate::normal::fold;
use crate::tree::charged::{charge_copy, charge_visit, copied, identical, replaced, substituted};
use crate::tree::{Constant, End, Expr, Function, Relation};

/// A value and the names that it is assigned to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Solved<'a> {
    pub(crate) names: &'a [Expr],
    pub(crate) value: &'a Expr,
}

/// Whether an expression names a quantity: a symbol, a value of a function, a segment, a ratio or
/// tuple of these, or a sum or limit that is not computed. `xy` and `x^2` are not names.
pub(crate) fn is_name(expr: &Expr) -> bool {
    let segment = |expr: &Expr| {
        matches!(expr, Expr::Symbol(name)
            if name.starts_with(|c: char| c.is_ascii_uppercase()) || name.contains(' ') || name.starts_with("vec{"))
    };
    match expr {
        Expr::Symbol(_) | Expr::Apply(..) | Expr::Word(_) | Expr::Text(_) => true,
        Expr::Bound(..) => !is_constant(expr),
        Expr::Constant(Constant::E | Constant::I) => false,
        Expr::Call(Function::Abs, items) => items.iter().all(segment),
        Expr::Bracket(_, items, _) | Expr::List(items) | Expr::Ratio(items) => {
            items.len() > 1 && items.iter().all(is_name)
        }
        // NO/BO
        Expr::Product(items) => match items.as_slice() {
            [a, Expr::Power(pair)] => segment(a) && segment(&pair.0) && pair.1.is_int(-1),
            [Expr::Power(pair), a] => segment(a) && segment(&pair.0) && pair.1.is_int(-1),
            _ => false,
        },
        _ => false,
    }
}

/// The sides of a chain in which `e` or `i` is a name, as in `e = 1/2` for an eccentricity: it is
/// one side, and no other side contains it.
pub(crate) fn with_named_letter(
    sides: &[Expr],
    relations: &[Relation],
    budget: &Budget,
) -> Result<Option<Expr>, Exhausted> {
    let Some((Expr::Constant(letter @ (Constant::E | Constant::I)), rest)) = sides.split_first()
    else {
        return Ok(None);
    };
    let is_equation = relations
        .iter()
        .all(|relation| matches!(relation, Relation::Equal | Relation::Approx));
    for side in rest {
        charge_copy(side, budget)?;
    }
    let is_letter = |part: &Expr| *part == Expr::Constant(*letter);
    if !is_equation || rest.iter().any(|side| side.any(&is_letter)) {
        return Ok(None);
    }
    let name = if *letter == Constant::E { "e" } else { "i" };
    let mut named = vec![Expr::symbol(name)];
    named.extend(rest.iter().cloned());
    Ok(Some(Expr::Chain(named, relations.to_vec())))
}

/// Whether two chains of names assign the value to different quantities: `AB = BC = 5` and `AB = CD
/// = 5`, `x = 3` and `x = y = 3`. Names of several kinds, as in `S = y = 5`, are one quantity.
pub(crate) fn names_differ(a: &Solved<'_>, b: &Solved<'_>) -> bool {
    let kind = |name: &Expr| match name {
        Expr::Symbol(name) if name.bytes().all(|byte| byte.is_ascii_uppercase()) => {
            Some((true, name.len() > 1))
        }
        Expr::Symbol(name) if name.len() == 1 => Some((false, false)),
        _ => None,
    };
    let first = a.names.first().and_then(kind);
    let all = || a.names.iter().chain(b.names);
    a.names.len().max(b.names.len()) > 1
        && first.is_some()
        && all().all(|name| kind(name) == first)
        && a.names.iter().collect::<BTreeSet<_>>() != b.names.iter().collect::<BTreeSet<_>>()
}

/// Whether a sum, limit or integral has no free variable.
fn is_constant(expr: &Expr) -> bool {
    let Expr::Bound(_, bound, parts) = expr else {
        return false;
    };
    let free = |part: &Expr| match part {
        Expr::Symbol(name) => name != bound,
        Expr::Apply(name, _) => !matches!(&**name, "from above" | "from below"),
        Expr::Ellipsis => true,
        _ => false,
    };
    // An indefinite integral is a function.
    parts.len() > 1 && !parts.iter().any(|part| part.any(&free))
}

/// Whether the value of a constant sum, limit or integral can be computed. If so, the other sides
/// must equal it.
fn is_computed(side: &Expr, cx: &Context<'_>) -> Result<bool, Exhausted> {
    let no_point = Point::of_constant(false, approach::PREC);
    match ball(side, &no_point, cx.budget) {
        Ok(_) => Ok(true),
        Err(NoValue::Exhausted) => Err(Exhausted),
        Err(_) => Ok(false),
    }
}

/// An equation as names and a value; `None` if it is not solved for a name.
pub(crate) fn solved<'a>(sides: &'a [Expr], relations: &[Relation]) -> Option<Solved<'a>> {
    let (last, before) = sides.split_last()?;
    // `x ≡ 3 (mod 5)` has a residue class as its value.
    let class =
        matches!(last, Expr::Call(Function::Residue, _)) && relations == [Relation::Congruent];
    if !class
        && !relations
            .iter()
            .all(|relation| *relation == Relation::Equal)
    {
        return None;
    }
    if before
        .iter()
        .all(|side| is_name(side) || is_quantity(side, last))
    {
        return Some(Solved {
            names: before,
            value: last,
        });
    }
    // `5 = x`
    match sides {
        [value, name] if is_name(name) && matches!(value, Expr::Number(_)) => Some(Solved {
            names: std::slice::from_ref(name),
            value,
        }),
        _ => None,
    }
}

/// Reduces a chain: sides after `≈` are dropped if they are close, consecutive equal values become
/// one, and a false chain stays as it is.
pub(crate) fn reduced(
    sides: Vec<Expr>,
    relations: Vec<Relation>,
    cx: &Context<'_>,
) -> Result<Expr, Exhausted> {
    let (mut sides, mut relations) = (sides, relations);
    if let Some(at) = relations
        .iter()
        .position(|relation| *relation == Relation::Approx)
    {
        let before = sides.get(..=at).unwrap_or_default();
        if before.iter().all(is_name) {
            if let Some(relation) = relations.get_mut(at) {
                *relation = Relation::Equal;
            }
            sides.truncate(at + 2);
            relations.truncate(at + 1);
        } else if let Some([value, decimal]) = sides.get(at..at + 2) {
            let stays = if approximation::is_open(value) || approximation::is_open(decimal) {
                sides.len() == 2
            } else {
                approximation::differ(value, decimal, cx)?
            };
            if stays {
                return Ok(Expr::Chain(sides, relations));
            }
            sides.truncate(at + 1);
            relations.truncate(at);
        }
    }
    if relations.is_empty() {
        return Ok(sides.pop().unwrap_or(Expr::Ellipsis));
    }
    if !relations
        .iter()
        .all(|relation| *relation == Relation::Equal)
    {
        return Ok(Expr::Chain(sides, relations));
    }
    // A limit that cannot be computed counts as a name of the other side.
    while let Some(first @ Expr::Bound(..)) = sides.first()
        && is_constant(first)
        && sides.len() > 1
        && !is_computed(first, cx)?
    {
        sides.remove(0);
        relations.remove(0);
    }
    if relations.is_empty() {
        return Ok(sides.pop().unwrap_or(Expr::Ellipsis));
    }
    without_formulas(&mut sides, &mut relations, cx.budget)?;
    let value = sides.last().unwrap_or(&Expr::Ellipsis);
    let is_named = |side: &&Expr| is_name(side) || is_quantity(side, value);
    let names = sides.iter().take_while(is_named).count();
    let values = sides.get(names..).unwrap_or_default();
    if values.len() < 2 {
        return Ok(Expr::Chain(sides, relations));
    }
    let Some(last) = values.last() else {
        return Ok(Expr::Chain(sides, relations));
    };
    let last_folded = fold(last, cx.budget)?;
    for value in values.iter().take(values.len() - 1) {
        let value = fold(value, cx.budget)?;
        let scalars =
            super::real_set::is_scalar(&value) && super::real_set::is_scalar(&last_folded);
        let agree = if scalars {
            scalar::same(&value, &last_folded, cx.budget)?.0
        } else {
            value == last_folded
        };
        if !agree {
            // The chain is false, or an equation to be compared as a whole.
            return Ok(Expr::Chain(sides, relations));
        }
    }
    let last = last.clone();
    sides.truncate(names);
    if sides.is_empty() {
        return Ok(last);
    }
    sides.push(last);
    relations.truncate(names);
    Ok(Expr::Chain(sides, relations))
}

/// Removes the formulas from a name, a formula, its value with numbers inserted and the result: `A
/// = πr² = π·3² = 9π` as `A = π·3² = 9π`.
fn without_formulas(
    sides: &mut Vec<Expr>,
    relations: &mut Vec<Relation>,
    budget: &Budget,
) -> Result<(), Exhausted> {
    let Some(name @ Expr::Symbol(_)) = sides.first().cloned() else {
        return Ok(());
    };
    for side in sides.iter() {
        charge_visit(side, 2, budget)?;
    }
    let open = |side: &Expr| side.any(&|part| matches!(part, Expr::Symbol(_) | Expr::Apply(..)));
    let values = sides.iter().rev().take_while(|side| !open(side)).count();
    let formulas = 1..sides.len() - values;
    let is_formula = |side: &Expr| {
        super::real_set::is_scalar(side) && !is_name(side) && !side.any(&|part| *part == name)
    };
    let all = sides.get(formulas.clone()).unwrap_or_default();
    if values > 1 && !all.is_empty() && all.iter().all(is_formula) {
        sides.drain(formulas);
        relations.truncate(sides.len() - 1);
    }
    Ok(())
}

/// An equation of two tuples, of names and of values, as one equation for each name: `(x, y) = (1,
/// 2)`.
pub(crate) fn pairwise(sides: &[Expr], relations: &[Relation]) -> Option<Expr> {
    let (
        [
            Expr::Bracket(End::Round, names, End::Round),
            Expr::Bracket(_, values, _),
        ],
        [Relation::Equal],
    ) = (sides, relations)
    else {
        return None;
    };
    let named = names.iter().all(|name| matches!(name, Expr::Symbol(_)));
    let one = |(name, value): (&Expr, &Expr)| {
        Expr::Chain(vec![name.clone(), value.clone()], vec![Relation::Equal])
    };
    (named && names.len() == values.len())
        .then(|| Expr::List(names.iter().zip(values).map(one).collect()))
}

/// `a = b = 1` as one equation for each name.
pub(crate) fn for_each_name(expr: &Expr, budget: &Budget) -> Result<Option<Expr>, Exhausted> {
    let Expr::Chain(sides, relations) = expr else {
        return Ok(None);
    };
    let Some(Solved { names, value }) = solved(sides, relations) else {
        return Ok(None);
    };
    if names.len() < 2 || !names.iter().all(|name| matches!(name, Expr::Symbol(_))) {
        return Ok(None);
    }
    let each = names.iter().map(|name| {
        let sides = vec![copied(name, budget)?, copied(value, budget)?];
        Ok(Expr::Chain(sides, vec![Relation::Equal]))
    });
    Ok(Some(Expr::List(each.collect::<Result<_, _>>()?)))
}

/// `left - right` of an equation with two sides of scalars.
fn difference(sides: &[&Expr], cx: &Context<'_>) -> Result<Option<Expr>, Exhausted> {
    let [left, right] = *sides else {
        return Ok(None);
    };
    let scalar = |side: &Expr| {
        matches!(side, Expr::Quantity(..) | Expr::Percent(_)) || super::real_set::is_scalar(side)
    };
    if !scalar(left) || !scalar(right) {
        return Ok(None);
    }
    let difference = Expr::Sum(vec![left.clone(), right.clone().neg()]);
    Ok(Some(fold(&difference, cx.budget)?))
}

/// Whether two equations are multiples of each other by a constant other than 0, or by
/// denominators. For inequalities in one direction the constant must be positive.
pub(crate) fn multiples(
    a: &[&Expr],
    b: &[&Expr],
    positive: bool,
    cx: &Context<'_>,
) -> Result<bool, Exhausted> {
    match (difference(a, cx)?, difference(b, cx)?) {
        (Some(a), Some(b)) => {
            if scalar::proportional(&a, &b, positive, cx.budget)? {
                return Ok(true);
            }
            if positive {
                return Ok(false);
            }
            match (
                curves::without_denominators(&a, cx)?,
                curves::without_denominators(&b, cx)?,
            ) {
                (Some((a, a_divides)), Some((b, b_divides))) if a_divides || b_divides => {
                    scalar::proportional(&a, &b, false, cx.budget)
                }
                _ => Ok(false),
            }
        }
        _ => Ok(false),
    }
}

/// Whether two names are the same word up to case: `Area` and `area`.
fn is_same_word(a: &Expr, b: &Expr) -> bool {
    let word = |name: &Expr| match name {
        Expr::Symbol(name) | Expr::Word(name) | Expr::Text(name) => Some(name.clone()),
        _ => None,
    };
    let (Some(a), Some(b)) = (word(a), word(b)) else {
        return false;
    };
    let letters =
        |name: &str| name.len() > 3 && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    letters(&a) && a.eq_ignore_ascii_case(&b)
}

/// The second value in the variables of the first equation, if both names may denote the same
/// quantity: `f(m) = …` and `f(n) = …`, `f(x) = …` and `y = …`.
pub(crate) fn renamed(
    a: &Expr,
    b: &Expr,
    b_value: &Expr,
    budget: &Budget,
) -> Result<Option<Expr>, Exhausted> {
    match (a, b) {
        (Expr::Apply(a_name, a_items), Expr::Apply(b_name, b_items))
            if a_name == b_name && a_items.len() == b_items.len() =>
        {
            match renaming(a_items, b_items, b_value) {
                Some(names) => {
                    substituted(b_value, &|name| names.get(name).copied(), budget).map(Some)
                }
                None => Ok(None),
            }
        }
        (Expr::Apply(name, items), Expr::Symbol(y))
        | (Expr::Symbol(y), Expr::Apply(name, items))
            if (&**y == "y" || y == name) && matches!(items.as_slice(), [Expr::Symbol(_)]) =>
        {
            copied(b_value, budget).map(Some)
        }
        (a, b) if identical(a, b, budget)? || is_same_word(a, b) => {
            copied(b_value, budget).map(Some)
        }
        // `a_n = 2n + 1` and `a_k = 2k + 1`
        (Expr::Symbol(a), Expr::Symbol(b)) => {
            let index = |name: &str| {
                let (stem, index) = name.split_once("_{")?;
                let index = index.strip_suffix('}')?;
                (index.len() == 1 && index.bytes().all(|byte| (b'i'..=b't').contains(&byte)))
                    .then(|| (stem.to_owned(), index.to_owned()))
            };
            let (Some((a_stem, a_index)), Some((b_stem, b_index))) = (index(a), index(b)) else {
                return Ok(None);
            };
            let taken = b_value.any(&|part| matches!(part, Expr::Symbol(own) if **own == *a_index));
            if a_stem != b_stem || taken {
                return Ok(None);
            }
            replaced(b_value, &b_index, &Expr::symbol(&a_index), budget).map(Some)
        }
        _ => Ok(None),
    }
}

/// The name in the first list for each name in the second one, all replaced at once; `None` if the
/// lists differ in anything but names, or a name would be captured because the value contains it.
fn renaming<'a>(
    a_items: &'a [Expr],
    b_items: &'a [Expr],
    b_value: &Expr,
) -> Option<BTreeMap<&'a str, &'a Expr>> {
    fn names(items: &[Expr]) -> BTreeSet<&str> {
        fn name(item: &Expr) -> Option<&str> {
            match item {
                Expr::Symbol(name) => Some(name),
                _ => None,
            }
        }
        items.iter().filter_map(name).collect()
    }
    let (own, contained) = (names(b_items), rename::symbols(b_value));
    let mut renaming = BTreeMap::new();
    for (a, b) in a_items.iter().zip(b_items) {
        match (a, b) {
            (name @ Expr::Symbol(a), Expr::Symbol(b)) => {
                // Capitals are events, random variables or points.
                let capital = |name: &str| name.starts_with(|c: char| c.is_ascii_uppercase());
                if a != b && capital(a) && capital(b) {
                    return None;
                }
                if a != b && contained.contains(&**a) && !own.contains(&**a) {
                    return None;
                }
                renaming.entry(&**b).or_insert(name);
            }
            (a, b) if a == b => {}
            _ => return None,
        }
    }
    Some(renaming)
}
