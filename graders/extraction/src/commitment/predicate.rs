//! The words after a value that say whether it is the answer: "42 is wrong", "42, which does not
//! satisfy the equation", "42 (rejected)". What has another subject ("41 is wrong"), or only
//! describes the value ("42 is not prime"), says nothing. Of two predicates that "but" joins, the
//! last one decides: "42 looks right but is wrong".
//!
//! A predicate is read up to its head: verbs, negations and adverbs, then a word that accepts or
//! rejects ("satisfies", "extraneous"), a noun for an answer, a pronoun for one ("is not it", "is
//! not what we want"), or nothing ("it is not").

use super::polarity;
use crate::characters::is_spaced;
use crate::languages::LANGUAGES;
use crate::phrases::beliefs::INFINITIVES;
use crate::phrases::judgements::YIELDS;
use crate::phrases::predicates::{
    ACCEPTING_PHRASES, BRIEFLY, CONTRADICTIONS, CROSSES, ELLIPTICAL, EXPECTATIONS, FAILING_PHRASES,
    FITS_ALONE, NEGATING_PHRASES, REJECTING_PHRASES, SIZES, VERBLESS, WANTS,
    WIDE_AFFIRMATIONS_AFTER, WIDE_DENIALS_AFTER,
};
use crate::phrases::{PARTICLES, retractions::FAILS};
use crate::tokens::{Lexed, TokenKind};
use crate::word_roles::lower;

/// Maximum number of words before the head of a predicate: "would also have to be".
const MAX_WORDS: usize = 8;

/// Maximum number of clauses after a value that may refer to it.
const MAX_CLAUSES: usize = 2;

/// Maximum number of words set off between a value and a remark about it: "42, I think, which is
/// wrong".
const MAX_ASIDE: usize = 3;

/// Maximum number of tokens of a clause between the value and the next one.
const MAX_TOKENS: usize = 24;

/// What a predicate says about its subject.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Denies,
    Affirms,
    /// It says nothing about whether the subject is the answer.
    Nothing,
}

impl Verdict {
    /// The verdict of a word that accepts or rejects its subject, with or without a negation.
    fn of(accepts: bool, negated: bool) -> Self {
        if accepts == negated {
            Self::Denies
        } else {
            Self::Affirms
        }
    }

    fn filter(self, counts: bool) -> Self {
        if counts { self } else { Self::Nothing }
    }
}

/// Whether the words from the token `end`, which follows a value, deny it.
pub(super) fn denies(lexed: &Lexed<'_>, end: usize) -> bool {
    if lexed.kind(end).is_none() {
        return false;
    }
    if CROSSES.contains(&lexed.str(end)) || denies_after_particle(lexed, end) {
        return true;
    }
    let word = |at: usize| lexed.is_word(at);
    let reach = lexed.tokens.len().min(end + MAX_CLAUSES * MAX_TOKENS);
    let stops = |at: &usize| lexed.kind(*at) == Some(TokenKind::Stop);
    if !(end..reach)
        .take_while(|at| !stops(at))
        .any(|at| lexed.roles(at).refutes())
    {
        return false;
    }
    if word(end) {
        if lexed.roles(end).wide() {
            return wide_denies(lexed, end);
        }
        let turns = lexed.roles(end).turns();
        let own = if turns && (refers(lexed, end + 1) || denies_briefly(lexed, end + 1)) {
            remark(lexed, end)
        } else {
            predicate(lexed, end, Position::Own)
        };
        match (own, contrast(lexed, end)) {
            (_, Verdict::Denies) | (Verdict::Denies, Verdict::Nothing) => return true,
            (_, Verdict::Affirms) => return false,
            _ => {}
        }
    }
    let mut from = end;
    for _ in 0..MAX_CLAUSES {
        let Some(mark) = (from..lexed.tokens.len().min(from + MAX_TOKENS))
            .find(|at| !word(*at) && !lexed.is_value(*at))
        else {
            return false;
        };
        if !sets_off(lexed, mark) {
            return false;
        }
        let turns = lexed.roles(mark + 1).turns();
        // "it is 42 that we test, which fails": the remark is about the clause before it. The
        // predicate of another value says nothing about this one.
        let is_about_clause = (from..mark).any(|at| {
            let roles = lexed.roles(at);
            lexed.is_value(at) || !turns && (roles.verb() || roles.auxiliary())
        });
        if is_about_clause || from > end && mark - from > MAX_ASIDE {
            return false;
        }
        match (remark(lexed, mark + 1), contrast(lexed, mark + 1)) {
            (_, Verdict::Denies) | (Verdict::Denies, Verdict::Nothing) => return true,
            (_, Verdict::Affirms) => return false,
            _ => {}
        }
        from = mark + 1;
    }
    false
}

