//! Retractions: "The answer is 41. Wait, that's wrong." A retracted value is not an answer, and the
//! value that replaces it is. Only sentences that say little else are recognised. Doubts, questions
//! and checks retract nothing.

use crate::languages::LANGUAGES;
use crate::phrases::retractions::{
    CONCLUDING, CONTRASTS, CORRECTING, DEMONSTRATIVES, FAULTS, FIRST_PERSON, LACKS, RECHECKS,
    RECONSIDERING, RECONSIDERS, RESULTING, RETRACTIONS, RIGHTS, SLIPS, WAITS,
};
use crate::rule::{Rule, RuleMatch};
use crate::slices::{TAIL_BYTES, head, tail};
use crate::tokens::{Lexed, TokenKind};
use crate::value_runs::ValueRun;
use crate::word_roles::{lower, roles};
use crate::{qualifiers, value_runs};

/// Maximum number of bytes examined in a sentence.
const MAX_SENTENCE_BYTES: usize = 160;

/// Maximum number of words of a retracting clause after its interjections.
const MAX_WORDS: usize = 8;

/// Maximum number of words before the value of a correction.
const MAX_WORDS_BEFORE_VALUE: usize = 6;

/// Number of sentences at the end of a text that may correct an answer. Each one is split into
/// tokens.
const MAX_SENTENCES: usize = 256;

/// Marks that end a sentence or set off an interruption.
const ENDS: &[char] = &['.', '\n', '!', '?', '。', '！', '？', '।', '—', '…'];

/// How a sentence opens the answer again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reopening {
    /// It names something that the answer lacks: "However, we must add one".
    Amends,
    /// It checks the answer: "Let me recount".
    Checks,
    /// It takes the answer back for now: "Hold on."
    Doubts,
    /// Its interjection concerns this sentence only: "No, it is 42".
    Replaces,
}

/// Marks between an answer and an interruption of its sentence.
const SENTENCE_PART: &[char] = &[',', ' ', '$', '}', '*', '，'];

/// Marks that end a clause of a sentence.
const CLAUSE_ENDS: &[char] = &[',', ';', ':', '(', '，', '；', '：'];

/// The text after the last clause of `text` that retracts what precedes it; the whole text if there
/// is none. The first sentence retracts nothing: "No, that is not possible."
pub(crate) fn after_retraction(text: &str) -> &str {
    let said = |start: &usize| text[..*start].contains(char::is_alphanumeric);
    for start in sentence_starts(text).take_while(said) {
        let sentence = sentence(&text[start..]);
        let is_question = text[start + sentence.len()..].starts_with(['?', '？']);
        if let Some(end) = retraction_end(sentence, &text[..start]).filter(|_| !is_question) {
            return &text[start + end..];
        }
    }
    text
}

/// The text after the last sentence that takes back the box that ends at the byte `end`; `None` if
/// there is none.
pub(crate) fn after_box(text: &str, end: usize) -> Option<&str> {
    let near = tail(&text[end..], TAIL_BYTES);
    let from = text.len() - near.len();
    // The rest of the sentence of the box is a remark about the box.
    sentence_starts(near)
        .map(|start| from + start)
        .filter(|start| text[end..*start].contains(ENDS))
        .find_map(|start| {
            let sentence = sentence(&text[start..]);
            let is_question = text[start + sentence.len()..].starts_with(['?', '？']);
            let retracted = retraction_end(sentence, &text[..start]).filter(|_| !is_question)?;
            Some(&text[start + retracted..])
        })
}

/// The value of the last correction in `rest`, the text after an answer: "No, it is 42", "Hold on.
/// It should be 42". `explicit` leaves out checks and amendments, which no box yields to.
pub(crate) fn correction(rest: &str, explicit: bool) -> Option<RuleMatch<'_>> {
    let rest = tail(rest, TAIL_BYTES);
    let mut starts: Vec<usize> = sentence_starts(rest).take(MAX_SENTENCES).collect();
    starts.reverse();
    let mut open = None;
    let mut found = None;
    for start in starts {
        let sentence = head(&rest[start..], MAX_SENTENCE_BYTES);
        let own = reopening(sentence);
        let reopening = own.max(open);
        if own != Some(Reopening::Replaces) && own != Some(Reopening::Amends) {
            open = reopening;
        }
        let explicitly = reopening.is_some_and(|how| how >= Reopening::Doubts);
        if let Some(reopening) = reopening.filter(|_| explicitly || !explicit)
            && let Some(value) = replacement(sentence, reopening, own.is_some())
        {
            found = Some(value);
        }
    }
    found
}

