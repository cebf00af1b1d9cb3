//! Letters of multiple choice in prose: "I say it's D", "C. That can't be B or D". A denied letter
//! is not chosen. Letters that are offered as alternatives stay alternatives.

mod clause;
pub mod labels;
pub mod option_text;

use std::borrow::Cow;

use crate::commitment;
use crate::rule::{Rule, RuleMatch};
use crate::slices::tail;
use crate::tokens::{Lexed, TokenKind};
use crate::word_roles::{Joiner, roles};
use clause::{Judgement, LetterStatus, is_set_off, judge};

/// A capital letter that is a separate word.
struct Letter {
    /// Byte offset of the letter.
    at: usize,
    /// How it is joined to the letter before it.
    joined: Option<Joiner>,
    judgement: Judgement,
}

impl Letter {
    fn is_denied(&self) -> bool {
        self.judgement.status == LetterStatus::Denied
    }
}

/// Maximum number of letters that the words of their clause deny before one that they assert.
const MAX_DENIED: usize = 8;

/// Bytes at the end of a text that are searched for a letter.
const TAIL_BYTES: usize = 1 << 13;

/// Bytes of a clause that are searched for a letter.
const MAX_CLAUSE_BYTES: usize = 512;

/// The letter that a text selects, or the alternatives it offers.
pub(super) fn in_prose(text: &str) -> Option<RuleMatch<'_>> {
    let text = tail(text, TAIL_BYTES);
    let mut letters = letters(text);
    for _ in 0..MAX_DENIED {
        let chosen = chosen(text, &letters).map(|chosen| &mut letters[chosen]);
        match chosen.filter(|letter| commitment::denies_clause(text, letter.at, letter.at)) {
            Some(letter) => {
                letter.judgement.status = LetterStatus::Denied;
                letter.judgement.corrects = false;
            }
            None => break,
        }
    }
    match chosen(text, &letters) {
        Some(chosen) => {
            Some(possible(text, &letters, chosen).unwrap_or_else(|| found(text, &letters, chosen)))
        }
        None => letters.is_empty().then(|| lower_case(text)).flatten(),
    }
}

/// The letter that decides, which the clause around it may still deny.
fn chosen(text: &str, letters: &[Letter]) -> Option<usize> {
    // An explicit choice or correction comes first, then the letter that starts the text, then the
    // only letter that is not denied.
    letters
        .iter()
        .rposition(|Letter { judgement, .. }| {
            judgement.status == LetterStatus::Selected || judgement.corrects
        })
        .or_else(|| leading_letter(text, letters))
        .or_else(|| only(text, letters))
}

/// A lower-case letter that starts a text of one line and is set off by a mark, or that is the
/// whole text: "b) 12", "(b)", "b".
fn lower_case(text: &str) -> Option<RuleMatch<'_>> {
    let line = text.trim().trim_start_matches(['(', '*', ' ']);
    let letter = line.get(..1)?;
    let rest = line[1..].trim_start_matches('*');
    let is_set_off =
        rest.trim_matches(['.', ')', ' ']).is_empty() || rest.starts_with([')', '.', ':']);
    let is_letter = letter.bytes().all(|byte| (b'a'..=b'j').contains(&byte));
    // "e.g. 5" and "a.m." are abbreviations.
    let abbreviates = rest
        .strip_prefix('.')
        .is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    (is_letter && is_set_off && !abbreviates && !line.contains('\n')).then(|| RuleMatch {
        text: Cow::Owned(letter.to_uppercase()),
        source: letter,
        rule: Rule::Choice,
    })
}

/// The letter of the last correction in `rest`, the text after a statement: "No, B", "wait, it is
/// B".
pub(super) fn correction(rest: &str) -> Option<RuleMatch<'_>> {
    let rest = tail(rest, TAIL_BYTES);
    let letters = letters(rest);
    let chosen = letters
        .iter()
        .rposition(|letter| letter.judgement.corrects)?;
    Some(found(rest, &letters, chosen))
}

/// The first letter of a clause after "the answer is", or the alternatives that it starts.
pub(super) fn letter_of_clause(clause: &str) -> Option<RuleMatch<'_>> {
    const MAX_LETTER_OFFSET: usize = 48;
    let mut end = clause.len().min(MAX_CLAUSE_BYTES);
    while !clause.is_char_boundary(end) {
        end -= 1;
    }
    let clause = &clause[..end];
    let letters = letters(clause);
    let chosen = letters
        .iter()
        .position(|letter| !letter.is_denied())
        .filter(|chosen| letters[*chosen].at <= MAX_LETTER_OFFSET)
        .filter(|chosen| !clause[..letters[*chosen].at].contains('\n'));
    if let Some(chosen) = chosen {
        return Some(found(clause, &letters, chosen));
    }
    // "answer: b", "answer: b. 12"
    lower_case(clause)
}

