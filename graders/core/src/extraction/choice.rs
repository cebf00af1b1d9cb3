//! Letters of multiple choice in prose: "I think it's B", "D. It can't be A or B". A letter that is
//! denied is not chosen, and letters offered as alternatives stay alternatives.

use std::borrow::Cow;

use super::words::{Joiner, lower, roles};
use super::{Found, Rule, closing};

/// How far before a letter its sentence is looked at, in bytes.
const LOOKBACK: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Denied,
    /// A verb or a name such as "option" points at it.
    Pointed,
    /// It is set off by brackets or punctuation.
    Marked,
    Bare,
}

struct Letter {
    /// Byte of the letter.
    at: usize,
    standing: Standing,
    /// How it hangs on the letter before it.
    joined: Option<Joiner>,
    /// Its sentence takes back what was said: "No, B".
    corrects: bool,
}

/// How much of the end of a text is read for a letter that nothing states, in bytes.
const CLOSING: usize = 1 << 13;

/// How much of a clause is read for a letter, in bytes.
const CLAUSE: usize = 512;

/// The letter a text settles on, or the alternatives it offers.
pub(super) fn in_prose(text: &str) -> Option<Found<'_>> {
    let text = closing(text, CLOSING);
    let letters = letters(text);
    let chosen = letters
        .iter()
        .rposition(|letter| letter.standing == Standing::Pointed || letter.corrects)
        .or_else(|| leading(text, &letters))
        .or_else(|| only(text, &letters))?;
    Some(found(text, &letters, chosen))
}

/// The last letter of `rest`, what follows a statement, that takes the statement back: "No, B",
/// "wait, it is B".
pub(super) fn correction(rest: &str) -> Option<Found<'_>> {
    let rest = closing(rest, CLOSING);
    let letters = letters(rest);
    let chosen = letters.iter().rposition(|letter| letter.corrects)?;
    Some(found(rest, &letters, chosen))
}

/// The first letter of a clause that follows "the answer is", or the alternatives it opens.
pub(super) fn in_clause(clause: &str) -> Option<Found<'_>> {
    const LONGEST: usize = 48;
    let mut end = clause.len().min(CLAUSE);
    while !clause.is_char_boundary(end) {
        end -= 1;
    }
    let clause = &clause[..end];
    let letters = letters(clause);
    let chosen = letters
        .iter()
        .position(|letter| letter.standing != Standing::Denied)
        .filter(|chosen| letters[*chosen].at <= LONGEST)
        .filter(|chosen| !clause[..letters[*chosen].at].contains('\n'));
    if let Some(chosen) = chosen {
        return Some(found(clause, &letters, chosen));
    }
    // "answer: b": a lower-case letter counts where it is all there is.
    let alone = clause
        .trim()
        .trim_end_matches(['.', ')'])
        .trim_start_matches('(');
    let lower = alone.len() == 1 && alone.bytes().all(|byte| byte.is_ascii_lowercase());
    lower.then(|| Found {
        text: Cow::Owned(alone.to_uppercase()),
        source: alone,
        rule: Rule::Choice,
    })
}

/// The letter a short answer names: `C`, `(C)`, `C.`, `\text{C}`, `**C**`, `option C`, `C) 5 cm`;
/// upper case.
#[must_use]
pub fn letter(answer: &str) -> Option<char> {
    let mut rest = answer.trim();
    loop {
        let before = rest.len();
        rest = rest.trim_start_matches(['(', '[', '{', '*', '$', ' ', '"', '`']);
        for head in [
            "\\text", "\\mathrm", "\\textbf", "\\mathbf", "\\mathsf", "\\boxed", "\\left", "\\(",
            "option", "Option", "choice", "Choice", "选项", "选",
        ] {
            rest = rest.strip_prefix(head).unwrap_or(rest);
        }
        if rest.len() == before {
            break;
        }
    }
    let mut chars = rest.chars();
    let first = chars.next().filter(char::is_ascii_alphabetic)?;
    let after = chars.as_str();
    let ends = after
        .trim_matches([')', ']', '}', '*', '$', ' ', '.', '"', '`', ':'])
        .is_empty();
    let option = after.starts_with([')', '.', ':', '}', ']', '。', '、', '：']);
    (ends || option).then(|| first.to_ascii_uppercase())
}