/// How a sentence opens the answer again; `None` if it does not.
fn reopening(sentence: &str) -> Option<Reopening> {
    let mut words = words(sentence).skip_while(|word| roles(word).opener());
    let first = words.next()?;
    let rest = &sentence[crate::slices::byte_range(sentence, first).start..];
    let starts = |phrases: &[&str]| phrases.iter().any(|phrase| starts_with(rest, phrase));
    if starts(RECONSIDERS) {
        return Some(Reopening::Doubts);
    }
    if starts(RECHECKS) {
        return Some(Reopening::Checks);
    }
    // "rather than" compares.
    if starts(&["rather than"]) {
        return None;
    }
    if roles(first).interjection() {
        let waits = is_one_of(first, WAITS);
        let hesitates = waits || is_one_of(first, &["wait", "hmm", "sorry", "oops", "等等"]);
        let set_off = rest[first.len()..].starts_with([',', '.', ':', '!', '，', '…', '—']);
        // "Wait 5 minutes" is an instruction.
        let counts = rest[first.len()..]
            .trim_start()
            .starts_with(|c: char| c.is_ascii_digit());
        if !set_off && (waits || hesitates && counts) {
            return None;
        }
        return Some(if hesitates && set_off {
            Reopening::Doubts
        } else {
            Reopening::Replaces
        });
    }
    let contrasts =
        is_one_of(first, CONTRASTS) && words.take(MAX_WORDS).any(|word| is_one_of(word, LACKS));
    contrasts.then_some(Reopening::Amends)
}

/// The byte offset of the first letter of each sentence, last sentence first.
fn sentence_starts(text: &str) -> impl Iterator<Item = usize> {
    let sentence_breaks = text
        .rmatch_indices(ENDS)
        .map(|(at, end)| at + end.len())
        .chain([0]);
    sentence_breaks.filter_map(|end| {
        let rest = &text[end..];
        // An interruption may follow an answer in its sentence: "41, wait, 42".
        let rest = if end == 0 {
            rest.trim_start_matches(SENTENCE_PART)
        } else {
            rest
        };
        let end = text.len() - rest.len();
        let marks = rest.len()
            - rest
                .trim_start_matches([' ', '*', '_', '>', '(', '"', '“', '#', '-'])
                .len();
        text[end + marks..]
            .starts_with(char::is_alphabetic)
            .then_some(end + marks)
    })
}

/// The first sentence of `rest`.
fn sentence(rest: &str) -> &str {
    let rest = head(rest, MAX_SENTENCE_BYTES);
    &rest[..rest.find(ENDS).unwrap_or(rest.len())]
}

/// The words of a sentence.
fn words(sentence: &str) -> impl Iterator<Item = &str> {
    sentence
        .split(|c: char| !(c.is_alphabetic() || c == '\'' || c == '’'))
        .filter(|word| !word.is_empty())
}

/// The end of the clause of `sentence` that retracts the text `before` it; `None` if it retracts
/// nothing.
fn retraction_end(sentence: &str, before: &str) -> Option<usize> {
    if let Some(phrase) = RETRACTIONS
        .iter()
        .find(|phrase| starts_with(sentence, phrase))
    {
        return Some(phrase.len());
    }
    // A retraction is: interjections ("Wait,"), a subject that refers to the answer or the writer
    // ("that", "I"), and a fault ("is wrong", "made a mistake") or a negated right ("isn't right").
    let mut words = words(sentence).peekable();
    let mut interjects = false;
    while let Some(word) = words.next_if(|word| roles(word).interjection() || roles(word).opener())
    {
        interjects |= roles(word).interjection();
    }
    let subject = words.next()?;
    let first_person = is_one_of(subject, FIRST_PERSON);
    if !(first_person
        || is_one_of(subject, DEMONSTRATIVES)
        || interjects && is_one_of(subject, FAULTS))
    {
        return None;
    }
    let start = crate::slices::byte_range(sentence, subject).start;
    let clause = sentence[start..]
        .split(CLAUSE_ENDS)
        .next()
        .unwrap_or_default();
    // A long clause is an explanation that mentions a mistake.
    if self::words(clause).nth(MAX_WORDS).is_some() {
        return None;
    }
    // "It is easy to get this wrong."
    if self::words(clause).any(|word| is_one_of(word, &["easy", "tempting", "common"])) {
        return None;
    }
    let denies = self::words(clause).any(|word| roles(word).negation());
    let contains = |list: &[&str]| self::words(clause).any(|word| is_one_of(word, list));
    let faulty = if denies {
        contains(RIGHTS)
    } else {
        contains(FAULTS) || interjects && contains(SLIPS)
    };
    // Without an interjection, "that is wrong" may refer to anything. It refers to an answer only
    // if the sentence before names one.
    let refers_to_answer = interjects || first_person || names_answer(last_sentence(before));
    (refers_to_answer && faulty).then_some(start + clause.len())
}

