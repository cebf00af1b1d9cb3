//! Sums, products, powers and their operands. The parser is predictive: it looks at each token a
//! bounded number of times, so parsing is linear. [`Tokens::deeper`] limits nesting.

use std::ops::Neg as _;

use nom::error::{ErrorKind, ParseError};
use nom::{Err, IResult};

use super::apply;
use super::bracket;
use super::call;
use super::factor::factor;
use super::literal;
use super::prose::{is_function_word, is_operand};
use super::token::{Kind, Shape, Tokens};
use super::unit;
use crate::tree::{Constant, End, Expr, Function, Relation};

/// The tokens do not match the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoParse;

impl<I> ParseError<I> for NoParse {
    fn from_error_kind(_: I, _: ErrorKind) -> Self {
        Self
    }

    fn append(_: I, _: ErrorKind, other: Self) -> Self {
        other
    }
}

/// The result of a rule of the grammar.
pub(crate) type Parsed<'t, 'a, T = Expr> = IResult<Tokens<'t, 'a>, T, NoParse>;

/// The error of every rule. No other branch is tried, because the grammar is predictive.
pub(crate) fn no_parse<T>() -> Result<T, Err<NoParse>> {
    Err(Err::Error(NoParse))
}

/// Enters a construct; fails at the limit of nesting.
pub(crate) fn deeper<'t, 'a>(
    input: Tokens<'t, 'a>,
    bars: bool,
) -> Result<Tokens<'t, 'a>, Err<NoParse>> {
    input.deeper(bars).ok_or(Err::Error(NoParse))
}

/// Counts an operator that applies to the result of another one; fails at the limit.
pub(crate) fn stack(input: Tokens<'_, '_>) -> Result<(), Err<NoParse>> {
    input.stack().ok_or(Err::Error(NoParse))
}

/// Takes one token of this kind.
pub(crate) fn expect<'t, 'a>(input: Tokens<'t, 'a>, kind: Kind<'static>) -> Parsed<'t, 'a, ()> {
    if input.first() == Some(kind) {
        Ok((input.skip(1), ()))
    } else {
        no_parse()
    }
}

/// A chain of sides and relations: `a < b <= c`, or one side alone.
pub(crate) fn statement<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    let (mut rest, first) = match definition(input) {
        Some(head) => head,
        None => combination(input)?,
    };
    let mut sides = vec![first];
    let mut relations = Vec::new();
    loop {
        if rest.first() == Some(Kind::Newline) && matches!(rest.kind(1), Some(Kind::Relation(_))) {
            rest = rest.skip(1);
        }
        let (relation, width) = match (rest.first(), rest.kind(1)) {
            (Some(Kind::Relation(relation)), Some(Kind::Relation(Relation::Equal)))
                if matches!(relation, Relation::Less | Relation::Greater) =>
            {
                let with_equal = match relation {
                    Relation::Less => Relation::LessEqual,
                    _ => Relation::GreaterEqual,
                };
                (with_equal, 2)
            }
            (Some(Kind::Relation(relation)), _) => (relation, 1),
            (Some(Kind::Command("not")), Some(Kind::Relation(relation))) => {
                let negated = match relation {
                    Relation::Equal => Relation::NotEqual,
                    Relation::In => Relation::NotIn,
                    Relation::Congruent => Relation::NotEqual,
                    _ => return no_parse(),
                };
                (negated, 2)
            }
            _ => break,
        };
        let (after, side) = combination(rest.skip(width))?;
        let member = matches!(
            relation,
            Relation::In | Relation::NotIn | Relation::Subset | Relation::ProperSubset
        );
        sides.push(if member {
            braced(side, rest.skip(width))
        } else {
            side
        });
        rest = after;
        relations.push(relation);
    }
    if relations.is_empty() {
        return Ok((rest, sides.pop().unwrap_or(Expr::Ellipsis)));
    }
    Ok((rest, Expr::Chain(sides, relations)))
}

/// `p(x) = …`, `W(2) = …`: any letter before an equals sign is a function.
fn definition<'t, 'a>(input: Tokens<'t, 'a>) -> Option<(Tokens<'t, 'a>, Expr)> {
    let name = match input.first()? {
        Kind::Word(word) if word.len() == 1 => word,
        Kind::Styled(letter) => letter,
        _ => return None,
    };
    let round = Shape::End(End::Round);
    if input.kind(1) != Some(Kind::Open(round)) {
        return None;
    }
    let mut at = 2;
    while at < 12
        && matches!(input.kind(at), Some(Kind::Number { .. } | Kind::Comma))
            | matches!(input.kind(at), Some(Kind::Word(word)) if word.len() == 1)
    {
        at += 1;
    }
    let equals = input.kind(at + 1) == Some(Kind::Relation(Relation::Equal));
    if at == 2 || input.kind(at) != Some(Kind::Close(round)) || !equals {
        return None;
    }
    apply::apply(input.skip(1), name).ok()
}

