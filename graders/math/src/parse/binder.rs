//! Operators that bind a variable: sums, products, integrals, limits, derivatives.

use super::expression::{Parsed, deeper, no_parse, product, signed, signs, statement, sum};
use super::factor::atom;
use super::names;
use super::token::{Kind, Shape, Tokens};
use crate::tree::{Binder, Constant, Expr, Name, Relation};

/// The lower and upper script of an operator, in either order.
fn scripts<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a, (Option<Expr>, Option<Expr>)> {
    let mut rest = input;
    let (mut lower, mut upper) = (None, None);
    loop {
        let slot = match rest.first() {
            Some(Kind::Underscore) if lower.is_none() => &mut lower,
            Some(Kind::Caret) if upper.is_none() => &mut upper,
            _ => return Ok((rest, (lower, upper))),
        };
        let inside = rest.skip(1);
        let (after, value) = if inside.first() == Some(Kind::Open(Shape::Group)) {
            if inside.kind(1) == Some(Kind::Close(Shape::Group)) {
                (inside.skip(2), Expr::Ellipsis)
            } else {
                let (after, value) = statement(deeper(inside.skip(1), false)?)?;
                if after.first() != Some(Kind::Close(Shape::Group)) {
                    return no_parse();
                }
                (after.skip(1), value)
            }
        } else {
            let (inner, lead) = signs(deeper(inside, inside.bars)?);
            let (after, value) = atom(inner)?;
            (after, signed(lead, value))
        };
        *slot = Some(value);
        rest = after.back_to(rest);
    }
}

pub(crate) fn series<'t, 'a>(input: Tokens<'t, 'a>, name: &str) -> Parsed<'t, 'a> {
    let (rest, (lower, upper)) = scripts(deeper(input, input.bars)?)?;
    let binder = if name == "sum" {
        Binder::Sum
    } else {
        Binder::Product
    };
    let (rest, body) = product(rest)?;
    let rest = rest.back_to(input);
    let (variable, low) = match lower {
        Some(Expr::Chain(sides, relations)) if relations == [Relation::Equal] => {
            match <[Expr; 2]>::try_from(sides) {
                Ok([Expr::Symbol(variable), low]) => (variable, low),
                Ok([Expr::Constant(Constant::I), low]) => ("i".into(), low),
                _ => return no_parse(),
            }
        }
        Some(other) => ("".into(), other),
        None => return no_parse(),
    };
    let body = if &*variable == "i" {
        unbound_i(&body)
    } else {
        body
    };
    let parts = vec![low, upper.unwrap_or(Expr::Ellipsis), body];
    Ok((rest, Expr::Bound(binder, variable, parts)))
}

/// The letter i as a bound variable, not the imaginary unit.
fn unbound_i(body: &Expr) -> Expr {
    match body {
        Expr::Constant(Constant::I) => Expr::symbol("i"),
        other => other.map_children(&mut unbound_i),
    }
}

pub(crate) fn limit<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    let (rest, (lower, _)) = scripts(deeper(input, input.bars)?)?;
    let (rest, body) = product(rest)?;
    let Some(Expr::Chain(sides, relations)) = lower else {
        return no_parse();
    };
    let approaches = matches!(relations.as_slice(), [Relation::Maps | Relation::Implies]);
    match <[Expr; 2]>::try_from(sides) {
        Ok([Expr::Symbol(variable), point]) if approaches => Ok((
            rest.back_to(input),
            Expr::Bound(Binder::Limit, variable, vec![point, body]),
        )),
        _ => no_parse(),
    }
}

/// Longest integrand that is searched for its differential, in tokens.
const LONGEST_INTEGRAND: usize = 2_000;

pub(crate) fn integral<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    let (rest, (lower, upper)) = scripts(deeper(input, input.bars)?)?;
    let mut depth = 0usize;
    let mut nested = 0usize;
    for at in 0..LONGEST_INTEGRAND {
        let Some(kind) = rest.kind(at) else {
            break;
        };
        let differential = match kind {
            Kind::Open(_) => {
                depth += 1;
                None
            }
            Kind::Close(_) => {
                let Some(outer) = depth.checked_sub(1) else {
                    break;
                };
                depth = outer;
                None
            }
            Kind::Command("int") => {
                nested += 1;
                None
            }
            Kind::Word(word) if word.len() == 2 && word.starts_with('d') => {
                word.get(1..).map(|letter| (letter, 1))
            }
            Kind::Word("d") | Kind::Styled("d") => match rest.kind(at + 1) {
                Some(Kind::Word(letter)) if letter.len() == 1 => Some((letter, 2)),
                Some(Kind::Command(letter)) if names::greek(letter).is_some() => Some((letter, 2)),
                _ => None,
            },
            _ => None,
        };
        let Some((variable, width)) = differential.filter(|_| depth == 0) else {
            continue;
        };
        if let Some(outer) = nested.checked_sub(1) {
            nested = outer;
            continue;
        }
        let body = nom::Input::take(&rest, at);
        let body = if body.is_empty() {
            Expr::int(1)
        } else {
            let (left, body) = sum(body)?;
            if !left.is_empty() {
                return no_parse();
            }
            body
        };
        return Ok((
            rest.skip(at + width).back_to(input),
            integrated(variable.into(), lower, upper, body),
        ));
    }
    // `\int \frac{dx}{x}`
    let (rest, body) = product(rest)?;
    match without_differential(&body) {
        Some((variable, body)) => Ok((
            rest.back_to(input),
            integrated(variable, lower, upper, body),
        )),
        None => no_parse(),
    }
}