/// Whether a clause after "the answer is" starts with a letter that the words after it deny.
pub(super) fn denies_first_letter(clause: &str) -> bool {
    let start = clause.trim_start_matches(['(', '[', '*', '$', ' ', '"']);
    start.starts_with(|c: char| c.is_ascii_uppercase()) && clause::denied_after(&start[1..])
}

/// Number of tokens of the mark of an option before a value at `first`: "(B) 12". 0 if there is
/// none.
pub(super) fn mark_length(lexed: &Lexed<'_>, first: usize) -> usize {
    const LENGTH: usize = 3;
    let is_letter = |at: usize| {
        lexed.kind(at) == Some(TokenKind::Name) && matches!(lexed.str(at).as_bytes(), [b'A'..=b'J'])
    };
    let marked = lexed.kind(first) == Some(TokenKind::Open)
        && lexed.str(first) == "("
        && is_letter(first + 1)
        && lexed.kind(first + 2) == Some(TokenKind::Close)
        && !lexed.is_glued(first + LENGTH)
        && matches!(
            lexed.kind(first + LENGTH),
            Some(TokenKind::Number | TokenKind::Maths | TokenKind::Command | TokenKind::Currency)
        );
    if marked { LENGTH } else { 0 }
}

/// The letter of a short answer, in upper case: `C`, `(C)`, `C.`, `\text{C}`, `**C**`, `option C`,
/// `C) 5 cm`. `None` for other texts.
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

/// The letters that a text calls possible, if the chosen one is no more than that: "It might be B.
/// It could be C." `None` if it is the only one.
fn possible<'a>(text: &'a str, letters: &[Letter], chosen: usize) -> Option<RuleMatch<'a>> {
    let offered = |letter: &&Letter| letter.judgement.is_possible && !letter.is_denied();
    letters.get(chosen).filter(offered)?;
    let mut named: Vec<u8> = letters
        .iter()
        .filter(offered)
        .map(|letter| text.as_bytes()[letter.at])
        .collect();
    named.sort_unstable();
    named.dedup();
    if named.len() < 2 {
        return None;
    }
    let names: Vec<String> = named
        .iter()
        .map(|name| char::from(*name).to_string())
        .collect();
    let source = &text[letters.iter().find(offered)?.at..=letters[chosen].at];
    Some(RuleMatch {
        text: Cow::Owned(names.join(Joiner::Or.as_str())),
        source,
        rule: Rule::Choice,
    })
}

/// The match for a chosen letter and the letters that are joined to it.
fn found<'a>(text: &'a str, letters: &[Letter], chosen: usize) -> RuleMatch<'a> {
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
        return RuleMatch::slice(&text[letters[chosen].at..=letters[chosen].at], Rule::Choice);
    }
    let mut list = String::new();
    for letter in &letters[first..=last] {
        if !list.is_empty() {
            list.push_str(letter.joined.unwrap_or(Joiner::Comma).as_str());
        }
        list.push_str(&text[letter.at..=letter.at]);
    }
    RuleMatch {
        text: Cow::Owned(list),
        source: &text[letters[first].at..=letters[last].at],
        rule: Rule::Choice,
    }
}

/// The letter that a text starts with, if every other letter is denied.
fn leading_letter(text: &str, letters: &[Letter]) -> Option<usize> {
    let first = letters.first()?;
    let opens = text[..first.at]
        .chars()
        .all(|c| c.is_whitespace() || "(*[#\"`".contains(c));
    (opens && !first.is_denied()).then_some(0)?;
    only(text, letters)
}

/// The only letter that is not denied, or the last of several alternatives. It must be set off,
/// start the text or be the whole text; a bare capital in prose may be anything.
fn only(text: &str, letters: &[Letter]) -> Option<usize> {
    let byte = |letter: &Letter| text.as_bytes()[letter.at];
    let is_possible = |letter: &&Letter| !letter.is_denied();
    let first = letters.iter().find(is_possible)?;
    let same = letters
        .iter()
        .filter(is_possible)
        .all(|letter| byte(letter) == byte(first) || letter.joined.is_some());
    let set_off = letters.iter().filter(is_possible).any(|letter| {
        letter.judgement.status == LetterStatus::Delimited
            || text.trim().len() <= 2
            || letter.at == text.len() - text.trim_start().len()
    });
    (same && set_off).then(|| letters.iter().rposition(|letter| !letter.is_denied()))?
}

