//! Superscripts and subscripts: powers, degrees with their minutes, subscripts that are names,
//! bases or binomials.

use std::ops::Neg as _;

use super::apply;
use super::base;
use super::call;
use super::expression::{Parsed, deeper, no_parse, signed, signs};
use super::factor::atom;
use super::literal;
use super::token::{Kind, Shape, Tokens};
use crate::tree::{Constant, End, Expr, Name, NamedSet, Relation};

/// An angle in degrees, with the minutes and seconds that follow.
pub(crate) fn degrees<'t, 'a>(input: Tokens<'t, 'a>, base: Expr) -> (Tokens<'t, 'a>, Expr) {
    let mut rest = input;
    let mut parts = vec![base];
    let mut least = 1;
    // One prime for minutes, two for seconds.
    while parts.len() < 3
        && let (Some(Kind::Number { text, point }), Some(Kind::Prime)) =
            (rest.first(), rest.kind(1))
    {
        let marks = if rest.kind(2) == Some(Kind::Prime) {
            2
        } else {
            1
        };
        let Some(value) = literal::number(text, point).filter(|_| marks >= least) else {
            break;
        };
        parts.push(Expr::quotient(
            value,
            Expr::int(if marks == 1 { 60 } else { 3_600 }),
        ));
        rest = rest.skip(1 + marks);
        least = marks + 1;
    }
    let all = if parts.len() == 1 {
        parts.pop().unwrap_or(Expr::Ellipsis)
    } else {
        Expr::Sum(parts)
    };
    (rest, Expr::Quantity(Box::new(all), "°".into()))
}

pub(crate) fn power<'t, 'a>(input: Tokens<'t, 'a>, base: Expr) -> Parsed<'t, 'a> {
    let rest = input.skip(1);
    let group = rest.first() == Some(Kind::Open(Shape::Group));
    let inside = if group { rest.skip(1) } else { rest };
    // `^\circ`, `^{\circ}`, `^{th}`, `^\prime`, `^T`.
    let width = usize::from(group);
    let closes = !group || inside.kind(1) == Some(Kind::Close(Shape::Group));
    if closes {
        let after = inside.skip(1 + width);
        match inside.first() {
            Some(Kind::Command("circ") | Kind::Degree) => return Ok(degrees(after, base)),
            Some(Kind::Text("th" | "st" | "nd" | "rd")) => return Ok((after, base)),
            Some(Kind::Word("th" | "st" | "nd" | "rd")) if matches!(base, Expr::Number(_)) => {
                return Ok((after, base));
            }
            Some(Kind::Prime) => {
                if let Expr::Symbol(name) = base {
                    return Ok((after, Expr::Symbol(format!("{name}'").into())));
                }
                return no_parse();
            }
            Some(Kind::Times) => {
                return match base {
                    Expr::Symbol(name) => Ok((after, Expr::Symbol(format!("{name}*").into()))),
                    Expr::Named(NamedSet::Naturals | NamedSet::Integers) => {
                        naturals(after, &base, "*")
                    }
                    _ => no_parse(),
                };
            }
            Some(Kind::Plus)
                if matches!(base, Expr::Named(NamedSet::Naturals | NamedSet::Integers)) =>
            {
                return naturals(after, &base, "+");
            }
            Some(Kind::Plus | Kind::Minus) if group => {
                return Ok((after, one_sided(base, inside.first())));
            }
            Some(Kind::Plus | Kind::Minus) if matches!(base, Expr::Named(NamedSet::Reals)) => {
                return Ok((after, one_sided(base, inside.first())));
            }
            _ => {}
        }
    }
    // `x \to 3^+`
    if matches!(rest.first(), Some(Kind::Plus | Kind::Minus))
        && matches!(rest.kind(1), None | Some(Kind::Close(Shape::Group)))
    {
        return Ok((rest.skip(1), one_sided(base, rest.first())));
    }
    let (rest, exponent) = exponent(rest)?;
    if matches!(exponent, Expr::Text(_)) {
        return no_parse();
    }
    if let Expr::Apply(name, parts) = &base
        && let Some(letter) = name.strip_suffix('_')
        && let [from] = parts.as_slice()
        && let Some(chosen) = apply::choices(letter, from.clone(), exponent.clone())
    {
        return Ok((rest, chosen));
    }
    // `(1, 2)^T` is a column.
    if let Expr::Bracket(End::Round | End::Angle, items, _) = &base
        && matches!(&exponent, Expr::Symbol(name) if matches!(&**name, "T" | "top"))
    {
        let rows = items.iter().map(|item| vec![item.clone()]);
        return Ok((rest, Expr::Matrix(rows.collect())));
    }
    Ok((rest, Expr::power(base, exponent)))
}

