//! Parses the text of an answer into a tree. Reads LaTeX as models write it, plain ASCII and
//! Unicode. Does not compare answers.
//!
//! `lexer` makes tokens, `expression` and related modules parse them with `nom`, and `answer`
//! decides what the whole text is: one value, a list, a choice, or words.

mod announcement;
mod answer;
mod apply;
mod approximate;
mod base;
mod binder;
mod bracket;
mod call;
mod chemistry;
mod condition;
mod cycles;
mod data;
mod date;
mod except;
mod expression;
mod factor;
mod joined;
mod lead;
mod lexer;
mod literal;
mod names;
mod number_words;
mod option_mark;
mod piecewise;
mod printed;
mod prose;
mod quantity;
mod reaction;
mod script;
pub(crate) mod sentence;
mod spoken;
pub(crate) mod text;
mod token;
pub(crate) mod unit;

use std::borrow::Cow;
use std::cell::Cell;

use crate::tree::{End, Expr, Relation};
use chemistry::Formula;
use token::{Shape, Tokens};

pub(crate) use apply::choices;
pub(crate) use call::{hundredth, is_product, letters};
pub(crate) use lexer::{Commas, with_points_between_thousands};
pub(crate) use literal::written_decimals;
pub(crate) use token::{Kind, Token};

/// A plain decimal such as `1e-6` as an exact number.
pub(crate) fn decimal(text: &str) -> Option<crate::number::Rational> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = literal::number(digits, digits.find('.'))?;
    let value = value.as_number()?;
    Some(if negative { value.neg() } else { value.clone() })
}

/// The readings of a text. Commas between digits, letters after a number and the sides of `≈` are
/// ambiguous, so there may be several.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The usual reading.
    pub expr: Expr,
    /// The readings in which commas between digits, letters after a number, or the sides of `≈`
    /// have another meaning.
    pub others: Vec<Expr>,
}

/// Longest text that is read, in bytes. Longer texts are not answers.
pub const MAX_TEXT: usize = 400_000;

/// Longest list of circled numbers that is read, in bytes.
const MAX_CIRCLED: usize = 200;

/// Most wide blanks of one text that may separate statements: each one scans the text before it.
const MAX_QUADS: usize = 100;

/// Most tokens that are parsed, without redundant brackets. A number of 200,000 digits is one
/// token; 32,768 tokens take 12 ms.
const MAX_TOKENS: usize = 1 << 15;

/// An intermediate form of a text that is read.
pub(crate) enum Form<'a> {
    /// The text without damaged escapes, announcements and commands for units.
    Cleaned(&'a str),
    /// Its tokens with one meaning of commas.
    Tokens(Commas, &'a [Token<'a>]),
}

/// Reads an answer; `None` if the text cannot be parsed.
#[must_use]
pub fn read(text: &str) -> Option<Reading> {
    read_observed(text, &mut |_| {})
}