/// Whether `list` contains the word, in any case.
fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.contains(&&*lower(word))
}

/// Whether a sentence starts with a phrase, in any case.
fn starts_with(sentence: &str, phrase: &str) -> bool {
    let head = sentence.get(..phrase.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(phrase))
        && !sentence[phrase.len()..].starts_with(char::is_alphabetic)
}

/// The last sentence of `before`, at most its last [`MAX_SENTENCE_BYTES`] bytes.
fn last_sentence(before: &str) -> &str {
    let before =
        before.trim_end_matches(|c: char| ENDS.contains(&c) || c.is_whitespace() || c == '*');
    let near =
        &before[before.ceil_char_boundary(before.len().saturating_sub(MAX_SENTENCE_BYTES))..];
    &near[near.rfind(ENDS).unwrap_or(0)..]
}

/// Whether a sentence contains the name of an answer or a word of a conclusion.
fn names_answer(sentence: &str) -> bool {
    words(sentence).any(|word| {
        let word = lower(word);
        roles(&word).conclusion()
            || word == "boxed"
            || LANGUAGES
                .iter()
                .any(|language| language.answer.contains(&&*word))
    })
}

/// The value of a correction: after an interjection or at the start of a clause, a few words that
/// lead to the value, and the value at the end of its clause. A calculation ("Wait, 40 + 2 = 42") is
/// a check and not a correction. `own` is set if the sentence itself opens the answer again.
fn replacement(sentence: &str, reopening: Reopening, own: bool) -> Option<RuleMatch<'_>> {
    let lexed = Lexed::read(sentence);
    let end = (0..lexed.tokens.len())
        .find(|at| lexed.tokens[*at].kind == TokenKind::Stop)
        .unwrap_or(lexed.tokens.len());
    let asks = |at: usize| at < lexed.tokens.len() && matches!(lexed.str(at), "?" | "？");
    if asks(end) {
        return None;
    }
    let clauses = (0..end).filter(|at| {
        *at == 0
            || lexed.kind(at - 1) == Some(TokenKind::Separator)
            || matches!(lexed.str(at - 1), ":" | "：")
    });
    let leads = clauses.filter_map(|at| led_value(&lexed, at, end));
    leads
        .filter(|(from, run)| {
            let says = |list: &[&str]| (*from..run.first).any(|at| is_one_of(lexed.str(at), list));
            match reopening {
                Reopening::Amends => says(RESULTING),
                Reopening::Replaces => *from == 0 || says(CONCLUDING),
                Reopening::Doubts if own => *from == 0 || says(CONCLUDING),
                Reopening::Doubts | Reopening::Checks => says(CONCLUDING),
            }
        })
        .filter_map(|(_, run)| qualifiers::signed_value(&lexed, run.first, run, Rule::Stated))
        .next_back()
}

