//! Values that are only supposed: by others ("one might think it is 42"), or at first ("I first got
//! 42", "my first guess was 42"). Such a value is an answer only if the text confirms it.

use super::{polarity, predicate};
use crate::phrases::MODALS;
use crate::phrases::beliefs::{ATTEMPTS, EVERYBODY, OBTAINED, OTHERS, SAYS, SUPPOSES, TEMPTS};
use crate::phrases::judgements::YIELDS;
use crate::phrases::retractions::FIRST_PERSON;
use crate::tokens::{Lexed, TokenKind};
use crate::word_roles::lower;

/// Maximum number of tokens between a modal verb and the verb for a belief: "might at first think".
const MAX_ADVERBS: usize = 3;

/// Maximum number of tokens after a value that may confirm it.
const MAX_TOKENS: usize = 32;

/// Whether the clause before the token `first` only supposes the value there.
pub(super) fn is_supposed(lexed: &Lexed<'_>, first: usize) -> bool {
    // Most clauses contain no such word.
    let floor = first.saturating_sub(polarity::MAX_TOKENS);
    if !(floor..first).any(|at| lexed.roles(at).tentative()) {
        return false;
    }
    let start = polarity::clause_start(lexed, first);
    (start..first).any(|at| {
        let supposes = is_temptation(lexed, at)
            || is_guess_of_others(lexed, start, at)
            || is_at_first(lexed, start, at)
            || is_attempt(lexed, at);
        supposes && leads_to(lexed, at + 1, first)
    })
}

/// "tempted *to say*"
fn is_temptation(lexed: &Lexed<'_>, at: usize) -> bool {
    lexed.is_one_of(at, TEMPTS)
}

/// "one *might think*", "*you'd expect*", but not "I would guess", "as one might expect" or "anyone
/// would say".
fn is_guess_of_others(lexed: &Lexed<'_>, start: usize, at: usize) -> bool {
    let modal = |at: &usize| lexed.is_one_of(*at, MODALS) || lexed.is_one_of(*at, &["would"]);
    let near = start.max(at.saturating_sub(MAX_ADVERBS))..at;
    // "you'd" is a subject and its verb.
    let contracted = |at: &usize| lower(lexed.str(*at)).ends_with("'d");
    let modal = near.rev().find(|at| modal(at) || contracted(at));
    let Some(modal) = modal.filter(|modal| *modal > start || contracted(modal)) else {
        return false;
    };
    if lexed.is_one_of(modal, &["i'd", "we'd"]) {
        return false;
    }
    let one_of = |words: &[&str]| (start..modal).any(|at| lexed.is_one_of(at, words));
    lexed.is_one_of(at, SUPPOSES) && !one_of(FIRST_PERSON) && !one_of(EVERYBODY)
        || lexed.is_one_of(at, SAYS) && one_of(OTHERS)
}

/// "I *first got*", "at first we *thought*", but not "first we add 6 and get".
fn is_at_first(lexed: &Lexed<'_>, start: usize, at: usize) -> bool {
    if !lexed.is_one_of(at, OBTAINED) || at == start {
        return false;
    }
    let writer = |at: usize| lexed.is_one_of(at, &["i", "we"]);
    let adverb = |at: usize| lexed.is_one_of(at, &["first", "initially", "originally"]);
    if adverb(at - 1) {
        return at > start + 1 && writer(at - 2);
    }
    // The adverb may start the sentence: "At first, I got".
    let before = at.saturating_sub(2);
    let set_off = before > 0 && lexed.kind(before) == Some(TokenKind::Separator);
    let at_start = before - usize::from(set_off);
    let at_first = lexed.is_one_of(at_start, &["first"])
        && at_start > 0
        && lexed.is_one_of(at_start - 1, &["at"]);
    writer(at - 1)
        && at > 1
        && (at_first || lexed.is_one_of(at_start, &["initially", "originally"]))
}

/// "my first *guess* was"
fn is_attempt(lexed: &Lexed<'_>, at: usize) -> bool {
    at > 1
        && lexed.is_one_of(at, ATTEMPTS)
        && lexed.is_one_of(at - 1, &["first", "initial", "original"])
        && lexed.is_one_of(at - 2, &["my", "our"])
}

/// Whether the words from a token to the value at `first` only introduce it: "that the answer is".
fn leads_to(lexed: &Lexed<'_>, from: usize, first: usize) -> bool {
    (from..first).all(|at| {
        let roles = lexed.roles(at);
        roles.verb()
            || roles.auxiliary()
            || roles.before_value()
            || roles.answer_noun()
            || roles.refers()
            || roles.complementizer()
            || roles.filler()
            || roles.believes()
            || lexed.is_one_of(at, YIELDS)
            || !lexed.is_word(at) && !lexed.is_value(at)
    })
}

/// Whether the words from the token `end`, which follows a value, confirm it: "and it is right",
/// "This is correct."
pub(super) fn is_confirmed(lexed: &Lexed<'_>, end: usize) -> bool {
    let reach = lexed.tokens.len().min(end + MAX_TOKENS);
    let starts_clause = |at: usize| match at.checked_sub(1).filter(|before| *before >= end) {
        Some(before) => !lexed.is_word(before),
        None => lexed.roles(at).turns(),
    };
    (end..reach)
        .take_while(|at| !lexed.is_value(*at))
        .filter(|at| lexed.is_word(*at) && starts_clause(*at))
        .any(|at| predicate::affirms_alone(lexed, at))
}
