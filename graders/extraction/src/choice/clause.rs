//! What the clause of a letter says about it. The order of precedence is:
//!
//! 1. A letter that is joined to the one before it has the status of that letter: "not A or *B*".
//! 2. It is denied if the words before it deny or exclude it ("it isn't C", "rules out C"), or the
//!    words after it refute it ("C is wrong") or make it a guess ("C, maybe").
//! 3. It is selected if the word before it selects it ("I choose C") and no question mark follows.
//! 4. It is delimited if brackets or marks set it off ("(C)", "C."), otherwise it is bare.
//!
//! Independently of that, a letter that is not denied may correct an earlier choice ("No, C"), and
//! a letter may be no more than possible ("it might be C").

use crate::phrases::MODALS;
use crate::phrases::qualifying::EXCLUDES;
use crate::qualifiers::ends_in_denial;
use crate::word_roles::{lower, roles};

/// Bytes before and after a letter that are examined as its sentence.
const LOOKBACK_BYTES: usize = 64;

/// Words and pairs of words directly before a letter that exclude it.
const EXCLUSIONS: &[&str] = &[
    "rules out",
    "ruled out",
    "ruling out",
    "rule out",
    "anything but",
    "everything but",
    "all but",
    "other than",
    "eliminate",
    "eliminates",
    "eliminating",
    "excluding",
    "exclude",
    "excludes",
    "except",
];

/// How the text around a letter refers to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LetterStatus {
    /// "not A", "A is wrong".
    Denied,
    /// A verb or a word such as "option" selects it: "I choose B".
    Selected,
    /// Brackets or punctuation set it off: "(B)", "B.".
    Delimited,
    /// Nothing of the above.
    Bare,
}

/// What the clause of a letter says about it.
pub(super) struct Judgement {
    pub(super) status: LetterStatus,
    /// Its sentence corrects an earlier choice: "No, B".
    pub(super) corrects: bool,
    /// Its clause only calls it possible: "it might be B".
    pub(super) is_possible: bool,
}

/// The judgement of the letter at the byte `at`. `joined` is the status of the letter before it, if
/// it is joined to that.
pub(super) fn judge(text: &str, at: usize, joined: Option<LetterStatus>) -> Judgement {
    let clause = before(text, at);
    let after = &text[at + 1..];
    let status = joined.unwrap_or_else(|| own_status(text, at, clause));
    Judgement {
        status,
        corrects: status != LetterStatus::Denied
            && joined.is_none()
            && !is_question(after)
            && is_retraction(sentence(text, at)),
        is_possible: is_possible(clause),
    }
}

/// The status of a letter that is not joined to another one, with its clause up to the letter.
fn own_status(text: &str, at: usize, clause: &str) -> LetterStatus {
    let after = &text[at + 1..];
    let asks = after
        .trim_start_matches([')', ']', '*', '$', ' '])
        .starts_with(['?', '？']);
    if is_denied(clause) || is_refuted(after) || is_guessed(after) {
        LetterStatus::Denied
    } else if is_selected(clause) && !asks {
        LetterStatus::Selected
    } else if is_set_off(text, at) {
        LetterStatus::Delimited
    } else {
        LetterStatus::Bare
    }
}

/// Whether brackets or punctuation set the letter off: "(B)", "B.".
pub(super) fn is_set_off(text: &str, at: usize) -> bool {
    let after = &text[at + 1..];
    text[..at].ends_with(['(', '*', '['])
        || after.starts_with([')', '.', ':', '。', '*', ']', '、', '：', '，', ','])
        || after.trim().is_empty()
}

/// The start of the sentence of a letter, up to the letter; empty if it is longer than
/// [`LOOKBACK_BYTES`].
fn sentence(text: &str, at: usize) -> &str {
    let start = text.ceil_char_boundary(at.saturating_sub(LOOKBACK_BYTES));
    let before = &text[start..at];
    match before.rfind(['.', '\n', '!', '?', '。', '！', '？', '—', '…']) {
        Some(cut) => &before[cut..],
        None if start == 0 => before,
        None => "",
    }
}

