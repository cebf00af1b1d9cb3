//! How the words around a value change its meaning: "minus 7", "less than 7", "7 to 8", "not 7".
//! Does not find values. Reads only a few words around each, so the cost per value is constant.

use std::borrow::Cow;

use crate::characters::is_spaced;
use crate::phrases::qualifying::{
    COMPARES_AFTER, EXCEPTS, EXCLUDES, PRECISIONS, QUALIFIES_AFTER, QUALIFIES_BEFORE,
    QUALIFIES_BEFORE_VALUE,
};
use crate::phrases::{SIGNS, SUPPOSITIONS};
use crate::rule::{Rule, RuleMatch};
use crate::tokens::{Lexed, TokenKind};
use crate::trim::tidy;
use crate::value_runs::{self, ValueRun};
use crate::word_roles::lower;

/// Maximum number of words examined before a value.
const MAX_WORDS: usize = 6;

/// How the words before a value change its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Modifier {
    /// They do not change it.
    None,
    /// The text says that this is not the value: "not 7".
    Denied,
    /// A bound, an exception or a part of a sum: "less than 7". The words that make it so start at
    /// this token.
    Qualified(usize),
}

/// How the words before the token `first` change the meaning of the value there. Reads backwards
/// and stops at the first word that is not a filler: in "not one of the 7" nothing denies the 7.
pub(super) fn modifier_before(lexed: &Lexed<'_>, first: usize) -> Modifier {
    let end = introduction_end(lexed, first);
    if let Some(start) = exception_start(lexed, end) {
        return if is_excepted(lexed, end) {
            Modifier::Qualified(start)
        } else {
            Modifier::None
        };
    }
    if negates_verb(lexed, end) {
        return Modifier::Denied;
    }
    for at in (0..end).rev().take(MAX_WORDS) {
        if !matches!(lexed.tokens[at].kind, TokenKind::Word | TokenKind::Name) {
            break;
        }
        let word = lower(lexed.str(at));
        let roles = lexed.roles(at);
        // "ni" negates in French and is a verb in Swahili.
        let negates = roles.negation() && !roles.verb();
        let excludes = || {
            roles.ends_exclusion()
                && EXCLUDES
                    .iter()
                    .any(|phrase| phrase_start(lexed, at, phrase).is_some())
        };
        if negates || ends_in_denial(&word) || excludes() {
            return Modifier::Denied;
        }
        // Scripts without blanks may put the phrase and other words into one token.
        let wide = word.starts_with(|c| !is_spaced(c));
        if (wide || roles.ends_qualifier())
            && let Some(start) = QUALIFIES_BEFORE
                .iter()
                .filter(|phrase| wide || phrase.ends_with(&*word))
                .find_map(|phrase| phrase_start(lexed, at, phrase))
        {
            return Modifier::Qualified(start);
        }
        // Only fillers may separate the phrase from the value: verbs, articles, "exactly",
        // "perhaps".
        if !(roles.verb()
            || roles.auxiliary()
            || roles.before_value()
            || roles.hedge()
            || matches!(&*word, "the" | "a" | "an"))
        {
            break;
        }
    }
    Modifier::None
}

/// Whether a negated auxiliary and one other verb precede the token `end`: "do not answer 7",
/// "doesn't give 7", "never write 7".
fn negates_verb(lexed: &Lexed<'_>, end: usize) -> bool {
    const MAX_PARTICLES: usize = 2;
    // "does not come to 7", "does not come out as 7"
    let particles = (0..end)
        .rev()
        .take(MAX_PARTICLES)
        .take_while(|at| lexed.is_one_of(*at, &["to", "as", "out", "at"]))
        .count();
    let Some(not) = (end - particles).checked_sub(2) else {
        return false;
    };
    // "do not say 7": the verbs that have a clause as their object are read with it.
    let verb = lexed.roles(not + 1);
    let is_verb = lexed.kind(not + 1) == Some(TokenKind::Word)
        && !(verb.presupposes() || verb.before_value() || verb.ends_qualifier() || verb.verb())
        && !(verb.believes() || verb.disbelieves() || verb.begins_exclusion());
    let word = lower(lexed.str(not));
    let auxiliary = not > 0 && lexed.roles(not - 1).auxiliary();
    is_verb
        && (word.ends_with("n't")
            || matches!(&*word, "never" | "cannot")
            || word == "not" && auxiliary)
}

/// Whether a phrase before the token `end` excepts the value there: "anything but 7". "No answer
/// other than 7" is 7.
pub(super) fn is_excepted(lexed: &Lexed<'_>, end: usize) -> bool {
    exception_start(lexed, end).is_some_and(|start| {
        !(start.saturating_sub(MAX_WORDS)..=start).any(|at| {
            let roles = lexed.roles(at);
            roles.negation() || roles.negates_clause()
        })
    })
}

