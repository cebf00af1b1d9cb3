//! Hedges: a second value that is offered beside an answer, and marks that make it a question or a
//! guess. An answer with an alternative is read as both, so naming several gains nothing.

use std::borrow::Cow;

use crate::phrases::qualifying::{ABOUT_WRITER, DOUBTS_AFTER, WIDE_BOUNDS_AFTER};
use crate::phrases::{ADDS, MODALS, OTHERWISE, RESTATES, RESULTS};
use crate::rule::{Rule, RuleMatch};
use crate::tokens::{Lexed, TokenKind};
use crate::value_runs::{self, ValueRun};
use crate::word_roles::{Joiner, lower};

/// Maximum number of words for what a value counts: "3 possible ways (or 4)".
const MAX_COUNTED_WORDS: usize = 3;

/// Maximum number of tokens between an answer and its alternative.
const MAX_TOKENS: usize = 24;

/// Whether the value before the token `end` is asked or guessed: "42?", "42, maybe".
pub(super) fn is_doubted(lexed: &Lexed<'_>, end: usize) -> bool {
    let mark = |at: usize| lexed.kind(at) == Some(TokenKind::Stop);
    if mark(end) && matches!(lexed.str(end), "?" | "？") {
        return true;
    }
    let at = end + usize::from(lexed.kind(end) == Some(TokenKind::Separator));
    lexed.roles(at).guess() && (mark(at + 1) || lexed.kind(at + 1).is_none())
        || is_left_open(lexed, at)
}

/// Whether the words at a token leave the value before it open: "or so", "unless n is odd".
fn is_left_open(lexed: &Lexed<'_>, at: usize) -> bool {
    let word = lexed_str(lexed, at);
    let bound = WIDE_BOUNDS_AFTER
        .iter()
        .any(|bound| word.starts_with(bound));
    bound
        || lexed
            .phrase_end(at, DOUBTS_AFTER)
            .is_some_and(|end| !ABOUT_WRITER.contains(&&*lower(lexed_str(lexed, end))))
}

/// The value of a calculation in words, if the words after its run state it: "half of 84, which is
/// 42".
pub(crate) fn restated(lexed: &Lexed<'_>, run: ValueRun) -> Option<ValueRun> {
    let separates = |at: usize| usize::from(lexed.kind(at) == Some(TokenKind::Separator));
    if separates(run.end) == 0 {
        return None;
    }
    let end = lexed.phrase_end(run.end + 1, RESULTS)?;
    run_within(lexed, end + separates(end), lexed.tokens.len())
}

/// The value that the words after the token before `end` add to an answer: "42 as well as 43".
fn added(lexed: &Lexed<'_>, end: usize) -> Option<ValueRun> {
    run_within(lexed, lexed.phrase_end(end, ADDS)?, lexed.tokens.len())
}

/// A found value with the alternative that the words after its run offer; `None` if they offer
/// none.
pub(crate) fn offer<'a>(
    lexed: &Lexed<'a>,
    run: ValueRun,
    found: &RuleMatch<'a>,
) -> Option<RuleMatch<'a>> {
    let (other, joiner) = match added(lexed, run.end) {
        Some(other) => (other, Joiner::And),
        None => (alternative(lexed, run.end)?, Joiner::Or),
    };
    let (text, _) = value_runs::text(lexed, other.first, other.end);
    if text == found.text {
        return None;
    }
    let joined = format!("{}{}{text}", found.text, joiner.as_str());
    Some(RuleMatch {
        text: Cow::Owned(joined),
        source: &lexed.text[lexed.tokens[run.first].start..lexed.tokens[other.end - 1].end],
        rule: Rule::Stated,
    })
}

/// The value that the words after the token before `end` offer as an alternative.
fn alternative(lexed: &Lexed<'_>, end: usize) -> Option<ValueRun> {
    let stop = (end..lexed.tokens.len().min(end + MAX_TOKENS))
        .find(|at| lexed.tokens[*at].kind == TokenKind::Stop)
        .unwrap_or(lexed.tokens.len().min(end + MAX_TOKENS));
    let counted = (end..stop)
        .take(MAX_COUNTED_WORDS)
        .take_while(|at| is_counted(lexed, *at))
        .count();
    [end, end + counted]
        .into_iter()
        .find_map(|at| in_brackets(lexed, at, stop).or_else(|| joined(lexed, at, stop)))
        .or_else(|| after_remark(lexed, end, stop))
}

/// ", I think, or 5".
fn after_remark(lexed: &Lexed<'_>, at: usize, stop: usize) -> Option<ValueRun> {
    const MAX_WORDS: usize = 4;
    let separates = |at: usize| lexed.kind(at) == Some(TokenKind::Separator);
    if !separates(at) || !value_runs::is_remark(lexed, at + 1) {
        return None;
    }
    let ends = |at: &usize| separates(*at) || lexed.roles(*at).joins_or();
    let end = (at + 1..stop).take(MAX_WORDS).find(ends)?;
    let or = end + usize::from(separates(end));
    let offers = lexed.roles(or).joins_or() && !restates(lexed, or + 1, stop);
    offers.then(|| value_in(lexed, or + 1, stop)).flatten()
}