/// Whether a sentence that starts at a token denies what was asked or said before it: "Wrong.",
/// "That is impossible."
pub(super) fn denies_alone(lexed: &Lexed<'_>, from: usize) -> bool {
    remark(lexed, from) == Verdict::Denies
}

/// Whether a clause that starts at a token confirms the value before it: "and it is right".
pub(super) fn affirms_alone(lexed: &Lexed<'_>, from: usize) -> bool {
    remark(lexed, from) == Verdict::Affirms
}

/// What a predicate after "but" says about the value that the words from the token `from` are
/// about: "is close *but wrong*", "looks right, *but it is not*".
fn contrast(lexed: &Lexed<'_>, from: usize) -> Verdict {
    let reach = lexed.tokens.len().min(from + MAX_TOKENS);
    let is_part = |at: &usize| lexed.is_word(*at) || lexed.kind(*at) == Some(TokenKind::Separator);
    let roles = lexed.roles(from);
    let other = roles.subordinate()
        || roles.connective()
        || roles.complementizer()
        || roles.supposition()
        || roles.place();
    let Some(turn) = (from + 1..reach)
        .take_while(is_part)
        .find(|at| {
            let turns = lexed.roles(*at).turns() && lexed.roles(*at).connective();
            turns && lexed.phrase_end(at - 1, NEGATING_PHRASES).is_none()
        })
        .filter(|_| lexed.is_word(from) && !other)
    else {
        return Verdict::Nothing;
    };
    if refers(lexed, turn + 1) {
        remark(lexed, turn)
    } else {
        predicate(lexed, turn + 1, Position::Object)
    }
}

/// Whether a token sets a remark off: a comma, a bracket or a dash.
fn sets_off(lexed: &Lexed<'_>, at: usize) -> bool {
    match lexed.kind(at) {
        Some(TokenKind::Separator | TokenKind::Open) => true,
        Some(TokenKind::Operator | TokenKind::Other) => {
            matches!(lexed.str(at), "-" | "–" | "—" | "（" | ":" | "：")
        }
        _ => false,
    }
}

/// "42 değil", "42 ではない", "42 답이 아니다": a denial that follows its object.
fn denies_after_particle(lexed: &Lexed<'_>, end: usize) -> bool {
    let particle = lexed.is_word(end) && PARTICLES.contains(&lexed.str(end));
    let mut at = end + usize::from(particle);
    // "42 उत्तर नहीं है": the name of an answer precedes the denial.
    while lexed.is_word(at) && (lexed.roles(at).answer_noun() || lexed.roles(at).truth()) {
        at += 1;
    }
    lexed.is_word(at) && lexed.roles(at).denies_after()
}

/// Whether a clause in a script without blanks denies the value before it.
fn wide_denies(lexed: &Lexed<'_>, at: usize) -> bool {
    let starts = (at..lexed.tokens.len())
        .take(4)
        .take_while(|at| lexed.is_word(*at) && lexed.roles(*at).wide());
    let mut starts = starts.map(|at| lexed.str(at));
    let contains = |word: &str, parts: &[&str]| parts.iter().any(|part| word.contains(part));
    starts.any(|word| {
        starts_with_denial(word)
            || contains(word, WIDE_DENIALS_AFTER) && !contains(word, WIDE_AFFIRMATIONS_AFTER)
    })
}