/// All capital letters that are separate words, in order.
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
        if before.is_some_and(is_word_character)
            || after.chars().next().is_some_and(is_word_character)
        {
            continue;
        }
        if matches!(before, Some('\\' | '-' | '_' | '^'))
            || after.starts_with(['_', '^', '-', '\'', '’'])
        {
            continue;
        }
        let joined = letters
            .last()
            .and_then(|last: &Letter| joiner_in_gap(&text[last.at + 1..at]));
        if reads_as_word(bytes[at], after, is_set_off(text, at), joined.is_some()) {
            continue;
        }
        let joined_to = joined.and(letters.last()).map(|last| last.judgement.status);
        letters.push(Letter {
            at,
            joined,
            judgement: judge(text, at, joined_to),
        });
    }
    letters
}

/// Whether a character next to a capital makes it part of a word. Scripts without blanks separate
/// their words from Latin letters by themselves.
fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() && c < '\u{2e80}'
}

/// Whether a letter is a word: "A" before a lower-case word is an article and "I" a pronoun, unless
/// they are set off or joined to another letter.
fn reads_as_word(letter: u8, after: &str, marked: bool, joined: bool) -> bool {
    let next = after
        .trim_start_matches(' ')
        .split(|c: char| !c.is_alphabetic())
        .next()
        .unwrap_or_default();
    // "A because …", "A or B", "A isn't …" are letters despite the word after them.
    let continues = next.starts_with(char::is_lowercase);
    match letter {
        // "B, I believe"
        b'I' => {
            let has_verb = continues && !roles(next).verb() && roles(next).joiner().is_none();
            !marked && (!joined || has_verb)
        }
        b'A' => {
            !marked
                && continues
                && !roles(next).never_unit()
                && roles(next).joiner().is_none()
                && !roles(next).negation()
        }
        _ => false,
    }
}

/// How the text between two letters joins them; `None` if it contains any other word.
fn joiner_in_gap(gap: &str) -> Option<Joiner> {
    const MAX_GAP_BYTES: usize = 24;
    if gap.len() > MAX_GAP_BYTES {
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
    fn uses_the_last_selected_letter() {
        for (text, letter) in [
            ("at last I see that the right option is E", "E"),
            ("It isn't C as that is too big, hence I say it's D", "D"),
            ("The best choice is (E).", "E"),
            ("Our pick is D.", "D"),
            ("la réponse est E non B", "E"),
            ("所以选 D。", "D"),
            ("Option A is tempting. I choose option D", "D"),
        ] {
            assert_eq!(chosen(text).as_deref(), Some(letter), "{text}");
        }
    }

    #[test]
    fn uses_first_letter_if_the_others_are_denied() {
        assert_eq!(chosen("C. that can't be B or D").as_deref(), Some("C"));
        assert_eq!(chosen("D。不是 C").as_deref(), Some("D"));
        assert_eq!(chosen("D不是 C").as_deref(), Some("D"));
        assert_eq!(chosen("C").as_deref(), Some("C"));
        assert_eq!(chosen("A. 5 B. 6 C. 7"), None);
    }

    #[test]
    fn keeps_alternatives() {
        assert_eq!(
            chosen("It could be (C) or perhaps (E).").as_deref(),
            Some("C or E")
        );
        assert_eq!(chosen("It is A, B, or C").as_deref(), Some("A, B or C"));
    }

    #[test]
    fn applies_later_corrections() {
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
    fn ignores_articles_and_pronouns() {
        assert_eq!(chosen("A dog is what I see"), None);
        assert_eq!(chosen("I do not know."), None);
    }

    #[test]
    fn reads_letter_at_start_of_clause() {
        let first = |clause| letter_of_clause(clause).map(|found| found.text.into_owned());
        assert_eq!(
            first("probably E, that can't be B or C").as_deref(),
            Some("E")
        );
        assert_eq!(first("A or B").as_deref(), Some("A or B"));
        assert_eq!(first("b.").as_deref(), Some("B"));
        assert_eq!(first("42"), None);
    }

    #[test]
    fn reads_letter_of_short_answer() {
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