/// Set operations, or a ratio.
fn combination<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    use crate::tree::SetOp;
    let mut start = input;
    let (mut rest, mut all) = ratio(input)?;
    loop {
        let op = match rest.first() {
            Some(Kind::Command("cup")) => SetOp::Union,
            Some(Kind::Command("cap")) => SetOp::Intersection,
            Some(Kind::Command("setminus")) => SetOp::Difference,
            _ => return Ok((rest, all)),
        };
        let (after, next) = ratio(rest.skip(1))?;
        let before = braced(all, start);
        let next = braced(next, rest.skip(1));
        (start, rest) = (rest.skip(1), after);
        all = match before {
            Expr::SetOp(own, mut items) if own == op => {
                items.push(next);
                Expr::SetOp(op, items)
            }
            other => {
                stack(rest)?;
                Expr::SetOp(op, vec![other, next])
            }
        };
    }
}

/// An operand where only sets are expected: unescaped braces are those of a set.
fn braced(side: Expr, start: Tokens<'_, '_>) -> Expr {
    match side {
        Expr::List(items) => Expr::Set(items),
        value @ (Expr::Number(_) | Expr::Symbol(_))
            if start.first() == Some(Kind::Open(Shape::Group)) =>
        {
            Expr::Set(vec![value])
        }
        other => other,
    }
}

fn ratio<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    let (mut rest, first) = sum(input)?;
    if rest.first() == Some(Kind::Command("over")) {
        let (after, second) = sum(rest.skip(1))?;
        return Ok((after, Expr::quotient(first, second)));
    }
    if input.bars || input.divides || rest.first() != Some(Kind::Colon) {
        return Ok((rest, first));
    }
    let mut parts = vec![first];
    while rest.first() == Some(Kind::Colon) {
        let (after, next) = sum(rest.skip(1))?;
        rest = after;
        parts.push(next);
    }
    Ok((rest, Expr::Ratio(parts)))
}

/// A sign before a term.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Sign {
    Plus,
    Minus,
    PlusMinus,
    MinusPlus,
}

fn sign(kind: Option<Kind<'_>>) -> Option<Sign> {
    Some(match kind? {
        Kind::Plus => Sign::Plus,
        Kind::Minus => Sign::Minus,
        Kind::PlusMinus => Sign::PlusMinus,
        Kind::MinusPlus => Sign::MinusPlus,
        _ => return None,
    })
}

pub(crate) fn signed(sign: Sign, term: Expr) -> Expr {
    match sign {
        Sign::Plus => term,
        Sign::Minus => term.neg(),
        Sign::PlusMinus | Sign::MinusPlus => Expr::PlusMinus {
            upper_minus: sign == Sign::MinusPlus,
            term: Box::new(term),
        },
    }
}

/// Several signs as one: `--+-x` is `-x`.
pub(crate) fn signs<'t, 'a>(input: Tokens<'t, 'a>) -> (Tokens<'t, 'a>, Sign) {
    let mut rest = input;
    let mut all = Sign::Plus;
    while let Some(next) = sign(rest.first()) {
        all = match (all, next) {
            (Sign::Plus, next) => next,
            (all, Sign::Plus) => all,
            (Sign::Minus, Sign::Minus) => Sign::Plus,
            (Sign::Minus, Sign::PlusMinus) | (Sign::PlusMinus, Sign::Minus) => Sign::MinusPlus,
            (Sign::Minus, Sign::MinusPlus) | (Sign::MinusPlus, Sign::Minus) => Sign::PlusMinus,
            (all, _) => all,
        };
        rest = rest.skip(1);
    }
    (rest, all)
}

/// Terms with signs between them.
pub(crate) fn sum<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    let (mut rest, first) = term(input)?;
    let mut terms = vec![first];
    while sign(rest.first()).is_some() {
        let (after, next) = term(rest)?;
        rest = after;
        terms.push(next);
    }
    let all = if terms.len() == 1 {
        terms.pop().unwrap_or(Expr::Ellipsis)
    } else {
        Expr::Sum(terms)
    };
    modulus(rest, all)
}

/// A product and the signs before it.
fn term<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    let (rest, lead) = signs(input);
    signed_product(rest, lead)
}