/// Whether the start of a sentence is a correction: it starts with an interjection and contains
/// little else.
fn is_retraction(sentence: &str) -> bool {
    const MAX_WORDS: usize = 7;
    let mut words = sentence
        .split(|c: char| !(c.is_alphabetic() || c == '\'' || c == '’'))
        .filter(|word| !word.is_empty())
        .take(MAX_WORDS + 1);
    // "But wait, B": an opener may precede the interjection.
    let opening = words.by_ref().find(|word| !roles(word).opener());
    // "rather than" compares.
    let second = words.next();
    let compares = second.is_some_and(|word| lower(word) == "than");
    opening.is_some_and(|word| roles(word).interjection())
        && !compares
        && words.count() + usize::from(second.is_some()) < MAX_WORDS
}

/// Whether the sentence of a letter ends with a question mark: "Wait, is it B?".
fn is_question(after: &str) -> bool {
    let end = after.floor_char_boundary(LOOKBACK_BYTES);
    let mark = after[..end].find(['.', '\n', '!', '?', '。', '！', '？']);
    mark.is_some_and(|mark| after[mark..].starts_with(['?', '？']))
}

/// The start of the clause of a letter, up to the letter.
fn before(text: &str, at: usize) -> &str {
    let start = text.ceil_char_boundary(at.saturating_sub(LOOKBACK_BYTES));
    let clause =
        text[start..at].trim_end_matches(['(', '[', '*', '$', ' ', '"', '`', '“', '「', '\'']);
    let cut = clause
        .rfind(['.', '\n', ',', ';', '。', '，', '；', '!', '?', '！', '？'])
        .map_or(0, |cut| {
            cut + clause[cut..].chars().next().map_or(1, char::len_utf8)
        });
    &clause[cut..]
}

/// The words of a clause, last word first.
fn words(clause: &str) -> impl Iterator<Item = &str> {
    clause
        .rsplit(|c: char| !(c.is_alphabetic() || c == '\'' || c == '’'))
        .filter(|word| !word.is_empty())
}

/// Whether one of the last words before a letter denies it.
fn is_denied(clause: &str) -> bool {
    const MAX_WORDS: usize = 4;
    let negates = |word: &str| {
        let negation = roles(word).negation() && !roles(word).verb();
        negation || ends_in_denial(word)
    };
    words(clause).take(MAX_WORDS).any(negates) || ends_with_exclusion(clause)
}

/// Whether the words directly before a letter exclude it: "rules out C", "rather than C".
fn ends_with_exclusion(clause: &str) -> bool {
    const MAX_WORDS: usize = 3;
    let last: Vec<_> = words(clause)
        .map(lower)
        .filter(|word| !matches!(&**word, "option" | "choice"))
        .take(MAX_WORDS)
        .collect();
    let ends_with = |phrase: &&str| {
        let mut parts = phrase.rsplit(' ').enumerate();
        parts.all(|(at, part)| last.get(at).is_some_and(|word| *word == part))
    };
    EXCLUSIONS.iter().chain(EXCLUDES).any(ends_with)
}

/// Whether only a verb of a possibility leads to a letter in its clause: "it might also be C".
fn is_possible(clause: &str) -> bool {
    let is_modal = |word: &str| MODALS.contains(&&*lower(word));
    let leads = |word: &str| {
        let roles = roles(word);
        roles.hedge() || roles.verb() || matches!(&*lower(word), "option" | "choice" | "letter")
    };
    words(clause)
        .take_while(|word| leads(word) || is_modal(word))
        .any(is_modal)
}