/// The value that the words of a clause lead to, with the first token of the clause.
fn led_value(lexed: &Lexed<'_>, from: usize, end: usize) -> Option<(usize, ValueRun)> {
    let leads = |at: usize| match lexed.tokens[at].kind {
        TokenKind::Word | TokenKind::Name => {
            let roles = lexed.roles(at);
            let word = lexed.str(at);
            let leads = roles.verb()
                || roles.before_value()
                || is_one_of(word, CORRECTING)
                || is_one_of(word, RECONSIDERING);
            roles.interjection() || roles.opener() || leads && !roles.negation()
        }
        TokenKind::Separator | TokenKind::Other => true,
        _ => false,
    };
    let at = (from..end)
        .take(MAX_WORDS_BEFORE_VALUE + 1)
        .find(|at| !leads(*at))?;
    if !value_runs::starts_value(lexed, at) {
        return None;
    }
    let run = value_runs::run_at(lexed, at)
        .ok()
        .filter(|run| run.strong && run.first == at)?;
    let calculates = lexed.kind(at) != Some(TokenKind::Name)
        && (run.first..run.end).any(|at| lexed.kind(at) == Some(TokenKind::Relation));
    let ends = run.end >= end
        || lexed.kind(run.end) == Some(TokenKind::Separator)
        || lexed.roles(run.end).subordinate()
        || is_one_of(lexed.str(run.end), &["not", "instead", "and"]);
    let qualified = qualifiers::qualifier_start(lexed, None, run).is_some();
    (!calculates && ends && !qualified).then_some((from, run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_retracted_text() {
        for text in [
            "It is 41. Wait, that's wrong.",
            "The answer is 41. No, that is not right!",
            "The answer is 41. That is incorrect.",
            "So 41. Hmm, this can't be correct.",
            "So 41. Oops, I made a mistake.",
            "So 41. Sorry, I miscounted.",
            "So 41. I made an error above.",
            "So 41 — wait, wrong.",
            "So 41. Scratch that.",
            "So 41.\n**Wait**, that isn't right.",
            "答案是41。不对。",
            "La réponse est 41. Non, c'est faux.",
            "Die Antwort ist 41. Nein, das ist falsch.",
        ] {
            assert!(after_retraction(text).chars().count() <= 1, "{text}");
        }
        assert_eq!(
            after_retraction("So 41. Wait, that's wrong. So 42."),
            ". So 42."
        );
        assert_eq!(
            after_retraction("So 41. No, that is not right, it is 42"),
            ", it is 42"
        );
        assert_eq!(
            after_retraction("答案是 41。不对，应该是 42"),
            "，应该是 42"
        );
    }

    #[test]
    fn keeps_text_before_doubts_questions_checks_and_remarks() {
        for text in [
            "The answer is 41. Wait, is that wrong?",
            "The answer is 41. Wait, let me check: 40 + 1 = 41.",
            "The answer is 41. Actually, this is a well-known result.",
            "The answer is 41. No other value works.",
            "The answer is 41. No, that's not wrong.",
            "The answer is 41. I don't think there is a mistake.",
            "The answer is 41. This is correct.",
            "共有41种。不对称的有 3 种。",
            "Many guess 43. That is wrong. The rest follows.",
            "The answer is 41. It is easy to make a mistake in the second step by dropping a sign.",
            "It is A. No, B is wrong.",
        ] {
            assert_eq!(after_retraction(text), text);
        }
    }

    #[test]
    fn reads_value_of_a_correction() {
        let replacement = |rest| correction(rest, false).map(|found| found.text.into_owned());
        for rest in [
            ". No, 42.",
            ". Actually no, it is 42.",
            ". Wait, it should be $42$.",
            ". Sorry, I meant 42, not 41.",
            ".\nCorrection: 42",
            ". Oh wait, it's 42 because one is left over.",
            ". On second thought, it is 42.",
            ". Hold on. It should be 42.",
            ". Hmm, let me recheck. It is 42.",
            ". Let me double check... 6*7 = 42. So 42.",
            ". Hold on, let me recount: it is 42.",
            "... oh wait, I double counted one, it should be 42.",
            ". However, we must add the endpoint, which gives 42.",
            ", wait, 42.",
            ". Actually no, the answer is 42.",
            ". Update: 42",
        ] {
            assert_eq!(replacement(rest).as_deref(), Some("42"), "{rest}");
        }
        for rest in [
            ". No, it is not 42.",
            ". Wait, is it 42?",
            ". Actually, 42 is even.",
            ". No 42 of them",
            ". Wait, 40 + 2 = 42.",
            ". It is 42.",
            ". No, it is less than 42.",
            ". Let me double check: 2 * 42 = 84.",
            ". However, some count the endpoint, which gives 42.",
            ". However, it is not 42.",
            ". Wait, if it were 40, we would get 42.",
            ". No doubt. It is 42.",
            ", rather than 42.",
        ] {
            assert_eq!(replacement(rest), None, "{rest}");
        }
    }
}
