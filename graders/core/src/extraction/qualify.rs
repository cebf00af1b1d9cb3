//! What the words around a value make of it: "minus 7", "less than 7", "7 to 8", "not 7". Finds no
//! value and reads no further than a few words, so that it costs the same for every value.

use std::borrow::Cow;

use super::characters::is_spaced;
use super::choice::ends_in_denial;
use super::phrases::{
    COMPARES_AFTER, PRECISIONS, QUALIFIES_AFTER, QUALIFIES_BEFORE, QUALIFIES_BEFORE_VALUE, SIGNS,
    SUPPOSES,
};
use super::runs::{self, Run};
use super::tokens::{Kind, Line};
use super::trim::tidy;
use super::words::lower;
use super::{Found, Rule};

/// Most words before a value that are read for what they make of it.
const MOST_WORDS: usize = 6;

/// What the words before a value make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    Nothing,
    /// It is said not to be the value.
    Denied,
    /// It is a bound, an exception or part of a sum, by the words from this token on.
    Qualified(usize),
}

/// What the words before the token `first` make of it.
pub(super) fn before(line: &Line<'_>, first: usize) -> Before {
    for at in (0..introduced(line, first)).rev().take(MOST_WORDS) {
        if !matches!(line.tokens[at].kind, Kind::Word | Kind::Name) {
            break;
        }
        let word = lower(line.str(at));
        let roles = line.roles(at);
        if roles.denies() || word.ends_with("n't") || ends_in_denial(&word) {
            return Before::Denied;
        }
        let wide = word.starts_with(|c| !is_spaced(c));
        if (wide || roles.ends_qualifier())
            && let Some(start) = QUALIFIES_BEFORE
                .iter()
                .filter(|phrase| wide || phrase.ends_with(&*word))
                .find_map(|phrase| start_of(line, at, phrase))
        {
            return Before::Qualified(start);
        }
        // Only words that say nothing themselves may stand between.
        if !(roles.verb()
            || roles.before_value()
            || roles.hedge()
            || matches!(&*word, "the" | "a" | "an"))
        {
            break;
        }
    }
    Before::Nothing
}

/// The end of the words that lead to the value at `first`: display maths stands on a line of its
/// own.
fn introduced(line: &Line<'_>, first: usize) -> usize {
    let display = first < line.tokens.len()
        && ["$$", "\\[", "\\begin"]
            .iter()
            .any(|open| line.str(first).starts_with(open));
    let parts = |at: &usize| matches!(line.str(*at), "\n" | ":" | "：");
    if display {
        first - (0..first).rev().take(MOST_WORDS).take_while(parts).count()
    } else {
        first
    }
}

/// The first token of what makes something else of a run: a bound before it, a word after it, or
/// the value before it that it calculates with or ends a range from.
pub(super) fn qualified(line: &Line<'_>, previous: Option<Run>, run: Run) -> Option<usize> {
    let continued = previous.filter(|previous| {
        after(line, previous.end)
            && !(previous.end..run.first)
                .any(|at| line.kind(at) == Some(Kind::Stop) || line.roles(at).verb())
    });
    if let Some(previous) = continued {
        return Some(previous.first);
    }
    if after(line, run.end) {
        return Some(run.first);
    }
    match before(line, sign_word(line, run.first).unwrap_or(run.first)) {
        Before::Qualified(start) => Some(start),
        Before::Denied | Before::Nothing => None,
    }
}

/// Whether the clause of the value at `first` only supposes it: "if it is 7".
pub(super) fn supposed(line: &Line<'_>, first: usize) -> bool {
    for at in (0..first).rev().take(MOST_WORDS) {
        let roles = line.roles(at);
        let word = line.str(at);
        if matches!(line.tokens[at].kind, Kind::Stop | Kind::Separator) || roles.consequent() {
            return false;
        }
        let wide = word.starts_with(|c| !is_spaced(c));
        if roles.supposes() || wide && SUPPOSES.iter().any(|supposes| word.starts_with(supposes)) {
            return true;
        }
    }
    false
}

/// A run as an answer: with the sign that a word gives it, in the clause from the token `start`
/// where its words make something else of it, and not at all where it is denied.
pub(super) fn value<'a>(line: &Line<'a>, start: usize, run: Run, rule: Rule) -> Option<Found<'a>> {
    let sign = sign_word(line, run.first);
    if before(line, sign.unwrap_or(run.first)) == Before::Denied {
        return None;
    }
    if qualified(line, None, run).is_some() {
        return Some(clause(line, start, run, rule));
    }
    let (text, source) = match sign {
        Some(sign) => signed(line, sign, run),
        None => {
            let (first, end) = runs::without_brackets(line, run.first, run.end);
            runs::text(line, first, end)
        }
    };
    Some(Found { text, source, rule })
}