/// The first token of the phrase before the token `end` that excepts the value there.
fn exception_start(lexed: &Lexed<'_>, end: usize) -> Option<usize> {
    let last = end.checked_sub(1)?;
    if !lexed.roles(last).ends_exception() {
        return None;
    }
    let mut phrases = EXCEPTS.iter();
    phrases.find_map(|phrase| phrase_start(lexed, last, phrase))
}

/// The end of the words that introduce the value at `first`. Display maths is on a separate line,
/// so the line break and colon before it are skipped.
fn introduction_end(lexed: &Lexed<'_>, first: usize) -> usize {
    let display = first < lexed.tokens.len()
        && ["$$", "\\[", "\\begin"]
            .iter()
            .any(|open| lexed.str(first).starts_with(open));
    let is_break = |at: &usize| matches!(lexed.str(*at), "\n" | ":" | "：");
    if display {
        first
            - (0..first)
                .rev()
                .take(MAX_WORDS)
                .take_while(is_break)
                .count()
    } else {
        first
    }
}

/// The token where the qualification of a run starts; `None` if its value is stated as such. It is
/// one of:
/// - the previous run, if this one continues it: "from 5 to 7";
/// - the run itself, if the words after it qualify it: "7 or more";
/// - the phrase before it: "less than 7".
pub(super) fn qualifier_start(
    lexed: &Lexed<'_>,
    previous: Option<ValueRun>,
    run: ValueRun,
) -> Option<usize> {
    let continued = previous.filter(|previous| {
        is_qualified_after(lexed, previous.end)
            && !(previous.end..run.first)
                .any(|at| lexed.kind(at) == Some(TokenKind::Stop) || lexed.roles(at).verb())
    });
    if let Some(previous) = continued {
        return Some(previous.first);
    }
    if is_qualified_after(lexed, run.end) {
        return Some(run.first);
    }
    match modifier_before(lexed, sign_word(lexed, run.first).unwrap_or(run.first)) {
        Modifier::Qualified(start) => Some(start),
        Modifier::Denied | Modifier::None => None,
    }
}

/// Whether the clause of the value at `first` is hypothetical: "if it is 7". What follows from the
/// hypothesis is not: "then 7 are left".
pub(super) fn is_hypothetical(lexed: &Lexed<'_>, first: usize) -> bool {
    for at in (0..first).rev().take(MAX_WORDS) {
        let roles = lexed.roles(at);
        let word = lexed.str(at);
        if matches!(
            lexed.tokens[at].kind,
            TokenKind::Stop | TokenKind::Separator
        ) || roles.consequent()
        {
            return false;
        }
        let wide = word.starts_with(|c| !is_spaced(c));
        if roles.supposition()
            || wide
                && SUPPOSITIONS
                    .iter()
                    .any(|supposes| word.starts_with(supposes))
        {
            return true;
        }
    }
    false
}

/// A run as an answer. A sign in words is applied to it. A qualified value is returned with its
/// clause, from the token `start` at the earliest. `None` for a denied value.
pub(super) fn signed_value<'a>(
    lexed: &Lexed<'a>,
    start: usize,
    run: ValueRun,
    rule: Rule,
) -> Option<RuleMatch<'a>> {
    // "not minus 7": the denial precedes the sign.
    let sign = sign_word(lexed, run.first);
    if modifier_before(lexed, sign.unwrap_or(run.first)) == Modifier::Denied {
        return None;
    }
    if qualifier_start(lexed, None, run).is_some() {
        return Some(whole_clause(lexed, start, run, rule));
    }
    let (text, source) = match sign {
        Some(sign) => signed(lexed, sign, run),
        None => {
            let (first, end) = value_runs::without_brackets(lexed, run.first, run.end);
            value_runs::text(lexed, first, end)
        }
    };
    Some(RuleMatch { text, source, rule })
}

/// Whether the words after a run qualify it: "7 or more", "7 squared", "7 times 8".
pub(super) fn is_qualified_after(lexed: &Lexed<'_>, end: usize) -> bool {
    let word = |at: usize| matches!(lexed.kind(at), Some(TokenKind::Word | TokenKind::Name));
    // "7 or more", "7 apples or more".
    let mut candidates = [end, end + 1].into_iter().take(1 + usize::from(word(end)));
    if candidates.any(|at| is_qualifying_phrase(lexed, at)) {
        return true;
    }
    if !word(end)
        || !QUALIFIES_BEFORE_VALUE.contains(&&*lower(lexed.str(end)))
        || !value_runs::starts_value(lexed, end + 1)
    {
        return false;
    }
    // "3.14 to 2 decimal places" states a precision, not a range.
    let follows = value_runs::run_at(lexed, end + 1).map_or(end + 2, |run| run.end);
    let precision = |at: usize| word(at) && PRECISIONS.contains(&&*lower(lexed.str(at)));
    !(precision(follows) || precision(follows - 1))
}