fn refers(lexed: &Lexed<'_>, at: usize) -> bool {
    lexed.is_word(at) && lexed.roles(at).refers()
}

/// Where a predicate is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Directly after the value, so that a verb must precede an adjective.
    Own,
    /// After a subject that refers to the value, so that a verb must precede an adjective.
    Verb,
    /// After the subject and a verb.
    Object,
    /// Set off, without a subject: "(wrong)". It must be the whole remark.
    Bare,
}

/// What the remark that starts at a token says about the value before it: ", which is wrong", ",
/// but that cannot be", "(rejected)".
fn remark(lexed: &Lexed<'_>, from: usize) -> Verdict {
    let mut at = from;
    while lexed.is_word(at) && lexed.roles(at).turns() && at < from + 2 {
        at += 1;
    }
    if lexed.is_word(at) && lexed.roles(at).wide() {
        return Verdict::Denies.filter(wide_remark(lexed, at));
    }
    if refers(lexed, at) {
        let contracted = lexed.str(at).ends_with("'s") || lower(lexed.str(at)) == "c'est";
        let position = if contracted {
            Position::Object
        } else {
            Position::Verb
        };
        // "but this value is too large"
        let noun = usize::from(lexed.is_word(at + 1) && lexed.roles(at + 1).answer_noun());
        return predicate(lexed, at + 1 + noun, position);
    }
    if at > from && denies_briefly(lexed, at) {
        return Verdict::Denies;
    }
    // "(0, false)" lists truth values.
    let lists = at == from
        && from.checked_sub(1).and_then(|mark| lexed.kind(mark)) == Some(TokenKind::Separator)
        && lexed.is_one_of(at, &["false"]);
    if lists {
        Verdict::Nothing
    } else {
        predicate(lexed, at, Position::Bare)
    }
}

/// [`remark`] in a script without blanks between words: only a demonstrative or the denial itself
/// may start it.
fn wide_remark(lexed: &Lexed<'_>, at: usize) -> bool {
    let word = lexed.str(at);
    let word = word.trim_start_matches([
        '但', '可', '而', '却', '应', '需', '故', '要', '是', '也', '且',
    ]);
    let rest = word.trim_start_matches([
        '这', '那', '此', '它', '其', '该', '个', '答', '案', '结', '果',
    ]);
    let starts = rest.len() < word.len()
        || WIDE_DENIALS_AFTER
            .iter()
            .any(|denial| word.starts_with(denial));
    starts && wide_denies(lexed, at)
}

