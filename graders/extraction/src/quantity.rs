//! Quantities in prose: "46 g", "48 m²", "9.8 m/s^2". Outside maths, a letter after a number is the
//! symbol of a unit. It is returned in upright type (`46\text{ g}`), so that no grader reads it as
//! a variable. A letter of a sum or product stays a variable: `3m + 2`.

use std::borrow::Cow;

use crate::tokens::{Lexed, TokenKind};
use crate::value_runs;

/// Unit symbols of one letter. Case matters. `k` and `n` are missing because they are common
/// variables.
const SYMBOLS: &[&str] = &[
    "m", "g", "s", "h", "t", "l", "L", "N", "J", "W", "V", "K", "A", "C",
];

/// Longest text that is treated as a quantity, in bytes.
const MAX_BYTES: usize = 64;

/// Reads the unit at the token `at`. Returns it in upright type, with the token after it.
///
/// `None` unless a number precedes it, the two are adjacent, and both form a whole member of the
/// run `first..end`: "3 m, 4 m", but not "3m + 2".
pub(super) fn unit(
    lexed: &Lexed<'_>,
    first: usize,
    end: usize,
    at: usize,
) -> Option<(String, usize)> {
    let number = at
        .checked_sub(1)
        .filter(|number| *number >= first && lexed.kind(*number) == Some(TokenKind::Number))?;
    if !symbol(lexed, at) || !opens_term(lexed, first, number) || !is_near(lexed, at) {
        return None;
    }
    let mut unit = format!("\\text{{ {}", lexed.str(at));
    let mut next = at + 1;
    // "m/s", "g/ml".
    if next + 1 < end
        && lexed.str(next) == "/"
        && (symbol(lexed, next + 1) || lexed.roles(next + 1).unit())
    {
        unit.push('/');
        unit.push_str(lexed.str(next + 1));
        next += 2;
    }
    unit.push('}');
    let is_exponent = |at: usize| at < end && lexed.is_glued(at);
    if is_exponent(next) && matches!(lexed.str(next), "²" | "³") {
        unit.push_str(if lexed.str(next) == "²" { "^2" } else { "^3" });
        next += 1;
    } else if is_exponent(next)
        && lexed.str(next) == "^"
        && is_exponent(next + 1)
        && matches!(lexed.str(next + 1), "2" | "3")
    {
        unit.push('^');
        unit.push_str(lexed.str(next + 1));
        next += 2;
    }
    let ends_member = next == end
        || lexed.kind(next) == Some(TokenKind::Separator)
        || value_runs::joiner_at(lexed, first, next).is_some();
    ends_member.then_some((unit, next))
}

/// Returns a short text that consists of a quantity with its unit in upright type, and any other
/// text unchanged.
pub(super) fn upright(text: &str) -> Cow<'_, str> {
    if text.len() > MAX_BYTES || text.contains(['\\', '$']) {
        return Cow::Borrowed(text);
    }
    let lexed = Lexed::read(text);
    let end = lexed.tokens.len();
    match value_runs::starts_value(&lexed, 0).then(|| value_runs::run_at(&lexed, 0)) {
        Some(Ok(run)) if (run.first, run.end) == (0, end) => value_runs::text(&lexed, 0, end).0,
        _ => Cow::Borrowed(text),
    }
}

/// Whether a token is a unit symbol of one letter.
fn symbol(lexed: &Lexed<'_>, at: usize) -> bool {
    lexed.kind(at) == Some(TokenKind::Name) && SYMBOLS.contains(&lexed.str(at))
}

/// Whether the number starts a member of the run: it may have a sign, but no operator may connect
/// it to another value.
fn opens_term(lexed: &Lexed<'_>, first: usize, number: usize) -> bool {
    let opens = |at: usize| {
        at == first || {
            let before = at - 1;
            matches!(
                lexed.kind(before),
                Some(TokenKind::Relation | TokenKind::Separator)
            ) || value_runs::joiner_at(lexed, first, before).is_some()
        }
    };
    let signed = || {
        number > first
            && lexed.kind(number - 1) == Some(TokenKind::Operator)
            && lexed.is_glued(number)
            && opens(number - 1)
    };
    opens(number) || signed()
}

/// Whether at most one blank separates a token from the one before it.
fn is_near(lexed: &Lexed<'_>, at: usize) -> bool {
    let gap = &lexed.text[lexed.tokens[at - 1].end..lexed.tokens[at].start];
    matches!(gap, "" | " " | "\u{a0}" | "\u{202f}" | "\u{2009}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_letter_after_number_as_unit() {
        for (text, quantity) in [
            ("46 g", "46\\text{ g}"),
            ("1,204.75m²", "1,204.75\\text{ m}^2"),
            ("-5 m^3", "-5\\text{ m}^3"),
            ("20 m/s", "20\\text{ m/s}"),
            ("9.8 m/s²", "9.8\\text{ m/s}^2"),
            (
                "3 m, 4 m and 5 m",
                "3\\text{ m}, 4\\text{ m} and 5\\text{ m}",
            ),
            ("x = 5 s", "x = 5\\text{ s}"),
        ] {
            assert_eq!(upright(text), quantity);
        }
    }

    #[test]
    fn keeps_letters_of_expressions_as_variables() {
        for text in [
            "3m + 2", "2 + 3m", "3x", "2k", "3m/4", "2m^4", "m", "3 m n", "3(m)", "2m = 6",
            "2 * 3m",
        ] {
            assert_eq!(upright(text), text);
        }
    }
}