fn found<'a>(text: &'a str, letters: &[Letter], chosen: usize) -> Found<'a> {
    let mut first = chosen;
    while first > 0 && letters[first].joined.is_some() {
        first -= 1;
    }
    let mut last = chosen;
    while letters
        .get(last + 1)
        .is_some_and(|next| next.joined.is_some())
    {
        last += 1;
    }
    if first == last {
        return Found::slice(&text[letters[chosen].at..=letters[chosen].at], Rule::Choice);
    }
    let mut list = String::new();
    for letter in &letters[first..=last] {
        if !list.is_empty() {
            list.push_str(letter.joined.unwrap_or(Joiner::Comma).as_str());
        }
        list.push_str(&text[letter.at..=letter.at]);
    }
    Found {
        text: Cow::Owned(list),
        source: &text[letters[first].at..=letters[last].at],
        rule: Rule::Choice,
    }
}

/// The letter a text opens with, where it mentions no other that is not denied.
fn leading(text: &str, letters: &[Letter]) -> Option<usize> {
    let first = letters.first()?;
    let opens = text[..first.at]
        .chars()
        .all(|c| c.is_whitespace() || "(*[#\"`".contains(c));
    (opens && first.standing != Standing::Denied).then_some(0)?;
    only(text, letters)
}

/// The letter that is the only one not denied, or the last of several alternatives.
fn only(text: &str, letters: &[Letter]) -> Option<usize> {
    let byte = |letter: &Letter| text.as_bytes()[letter.at];
    let standing = |letter: &&Letter| letter.standing != Standing::Denied;
    let first = letters.iter().find(standing)?;
    let same = letters
        .iter()
        .filter(standing)
        .all(|letter| byte(letter) == byte(first) || letter.joined.is_some());
    let set_off = letters.iter().filter(standing).any(|letter| {
        letter.standing == Standing::Marked
            || text.trim().len() <= 2
            || letter.at == text.len() - text.trim_start().len()
    });
    (same && set_off).then(|| {
        letters
            .iter()
            .rposition(|letter| letter.standing != Standing::Denied)
    })?
}

/// All capital letters that stand alone, in order.
fn letters(text: &str) -> Vec<Letter> {
    let bytes = text.as_bytes();
    let mut letters: Vec<Letter> = Vec::new();
    for (at, _) in text
        .bytes()
        .enumerate()
        .filter(|(_, byte)| byte.is_ascii_uppercase())
    {
        let before = text[..at].chars().next_back();
        let after = &text[at + 1..];
        if before.is_some_and(is_glue) || after.chars().next().is_some_and(is_glue) {
            continue;
        }
        if matches!(before, Some('\\' | '-' | '_' | '^'))
            || after.starts_with(['_', '^', '-', '\'', '’'])
        {
            continue;
        }
        let context = context(text, at);
        let marked = matches!(before, Some('(' | '*' | '['))
            || after.starts_with([')', '.', ':', '。', '*', ']', '、', '：', '，', ','])
            || after.trim().is_empty();
        let joined = letters
            .last()
            .and_then(|last: &Letter| gap_joiner(&text[last.at + 1..at]));
        let standing = if joined.is_some() {
            letters.last().map_or(Standing::Bare, |last| last.standing)
        } else if is_denied(context) || is_refuted(after) {
            Standing::Denied
        } else if points(context)
            && !after
                .trim_start_matches([')', ']', '*', '$', ' '])
                .starts_with(['?', '？'])
        {
            Standing::Pointed
        } else if marked {
            Standing::Marked
        } else {
            Standing::Bare
        };
        if reads_as_word(bytes[at], after, marked, joined.is_some()) {
            continue;
        }
        let corrects = standing != Standing::Denied
            && joined.is_none()
            && !asks(after)
            && takes_back(sentence(text, at));
        letters.push(Letter {
            at,
            standing,
            joined,
            corrects,
        });
    }
    letters
}

/// Letters and digits that make a capital part of a word. Scripts without blanks part their words
/// by themselves.
fn is_glue(c: char) -> bool {
    c.is_alphanumeric() && c < '\u{2e80}'
}