/// What a predicate says about its subject.
fn predicate(lexed: &Lexed<'_>, from: usize, position: Position) -> Verdict {
    let with_subject = matches!(position, Position::Own | Position::Verb);
    let mut negated = false;
    let mut verb = !with_subject;
    // "does not satisfy the equation": the verb may have an object.
    let mut auxiliary = false;
    // "leads to a contradiction": what the subject leads to says nothing else about it.
    let mut yields = false;
    let mut at = from;
    let end = lexed.tokens.len().min(from + MAX_WORDS);
    // Verbs, negations, articles and adverbs lead to the head.
    while at < end && (lexed.is_word(at) || is_dash(lexed, at)) {
        let roles = lexed.roles(at);
        if is_dash(lexed, at) {
            verb = true;
        } else if let Some(after) = lexed.phrase_end(at, NEGATING_PHRASES) {
            negated = true;
            at = after;
            continue;
        } else if is_negation(lexed, at) {
            negated = true;
            let word = lower(lexed.str(at));
            auxiliary |= word.ends_with("n't");
            verb |= word.ends_with("n't") || matches!(&*word, "cannot" | "n'est" | "ليس" | "ليست");
        } else if is_head(lexed, at) {
            break;
        } else if roles.presupposes() {
            // "not only a solution"
            return Verdict::Nothing;
        } else if is_part(lexed, at) || roles.verb() || roles.auxiliary() {
            verb = true;
            auxiliary |= roles.auxiliary();
        } else if lexed.is_one_of(at, YIELDS) {
            verb = true;
            yields = true;
        } else if is_pronoun(lexed, at) && at == from && with_subject {
            // "which we reject"
            verb = true;
        } else if !(roles.filler() || roles.before_value() || roles.formerly()) {
            return Verdict::Nothing;
        }
        at += 1;
    }
    if closes(lexed, at) {
        // "42 - not!"
        let only_negation =
            at == from + 1 && position == Position::Bare && lexed.is_one_of(from, &["not", "no"]);
        let elliptical = negated && position != Position::Bare && is_elliptical(lexed, from, at);
        return Verdict::Denies.filter(only_negation || elliptical);
    }
    let position = if auxiliary && position == Position::Bare {
        Position::Object
    } else {
        position
    };
    if at >= end || yields && !is_contradiction(lexed, at) {
        return Verdict::Nothing;
    }
    head(lexed, at, negated, verb, position)
}

/// What the head of a predicate at a token says about the subject.
fn head(lexed: &Lexed<'_>, at: usize, negated: bool, verb: bool, position: Position) -> Verdict {
    if !lexed.is_word(at) {
        return Verdict::Nothing;
    }
    if lexed.phrase_end(at, FAILING_PHRASES).is_some() {
        return Verdict::of(false, negated);
    }
    if lexed.phrase_end(at, REJECTING_PHRASES).is_some() {
        return Verdict::of(false, negated).filter(verb);
    }
    if lexed.phrase_end(at, ACCEPTING_PHRASES).is_some() {
        return Verdict::of(true, negated);
    }
    if let Some(answers) = pronoun(lexed, at) {
        return Verdict::of(true, negated).filter(answers && verb);
    }
    if is_too_large(lexed, at) {
        return Verdict::Denies.filter(verb && !negated && position != Position::Verb);
    }
    let roles = lexed.roles(at);
    let bare = position == Position::Bare;
    // Languages with other scripts than Latin may leave the verb out, and a few others.
    let omits_verb =
        !lexed.str(at).starts_with(|c: char| c < '\u{250}') || lexed.is_one_of(at, VERBLESS);
    let postposed = roles.fits() && (is_negation(lexed, at + 1) || negates_at_end(lexed, at))
        || lexed.roles(at + 1).denies_after();
    if roles.failure() || FAILS.contains(&lexed.str(at)) {
        // "fails to abort", "failed attempts"
        let infinitive = lexed.is_one_of(at + 1, &["to"]) && !lexed.roles(at + 2).fits();
        let participle = lexed.is_one_of(at, &["failed"]) && !ends_phrase(lexed, at + 1);
        let ends = !infinitive && !participle && (!bare || closes(lexed, at + 1));
        return Verdict::of(false, negated || postposed).filter(ends);
    }
    // "impossible to simplify", "not possible to simplify"
    let next = at + 1;
    let infinitive = lexed.is_word(next) && INFINITIVES.contains(&lexed.str(next));
    if infinitive && !roles.answer_noun() && (roles.rejects() || roles.truth()) {
        return Verdict::Nothing;
    }
    // "not a valid key": an adjective before another noun describes that.
    let adjective = roles.rejects() || roles.truth();
    if adjective && !omits_verb && !ends_phrase(lexed, next) && !postposed {
        return Verdict::Nothing;
    }
    if roles.rejects() {
        // "was falsch ist"
        let says = verb || lexed.is_word(next) && lexed.roles(next).verb() || omits_verb;
        let after = next
            + usize::from(lexed.is_word(next) && lexed.roles(next).answer_noun())
            + usize::from(matches!(
                &*lower(lexed.str(at)),
                "ruled" | "scheidet" | "thrown" | "crossed"
            ));
        return Verdict::of(false, negated || postposed)
            .filter(says && (!bare || closes(lexed, after)));
    }
    // "does not count the endpoints"
    if lexed.is_one_of(at, FITS_ALONE) && !closes(lexed, next) && !lexed.is_one_of(next, &["as"]) {
        return Verdict::Nothing;
    }
    if roles.fits() || roles.answer_noun() {
        // "la respuesta incorrecta", "the answer wrong"
        let described = at + 1 < lexed.tokens.len() && lexed.roles(next).falsehood();
        let noun = roles.fits() && lexed.is_word(next) && lexed.roles(next).answer_noun();
        let after = next + usize::from(noun);
        if !negated && !postposed {
            let accepts = !described || bare || !(verb || omits_verb);
            return Verdict::of(accepts, false).filter(!accepts || roles.truth() && verb);
        }
        let denies = (!bare || closes(lexed, after)) && !is_expectation(lexed, after);
        return Verdict::Denies.filter(denies);
    }
    Verdict::Nothing
}