/// Whether a phrase at `at` qualifies the value before it without a second value ("7 or more"), or
/// by comparing it with one ("7 less than 10", but not "7 less than her sister").
fn is_qualifying_phrase(lexed: &Lexed<'_>, at: usize) -> bool {
    lexed.phrase_end(at, QUALIFIES_AFTER).is_some()
        || lexed
            .phrase_end(at, COMPARES_AFTER)
            .is_some_and(|end| value_runs::starts_value(lexed, end))
}

/// The first token of `phrase`, if the words up to and including the token `last` end with it. In
/// scripts without blanks a phrase is the end of one token.
fn phrase_start(lexed: &Lexed<'_>, last: usize, phrase: &str) -> Option<usize> {
    if phrase.starts_with(|c| !is_spaced(c)) {
        return lexed.str(last).ends_with(phrase).then_some(last);
    }
    let mut start = last + 1;
    for part in phrase.rsplit(' ') {
        start = start.checked_sub(1)?;
        if lexed.kind(start) != Some(TokenKind::Word) || lower(lexed.str(start)) != part {
            return None;
        }
    }
    Some(start)
}

/// The word before the value at `first` that negates it: "minus 7". After another value it is a
/// subtraction ("10 minus 3") and not a sign.
pub(super) fn sign_word(lexed: &Lexed<'_>, first: usize) -> Option<usize> {
    let at = introduction_end(lexed, first)
        .checked_sub(1)
        .filter(|at| lexed.kind(*at) == Some(TokenKind::Word))?;
    let word = lower(lexed.str(at));
    let wide = word.starts_with(|c| !is_spaced(c));
    let is_sign = SIGNS.iter().any(|sign| {
        if wide {
            word.ends_with(sign)
        } else {
            word == *sign
        }
    });
    let is_attached = match at.checked_sub(1).and_then(|before| lexed.kind(before)) {
        Some(
            TokenKind::Number
            | TokenKind::Maths
            | TokenKind::Command
            | TokenKind::Name
            | TokenKind::Close
            | TokenKind::Suffix
            | TokenKind::Currency,
        ) => true,
        // "non-negative"
        Some(TokenKind::Operator) => lexed.is_glued(at),
        _ => false,
    };
    (is_sign && !is_attached).then_some(at)
}

/// Whether the token `at` is a minus sign with a blank between it and its value: "- 7".
pub(super) fn is_detached_sign(lexed: &Lexed<'_>, at: usize) -> bool {
    lexed.kind(at) == Some(TokenKind::Operator)
        && matches!(lexed.str(at), "-" | "−" | "–")
        && value_runs::starts_value(lexed, at + 1)
}

/// A value with the sign at the token `sign`, as one answer and its source.
pub(super) fn signed<'a>(lexed: &Lexed<'a>, sign: usize, run: ValueRun) -> (Cow<'a, str>, &'a str) {
    let (value, _) = value_runs::text(lexed, run.first, run.end);
    let source = &lexed.text[lexed.tokens[sign].start..lexed.tokens[run.end - 1].end];
    // Before a sum in delimiters, such as `minus $7 + 3$`, a minus sign would apply to the first
    // term only. Such a text is returned as written.
    let single =
        run.end - run.first == 1 && !value.contains(['+', '-', '−', '±', '=', '<', '>', ',']);
    let can_negate = single
        || lexed.kind(run.first) != Some(TokenKind::Maths)
            && !value.starts_with(['-', '−', '–', '+', '±']);
    if can_negate {
        (Cow::Owned(format!("-{value}")), source)
    } else {
        (Cow::Borrowed(source), source)
    }
}

/// The clause around a qualified value, without emphasis. It starts with the sentence, but not
/// before `first`, and ends at the next separator or end of sentence.
pub(super) fn whole_clause<'a>(
    lexed: &Lexed<'a>,
    first: usize,
    run: ValueRun,
    rule: Rule,
) -> RuleMatch<'a> {
    let stop = |at: &usize| lexed.tokens[*at].kind == TokenKind::Stop;
    let first = (first.min(run.first)..run.first)
        .rev()
        .find(stop)
        .map_or(first.min(run.first), |at| at + 1);
    let end = (run.end..lexed.tokens.len())
        .find(|at| {
            matches!(
                lexed.tokens[*at].kind,
                TokenKind::Stop | TokenKind::Separator
            )
        })
        .unwrap_or(lexed.tokens.len());
    let source = tidy(&lexed.text[lexed.tokens[first].start..lexed.tokens[end - 1].end]);
    let text = if source.contains("**") {
        Cow::Owned(source.replace("**", ""))
    } else {
        Cow::Borrowed(source)
    };
    RuleMatch { text, source, rule }
}

/// Whether a token of a script without blanks ends with a denial.
pub(super) fn ends_in_denial(word: &str) -> bool {
    [
        "不是",
        "不选",
        "不可能是",
        "不能是",
        "排除",
        "并非",
        "不等于",
        "不会是",
        "不该是",
        "不应是",
        "不应该是",
        "不为",
    ]
    .iter()
    .any(|denial| word.ends_with(denial))
}