/// Whether a text after a letter denies it, in languages that deny after the noun: "Aではない". In
/// "D不是 C" it denies the other letter.
pub(super) fn denied_after(after: &str) -> bool {
    const DENIALS: &[&str] = &[
        "错",
        "不对",
        "不正确",
        "不是",
        "ではありません",
        "ではない",
        "じゃない",
        "이 아니",
        "이 아닙",
        "가 아니",
        "가 아닙",
        "은 아니",
        "는 아니",
        "नहीं",
        "गलत",
    ];
    let after = after.trim_start_matches([')', ']', '*', ' ', '$', '）']);
    let denial = DENIALS.iter().find_map(|word| after.strip_prefix(word));
    denial.is_some_and(|rest| {
        let mut rest = rest.trim_start_matches([' ', '(', '（']).chars();
        let is_letter = rest.next().is_some_and(|c| c.is_ascii_uppercase());
        !is_letter || rest.next().is_some_and(|c| c.is_ascii_alphanumeric())
    })
}

/// Whether the words after a letter refute it: "A is wrong".
fn is_refuted(after: &str) -> bool {
    const MAX_WORDS: usize = 3;
    let after = after.trim_start_matches([')', ']', '*', ' ', '$']);
    if denied_after(after) {
        return true;
    }
    let mut end = after.len().min(LOOKBACK_BYTES);
    while !after.is_char_boundary(end) {
        end -= 1;
    }
    let clause = after[..end]
        .split(['.', ',', ';', '\n', '(', '。', '，'])
        .next()
        .unwrap_or_default();
    let mut words = clause
        .split(' ')
        .filter(|word| !word.is_empty())
        .skip_while(|word| !roles(word).verb() && is_joined_letter(word));
    let says = |word: &str| roles(word).verb() || matches!(&*lower(word), "would" | "must" | "can");
    if !words.next().is_some_and(says) {
        return false;
    }
    words.take(MAX_WORDS).any(|word| {
        matches!(
            &*lower(word),
            "wrong" | "incorrect" | "false" | "not" | "impossible" | "out" | "falsch" | "faux"
        )
    })
}

/// Whether a word joins a letter to the letters before it or is one: "A *and B* are wrong".
fn is_joined_letter(word: &str) -> bool {
    let letter = word.trim_matches(['(', ')']);
    roles(word).joiner().is_some()
        || letter.len() == 1 && letter.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Whether the words after a letter make it a guess ("C, maybe") and not a choice.
fn is_guessed(after: &str) -> bool {
    let after = after.trim_start_matches([')', ']', '*', ' ', '$', ',']);
    let end = after
        .find(|c: char| !c.is_alphabetic())
        .unwrap_or(after.len());
    roles(&after[..end]).guess() && after[end..].trim_matches(['.', ' ', '\n']).is_empty()
}

/// Whether the last word before a letter selects it.
fn is_selected(clause: &str) -> bool {
    const SELECTORS: &[&str] = &[
        "it's",
        "its",
        "that's",
        "only",
        "leaving",
        "leaves",
        "choose",
        "chose",
        "pick",
        "select",
        "option",
        "choice",
        "answer",
        "therefore",
        "thus",
        "so",
        "say",
        "with",
        "opción",
        "option",
        "选",
        "选择",
        "选项",
        "故选",
        "应选",
        "答案",
        "réponse",
        "antwort",
        "respuesta",
        "letter",
        "hence",
        "c'est",
        "definitely",
        "surely",
        "probably",
        "sure",
    ];
    let clause = clause.trim_end_matches([':', '：', ' ', '*', '(']);
    let Some(word) = words(clause).next() else {
        return false;
    };
    // Only a word directly before the letter selects it.
    if !clause.ends_with(word) {
        return false;
    }
    let word = lower(word);
    roles(&word).verb()
        || SELECTORS.contains(&&*word)
        || [
            "选",
            "选择",
            "选项",
            "是",
            "为",
            "答案",
            "選択肢",
            "選項",
            "선택지",
        ]
        .iter()
        .any(|selector| word.ends_with(selector))
}