fn is_head(lexed: &Lexed<'_>, at: usize) -> bool {
    let roles = lexed.roles(at);
    let starts = |phrases: &&[&str]| lexed.phrase_end(at, phrases).is_some();
    let phrase = roles.begins_rejection()
        && [FAILING_PHRASES, REJECTING_PHRASES, ACCEPTING_PHRASES]
            .iter()
            .any(starts);
    let word = roles.rejects() || roles.fits() || roles.failure() || roles.answer_noun();
    phrase || !is_part(lexed, at) && word || pronoun(lexed, at).is_some() || is_too_large(lexed, at)
}

/// Whether the pronoun at a token is one for the answer: "is not *it*", "is not *what* we want".
/// `None` if there is no pronoun.
fn pronoun(lexed: &Lexed<'_>, at: usize) -> Option<bool> {
    const MAX_DISTANCE: usize = 6;
    if lexed.is_one_of(at, &["it"]) {
        return closes(lexed, at + 1).then(|| !asks(lexed, at + 1));
    }
    // "what I expected" is another answer than somebody expected.
    let wants = |at: usize| {
        lexed.roles(at).answer_noun()
            || lexed.is_one_of(at, WANTS)
                && (closes(lexed, at + 1) || lexed.is_one_of(at + 1, &["for"]))
    };
    lexed.is_one_of(at, &["what"]).then(|| {
        (at + 1..at + MAX_DISTANCE)
            .take_while(|at| lexed.is_word(*at))
            .any(wants)
            && !is_expectation(lexed, at)
    })
}

/// "but *not it*", "but *not quite*"
fn denies_briefly(lexed: &Lexed<'_>, at: usize) -> bool {
    let word = at + 1 + usize::from(lexed.is_one_of(at + 1, BRIEFLY));
    is_negation(lexed, at) && closes(lexed, word) && !asks(lexed, word)
}

/// Whether a negated verb without an object ends before the token `end`: "but it *is not*", "that
/// *cannot be*", but not "isn't it?" and not "41 divides 82, but 42 *does not*".
fn is_elliptical(lexed: &Lexed<'_>, from: usize, end: usize) -> bool {
    let mut last = (from..end).rev().take(2);
    let be = |at: usize| {
        let roles = lexed.roles(at);
        roles.verb() || roles.filler() || lexed.is_one_of(at, ELLIPTICAL)
    };
    last.clone().any(|at| lexed.is_one_of(at, ELLIPTICAL)) && last.all(be) && !asks(lexed, end)
}

/// "too large", but not "too large to draw".
fn is_too_large(lexed: &Lexed<'_>, at: usize) -> bool {
    lexed.is_one_of(at, &["too"])
        && lexed.is_one_of(at + 1, SIZES)
        && (closes(lexed, at + 2)
            || lexed
                .phrase_end(at + 2, &["to be the", "to be"])
                .is_some_and(|noun| lexed.roles(noun).answer_noun() || lexed.roles(noun).truth()))
}