/// `a \pmod m` and `a (mod m)`: the value before it as a residue class.
fn modulus<'t, 'a>(input: Tokens<'t, 'a>, value: Expr) -> Parsed<'t, 'a> {
    let bracketed = opens_modulus(input);
    if !bracketed && input.first() != Some(Kind::Command("pmod")) {
        return Ok((input, value));
    }
    let (rest, modulus) = if bracketed {
        let (rest, modulus) = factor(deeper(input.skip(2), false)?)?;
        expect(rest, Kind::Close(Shape::End(End::Round)))
            .map(|(rest, ())| (rest.back_to(input), modulus))?
    } else {
        factor(input.skip(1))?
    };
    stack(rest)?;
    Ok((rest, Expr::Call(Function::Residue, vec![value, modulus])))
}

/// Whether `(mod` is next.
fn opens_modulus(input: Tokens<'_, '_>) -> bool {
    input.first() == Some(Kind::Open(Shape::End(End::Round)))
        && input.kind(1) == Some(Kind::Command("mod"))
}

/// Whether a factor may follow directly.
pub(crate) fn begins_factor(input: Tokens<'_, '_>) -> bool {
    match input.first() {
        Some(Kind::Open(Shape::End(End::Square))) => !bracket::closes_reversed(input),
        Some(Kind::Open(Shape::End(End::Round))) => !opens_modulus(input),
        Some(Kind::Number { .. } | Kind::Fraction(..) | Kind::Styled(_) | Kind::Open(_)) => true,
        Some(Kind::Word(word)) => {
            !(matches!(word, "and" | "or")
                || word.len() > 1 && is_function_word(word) && !is_operand(input))
        }
        Some(Kind::Command(name)) => !matches!(
            name,
            "cup"
                | "cap"
                | "setminus"
                | "and"
                | "or"
                | "mod"
                | "pmod"
                | "over"
                | "choose"
                | "div"
                | "end"
                | "not"
                | "circ"
                | "forall"
                | "exists"
                | "therefore"
                | "because"
        ),
        Some(Kind::Bar) => !input.bars,
        _ => false,
    }
}

/// Factors side by side or with operators between them.
pub(crate) fn product<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    signed_product(input, Sign::Plus)
}

