//! Names whose subscripts are indices: under a sum over i, `a_i` depends on i, and so do `a_{i+1}`
//! and `a_{ij}`. They are written as unknown functions of their indices.

use std::ops::Neg as _;

use crate::budget::{Budget, Exhausted};
use crate::number::Rational;
use crate::tree::charged::charge_visit;
use crate::tree::{Binder, Expr};

/// Ends the name of an unknown function of indices.
const MARK: char = '_';

/// Longest run of letters that are an index each: `a_{ijk}`, but not `x_{input}`.
const MAX_LETTERS: usize = 3;

/// Words that are no indices although they are short.
const WORDS: [&str; 6] = ["min", "max", "in", "out", "id", "kin"];

/// Most terms of a sum that are written out.
const MAX_TERMS: i64 = 12;

/// Steps of reading a subscript.
const READ_STEPS: u64 = 8;

/// The body of an operator that binds `bound`, with names that depend on it as functions of their
/// indices.
pub(super) fn with_indices(body: Expr, bound: &str, budget: &Budget) -> Result<Expr, Exhausted> {
    let depends = |part: &Expr| match part {
        Expr::Symbol(name) | Expr::Apply(name, _) => indices(name, bound).is_some(),
        _ => false,
    };
    charge_visit(&body, 1, budget)?;
    if bound.is_empty() || !body.any(&depends) {
        return Ok(body);
    }
    charge_visit(&body, READ_STEPS, budget)?;
    Ok(changed(&body, bound))
}

fn changed(expr: &Expr, bound: &str) -> Expr {
    match expr {
        Expr::Symbol(name) => match indices(name, bound) {
            Some((stem, indices)) => Expr::Apply(format!("{stem}{MARK}").into(), indices),
            None => expr.clone(),
        },
        Expr::Apply(name, items) if let Some((stem, mut all)) = indices(name, bound) => {
            all.extend(items.iter().map(|item| changed(item, bound)));
            Expr::Apply(format!("{stem}{MARK}").into(), all)
        }
        other => other.map_children(&mut |child| changed(child, bound)),
    }
}

/// The stem and the indices of a name, if one of them mentions `bound`.
fn indices<'a>(name: &'a str, bound: &str) -> Option<(&'a str, Vec<Expr>)> {
    let (stem, subscript) = name.split_once("_{")?;
    let subscript = subscript.strip_suffix('}')?;
    if !subscript.contains(bound) || subscript.len() > 40 {
        return None;
    }
    let mut all = Vec::new();
    for part in subscript.split(',') {
        match run_of_letters(part) {
            Some(letters) => all.extend(letters),
            None => all.push(linear(part)?),
        }
    }
    let mentions =
        |index: &Expr| index.any(&|part| matches!(part, Expr::Symbol(own) if **own == *bound));
    all.iter().any(mentions).then_some((stem, all))
}

/// `ij` as two indices.
fn run_of_letters(part: &str) -> Option<Vec<Expr>> {
    let letters = part.chars().count();
    let plain = part.chars().all(char::is_alphabetic) && (2..=MAX_LETTERS).contains(&letters);
    let symbol = |letter: char| Expr::symbol(letter.encode_utf8(&mut [0; 4]));
    (plain && !WORDS.contains(&part)).then(|| part.chars().map(symbol).collect())
}

/// `n-i+1`, `2i`: a sum of integers and of single letters with an integer factor.
fn linear(part: &str) -> Option<Expr> {
    let mut terms = Vec::new();
    for positive in part.split('+') {
        for (at, term) in positive.split('-').enumerate() {
            if at == 0 && term.is_empty() && positive.len() > 1 {
                continue;
            }
            let digits = term.bytes().take_while(u8::is_ascii_digit).count();
            let (factor, letter) = term.split_at(digits);
            let letter = letter.trim_start_matches('*');
            let factor = match factor {
                "" => Rational::small(1),
                digits => Rational::from_decimal(digits, "", 0)?,
            };
            let mut letters = letter.chars();
            let value = match (letters.next(), letters.next()) {
                (None, _) if digits > 0 => Expr::Number(factor),
                (Some(only), None) if only.is_alphabetic() => {
                    Expr::Product(vec![Expr::Number(factor), Expr::symbol(letter)])
                }
                _ => return None,
            };
            terms.push(if at == 0 { value } else { value.neg() });
        }
    }
    Some(Expr::Sum(terms))
}

/// The name of an unknown function of integers: `a_3` for its third value.
pub(super) fn name_of(function: &str, items: &[Expr]) -> Option<Expr> {
    let stem = function.strip_suffix(MARK)?;
    let mut subscript = String::new();
    for item in items {
        let index = item.as_number()?.to_i64()?;
        // `a_{12}` is usual for `a_{1,2}`.
        if !subscript.is_empty() && !(0..10).contains(&index) {
            return None;
        }
        subscript.push_str(&index.to_string());
    }
    (!subscript.is_empty()).then(|| Expr::symbol(&format!("{stem}_{{{subscript}}}")))
}

/// The integers over which a short sum or product runs whose terms have indices, to be written out.
pub(super) fn short_range(binder: Binder, parts: &[Expr]) -> Option<std::ops::RangeInclusive<i64>> {
    let [low, high, body] = parts else {
        return None;
    };
    let (low, high) = (low.as_number()?.to_i64()?, high.as_number()?.to_i64()?);
    let short = high
        .checked_sub(low)
        .is_some_and(|count| (0..MAX_TERMS).contains(&count));
    let indexed = body.any(&|part| matches!(part, Expr::Apply(name, _) if name.ends_with(MARK)));
    (matches!(binder, Binder::Sum | Binder::Product) && short && indexed).then_some(low..=high)
}