/// "A" before a lower-case word is an article, "I" a person, unless they are set off or their
/// sentence goes on after them.
fn reads_as_word(letter: u8, after: &str, marked: bool, joined: bool) -> bool {
    let next = after
        .trim_start_matches(' ')
        .split(|c: char| !c.is_alphabetic())
        .next()
        .unwrap_or_default();
    let goes_on = next.starts_with(char::is_lowercase);
    match letter {
        b'I' => !marked && !joined,
        b'A' => {
            !marked
                && goes_on
                && !roles(next).no_unit()
                && roles(next).joiner().is_none()
                && !roles(next).denies()
        }
        _ => false,
    }
}

/// The sentence before a letter, where no more than [`LOOKBACK`] bytes of it stand there.
fn sentence(text: &str, at: usize) -> &str {
    let start = text.ceil_char_boundary(at.saturating_sub(LOOKBACK));
    let before = &text[start..at];
    match before.rfind(['.', '\n', '!', '?', '。', '！', '？', '—', '…']) {
        Some(cut) => &before[cut..],
        None if start == 0 => before,
        None => "",
    }
}

/// Whether the sentence before a letter opens with a word that takes back what was said, and says
/// little else.
fn takes_back(sentence: &str) -> bool {
    const MOST_WORDS: usize = 7;
    let mut words = sentence
        .split(|c: char| !(c.is_alphabetic() || c == '\'' || c == '’'))
        .filter(|word| !word.is_empty())
        .take(MOST_WORDS + 1);
    // "But wait, B": a joiner or an interjection may come first.
    let opening = words.by_ref().find(|word| !roles(word).opens());
    opening.is_some_and(|word| roles(word).interjects()) && words.count() < MOST_WORDS
}

/// Whether the sentence of a letter goes on to a question mark: "Wait, is it B?".
fn asks(after: &str) -> bool {
    let end = after.floor_char_boundary(LOOKBACK);
    let mark = after[..end].find(['.', '\n', '!', '?', '。', '！', '？']);
    mark.is_some_and(|mark| after[mark..].starts_with(['?', '？']))
}

/// The clause before a letter.
fn context(text: &str, at: usize) -> &str {
    let start = text.ceil_char_boundary(at.saturating_sub(LOOKBACK));
    let clause =
        text[start..at].trim_end_matches(['(', '[', '*', '$', ' ', '"', '`', '“', '「', '\'']);
    let cut = clause
        .rfind(['.', '\n', ',', ';', '。', '，', '；', '!', '?', '！', '？'])
        .map_or(0, |cut| {
            cut + clause[cut..].chars().next().map_or(1, char::len_utf8)
        });
    &clause[cut..]
}

fn words(clause: &str) -> impl Iterator<Item = &str> {
    clause
        .rsplit(|c: char| !(c.is_alphabetic() || c == '\'' || c == '’'))
        .filter(|word| !word.is_empty())
}

/// Whether one of the last words before a letter denies it.
fn is_denied(clause: &str) -> bool {
    const WORDS: usize = 4;
    words(clause)
        .take(WORDS)
        .any(|word| roles(word).denies() || lower(word).ends_with("n't") || ends_in_denial(word))
}

pub(super) fn ends_in_denial(word: &str) -> bool {
    ["不是", "不选", "不可能是", "不能是", "排除", "并非"]
        .iter()
        .any(|denial| word.ends_with(denial))
}

/// Whether the words after a letter refute it: "A is wrong".
fn is_refuted(after: &str) -> bool {
    const WORDS: usize = 3;
    let after = after.trim_start_matches([')', ']', '*', ' ', '$']);
    if ["错", "不对", "不正确"]
        .iter()
        .any(|word| after.starts_with(word))
    {
        return true;
    }
    let mut end = after.len().min(LOOKBACK);
    while !after.is_char_boundary(end) {
        end -= 1;
    }
    let clause = after[..end]
        .split(['.', ',', ';', '\n', '(', '。', '，'])
        .next()
        .unwrap_or_default();
    let mut words = clause.split(' ').filter(|word| !word.is_empty());
    if !words.next().is_some_and(|word| roles(word).verb()) {
        return false;
    }
    words.take(WORDS).any(|word| {
        matches!(
            &*lower(word),
            "wrong" | "incorrect" | "false" | "not" | "impossible" | "out" | "falsch" | "faux"
        )
    })
}