/// Whether the words after a run make something else of it.
pub(super) fn after(line: &Line<'_>, end: usize) -> bool {
    let word = |at: usize| matches!(line.kind(at), Some(Kind::Word | Kind::Name));
    // "7 or more", "7 apples or more".
    let mut places = [end, end + 1].into_iter().take(1 + usize::from(word(end)));
    if places.any(|at| qualifies_alone(line, at)) {
        return true;
    }
    if !word(end)
        || !QUALIFIES_BEFORE_VALUE.contains(&&*lower(line.str(end)))
        || !runs::starts_value(line, end + 1)
    {
        return false;
    }
    let follows = runs::run_at(line, end + 1).map_or(end + 2, |run| run.end);
    let precision = |at: usize| word(at) && PRECISIONS.contains(&&*lower(line.str(at)));
    !(precision(follows) || precision(follows - 1))
}

/// "7 or more", and "7 less than 10", but not "7 less than her sister".
fn qualifies_alone(line: &Line<'_>, at: usize) -> bool {
    let end_of = |phrase: &str| {
        let mut end = at;
        for part in phrase.split(' ') {
            if line.kind(end) != Some(Kind::Word) || lower(line.str(end)) != part {
                return None;
            }
            end += 1;
        }
        Some(end)
    };
    QUALIFIES_AFTER
        .iter()
        .any(|phrase| end_of(phrase).is_some())
        || COMPARES_AFTER
            .iter()
            .filter_map(|phrase| end_of(phrase))
            .any(|end| runs::starts_value(line, end))
}

/// The first token of `phrase`, where the words up to and with the token `last` end with it.
/// Scripts without blanks part no words.
fn start_of(line: &Line<'_>, last: usize, phrase: &str) -> Option<usize> {
    if phrase.starts_with(|c| !is_spaced(c)) {
        return line.str(last).ends_with(phrase).then_some(last);
    }
    let mut start = last + 1;
    for part in phrase.rsplit(' ') {
        start = start.checked_sub(1)?;
        if line.kind(start) != Some(Kind::Word) || lower(line.str(start)) != part {
            return None;
        }
    }
    Some(start)
}

/// The word that turns the sign of the value at `first`. After another value it subtracts and turns
/// nothing.
pub(super) fn sign_word(line: &Line<'_>, first: usize) -> Option<usize> {
    let at = introduced(line, first)
        .checked_sub(1)
        .filter(|at| line.kind(*at) == Some(Kind::Word))?;
    let word = lower(line.str(at));
    let wide = word.starts_with(|c| !is_spaced(c));
    let turns = SIGNS.iter().any(|sign| {
        if wide {
            word.ends_with(sign)
        } else {
            word == *sign
        }
    });
    let hangs = match at.checked_sub(1).and_then(|before| line.kind(before)) {
        Some(
            Kind::Number
            | Kind::Maths
            | Kind::Command
            | Kind::Name
            | Kind::Close
            | Kind::Suffix
            | Kind::Currency,
        ) => true,
        // "non-negative"
        Some(Kind::Operator) => line.is_glued(at),
        _ => false,
    };
    (turns && !hangs).then_some(at)
}

/// The minus at `at` that stands apart from its value: "- 7".
pub(super) fn sign_apart(line: &Line<'_>, at: usize) -> bool {
    line.kind(at) == Some(Kind::Operator)
        && matches!(line.str(at), "-" | "−" | "–")
        && runs::starts_value(line, at + 1)
}

/// A value with the sign that the token `sign` gives it, as one answer and its source.
pub(super) fn signed<'a>(line: &Line<'a>, sign: usize, run: Run) -> (Cow<'a, str>, &'a str) {
    let (value, _) = runs::text(line, run.first, run.end);
    let source = &line.text[line.tokens[sign].start..line.tokens[run.end - 1].end];
    // Of a sum in its own delimiters the sign would turn the first term only.
    let single =
        run.end - run.first == 1 && !value.contains(['+', '-', '−', '±', '=', '<', '>', ',']);
    let turns = single
        || line.kind(run.first) != Some(Kind::Maths)
            && !value.starts_with(['-', '−', '–', '+', '±']);
    if turns {
        (Cow::Owned(format!("-{value}")), source)
    } else {
        (Cow::Borrowed(source), source)
    }
}

/// The clause around a qualified value without emphasis: from the start of its sentence, at most
/// from `first`, to the next mark.
pub(super) fn clause<'a>(line: &Line<'a>, first: usize, run: Run, rule: Rule) -> Found<'a> {
    let stop = |at: &usize| line.tokens[*at].kind == Kind::Stop;
    let first = (first.min(run.first)..run.first)
        .rev()
        .find(stop)
        .map_or(first.min(run.first), |at| at + 1);
    let end = (run.end..line.tokens.len())
        .find(|at| matches!(line.tokens[*at].kind, Kind::Stop | Kind::Separator))
        .unwrap_or(line.tokens.len());
    let source = tidy(&line.text[line.tokens[first].start..line.tokens[end - 1].end]);
    let text = if source.contains("**") {
        Cow::Owned(source.replace("**", ""))
    } else {
        Cow::Borrowed(source)
    };
    Found { text, source, rule }
}