/// Whether a token is a word for what a value counts.
fn is_counted(lexed: &Lexed<'_>, at: usize) -> bool {
    let roles = lexed.roles(at);
    lexed.kind(at) == Some(TokenKind::Word)
        && !roles.verb()
        && !roles.supposition()
        && roles.joiner().is_none()
}

/// "(or 4)", "(alternatively 4)", "(4 if zero is counted)".
fn in_brackets(lexed: &Lexed<'_>, at: usize, stop: usize) -> Option<ValueRun> {
    if lexed.kind(at) != Some(TokenKind::Open) {
        return None;
    }
    let close = (at..stop).find(|at| lexed.tokens[*at].kind == TokenKind::Close)?;
    let first = at + 1;
    if is_otherwise(lexed, first) && !restates(lexed, first + 1, close) {
        return led_value(lexed, first + 1, close);
    }
    if lexed.roles(first).joins_or() && !restates(lexed, first + 1, close) {
        return value_in(lexed, first + 1, close);
    }
    let run = run_within(lexed, first, close)?;
    (run.end..close)
        .any(|at| lexed.roles(at).supposition())
        .then_some(run)
}

/// ", or, if repetition is allowed, 9", ", otherwise it is 4" and ", it could also be 4".
fn joined(lexed: &Lexed<'_>, at: usize, stop: usize) -> Option<ValueRun> {
    let separated = lexed.kind(at) == Some(TokenKind::Separator);
    let first = at + usize::from(separated);
    if lexed.roles(first).joins_or() {
        let supposes = lexed.kind(first + 1) == Some(TokenKind::Separator)
            || lexed.roles(first + 1).supposition();
        return (supposes && !restates(lexed, first + 1, stop))
            .then(|| last_value_in(lexed, first + 1, stop))
            .flatten();
    }
    if !separated {
        return None;
    }
    if is_otherwise(lexed, first) {
        return (!restates(lexed, first + 1, stop))
            .then(|| led_value(lexed, first + 1, stop))
            .flatten();
    }
    let subject = first + usize::from(matches!(&*lower(lexed_str(lexed, first)), "but" | "though"));
    let refers = matches!(
        &*lower(lexed_str(lexed, subject)),
        "it" | "this" | "that" | "answer" | "es" | "ce"
    );
    let modal = MODALS.contains(&&*lower(lexed_str(lexed, subject + 1)));
    (refers && modal)
        .then(|| value_in(lexed, subject + 2, stop))
        .flatten()
}

/// Whether a word offers the opposite case: "otherwise 4".
fn is_otherwise(lexed: &Lexed<'_>, at: usize) -> bool {
    OTHERWISE.contains(&&*lower(lexed_str(lexed, at)))
}

/// The value at the end of a clause that only a verb and its subject precede: "it is 4".
fn led_value(lexed: &Lexed<'_>, from: usize, to: usize) -> Option<ValueRun> {
    let leads = |at: &usize| {
        let roles = lexed.roles(*at);
        let subject = matches!(
            &*lower(lexed.str(*at)),
            "the" | "answer" | "result" | "," | "es"
        );
        roles.verb() || roles.before_value() || roles.hedge() || subject
    };
    let first = (from..to).find(|at| !leads(at))?;
    let ends = |at: usize| at >= to || lexed.kind(at) == Some(TokenKind::Separator);
    run_within(lexed, first, to).filter(|run| ends(run.end))
}

fn lexed_str<'a>(lexed: &Lexed<'a>, at: usize) -> &'a str {
    if at < lexed.tokens.len() {
        lexed.str(at)
    } else {
        ""
    }
}

/// Whether words say that another spelling of the same value follows: "or, equivalently, 0.5".
fn restates(lexed: &Lexed<'_>, from: usize, to: usize) -> bool {
    (from..to).any(|at| RESTATES.contains(&&*lower(lexed.str(at))))
}

/// The run that starts at a token, if it ends before `to`.
fn run_within(lexed: &Lexed<'_>, first: usize, to: usize) -> Option<ValueRun> {
    if !value_runs::starts_value(lexed, first) {
        return None;
    }
    let run = value_runs::run_at(lexed, first).ok()?;
    (run.strong && run.end <= to).then_some(run)
}

/// The first value between two tokens.
fn value_in(lexed: &Lexed<'_>, from: usize, to: usize) -> Option<ValueRun> {
    (from..to).find_map(|at| run_within(lexed, at, to))
}

/// The last value between two tokens.
fn last_value_in(lexed: &Lexed<'_>, from: usize, to: usize) -> Option<ValueRun> {
    let mut last = None;
    let mut at = from;
    while at < to {
        match run_within(lexed, at, to) {
            Some(run) => {
                at = run.end;
                last = Some(run);
            }
            None => at += 1,
        }
    }
    last
}