/// `0^+`, `3^-`: a point that is approached from one side.
fn one_sided(base: Expr, sign: Option<Kind<'_>>) -> Expr {
    if base == Expr::Named(NamedSet::Reals) {
        return half_line(sign == Some(Kind::Plus), false);
    }
    let name = if sign == Some(Kind::Plus) {
        "from above"
    } else {
        "from below"
    };
    Expr::Apply(name.into(), vec![base])
}

/// The positive or negative numbers, with or without 0.
fn half_line(positive: bool, with_zero: bool) -> Expr {
    let zero = if with_zero { End::Square } else { End::Round };
    let infinity = Expr::Constant(Constant::Infinity);
    if positive {
        Expr::Bracket(zero, vec![Expr::int(0), infinity], End::Round)
    } else {
        Expr::Bracket(End::Round, vec![infinity.neg(), Expr::int(0)], zero)
    }
}

/// `ℕ` or `ℤ` with a sign, a star or a bound that says at which number it begins.
fn naturals<'t, 'a>(rest: Tokens<'t, 'a>, base: &Expr, mark: &str) -> Parsed<'t, 'a> {
    let is_natural = *base == Expr::Named(NamedSet::Naturals);
    let set = match mark {
        "+" | ">0" | ">=1" => NamedSet::PositiveIntegers,
        "*" if is_natural => NamedSet::PositiveIntegers,
        ">=0" => NamedSet::NonnegativeIntegers,
        "0" if is_natural => NamedSet::NonnegativeIntegers,
        _ => return no_parse(),
    };
    Ok((rest, Expr::Named(set)))
}

/// A superscript: a group, or one signed factor with no postfix except a power or a subscript.
pub(crate) fn exponent<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    let inner = deeper(input, input.bars)?;
    let (rest, lead) = signs(inner);
    if rest.first() == Some(Kind::Caret) {
        return no_parse();
    }
    let (rest, base) = atom(rest)?;
    let (rest, value) = if rest.first() == Some(Kind::Caret) {
        power(rest, base)?
    } else if rest.first() == Some(Kind::Underscore) && matches!(base, Expr::Symbol(_)) {
        subscript(rest, base)?
    } else {
        (rest, base)
    };
    Ok((rest.back_to(input), signed(lead, value)))
}

/// The tokens of a subscript, as a part of a name.
pub(crate) fn subscript_text<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a, String> {
    let text = |kind: Kind<'a>| match kind {
        Kind::Number { text, .. } | Kind::Word(text) | Kind::Text(text) | Kind::Styled(text) => {
            Some(text)
        }
        Kind::Command(text) => Some(text),
        Kind::Comma => Some(","),
        Kind::Plus => Some("+"),
        Kind::Minus => Some("-"),
        Kind::Caret => Some("^"),
        Kind::Underscore => Some("_"),
        Kind::Prime => Some("'"),
        Kind::Slash => Some("/"),
        Kind::Times => Some("*"),
        Kind::Colon => Some(":"),
        Kind::Relation(Relation::Equal) => Some("="),
        Kind::Relation(Relation::Less) => Some("<"),
        Kind::Relation(Relation::Greater) => Some(">"),
        Kind::Relation(Relation::LessEqual) => Some("<="),
        Kind::Relation(Relation::GreaterEqual) => Some(">="),
        Kind::Relation(Relation::Maps) => Some("->"),
        Kind::Open(Shape::End(End::Round)) => Some("("),
        Kind::Close(Shape::End(End::Round)) => Some(")"),
        _ => None,
    };
    if input.first() != Some(Kind::Open(Shape::Group)) {
        let Some(part) = input.first().and_then(text) else {
            return no_parse();
        };
        return Ok((input.skip(1), part.to_owned()));
    }
    let mut name = String::new();
    let mut rest = input.skip(1);
    let mut depth = 1;
    while let Some(kind) = rest.first() {
        rest = rest.skip(1);
        match kind {
            Kind::Open(Shape::Group) => depth += 1,
            Kind::Close(Shape::Group) => {
                depth -= 1;
                if depth == 0 {
                    return Ok((rest, name));
                }
            }
            other => match text(other) {
                Some(part) if name.len() < 200 => name.push_str(part),
                _ => return no_parse(),
            },
        }
    }
    no_parse()
}

