//! Values that accompany an answer and are none: the whole that it is a part of ("18 of 42"), its
//! place ("42 when n = 7"), and a check of it ("Check: 2 * 5 = 10"). Does not find values.

use crate::characters::is_spaced;
use crate::languages::LANGUAGES;
use crate::phrases::{CHECKS, HOLDS};
use crate::tokens::{Lexed, TokenKind};
use crate::value_runs::{self, ValueRun};
use crate::word_roles::{lower, roles};

/// Maximum number of words between a part and the preposition before its whole: "18 marbles left of".
const MAX_WORDS_OF_PART: usize = 2;

/// Longest heading of a check, in bytes, with its marks.
const MAX_HEADING_BYTES: usize = 48;

/// Maximum number of tokens between a value and its place.
const MAX_TOKENS_TO_PLACE: usize = 9;

/// The runs of a text without wholes and without the places at the end of a sentence.
pub(super) fn without_asides(lexed: &Lexed<'_>, runs: Vec<ValueRun>) -> Vec<ValueRun> {
    let mut kept: Vec<ValueRun> = Vec::with_capacity(runs.len());
    for run in runs {
        match kept.last_mut() {
            // "20% of 42" is one value.
            Some(share) if is_share(lexed, *share, run) => share.end = run.end,
            Some(before) if is_whole(lexed, *before, run) || is_place(lexed, *before, run) => {}
            _ => kept.push(run),
        }
    }
    kept
}

/// Whether two runs are a calculation: "20% of 42", "2/3 of 42".
fn is_share(lexed: &Lexed<'_>, share: ValueRun, run: ValueRun) -> bool {
    let of = share.end + 1 == run.first && lexed.roles(share.end).of();
    of && !counts(lexed, share)
}

/// Whether a run may be a number of things.
fn counts(lexed: &Lexed<'_>, run: ValueRun) -> bool {
    (run.first..run.end).all(|at| {
        matches!(
            lexed.tokens[at].kind,
            TokenKind::Number | TokenKind::Maths | TokenKind::Word | TokenKind::Name
        ) && !lexed.str(at).contains(['/', '%', '\\'])
    })
}

/// Whether `run` is the whole that `part` is a part of: "18 of 42", "18 billes sur 42".
fn is_whole(lexed: &Lexed<'_>, part: ValueRun, run: ValueRun) -> bool {
    let gap = part.end..run.first;
    let word = |at: usize| lexed.kind(at) == Some(TokenKind::Word);
    if !counts(lexed, part) || gap.is_empty() || !gap.clone().all(word) {
        return false;
    }
    // An article may follow the preposition: "18 of the 42".
    let preposition = |at: &usize| lexed.roles(*at).of();
    let Some(of) = gap.clone().rev().take(2).find(preposition) else {
        return false;
    };
    let plain = |at: usize| {
        let roles = lexed.roles(at);
        !roles.verb() && !roles.conclusion() && !matches!(&*lower(lexed.str(at)), "a" | "an" | "un")
    };
    let near = of - gap.start <= MAX_WORDS_OF_PART;
    let mut words = gap;
    near && words.all(plain)
}

/// Whether `run` is the place of `value`: "42 when n = 7", "42, which occurs at x = 3", "42 minutes
/// at 7 km/h".
fn is_place(lexed: &Lexed<'_>, value: ValueRun, run: ValueRun) -> bool {
    let gap = value.end..run.first;
    let Some(before) = run.first.checked_sub(1).filter(|at| gap.contains(at)) else {
        return false;
    };
    let stops = |at: usize| lexed.kind(at) == Some(TokenKind::Stop);
    if gap.len() > MAX_TOKENS_TO_PLACE || gap.clone().any(stops) || !ends_as_place(lexed, before) {
        return false;
    }
    let relation = |run: ValueRun| {
        (run.first..run.end)
            .any(|at| lexed.kind(at) == Some(TokenKind::Relation) || lexed.inner(at).contains('='))
    };
    let words = before - gap.start;
    // A clause of its own: ", with equality at", "and it is obtained when".
    let clause = (gap.start..before).any(|at| {
        lexed.kind(at) == Some(TokenKind::Separator)
            || lexed.roles(at).joins_and()
            || lower(lexed.str(at)) == "which"
    }) || is_wide(lexed.str(before));
    let concludes = (gap.start..before).any(|at| lexed.roles(at).conclusion());
    let holds = (gap.start..before).any(|at| HOLDS.contains(&&*lower(lexed.str(at))));
    let named = lexed.kind(run.first) != Some(TokenKind::Number);
    if relation(run) && named && !concludes {
        return clause || words <= usize::from(!relation(value)) && !holds;
    }
    let rate = (run.first..run.end).any(|at| matches!(lexed.str(at), "/" | "per"));
    rate && words <= 1 && !relation(value) && lower(lexed.str(before)) == "at"
}

/// Whether a token is, or in a script without blanks ends with, a word before a place.
fn ends_as_place(lexed: &Lexed<'_>, at: usize) -> bool {
    let word = lexed.str(at);
    lexed.roles(at).place()
        || is_wide(word)
            && LANGUAGES
                .iter()
                .flat_map(|language| language.place)
                .any(|place| word.ends_with(place))
}

fn is_wide(word: &str) -> bool {
    word.starts_with(|c| !is_spaced(c))
}

/// Whether ", as" before the token `at` starts a calculation that checks the value before it:
/// "x = 5, as 2*5 + 3 = 13".
pub(super) fn checks(lexed: &Lexed<'_>, at: usize) -> bool {
    let set_off = at > 0 && lexed.kind(at - 1) == Some(TokenKind::Separator);
    set_off
        && lower(lexed.str(at)) == "as"
        && value_runs::starts_value(lexed, at + 1)
        && value_runs::run_at(lexed, at + 1).is_ok_and(|run| {
            (run.first..run.end).any(|at| {
                lexed.kind(at) == Some(TokenKind::Relation) || lexed.inner(at).contains('=')
            })
        })
}

/// The text before a check of its answer; the whole text if it checks nothing or concludes after
/// the check: "Check: 2 * 5 = 10. So x = 5."
pub(super) fn before_check(text: &str) -> &str {
    let heading = text.match_indices([':', '：']).find_map(|(colon, _)| {
        let near = text.ceil_char_boundary(colon.saturating_sub(MAX_HEADING_BYTES));
        let before = &text[near..colon];
        let start = before.rfind(['.', '\n', '!', '。']).map_or(0, |at| {
            at + before[at..].chars().next().map_or(1, char::len_utf8)
        });
        let name = before[start..].trim_matches([' ', '*', '_', '#', '(']);
        CHECKS
            .contains(&&*lower(name))
            .then_some((near + start, colon))
    });
    let Some((start, colon)) = heading.filter(|(start, _)| !text[..*start].trim().is_empty())
    else {
        return text;
    };
    let concludes = text[colon..]
        .split(['.', '\n', '。', '✓'])
        .skip(1)
        .any(|sentence| {
            let first = sentence
                .split(|c: char| !c.is_alphabetic())
                .find(|word| !word.is_empty());
            first.is_some_and(|word| roles(word).conclusion() || lower(word) == "the")
        });
    if concludes { text } else { &text[..start] }
}