fn integrated(variable: Name, lower: Option<Expr>, upper: Option<Expr>, body: Expr) -> Expr {
    let written = |end: Option<Expr>| end.filter(|end| *end != Expr::Ellipsis);
    let parts = match (written(lower), written(upper)) {
        (Some(lower), Some(upper)) => vec![lower, upper, body],
        _ => vec![body],
    };
    Expr::Bound(Binder::Integral, variable, parts)
}

/// The variable of a differential among the factors of a body, and the body without it.
fn without_differential(body: &Expr) -> Option<(Name, Expr)> {
    let items = match body {
        Expr::Product(items) => items,
        Expr::Set(items) if items.len() == 1 => return without_differential(items.first()?),
        _ => return None,
    };
    for (at, item) in items.iter().enumerate() {
        let rest = |count: usize| {
            let (before, after) = (items.get(..at)?, items.get(at + count..)?);
            Some(Expr::Product([before, after].concat()))
        };
        if let (Expr::Symbol(d), Some(Expr::Symbol(variable))) = (item, items.get(at + 1))
            && **d == *"d"
        {
            return Some((variable.clone(), rest(2)?));
        }
        if let Some((variable, inner)) = without_differential(item) {
            let mut items = items.clone();
            *items.get_mut(at)? = inner;
            return Some((variable, Expr::Product(items)));
        }
    }
    None
}

/// `{d}{dx}` or `{d^2}{dx^2}` with its operand, or `{dy}{dx}`: a derivative, in which the letters d
/// do not cancel.
pub(crate) fn derivative<'t, 'a>(input: Tokens<'t, 'a>) -> Option<Parsed<'t, 'a>> {
    let open = Some(Kind::Open(Shape::Group));
    let close = Some(Kind::Close(Shape::Group));
    let order = |at: usize| match (input.kind(at), input.kind(at + 1)) {
        (Some(Kind::Caret), Some(Kind::Number { text: "2", .. })) => (2, 2),
        (Some(Kind::Caret), Some(Kind::Number { text: "3", .. })) => (3, 2),
        _ => (1, 0),
    };
    // What is differentiated, how often, and the index after it.
    let differential = |at: usize| match (input.kind(at)?, input.kind(at + 1)) {
        (Kind::Word("d") | Kind::Command("partial"), next) => {
            let (times, width) = order(at + 1);
            match (next, input.kind(at + 1 + width)) {
                (_, Some(Kind::Word(letter))) if letter.len() == 1 => {
                    Some((letter, times, at + 2 + width))
                }
                (_, Some(Kind::Close(Shape::Group))) => Some(("", times, at + 1 + width)),
                _ => None,
            }
        }
        (Kind::Word(word), _) if word.len() == 2 => Some((word.strip_prefix('d')?, 1, at + 1)),
        _ => None,
    };
    if input.first() != open {
        return None;
    }
    let (of, times, at) = differential(1)?;
    if input.kind(at) != close || input.kind(at + 1) != open {
        return None;
    }
    let (by, _, end) = differential(at + 2).filter(|(by, ..)| !by.is_empty())?;
    let (by_times, width) = order(end);
    if input.kind(end + width) != close || by_times != times {
        return None;
    }
    let rest = input.skip(end + width + 1);
    if !of.is_empty() {
        let power = if times == 1 {
            String::new()
        } else {
            format!("^{times}")
        };
        return Some(Ok((
            rest,
            Expr::Symbol(format!("d{power}{of}/d{by}{power}").into()),
        )));
    }
    Some(deeper(rest, rest.bars).and_then(|inner| {
        let (after, body) = product(inner)?;
        let once = |body: Expr| Expr::Bound(Binder::Derivative, by.into(), vec![body]);
        Ok((
            after.back_to(input),
            (0..times).fold(body, |body, _| once(body)),
        ))
    }))
}