pub(crate) fn subscript<'t, 'a>(input: Tokens<'t, 'a>, base: Expr) -> Parsed<'t, 'a> {
    match base {
        Expr::Number(value) => {
            let (rest, text) = subscript_text(input.skip(1))?;
            match (base::base(&text), base::digits_with_point(&value)) {
                (Some(10), _) => Ok((rest, Expr::Number(value))),
                (Some(base), Some(digits)) => Ok((rest, Expr::Based(digits.into(), base))),
                _ => no_parse(),
            }
        }
        Expr::Symbol(name) if matches!(&*name, "C" | "A" | "P") && is_binomial(input, &name) => {
            let (rest, from) = call::argument(input.skip(1))?;
            Ok((rest, Expr::Apply(format!("{name}_").into(), vec![from])))
        }
        Expr::Symbol(name) if base::are_digits(&name) && base::base_ahead(input).is_some() => {
            let (rest, text) = subscript_text(input.skip(1))?;
            match base::base(&text) {
                Some(base) => Ok((rest, Expr::Based(name, base))),
                None => no_parse(),
            }
        }
        Expr::Symbol(_) | Expr::Constant(_) | Expr::Based(..) => {
            let (rest, text) = subscript_text(input.skip(1))?;
            let name: Name = match base {
                Expr::Symbol(name) => format!("{name}_{{{text}}}").into(),
                Expr::Constant(Constant::E) => format!("e_{{{text}}}").into(),
                Expr::Constant(Constant::I) => format!("i_{{{text}}}").into(),
                _ => format!("pi_{{{text}}}").into(),
            };
            if rest.first() == Some(Kind::Open(Shape::End(End::Round)))
                && !rest.spaced()
                && apply::applies(&name)
            {
                return apply::apply(rest, &name);
            }
            Ok((rest, Expr::Symbol(name)))
        }
        Expr::Power(pair) if matches!(pair.0, Expr::Symbol(_)) => {
            // `x^2_i`
            let (base, exponent) = *pair;
            let (rest, base) = subscript(input, base)?;
            Ok((rest, Expr::power(base, exponent)))
        }
        Expr::Apply(name, arguments) => {
            let (rest, text) = subscript_text(input.skip(1))?;
            Ok((
                rest,
                Expr::Apply(format!("{name}_{{{text}}}").into(), arguments),
            ))
        }
        Expr::Named(NamedSet::Naturals | NamedSet::Integers) => {
            let (rest, text) = subscript_text(input.skip(1))?;
            naturals(rest, &base, &text)
        }
        Expr::Named(NamedSet::Reals) => {
            let (rest, text) = subscript_text(input.skip(1))?;
            match text.as_str() {
                "+" | ">0" => Ok((rest, half_line(true, false))),
                ">=0" => Ok((rest, half_line(true, true))),
                "-" | "<0" => Ok((rest, half_line(false, false))),
                "<=0" => Ok((rest, half_line(false, true))),
                _ => no_parse(),
            }
        }
        _ => no_parse(),
    }
}

/// Whether a subscript and a superscript form a binomial, `C_n^k`: both are numbers or, for
/// combinations, single letters.
fn is_binomial(input: Tokens<'_, '_>, name: &str) -> bool {
    let simple = |kind: Option<Kind<'_>>| {
        matches!(kind, Some(Kind::Number { .. }))
            || name == "C" && matches!(kind, Some(Kind::Word(word)) if word.len() == 1)
    };
    let mut at = 1;
    for after in [Kind::Caret, Kind::Caret] {
        if input.kind(at) == Some(Kind::Open(Shape::Group)) {
            if !simple(input.kind(at + 1)) || input.kind(at + 2) != Some(Kind::Close(Shape::Group))
            {
                return false;
            }
            at += 3;
        } else if simple(input.kind(at)) {
            at += 1;
        } else {
            return false;
        }
        if at > 4 || input.kind(at) != Some(after) {
            break;
        }
        at += 1;
    }
    at >= 4
}