/// A product after a sign. `mod` applies to the sign, too: `-1 mod 2` is 1.
fn signed_product<'t, 'a>(input: Tokens<'t, 'a>, lead: Sign) -> Parsed<'t, 'a> {
    let mut lead = lead;
    let (mut rest, first) = factor(input)?;
    let mut bare_number = matches!(first, Expr::Number(_)) && is_plain_number(input, rest);
    // Whether all factors are numbers. Each factor is checked once, and only if letters follow: its
    // tree may be deep.
    let mut numeric = true;
    let mut checked = 0;
    let mut factors = vec![first];
    loop {
        match rest.first() {
            Some(Kind::Times) => {
                let (after, next) = signed_factor(rest.skip(1))?;
                rest = after;
                factors.push(next);
                bare_number = false;
            }
            // `3 x 10^8`
            Some(Kind::Word("x"))
                if bare_number
                    && matches!(rest.kind(1), Some(Kind::Number { text: "10", .. }))
                    && rest.kind(2) == Some(Kind::Caret) =>
            {
                let (after, next) = factor(rest.skip(1))?;
                rest = after;
                factors.push(next);
                bare_number = false;
            }
            Some(Kind::Slash | Kind::Command("div") | Kind::Colon)
                if input.divides || rest.first() != Some(Kind::Colon) =>
            {
                let (after, next) = signed_factor(rest.skip(1))?;
                rest = after;
                factors.push(next.recip());
                bare_number = false;
            }
            Some(Kind::Command("mod")) => {
                let (after, next) = signed_factor(rest.skip(1))?;
                rest = after;
                stack(rest)?;
                let left = signed(
                    std::mem::replace(&mut lead, Sign::Plus),
                    product_of(std::mem::take(&mut factors)),
                );
                checked = 0;
                factors.push(Expr::Call(Function::Mod, vec![left, next]));
            }
            // `2 \cdot 4 \cdots 2n`
            Some(Kind::Ellipsis) if factors.len() > 1 && begins_factor(rest.skip(1)) => {
                rest = rest.skip(1);
                factors.push(Expr::Ellipsis);
                bare_number = false;
            }
            // `2\angle 60^\circ`
            Some(Kind::Command("angle")) if factors.iter().all(is_numeric) => {
                let (after, angle) = signed_factor(rest.skip(1))?;
                rest = after;
                factors.push(match angle {
                    angle if is_angle(&angle) => call::turned_by(angle),
                    other => Expr::Apply("angle".into(), vec![other]),
                });
                bare_number = false;
            }
            _ if bare_number
                && let Some((after, power)) = literal::power_of_ten(rest, factors.last()) =>
            {
                rest = after;
                factors.push(power);
                bare_number = false;
            }
            _ if begins_factor(rest) => {
                if matches!(rest.first(), Some(Kind::Word(letters)) if letters.len() > 1)
                    || matches!(rest.first(), Some(Kind::Styled(_)))
                {
                    numeric &= factors
                        .get(checked..)
                        .unwrap_or_default()
                        .iter()
                        .all(is_numeric);
                    checked = factors.len();
                }
                // `12 red apples`: letters before a word for what is counted.
                let counted = |word: &str| {
                    rest.spaced()
                        && call::is_run(word)
                        && matches!(rest.kind(1), Some(Kind::Word(next)) if next.len() > 3 && unit::begins(next))
                };
                if let Some(Kind::Word(word)) = rest.first()
                    && (unit::begins(word) || counted(word))
                    && numeric
                    && !is_product_inside(rest, word)
                    && !(word.len() == 3
                        && rest.kind(1) == Some(Kind::Open(Shape::End(End::Round))))
                {
                    break;
                }
                // `5\mathrm{m}`: an upright letter after a number is its unit.
                if let Some(Kind::Styled(letter)) = rest.first()
                    && unit::is_letter(letter)
                    && numeric
                {
                    break;
                }
                let whole =
                    matches!(factors.last(), Some(Expr::Number(value)) if value.is_integer());
                if bare_number
                    && whole
                    && let Some((after, part)) = literal::fraction_part(rest)
                {
                    // A mixed number: `1 1/2`, `1\frac{1}{2}`, `1½`.
                    let whole = factors.pop().unwrap_or(Expr::Ellipsis);
                    let mixed = Expr::Sum(vec![whole, part]);
                    let percent = after.first() == Some(Kind::Percent);
                    factors.push(if percent {
                        Expr::Percent(Box::new(mixed))
                    } else {
                        mixed
                    });
                    rest = after.skip(usize::from(percent));
                    bare_number = false;
                    continue;
                }
                // `10C3`
                if bare_number
                    && !rest.spaced()
                    && let Some((after, chosen)) = apply::chosen_of(rest, factors.last())
                {
                    factors.pop();
                    factors.push(chosen);
                    rest = after;
                    bare_number = false;
                    continue;
                }
                let (after, next) = factor(rest)?;
                let number = matches!(next, Expr::Number(_)) && is_plain_number(rest, after);
                if number && bare_number {
                    return no_parse();
                }
                rest = after;
                bare_number = number;
                factors.push(next);
            }
            _ => break,
        }
    }
    Ok((rest, signed(lead, product_of(factors))))
}

/// Whether letters that spell a unit are factors: `\sqrt{2hg}`. Only whole answers have units.
fn is_product_inside(input: Tokens<'_, '_>, word: &str) -> bool {
    const UNITS: &[&str] = &["cm", "km", "mm", "kg", "ml"];
    input.is_nested() && !input.spaced() && call::is_run(word) && !UNITS.contains(&word)
}

/// Whether there is one token, a literal, between two positions.
fn is_plain_number(from: Tokens<'_, '_>, to: Tokens<'_, '_>) -> bool {
    from.run().len() - to.run().len() == 1
}

/// Whether a value without variables is an angle by its notation: in degrees, or a multiple of pi.
fn is_angle(value: &Expr) -> bool {
    let marked = |part: &Expr| match part {
        Expr::Quantity(_, unit) => &**unit == "°",
        other => *other == Expr::Constant(Constant::Pi),
    };
    is_numeric(value) && value.any(&marked)
}

fn is_numeric(factor: &Expr) -> bool {
    !factor.any(&|part| matches!(part, Expr::Symbol(_) | Expr::Apply(..) | Expr::Text(_)))
}

fn product_of(mut factors: Vec<Expr>) -> Expr {
    if factors.len() == 1 {
        factors.pop().unwrap_or(Expr::Ellipsis)
    } else {
        Expr::Product(factors)
    }
}

/// A factor after an operator, with its signs: `2*-3`.
pub(crate) fn signed_factor<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    let (rest, lead) = signs(input);
    let (rest, next) = factor(rest)?;
    Ok((rest, signed(lead, next)))
}
