//! The clause before a value: whether the words that govern it deny it, as in "I do not think that
//! the answer is 42", "the wrong answer is 42". A denial counts only if its grammar reaches the
//! value: "it is not hard to see that the answer is 42" denies nothing, and a denial of a denial
//! asserts.
//!
//! The words of the clause are read from its start. Each word for a belief, a denial, a truth or a
//! falsehood that has the value's clause or an answer as its object reverses the verdict or, if it
//! is negated itself, keeps it.

use crate::phrases::beliefs::{
    INFINITIVES, RULES_OUT, WIDE_AFFIRMATIONS_BEFORE, WIDE_DENIALS_BEFORE,
};
use crate::phrases::judgements::{REPORTED, YIELDS};
use crate::tokens::{Lexed, TokenKind};
use crate::word_roles::lower;

/// Maximum number of tokens before a value that are read.
pub(super) const MAX_TOKENS: usize = 28;

/// Maximum number of tokens between a negation and the word that it negates: "nobody in the class
/// would say".
const MAX_REACH: usize = 6;

/// Maximum number of tokens between a verb and the name of an answer: "I doubt that the final
/// answer".
const MAX_NOUN_DISTANCE: usize = 4;

/// Whether the clause before the token `first` denies the value there, apart from a negation of the
/// verb between the name of an answer and the value.
pub(super) fn is_denied(lexed: &Lexed<'_>, first: usize) -> bool {
    let floor = first.saturating_sub(MAX_TOKENS);
    if !(floor..first).any(|at| lexed.roles(at).judges()) {
        return false;
    }
    let start = clause_start(lexed, first);
    let mut denied = false;
    let mut negation = None;
    // The clause is denied because its subject is a wrong answer.
    let mut by_subject = false;
    for at in start..first {
        if !lexed.is_word(at) {
            continue;
        }
        let clause = Clause {
            lexed,
            start,
            first,
            negation: negation.filter(|negation| at - negation <= MAX_REACH),
        };
        match clause.effect(at) {
            // "The wrong answer is avoided by checking that": the value is in another clause.
            Effect::None if by_subject && lexed.roles(at).complementizer() => denied = false,
            Effect::None => {}
            Effect::Negates => negation = negation.or(Some(at)),
            Effect::Cancels => negation = None,
            Effect::Reverses => {
                denied = !denied;
                by_subject = denied && lexed.roles(at).falsehood() && clause.describes_answer(at);
                negation = None;
            }
            Effect::Affirms => {
                denied = false;
                negation = None;
            }
        }
    }
    denied
}

/// What a word does to the verdict of its clause.
enum Effect {
    None,
    /// It negates the next word for a belief or a truth.
    Negates,
    /// It ends the reach of a negation.
    Cancels,
    /// It reverses the verdict and uses up the negation before it.
    Reverses,
    /// What follows is true.
    Affirms,
}

/// The clause from the token `start` to the value at `first`.
struct Clause<'a, 'b> {
    lexed: &'b Lexed<'a>,
    start: usize,
    first: usize,
    /// The negation that reaches the word that is read.
    negation: Option<usize>,
}

impl Clause<'_, '_> {
    fn effect(&self, at: usize) -> Effect {
        let lexed = self.lexed;
        let word = lexed.str(at);
        let roles = lexed.roles(at);
        if roles.wide() {
            return wide_effect(word);
        }
        let negated = self.negation.is_some();
        let reverses = |denies: bool| {
            if denies {
                Effect::Reverses
            } else {
                Effect::Cancels
            }
        };
        if self.names_way(at) {
            return Effect::Reverses;
        }
        if roles.formerly() && self.was_so(at) || roles.falsely() && self.reports(at) {
            return Effect::Reverses;
        }
        if is_negation(lexed, at) {
            return Effect::Negates;
        }
        // "wrong to say", "refuse to believe", "hard to deny": a negation of the infinitive.
        let infinitive = at + 1 < self.first && INFINITIVES.contains(&lexed.str(at + 1));
        let hard = roles.presupposes() && lexed.roles(at + 2).disbelieves();
        if infinitive && (roles.falsehood() || roles.refuses() || hard) {
            return if negated {
                Effect::Cancels
            } else {
                Effect::Negates
            };
        }
        if roles.presupposes() {
            return Effect::Affirms;
        }
        if roles.falsehood() && (self.precedes_clause(at) || self.describes_answer(at)) {
            return reverses(!negated);
        }
        if roles.disbelieves() && self.has_object(at) {
            return reverses(!negated);
        }
        if roles.begins_exclusion()
            && lexed
                .phrase_end(at, RULES_OUT)
                .is_some_and(|object| self.is_object(object))
        {
            return reverses(!negated);
        }
        // "none of this gives", but not "no mistake is left, which gives"
        if lexed.is_one_of(at, YIELDS)
            && self.has_negated_subject(at)
            && self.leads_to_value(at + 1)
        {
            return Effect::Reverses;
        }
        if roles.believes() && self.has_object(at) {
            // "ich glaube nicht, dass"
            let negated = negated || is_negation(lexed, at + 1);
            return if negated {
                Effect::Reverses
            } else {
                Effect::None
            };
        }
        if roles.truth() {
            let negated = negated || is_negation(lexed, at + 1);
            if self.describes_answer(at) {
                return if negated && self.is_label(at) {
                    Effect::Reverses
                } else {
                    Effect::Affirms
                };
            }
            if negated && self.precedes_clause(at) {
                return Effect::Reverses;
            }
        }
        // "Not the answer: 42"
        if roles.answer_noun() && negated && self.is_label(at) {
            return Effect::Reverses;
        }
        Effect::None
    }

