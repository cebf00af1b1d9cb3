//! Quantities in prose: "46 g", "48 m²", "9.8 m/s^2". Outside mathematics a letter after a number
//! is the symbol of a unit, and is handed over upright (`46\text{ g}`), so that no grader takes it
//! for a variable. Where the number is part of a sum or product, the letter stays what it is: `3m +
//! 2`.

use std::borrow::Cow;

use super::runs;
use super::tokens::{Kind, Line};

/// Symbols of one letter. Case matters: `k` and `n` are variables.
const SYMBOLS: &[&str] = &[
    "m", "g", "s", "h", "t", "l", "L", "N", "J", "W", "V", "K", "A", "C",
];

/// Longest text that is read as a quantity, in bytes.
const LONGEST: usize = 64;

/// The unit of the number before the token `at`, where both are all there is between the marks and
/// joiners of tokens `first..end`: upright, and the token after it.
pub(super) fn unit(
    line: &Line<'_>,
    first: usize,
    end: usize,
    at: usize,
) -> Option<(String, usize)> {
    let number = at
        .checked_sub(1)
        .filter(|number| *number >= first && line.kind(*number) == Some(Kind::Number))?;
    if !symbol(line, at) || !opens_term(line, first, number) || !is_near(line, at) {
        return None;
    }
    let mut unit = format!("\\text{{ {}", line.str(at));
    let mut next = at + 1;
    if next + 1 < end
        && line.str(next) == "/"
        && (symbol(line, next + 1) || line.roles(next + 1).unit())
    {
        unit.push('/');
        unit.push_str(line.str(next + 1));
        next += 2;
    }
    unit.push('}');
    let raised = |at: usize| at < end && line.is_glued(at);
    if raised(next) && matches!(line.str(next), "²" | "³") {
        unit.push_str(if line.str(next) == "²" { "^2" } else { "^3" });
        next += 1;
    } else if raised(next)
        && line.str(next) == "^"
        && raised(next + 1)
        && matches!(line.str(next + 1), "2" | "3")
    {
        unit.push('^');
        unit.push_str(line.str(next + 1));
        next += 2;
    }
    let closes = next == end
        || line.kind(next) == Some(Kind::Separator)
        || runs::joined(line, first, next).is_some();
    closes.then_some((unit, next))
}

/// A short text that is nothing but a quantity, with its unit upright; other texts as they stand.
pub(super) fn upright(text: &str) -> Cow<'_, str> {
    if text.len() > LONGEST || text.contains(['\\', '$']) {
        return Cow::Borrowed(text);
    }
    let line = Line::read(text);
    let end = line.tokens.len();
    match runs::starts_value(&line, 0).then(|| runs::run_at(&line, 0)) {
        Some(Ok(run)) if (run.first, run.end) == (0, end) => runs::text(&line, 0, end).0,
        _ => Cow::Borrowed(text),
    }
}

fn symbol(line: &Line<'_>, at: usize) -> bool {
    line.kind(at) == Some(Kind::Name) && SYMBOLS.contains(&line.str(at))
}

/// Whether a number follows nothing it could calculate with; a sign of its own may stand before it.
fn opens_term(line: &Line<'_>, first: usize, number: usize) -> bool {
    let opens = |at: usize| {
        at == first || {
            let before = at - 1;
            matches!(line.kind(before), Some(Kind::Relation | Kind::Separator))
                || runs::joined(line, first, before).is_some()
        }
    };
    let signed = || {
        number > first
            && line.kind(number - 1) == Some(Kind::Operator)
            && line.is_glued(number)
            && opens(number - 1)
    };
    opens(number) || signed()
}

/// Whether at most one blank parts a token from the one before it.
fn is_near(line: &Line<'_>, at: usize) -> bool {
    let gap = &line.text[line.tokens[at - 1].end..line.tokens[at].start];
    matches!(gap, "" | " " | "\u{a0}" | "\u{202f}" | "\u{2009}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_after_a_number_is_its_unit() {
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
    fn a_letter_that_is_calculated_with_is_a_variable() {
        for text in [
            "3m + 2", "2 + 3m", "3x", "2k", "3m/4", "2m^4", "m", "3 m n", "3(m)", "2m = 6",
            "2 * 3m",
        ] {
            assert_eq!(upright(text), text);
        }
    }
}