/// Whether the last word before a letter points at it.
fn points(clause: &str) -> bool {
    const POINTERS: &[&str] = &[
        "it's",
        "its",
        "that's",
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
    // Only a word right before the letter points at it.
    if !clause.ends_with(word) {
        return false;
    }
    let word = lower(word);
    roles(&word).verb()
        || POINTERS.contains(&&*word)
        || ["选", "选择", "选项", "是", "为", "答案"]
            .iter()
            .any(|pointer| word.ends_with(pointer))
}

/// How the stretch between two letters joins them.
fn gap_joiner(gap: &str) -> Option<Joiner> {
    const LONGEST: usize = 24;
    if gap.len() > LONGEST {
        return None;
    }
    let mut joiner = None;
    let mut comma = false;
    for word in gap
        .split([' ', '(', ')', '*', '[', ']', '$'])
        .filter(|word| !word.is_empty())
    {
        let plain = word.trim_matches([',', '、', '，', '/']);
        comma |= plain.len() < word.len();
        if plain.is_empty() {
            continue;
        }
        match roles(plain).joiner() {
            Some(found) => joiner = Some(joiner.map_or(found, |before: Joiner| before.max(found))),
            None if roles(plain).hedge() => {}
            None => return None,
        }
    }
    joiner.or_else(|| comma.then_some(Joiner::Comma))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str) -> Option<String> {
        in_prose(text).map(|found| found.text.into_owned())
    }

    #[test]
    fn the_last_letter_pointed_at_counts() {
        for (text, letter) in [
            ("first I thought the correct answer is C", "C"),
            ("It's not A because of that, therefore I think it's B", "B"),
            ("The correct option is (B).", "B"),
            ("My choice is C.", "C"),
            ("réponse est C non A", "C"),
            ("所以选 D。", "D"),
            ("Option A is tempting. I choose option D", "D"),
        ] {
            assert_eq!(chosen(text).as_deref(), Some(letter), "{text}");
        }
    }

    #[test]
    fn a_letter_that_opens_the_text_counts_if_the_others_are_denied() {
        assert_eq!(chosen("D. it can't be A or B").as_deref(), Some("D"));
        assert_eq!(chosen("B。不是 A").as_deref(), Some("B"));
        assert_eq!(chosen("B不是 A").as_deref(), Some("B"));
        assert_eq!(chosen("C").as_deref(), Some("C"));
        assert_eq!(chosen("A. 5 B. 6 C. 7"), None);
    }

    #[test]
    fn alternatives_stay_alternatives() {
        assert_eq!(
            chosen("It could be (A) or maybe (B).").as_deref(),
            Some("A or B")
        );
        assert_eq!(chosen("It is A, B, or C").as_deref(), Some("A, B or C"));
    }

    #[test]
    fn a_later_sentence_that_takes_a_letter_back_counts() {
        for text in [
            "It is A. No, B.",
            "It is A. Wait, B",
            "I choose A! Oh wait, it's (B).",
            "It is A.\nActually, the answer should be B.",
            "It is A. No, C. Sorry, B",
        ] {
            assert_eq!(chosen(text).as_deref(), Some("B"), "{text}");
        }
        for text in [
            "It is A. No, B is wrong.",
            "It is A. Wait, could it be B? That fails",
            "It is A. No, it is not B",
        ] {
            assert_eq!(chosen(text).as_deref(), Some("A"), "{text}");
        }
        assert_eq!(
            correction(". Hmm, no.").map(|found| found.text.into_owned()),
            None
        );
    }

    #[test]
    fn articles_and_persons_are_no_letters() {
        assert_eq!(chosen("A dog is what I see"), None);
        assert_eq!(chosen("I do not know."), None);
    }

    #[test]
    fn a_clause_opens_with_its_letter() {
        let first = |clause| in_clause(clause).map(|found| found.text.into_owned());
        assert_eq!(
            first("for sure D, it can't be A or B").as_deref(),
            Some("D")
        );
        assert_eq!(first("A or B").as_deref(), Some("A or B"));
        assert_eq!(first("b.").as_deref(), Some("B"));
        assert_eq!(first("42"), None);
    }

    #[test]
    fn a_short_answer_names_its_letter() {
        for answer in [
            "C",
            "(C)",
            "C.",
            r"\text{(C)}",
            "**C**",
            "option C",
            "C) 5 cm",
            "c",
        ] {
            assert_eq!(letter(answer), Some('C'), "{answer}");
        }
        assert_eq!(letter("Cat"), None);
        assert_eq!(letter("5"), None);
    }
}