    /// Whether the clause of the value is the object of the word: "false *that*", "falsch, *dass*".
    fn precedes_clause(&self, at: usize) -> bool {
        // "stimmt nicht, dass"
        let after = at + 1 + usize::from(is_negation(self.lexed, at + 1));
        let separator = self.lexed.kind(after) == Some(TokenKind::Separator);
        let next = after + usize::from(separator);
        next < self.first && self.lexed.roles(next).complementizer()
            // "Wrong: 42"
            || at == self.start && next == at + 1 && self.is_label(at)
    }

    /// Whether the object of a verb is the clause of the value, or the value: "doubt that", "doubt
    /// the answer is", "doubt 42".
    fn has_object(&self, at: usize) -> bool {
        let lexed = self.lexed;
        if self.precedes_clause(at) {
            return true;
        }
        let next = at + 1 + usize::from(is_negation(lexed, at + 1));
        let next = next + usize::from(lexed.kind(next) == Some(TokenKind::Separator));
        let names_answer = (next..self.first)
            .take(MAX_NOUN_DISTANCE)
            .take_while(|at| !lexed.is_value(*at))
            .any(|at| lexed.roles(at).answer_noun());
        let refers = next < self.first
            && (lexed.roles(next).refers()
                || lexed.is_one_of(next, &["we", "you", "they", "x", "n"]));
        names_answer || refers || self.leads_to_value(at + 1)
    }

    /// Whether the word describes an answer: "the *wrong* answer", "la respuesta *incorrecta*", or
    /// what leads to one: "a common *mistake* gives".
    fn describes_answer(&self, at: usize) -> bool {
        let lexed = self.lexed;
        // "something returned the wrong number of rows 21000"
        let states = |noun: usize| {
            self.leads_to_value(noun + 1)
                || (noun + 1..self.first).any(|at| {
                    lexed.roles(at).verb()
                        || YIELDS.contains(&lexed.str(at))
                        || lexed.kind(at) != Some(TokenKind::Word)
                })
        };
        // "the wrong answer 41 becomes 42"
        let has_value = |noun: usize| noun + 1 < self.first && lexed.is_value(noun + 1);
        let noun = |at: usize| {
            at < self.first && lexed.roles(at).answer_noun() && states(at) && !has_value(at)
        };
        let leads = at + 1 < self.first
            && YIELDS.contains(&lexed.str(at + 1))
            && lexed.is_one_of(
                self.start,
                &["a", "an", "one", "un", "une", "ein", "una", "um"],
            );
        // "jawaban *yang* salah"
        let relative = at > self.start + 1 && lexed.is_one_of(at - 1, &["yang"]);
        let before = at.checked_sub(1 + usize::from(relative));
        noun(at + 1) || before.is_some_and(|at| at >= self.start && noun(at)) || leads
    }

    /// Whether a colon and the value follow a word that starts the clause, with at most a negation
    /// and an article before it: "Not the answer: 42".
    fn is_label(&self, at: usize) -> bool {
        let lexed = self.lexed;
        let colon = |at: usize| at < self.first && matches!(lexed.str(at), ":" | "：");
        let near = self.start == at || self.negation == Some(self.start);
        near && at - self.start <= 3 && (colon(at + 1) || colon(at + 2))
    }

    /// "no *way* that", "by no *means*", but not "no way to".
    fn names_way(&self, at: usize) -> bool {
        let lexed = self.lexed;
        at > self.start
            && lexed.roles(at).way()
            && lower(lexed.str(at - 1)) == "no"
            && (at + 1 >= self.first || !matches!(lexed.str(at + 1), "to" | "of"))
    }

    /// Whether what an adverb calls false is a report of the value: "*wrongly* said to be". A few
    /// adverbs need no verb.
    fn reports(&self, at: usize) -> bool {
        let lexed = self.lexed;
        let next = at + 1;
        let verb = next < self.first
            && (lexed.roles(next).believes() && self.has_object(next)
                || REPORTED.contains(&lexed.str(next)));
        verb || !lexed.str(at).ends_with("ly")
    }

