//! From an answer's text to its tree. Reads LaTeX as models write it, plain ASCII and Unicode; judges nothing.
//!
//! `lexer` makes tokens, `expression` and its neighbours parse them with `nom`, `answer` decides what the whole says: one value, a
//! list, a choice, words.

mod answer;
mod binder;
mod bracket;
mod call;
mod condition;
mod date;
mod expression;
mod lexer;
mod literal;
mod marked;
mod names;
mod number_words;
mod printed;
mod prose;
mod quantity;
mod script;
pub(crate) mod text;
mod token;
pub(crate) mod unit;

use std::cell::Cell;

use crate::tree::{End, Expr};
use lexer::Commas;
use token::{Kind, Shape, Token, Tokens};

pub(crate) use call::{hundredth, is_product, letters};
pub(crate) use literal::written_decimals;

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

/// What a text may say. Commas between digits are ambiguous, and so are letters after a number, so there may be more readings.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What it says.
    pub expr: Expr,
    /// What it says if commas between digits, or letters after a number, mean something else.
    pub others: Vec<Expr>,
}

/// Longest text read, in bytes. Longer ones are no answer anybody would check.
pub const MAX_TEXT: usize = 400_000;

/// Most tokens parsed, redundant brackets not counted. A number of 200,000 digits is one token; 65,536 tokens take 25 ms.
const MAX_TOKENS: usize = 1 << 16;

/// Reads an answer; `None` when it says nothing the grader understands.
#[must_use]
pub fn read(text: &str) -> Option<Reading> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let clean = lexer::cleaned(text);
    let clean = unit::siunitx::rewritten(&clean);
    let Said { expr, second, joined } = said(&clean, Commas::Thousands);
    let expr = expr?;
    let other = if joined {
        said(&clean, Commas::Separate).expr
    } else if has_decimal_comma(&clean) {
        said(&clean, Commas::Decimal).expr
    } else {
        None
    };
    let others = other.into_iter().chain(second).filter(|other| *other != expr).collect();
    Some(Reading { expr, others })
}

/// What a text says when commas are read in one way.
struct Said {
    expr: Option<Expr>,
    /// What it says if letters after a number are, or are not, its unit.
    second: Option<Expr>,
    /// A plain comma joined digits to one number.
    joined: bool,
}

fn said(clean: &str, commas: Commas) -> Said {
    let lexed = lexer::lex(clean, commas);
    let tokens = unwrapped(&lexed.tokens);
    let joined = lexed.joined_by_comma;
    if tokens.len() > MAX_TOKENS {
        return Said { expr: None, second: None, joined: false };
    }
    let stacked = Cell::new(token::MAX_STACKED);
    let tokens = Tokens::new(&tokens, &stacked);
    Said { expr: answer::answer(tokens, clean), second: quantity::second_reading(tokens, clean), joined }
}

/// Whether the only comma stands between digits and could be a decimal point: `1000,99`, `0,5`.
fn has_decimal_comma(text: &str) -> bool {
    let Some((before, after)) = text.split_once(',') else {
        return false;
    };
    if after.contains(',') || text.contains(['.', '(', '[', '{']) {
        return false;
    }
    let places = after.bytes().take_while(u8::is_ascii_digit).count();
    // `-3,0` is a list: nobody would write the number -3 so.
    let is_fraction = after.bytes().take(places).any(|digit| digit != b'0');
    before.ends_with(|c: char| c.is_ascii_digit())
        && is_fraction
        && (1..=9).contains(&places)
        && (places != 3 || before.ends_with('0') && before.trim_end_matches('0').is_empty())
}

/// The tokens without brackets that stand directly inside brackets of the same shape: `((x))` says what `(x)` says. Linear, and
/// no matter how deep.
fn unwrapped<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
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
        let Some(Kind::Open(shape @ (Shape::Group | Shape::End(End::Round)))) = tokens.get(at).map(|token| token.kind)
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
    tokens.iter().zip(dropped).filter(|(_, dropped)| !dropped).map(|(token, _)| *token).collect()
}
