//! What the words around a value make of it: "minus 7", "less than 7", "7 to 8", "not 7". Finds no value and reads no further
//! than a few words, so that it costs the same for every value.

use std::borrow::Cow;

use super::choice::ends_in_denial;
use super::phrases::{PRECISIONS, QUALIFIES_AFTER, QUALIFIES_BEFORE, QUALIFIES_BEFORE_VALUE, SIGNS};
use super::runs::{self, Run};
use super::tokens::{Kind, Line};
use super::trim::tidy;
use super::words::lower;

/// Most words before a value that are read for what they make of it.
const MOST_WORDS: usize = 6;

/// What the words before a value make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    Nothing,
    /// It is said not to be the value.
    Denied,
    /// It is a bound, an exception or part of a sum.
    Qualified,
}

/// What the words before the token `first` make of it.
pub(super) fn before(line: &Line<'_>, first: usize) -> Before {
    for at in (0..first).rev().take(MOST_WORDS) {
        if !matches!(line.tokens[at].kind, Kind::Word | Kind::Name) {
            break;
        }
        let word = lower(line.str(at));
        let roles = line.roles(at);
        if roles.denies() || word.ends_with("n't") || ends_in_denial(&word) {
            return Before::Denied;
        }
        if QUALIFIES_BEFORE.iter().any(|phrase| ends_with(line, at, phrase)) {
            return Before::Qualified;
        }
        // Only words that say nothing themselves may stand between.
        if !(roles.verb() || roles.before_value() || roles.hedge() || matches!(&*word, "the" | "a" | "an")) {
            break;
        }
    }
    Before::Nothing
}

/// Whether the end of `prose` denies the value that follows it.
pub(super) fn denied_after(prose: &str) -> bool {
    const BYTES: usize = 96;
    let end = &prose[prose.ceil_char_boundary(prose.len().saturating_sub(BYTES))..];
    let line = Line::read(end);
    before(&line, line.tokens.len()) == Before::Denied
}

/// Whether the words after a run make something else of it.
pub(super) fn after(line: &Line<'_>, end: usize) -> bool {
    let word = |at: usize| matches!(line.kind(at), Some(Kind::Word | Kind::Name));
    // "7 or more", "7 apples or more".
    if [end, end + 1].into_iter().take(1 + usize::from(word(end))).any(|at| opens_qualifier(line, at)) {
        return true;
    }
    if !word(end) || !QUALIFIES_BEFORE_VALUE.contains(&&*lower(line.str(end))) || !runs::starts_value(line, end + 1) {
        return false;
    }
    let follows = runs::run_at(line, end + 1).map_or(end + 2, |run| run.end);
    let precision = |at: usize| word(at) && PRECISIONS.contains(&&*lower(line.str(at)));
    !(precision(follows) || precision(follows - 1))
}

fn opens_qualifier(line: &Line<'_>, at: usize) -> bool {
    QUALIFIES_AFTER.iter().any(|phrase| {
        phrase
            .split(' ')
            .enumerate()
            .all(|(index, part)| line.kind(at + index) == Some(Kind::Word) && lower(line.str(at + index)) == part)
    })
}

/// Whether the words up to and with the token `last` end with `phrase`. Scripts without blanks part no words.
fn ends_with(line: &Line<'_>, last: usize, phrase: &str) -> bool {
    if phrase.starts_with(|c: char| c >= '\u{2e80}') {
        return line.str(last).ends_with(phrase);
    }
    phrase.rsplit(' ').enumerate().all(|(index, part)| {
        last.checked_sub(index).is_some_and(|at| line.kind(at) == Some(Kind::Word) && lower(line.str(at)) == part)
    })
}

/// The word that turns the sign of the value at `first`. After another value it subtracts and turns nothing.
pub(super) fn sign_word(line: &Line<'_>, first: usize) -> Option<usize> {
    let at = first.checked_sub(1).filter(|at| line.kind(*at) == Some(Kind::Word))?;
    let word = lower(line.str(at));
    let wide = word.starts_with(|c: char| c >= '\u{2e80}');
    let turns = SIGNS.iter().any(|sign| if wide { word.ends_with(sign) } else { word == *sign });
    let hangs = match at.checked_sub(1).and_then(|before| line.kind(before)) {
        Some(Kind::Number | Kind::Maths | Kind::Command | Kind::Name | Kind::Close | Kind::Suffix | Kind::Currency) => {
            true
        }
        // "non-negative"
        Some(Kind::Operator) => line.is_glued(at),
        _ => false,
    };
    (turns && !hangs).then_some(at)
}

/// The minus at `at` that stands apart from its value: "- 7".
pub(super) fn sign_apart(line: &Line<'_>, at: usize) -> bool {
    line.kind(at) == Some(Kind::Operator) && matches!(line.str(at), "-" | "−" | "–") && runs::starts_value(line, at + 1)
}

/// A value with the sign that the token `sign` gives it, as one answer and its source.
pub(super) fn signed<'a>(line: &Line<'a>, sign: usize, run: Run) -> (Cow<'a, str>, &'a str) {
    let (value, _) = runs::text(line, run.first, run.end);
    let source = &line.text[line.tokens[sign].start..line.tokens[run.end - 1].end];
    // Of a sum in its own delimiters the sign would turn the first term only.
    let single = run.end - run.first == 1 && !value.contains(['+', '-', '−', '±', '=', '<', '>', ',']);
    let turns = single || line.kind(run.first) != Some(Kind::Maths) && !value.starts_with(['-', '−', '–', '+', '±']);
    if turns { (Cow::Owned(format!("-{value}")), source) } else { (Cow::Borrowed(source), source) }
}

/// The clause around a qualified value, as it stands: from the start of its sentence, at most from `first`, to the next mark.
pub(super) fn phrase<'a>(line: &Line<'a>, first: usize, run: Run) -> &'a str {
    let stop = |at: &usize| line.tokens[*at].kind == Kind::Stop;
    let first = (first.min(run.first)..run.first).rev().find(stop).map_or(first.min(run.first), |at| at + 1);
    let end = (run.end..line.tokens.len())
        .find(|at| matches!(line.tokens[*at].kind, Kind::Stop | Kind::Separator))
        .unwrap_or(line.tokens.len());
    tidy(&line.text[line.tokens[first].start..line.tokens[end - 1].end])
}