fn is_contradiction(lexed: &Lexed<'_>, at: usize) -> bool {
    lexed.is_one_of(at, CONTRADICTIONS)
        || lexed.roles(at).falsehood() && lexed.roles(at + 1).answer_noun()
}

/// Whether the sentence ends with a question mark at a token.
pub(super) fn asks(lexed: &Lexed<'_>, at: usize) -> bool {
    lexed.kind(at) == Some(TokenKind::Stop) && matches!(lexed.str(at), "?" | "？")
}

/// Whether a token is a part of a verb: "turns *out* to be".
fn is_part(lexed: &Lexed<'_>, at: usize) -> bool {
    lexed.is_one_of(at, &["out"]) && lexed.is_one_of(at + 1, &["to"])
}

fn is_pronoun(lexed: &Lexed<'_>, at: usize) -> bool {
    matches!(&*lower(lexed.str(at)), "we" | "i" | "you" | "one")
}

fn is_dash(lexed: &Lexed<'_>, at: usize) -> bool {
    matches!(lexed.kind(at), Some(TokenKind::Operator | TokenKind::Other))
        && matches!(lexed.str(at), "—" | "–")
}

fn is_negation(lexed: &Lexed<'_>, at: usize) -> bool {
    polarity::is_negation(lexed, at) || lexed.roles(at).denies_after()
}

/// "erfüllt die Gleichung nicht": a negation ends the clause.
fn negates_at_end(lexed: &Lexed<'_>, at: usize) -> bool {
    const MAX_OBJECT: usize = 4;
    let end = (at + 1..lexed.tokens.len())
        .take(MAX_OBJECT)
        .take_while(|at| lexed.is_word(*at))
        .last();
    end.is_some_and(|last| last > at && is_negation(lexed, last) && closes(lexed, last + 1))
}

/// Whether an adjective before a token describes no noun after it, or one for an answer.
fn ends_phrase(lexed: &Lexed<'_>, at: usize) -> bool {
    let roles = lexed.roles(at);
    !lexed.is_word(at)
        || roles.never_unit()
        || roles.answer_noun()
        || roles.subordinate()
        || roles.connective()
        || roles.verb()
        || roles.falsehood()
        || roles.place()
        || roles.of()
        || matches!(
            &*lower(lexed.str(at)),
            "here"
                | "either"
                | "anymore"
                | "too"
                | "out"
                | "away"
                | "aus"
                | "anyway"
                | "under"
                | "due"
        )
}

/// Whether a remark ends before a token, or a reason follows.
fn closes(lexed: &Lexed<'_>, at: usize) -> bool {
    match lexed.kind(at) {
        None | Some(TokenKind::Stop | TokenKind::Close | TokenKind::Separator) => true,
        Some(TokenKind::Word) => lexed.roles(at).subordinate() || lexed.is_one_of(at, &["here"]),
        Some(TokenKind::Suffix | TokenKind::Other) => matches!(lexed.str(at), "!" | "）" | ")"),
        _ => false,
    }
}

/// "the answer *I expected*"
fn is_expectation(lexed: &Lexed<'_>, from: usize) -> bool {
    const MAX_DISTANCE: usize = 6;
    (from..lexed.tokens.len())
        .take(MAX_DISTANCE)
        .take_while(|at| lexed.is_word(*at))
        .any(|at| EXPECTATIONS.contains(&&*lower(lexed.str(at))))
}

/// Whether a token of a script without blanks between words starts with a denial.
fn starts_with_denial(word: &str) -> bool {
    word.starts_with(|c| !is_spaced(c))
        && LANGUAGES
            .iter()
            .flat_map(|language| language.not_after)
            .any(|denial| word.starts_with(denial))
}