    /// "is no *longer*", "*used* to be", "was *previously* thought to be": only verbs separate the
    /// word from the value.
    fn was_so(&self, at: usize) -> bool {
        let lexed = self.lexed;
        let idiom = match &*lower(lexed.str(at)) {
            "used" => at + 1 < self.first && lexed.str(at + 1) == "to",
            "longer" => at > self.start && lexed.str(at - 1) == "no",
            _ => true,
        };
        idiom
            && (at + 1..self.first).all(|at| {
                let roles = lexed.roles(at);
                roles.verb() || roles.before_value() || roles.believes() || roles.filler()
            })
    }

    /// Whether the value is the object that starts at a token: "42", "the value 42".
    fn is_object(&self, from: usize) -> bool {
        (from..self.first).all(|at| {
            let roles = self.lexed.roles(at);
            roles.filler()
                || roles.before_value()
                || roles.answer_noun()
                || !self.lexed.is_word(at) && !self.lexed.is_value(at)
        })
    }

    /// Whether a negation is the subject of the verb at a token: "*none* of this gives".
    fn has_negated_subject(&self, verb: usize) -> bool {
        const MAX_SUBJECT: usize = 3;
        let starts = self
            .lexed
            .is_one_of(self.start, &["none", "nothing", "nobody"]);
        starts && self.negation == Some(self.start) && verb - self.start <= MAX_SUBJECT
    }

    /// Whether only words without a meaning of their own separate a token from the value.
    fn leads_to_value(&self, from: usize) -> bool {
        (from..self.first).all(|at| {
            let roles = self.lexed.roles(at);
            roles.verb() || roles.before_value() || !self.lexed.is_word(at)
        })
    }
}

/// Whether a token negates a clause or its verb.
pub(super) fn is_negation(lexed: &Lexed<'_>, at: usize) -> bool {
    let roles = lexed.roles(at);
    // "ni" negates in French and is a verb in Swahili; "far" negates in "far from".
    roles.negation() && !roles.verb()
        || roles.negates_clause()
            && (!lexed.is_one_of(at, &["far"]) || lexed.is_one_of(at + 1, &["from"]))
}

/// [`Clause::effect`] in a script without blanks between words, where a token is a clause.
fn wide_effect(clause: &str) -> Effect {
    let contains = |parts: &[&str]| parts.iter().any(|part| clause.contains(part));
    if contains(WIDE_DENIALS_BEFORE) && !contains(WIDE_AFFIRMATIONS_BEFORE) {
        Effect::Reverses
    } else {
        Effect::None
    }
}

/// The first token of the clause that contains the value at `first`, with the clauses that have it
/// as their object.
pub(super) fn clause_start(lexed: &Lexed<'_>, first: usize) -> usize {
    let floor = first.saturating_sub(MAX_TOKENS);
    // A colon before the value belongs to its clause: "Wrong answer: 42".
    let mut at = (floor..first)
        .rev()
        .take_while(|at| matches!(lexed.str(*at), ":" | "：" | "\"" | "'" | "“" | "—"))
        .last()
        .unwrap_or(first);
    while at > floor && !ends_clause(lexed, at - 1) {
        at -= 1;
    }
    at
}

/// Whether a token ends a clause or starts another one.
fn ends_clause(lexed: &Lexed<'_>, at: usize) -> bool {
    let next = at + 1;
    match lexed.tokens[at].kind {
        TokenKind::Stop | TokenKind::Open | TokenKind::Close => true,
        TokenKind::Separator => {
            // "ich glaube nicht, die Antwort ist"
            let believes = at > 0
                && lexed.roles(at - 1).believes()
                && next < lexed.tokens.len()
                && matches!(lexed.str(next), "die" | "das" | "es" | "der");
            !lexed.roles(next).complementizer() && !believes
        }
        TokenKind::Other => matches!(lexed.str(at), ":" | "：" | "—" | "–"),
        TokenKind::Operator => matches!(lexed.str(at), "—" | "–") && !lexed.is_glued(next),
        TokenKind::Word | TokenKind::Name => {
            let roles = lexed.roles(at);
            // "anything but 42"
            let excepts = at.checked_sub(1).is_some_and(|before| {
                is_negation(lexed, before)
                    || lexed.is_one_of(before, &["anything", "everything", "all"])
            });
            let joins = roles.joins_and() && {
                let after = lexed.roles(next);
                after.connective()
                    || after.filler()
                        && (lexed.roles(next + 1).answer_noun()
                            || lexed.roles(next + 2).answer_noun())
                    || after.refers()
                    || lexed.is_one_of(next, &["we"])
            };
            roles.connective() && !excepts
                || joins
                || lexed.str(at).starts_with(['而', '但', '所', '故', '因'])
        }
        _ => false,
    }
}
