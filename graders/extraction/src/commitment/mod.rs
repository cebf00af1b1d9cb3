//! What an answer commits to: whether the text around a value asserts it, denies it, takes it back,
//! doubts it or offers another one. Every rule that finds an answer asks this module.
//!
//! The order of precedence is:
//!
//! 1. A sentence that takes an answer back is the strongest: "Wait, that's wrong" removes whatever
//!    precedes it, and "Hold on, it should be 42" replaces it ([`retraction`]). This is true of
//!    boxes too.
//! 2. A denied answer is none: "not 42", "if the answer were 42" ([`denial`]), "I do not think the
//!    answer is 42", "the wrong answer is 42" ([`polarity`]), "42 is wrong", "42 (rejected)"
//!    ([`predicate`]). The search continues before it. A denied denial asserts: "nobody would deny
//!    that the answer is 42". A box that the text denies later is denied where it was before. A
//!    question that the text answers denies or asserts the value in it: "Is it 42? No."
//!    ([`question`]). A value that others might suppose, or that was supposed at first, is none
//!    unless the text confirms it: "one might think it is 42" ([`tentative`]).
//! 3. Among the answers that remain, a box precedes a statement ("the answer is 42"), and a
//!    statement precedes the last value of the text. Of several, the last one decides.
//! 4. An alternative is part of the answer: "3 (or 4)" is read as "3 or 4" ([`hedge`]), as are
//!    adjacent statements that contradict: "The answer is 4. The answer is 3." ([`adjacent`]). A
//!    value that is asked ("42?"), guessed ("42, maybe") or left open ("42 or so", "42 unless n is
//!    odd") is not an answer.
//!
//! The words are in [`languages`](crate::languages) and [`phrases`](crate::phrases); the modules
//! here only know their positions.

mod adjacent;
mod denial;
mod hedge;
mod polarity;
mod predicate;
mod question;
mod retraction;
mod tentative;

pub(super) use adjacent::contradiction;
pub(super) use denial::{denies_box, denies_clause, sentence};
pub(super) use hedge::{offer, restated};
pub(super) use retraction::{after_box, after_retraction, correction};

use crate::qualifiers;
use crate::tokens::Lexed;
use crate::value_runs::{self, ValueRun};

/// Whether a clause denies the value in it by more than a negation of its verb: "42 is wrong",
/// "Wrong: 42".
pub(super) fn refutes(lexed: &Lexed<'_>, run: ValueRun) -> bool {
    polarity::is_denied(lexed, run.first) || predicate::denies(lexed, run.end)
}

/// The part of a run that the words around it assert; `None` if they deny, doubt or only suppose
/// it. In "42 and 41 is wrong" the words after the last value are about that value.
pub(super) fn asserted(lexed: &Lexed<'_>, run: ValueRun) -> Option<ValueRun> {
    let reply = question::reply(lexed, run.end).filter(|_| question::asks_for(lexed, run.first));
    let doubted = match reply {
        Some(affirms) => !affirms,
        None => hedge::is_doubted(lexed, run.end),
    };
    let supposed =
        || tentative::is_supposed(lexed, run.first) && !tentative::is_confirmed(lexed, run.end);
    let stated = !doubted
        && !denial::denied_before(lexed, run.first)
        && !qualifiers::is_hypothetical(lexed, run.first)
        && !supposed();
    if !stated {
        return None;
    }
    if predicate::denies(lexed, run.end) {
        value_runs::without_last(lexed, run)
    } else {
        Some(run)
    }
}
