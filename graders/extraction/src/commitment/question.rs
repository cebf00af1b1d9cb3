//! Questions about a value, and how the text answers them: "Is it 42? No.", "Would 42 work? Yes."
//! Only a question that asks whether the value is the answer counts: in "Is 7 a divisor of 42? No."
//! and "Can we do better than 42? No." the reply is about something else.

use super::predicate;
use crate::phrases::{AFFIRMS, ASKS, DENIES, MODALS};
use crate::tokens::{Lexed, TokenKind};

/// Maximum number of tokens of a question on each side of its value.
const MAX_TOKENS: usize = 10;

/// Whether the words of the sentence before the token `first` only ask for the value there: "is
/// it", "could the answer be", "so what about". There may be none.
pub(super) fn asks_for(lexed: &Lexed<'_>, first: usize) -> bool {
    let mut before = (0..first)
        .rev()
        .take_while(|at| lexed.kind(*at) != Some(TokenKind::Stop));
    let asks = |at: usize| {
        let roles = lexed.roles(at);
        let word = roles.verb()
            || roles.auxiliary()
            || roles.before_value()
            || roles.answer_noun()
            || roles.refers()
            || roles.filler()
            || roles.opener()
            || roles.connective()
            || lexed.is_one_of(at, ASKS)
            || lexed.is_one_of(at, MODALS);
        lexed.kind(at) == Some(TokenKind::Separator) || word
    };
    before.by_ref().take(MAX_TOKENS).all(asks) && before.next().is_none()
}

/// How the text replies to the question whose value ends before the token `end`; `None` if there is
/// no question or no reply.
pub(super) fn reply(lexed: &Lexed<'_>, end: usize) -> Option<bool> {
    let mut at = end;
    // "Is 42 even possible?", "Does 42 satisfy the equation?"
    while lexed.is_word(at) && lexed.roles(at).filler() {
        at += 1;
    }
    if lexed.is_word(at) {
        let roles = lexed.roles(at);
        if !(roles.fits() || roles.truth() || roles.answer_noun()) {
            return None;
        }
    }
    let mark = (at..at + MAX_TOKENS).find(|at| !lexed.is_word(*at))?;
    if !predicate::asks(lexed, mark) {
        return None;
    }
    // "Surely not."
    let at = (mark + 1..lexed.tokens.len())
        .find(|at| lexed.str(*at) != "\n" && !lexed.roles(*at).filler())?;
    if !lexed.is_word(at) {
        return None;
    }
    let set_off = !lexed.is_word(at + 1) || lexed.roles(at + 1).way();
    if set_off && lexed.is_one_of(at, AFFIRMS) {
        return Some(true);
    }
    // "No way", "Not at all", but not "No other value works"
    let roles = lexed.roles(at);
    let denies = set_off && lexed.is_one_of(at, DENIES)
        || roles.negation() && !roles.negates_clause()
        || predicate::denies_alone(lexed, at);
    denies.then_some(false)
}