/// Reads an answer, and passes its intermediate forms to `observe`.
pub(crate) fn read_observed(text: &str, observe: &mut dyn FnMut(Form<'_>)) -> Option<Reading> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let clean = data::unquoted(lexer::cleaned(text));
    let alone = |expr| {
        Some(Reading {
            expr,
            others: Vec::new(),
        })
    };
    let formula = chemistry::formula(&clean);
    if let Some(Formula {
        expr,
        certain: true,
    }) = formula
    {
        return alone(expr);
    }
    if let Some(circled) = circled(&clean) {
        return alone(circled);
    }
    if let Some(permutation) = cycles::permutation(&clean) {
        return alone(permutation);
    }
    let clean = announcement::strip(&clean);
    let clean = unit::siunitx::rewritten(&clean);
    let clean = except::rewritten(&clean).map_or(clean, Cow::Owned);
    let clean = spoken::rewritten(&clean).map_or(clean, Cow::Owned);
    observe(Form::Cleaned(&clean));
    if let Some(whole) = reaction::reaction(&clean).or_else(|| base::spelled(&clean)) {
        return alone(whole);
    }
    if let Some(expr) = labelled(&clean, observe) {
        return alone(expr);
    }
    let Interpretation {
        expr,
        second,
        joined,
    } = interpret(&clean, Commas::Thousands, observe);
    let formula = formula.map(|formula| formula.expr);
    let Some(expr) = expr else {
        return formula.and_then(alone);
    };
    let other = if joined {
        interpret(&clean, Commas::Separate, observe).expr
    } else if has_decimal_comma(&clean) {
        interpret(&clean, Commas::Decimal, observe).expr
    } else {
        None
    };
    let others = other
        .into_iter()
        .chain(formula)
        .chain(second)
        .chain(approximate::reversed(&expr))
        .chain(base::prefixed(&clean))
        .chain(bracketed_numbers(&clean))
        .filter(|other| *other != expr)
        .collect();
    Some(Reading { expr, others })
}

/// `Maximum value: 7` as an equation with a name.
fn labelled(text: &str, observe: &mut dyn FnMut(Form<'_>)) -> Option<Expr> {
    let (name, value) = announcement::labelled(text)?;
    let value = interpret(&value, Commas::Thousands, observe).expr?;
    let plain = !value.any(&|part| {
        matches!(
            part,
            Expr::Text(_)
                | Expr::Word(_)
                | Expr::Choice(..)
                | Expr::Chain(..)
                | Expr::List(_)
                | Expr::Where(..)
        )
    });
    plain.then(|| Expr::Chain(vec![Expr::symbol(&name), value], vec![Relation::Equal]))
}

/// `①③` and `①、③`: numbers of statements, in their order.
fn circled(text: &str) -> Option<Expr> {
    let is_number = |c: &char| ('①'..='⑳').contains(c);
    let text = text
        .trim()
        .strip_prefix("\\text{")
        .and_then(|text| text.strip_suffix('}'))
        .unwrap_or(text);
    if text.len() > MAX_CIRCLED || !text.contains(|c: char| is_number(&c)) {
        return None;
    }
    let rest = |c: char| {
        is_number(&c) || c.is_whitespace() || matches!(c, '、' | ',' | ';' | '和' | '$' | '.')
    };
    text.chars()
        .all(rest)
        .then(|| Expr::Text(text.chars().filter(is_number).collect::<String>().into()))
}

/// `(1)(3)` and `(1), (3)`: numbers of statements in brackets, as circled numbers.
fn bracketed_numbers(text: &str) -> Option<Expr> {
    if text.len() > MAX_CIRCLED || !text.starts_with('(') {
        return None;
    }
    let mut numbers = String::new();
    let mut rest = text;
    while let Some(inner) = rest.strip_prefix('(') {
        let (number, after) = inner.split_once(')')?;
        let index = number.parse::<u32>().ok()?.checked_sub(1)?;
        numbers.extend(char::from_u32(u32::from('①') + index).filter(|c| *c <= '⑳'));
        rest = after.trim_start_matches([' ', ',', '、', ';', '和', '$']);
    }
    (rest.is_empty() && numbers.chars().count() > 1).then(|| Expr::Text(numbers.into()))
}

/// The interpretation of a text with one meaning of commas.
struct Interpretation {
    expr: Option<Expr>,
    /// The reading in which letters after a number are, or are not, its unit.
    second: Option<Expr>,
    /// Whether a plain comma joined digits to one number.
    joined: bool,
}

fn interpret(clean: &str, commas: Commas, observe: &mut dyn FnMut(Form<'_>)) -> Interpretation {
    let nothing = Interpretation {
        expr: None,
        second: None,
        joined: false,
    };
    let lexed = lexer::lex(clean, commas);
    let joined = lexed.joined_by_comma;
    if lexed.tokens.len() > lexer::MAX_TOKENS {
        return nothing;
    }
    let tokens = unwrapped(separated(lexed.tokens));
    if tokens.len() > MAX_TOKENS {
        return nothing;
    }
    observe(Form::Tokens(commas, &tokens));
    let stacked = Cell::new(token::MAX_STACKED);
    let tokens = Tokens::new(&tokens, &stacked);
    let expr = answer::answer(tokens, clean);
    let of_side = || quantity::second_reading_of_side(expr.as_ref()?, tokens, clean);
    let second = quantity::second_reading(tokens, clean).or_else(of_side);
    Interpretation {
        expr,
        second,
        joined,
    }
}

/// Whether commas between digits could be decimal points: the only comma of a text, as in
/// `2500,75`, or all commas if semicolons separate the values.
fn has_decimal_comma(text: &str) -> bool {
    let mut commas = text.match_indices(',').map(|(at, _)| text.split_at(at));
    if text.contains(';') {
        let pointed = |(before, after): (&str, &str)| {
            before.ends_with(|c: char| c.is_ascii_digit())
                && after
                    .get(1..2)
                    .is_some_and(|next| next.bytes().all(|b| b.is_ascii_digit()))
        };
        return text.contains(',')
            && !text.contains('.')
            && text.len() < 4_000
            && commas.all(pointed);
    }
    let (Some((before, after)), None) = (commas.next(), commas.next()) else {
        return false;
    };
    // Inside of arguments in braces a comma does not separate values.
    let count = |brace: u8| before.bytes().filter(|byte| *byte == brace).count();
    let inside = count(b'{') > count(b'}');
    if text.contains(['.', '(', '['])
        || inside && !before.contains("\\frac")
        || text.contains("\\{")
    {
        return false;
    }
    let after = after.get(1..).unwrap_or_default();
    let places = after.bytes().take_while(u8::is_ascii_digit).count();
    // `-3,0` is a list: the number would be written -3.
    let is_fraction = after.bytes().take(places).any(|digit| digit != b'0');
    before.ends_with(|c: char| c.is_ascii_digit())
        && is_fraction
        && (1..=9).contains(&places)
        && (places != 3 || before.ends_with('0') && before.trim_end_matches('0').is_empty())
}

/// Turns wide blanks into commas if they are between two statements, as in `x = 1 \quad y = 2`.
/// Other wide blanks are removed.
fn separated(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let quads = tokens
        .iter()
        .filter(|token| token.kind == Kind::Quad)
        .count();
    if quads == 0 {
        return tokens;
    }
    // Each one may scan everything before it.
    if quads > MAX_QUADS {
        return tokens
            .into_iter()
            .filter(|token| token.kind != Kind::Quad)
            .collect();
    }
    let states = |run: &[Token<'_>]| {
        run.iter()
            .any(|token| matches!(token.kind, Kind::Relation(_)))
    };
    let ends = |token: &Token<'_>| {
        matches!(
            token.kind,
            Kind::Quad | Kind::Comma | Kind::Semicolon | Kind::Newline
        )
    };
    let mut out: Vec<Token<'_>> = Vec::with_capacity(tokens.len());
    // Start of the statement before, as an index of `out`.
    let mut start = 0;
    for (at, token) in tokens.iter().enumerate() {
        if token.kind != Kind::Quad {
            let blank = at
                .checked_sub(1)
                .and_then(|before| tokens.get(before))
                .is_some_and(|before| before.kind == Kind::Quad);
            out.push(Token {
                spaced: token.spaced || blank,
                ..*token
            });
            if ends(token) {
                start = out.len();
            }
            continue;
        }
        let after = tokens.get(at + 1..).unwrap_or_default();
        let next = after
            .get(..after.iter().position(ends).unwrap_or(after.len()))
            .unwrap_or_default();
        let open = |run: &[Token<'_>]| {
            run.iter()
                .filter(|token| matches!(token.kind, Kind::Open(_)))
                .count()
        };
        let close = |run: &[Token<'_>]| {
            run.iter()
                .filter(|token| matches!(token.kind, Kind::Close(_)))
                .count()
        };
        let before = out.get(start..).unwrap_or_default();
        let opens = next.first().is_some_and(|token| {
            matches!(
                token.kind,
                Kind::Word(_) | Kind::Number { .. } | Kind::Command(_)
            )
        });
        if opens
            && states(before)
            && states(next)
            && open(before) == close(before)
            && next.len() < 1_000
        {
            out.push(Token {
                kind: Kind::Comma,
                ..*token
            });
            start = out.len();
        }
    }
    out
}

/// Removes brackets directly inside of brackets of the same shape: `((x))` means `(x)`. Linear at
/// any depth.
fn unwrapped(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let twice = |pair: &[Token<'_>]| match pair {
        [outer, inner] => matches!(outer.kind, Kind::Open(_)) && outer.kind == inner.kind,
        _ => false,
    };
    if !tokens.windows(2).any(twice) {
        return tokens;
    }
    let mut partner: Vec<usize> = vec![usize::MAX; tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Open(_) => open.push(at),
            Kind::Close(shape) => {
                if let Some(start) = open.pop()
                    && tokens.get(start).map(|token| token.kind) == Some(Kind::Open(shape))
                    && let (Some(a), b) = (partner.get_mut(start), at)
                {
                    *a = b;
                }
            }
            _ => {}
        }
    }
    let redundant = |at: usize| {
        let Some(Kind::Open(shape @ (Shape::Group | Shape::End(End::Round)))) =
            tokens.get(at).map(|token| token.kind)
        else {
            return false;
        };
        let close = partner.get(at).copied().unwrap_or(usize::MAX);
        let inner = at + 1;
        close != usize::MAX
            && close > 0
            && tokens.get(inner).map(|token| token.kind) == Some(Kind::Open(shape))
            && partner.get(inner).copied() == Some(close - 1)
    };
    let mut dropped = vec![false; tokens.len()];
    for at in 0..tokens.len() {
        if redundant(at) {
            for end in [at, partner.get(at).copied().unwrap_or(usize::MAX)] {
                if let Some(dropped) = dropped.get_mut(end) {
                    *dropped = true;
                }
            }
        }
    }
    tokens
        .into_iter()
        .zip(dropped)
        .filter(|(_, dropped)| !dropped)
        .map(|(token, _)| token)
        .collect()
}
