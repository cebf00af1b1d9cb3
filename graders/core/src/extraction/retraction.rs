//! What a text takes back: "The answer is 41. Wait, that's wrong." What was taken back is no
//! answer, and what is said instead is one. Only sentences that say little else are read so; a
//! doubt, a question or a check takes nothing back.

use super::languages::LANGUAGES;
use super::phrases::{DEMONSTRATIVES, FAULTS, RIGHTS, SLIPS, TAKEN_BACK};
use super::qualify;
use super::runs;
use super::tokens::{Kind, Line};
use super::words::{lower, roles};
use super::{Found, Rule, opening};

/// How much of a sentence is read for what it takes back, in bytes.
const SENTENCE: usize = 160;

/// Most words a clause has that takes something back, after its interjections.
const MOST_WORDS: usize = 8;

/// Most words before the value that a sentence gives instead.
const MOST_BEFORE_VALUE: usize = 6;

/// Marks that end a sentence, or part what interrupts it.
const ENDS: &[char] = &['.', '\n', '!', '?', '。', '！', '？', '—', '…'];

/// Words before the value that a correction gives: "I *meant* 42".
const CORRECTING: &[&str] = &[
    "it", "it's", "that", "that's", "i", "mean", "meant", "should", "must", "have", "been", "the",
    "we", "get", "c'est", "es",
];

/// Marks that end a clause of a sentence.
const CLAUSE_ENDS: &[char] = &[',', ';', ':', '(', '，', '；', '：'];

/// What stands after the last clause of `text` that takes back what was said before it.
pub(super) fn standing(text: &str) -> &str {
    for start in openings(text) {
        let sentence = sentence(&text[start..]);
        let asks = text[start + sentence.len()..].starts_with(['?', '？']);
        if let Some(end) = taken_back(sentence, &text[..start]).filter(|_| !asks) {
            return &text[start + end..];
        }
    }
    text
}

/// The last value that `rest`, what follows a statement, gives instead: "No, it is 42".
pub(super) fn correction(rest: &str) -> Option<Found<'_>> {
    openings(rest).find_map(|start| instead(opening(&rest[start..], SENTENCE)))
}

/// Where sentences open, the last one first: their first letter.
fn openings(text: &str) -> impl Iterator<Item = usize> {
    let parted = text
        .rmatch_indices(ENDS)
        .map(|(at, end)| at + end.len())
        .chain([0]);
    parted.filter_map(|end| {
        let rest = &text[end..];
        let marks = rest.len()
            - rest
                .trim_start_matches([' ', '*', '_', '>', '(', '"', '“', '#', '-'])
                .len();
        text[end + marks..]
            .starts_with(char::is_alphabetic)
            .then_some(end + marks)
    })
}

/// The start of `rest` that is one sentence.
fn sentence(rest: &str) -> &str {
    let rest = opening(rest, SENTENCE);
    &rest[..rest.find(ENDS).unwrap_or(rest.len())]
}

fn words(sentence: &str) -> impl Iterator<Item = &str> {
    sentence
        .split(|c: char| !(c.is_alphabetic() || c == '\'' || c == '’'))
        .filter(|word| !word.is_empty())
}

/// The end of the clause of a sentence that takes back what was said `before` it.
fn taken_back(sentence: &str, before: &str) -> Option<usize> {
    if let Some(phrase) = TAKEN_BACK
        .iter()
        .find(|phrase| starts_with(sentence, phrase))
    {
        return Some(phrase.len());
    }
    let mut words = words(sentence).peekable();
    let mut interjects = false;
    while let Some(word) = words.next_if(|word| roles(word).interjects() || roles(word).opens()) {
        interjects |= roles(word).interjects();
    }
    let subject = words.next()?;
    let first_person = is_one_of(subject, &["i", "my", "ich", "je", "j'ai"]);
    if !(first_person
        || is_one_of(subject, DEMONSTRATIVES)
        || interjects && is_one_of(subject, FAULTS))
    {
        return None;
    }
    let start = super::place(sentence, subject).start;
    let clause = sentence[start..]
        .split(CLAUSE_ENDS)
        .next()
        .unwrap_or_default();
    if self::words(clause).nth(MOST_WORDS).is_some() {
        return None;
    }
    let denies =
        self::words(clause).any(|word| roles(word).denies() || lower(word).ends_with("n't"));
    let says = |list: &[&str]| self::words(clause).any(|word| is_one_of(word, list));
    let faulty = if denies {
        says(RIGHTS)
    } else {
        says(FAULTS) || interjects && says(SLIPS)
    };
    // Without an interjection, "that is wrong" may be said of anything; it is said of an answer
    // right after one.
    let meant = interjects || first_person || names_answer(last_sentence(before));
    (meant && faulty).then_some(start + clause.len())
}

fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.contains(&&*lower(word))
}

/// Whether a sentence starts with the words of a phrase, in any case.
fn starts_with(sentence: &str, phrase: &str) -> bool {
    let head = sentence.get(..phrase.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(phrase))
        && !sentence[phrase.len()..].starts_with(char::is_alphabetic)
}

fn last_sentence(before: &str) -> &str {
    let before =
        before.trim_end_matches(|c: char| ENDS.contains(&c) || c.is_whitespace() || c == '*');
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(SENTENCE))..];
    &near[near.rfind(ENDS).unwrap_or(0)..]
}

fn names_answer(sentence: &str) -> bool {
    words(sentence).any(|word| {
        let word = lower(word);
        roles(&word).conclusion()
            || LANGUAGES
                .iter()
                .any(|language| language.answer.contains(&&*word))
    })
}

/// The value that a sentence gives instead of one before it.
fn instead(sentence: &str) -> Option<Found<'_>> {
    let first = words(sentence).find(|word| !roles(word).opens())?;
    if !roles(first).interjects() {
        return None;
    }
    let line = Line::read(sentence);
    let end = (0..line.tokens.len())
        .find(|at| line.tokens[*at].kind == Kind::Stop)
        .unwrap_or(line.tokens.len());
    if line
        .tokens
        .get(end)
        .is_some_and(|_| matches!(line.str(end), "?" | "？"))
    {
        return None;
    }
    let leads = |at: usize| match line.tokens[at].kind {
        Kind::Word | Kind::Name => {
            let roles = line.roles(at);
            let leads = roles.verb() || roles.before_value() || is_one_of(line.str(at), CORRECTING);
            roles.interjects() || roles.opens() || leads && !roles.denies()
        }
        Kind::Separator | Kind::Other => true,
        _ => false,
    };
    let at = (0..end)
        .take(MOST_BEFORE_VALUE + 1)
        .find(|at| !leads(*at))?;
    if !runs::starts_value(&line, at) {
        return None;
    }
    let run = runs::run_at(&line, at)
        .ok()
        .filter(|run| run.strong && run.first == at)?;
    let calculates = line.kind(at) != Some(Kind::Name)
        && (run.first..run.end).any(|at| line.kind(at) == Some(Kind::Relation));
    let ends = run.end >= end
        || line.kind(run.end) == Some(Kind::Separator)
        || line.roles(run.end).subordinate()
        || is_one_of(line.str(run.end), &["not", "instead", "and"]);
    if calculates || !ends || qualify::qualified(&line, None, run).is_some() {
        return None;
    }
    qualify::value(&line, at, run, Rule::Stated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_back_does_not_stand() {
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
            assert!(standing(text).chars().count() <= 1, "{text}");
        }
        assert_eq!(standing("So 41. Wait, that's wrong. So 42."), ". So 42.");
        assert_eq!(
            standing("So 41. No, that is not right, it is 42"),
            ", it is 42"
        );
        assert_eq!(standing("答案是 41。不对，应该是 42"), "，应该是 42");
    }

    #[test]
    fn doubts_questions_checks_and_remarks_take_nothing_back() {
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
            assert_eq!(standing(text), text);
        }
    }

    #[test]
    fn what_is_said_instead_is_the_answer() {
        let instead = |rest| correction(rest).map(|found| found.text.into_owned());
        for rest in [
            ". No, 42.",
            ". Actually no, it is 42.",
            ". Wait, it should be $42$.",
            ". Sorry, I meant 42, not 41.",
            ".\nCorrection: 42",
            ". Oh wait, it's 42 because one is left over.",
        ] {
            assert_eq!(instead(rest).as_deref(), Some("42"), "{rest}");
        }
        for rest in [
            ". No, it is not 42.",
            ". Wait, is it 42?",
            ". Actually, 42 is even.",
            ". No 42 of them",
            ". Wait, 40 + 2 = 42.",
            ". It is 42.",
            ". No, it is less than 42.",
        ] {
            assert_eq!(instead(rest), None, "{rest}");
        }
    }
}
