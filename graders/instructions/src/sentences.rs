//! Divides texts into sentences: the boundaries of Unicode (UAX #29), except after abbreviations,
//! initials and the numbers of lists. A line break does not end a sentence.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// English abbreviations that are followed by a capital letter, in lower case and without the last
/// full stop.
const ABBREVIATIONS: &[&str] = &[
    "adm", "al", "apr", "approx", "assn", "aug", "ave", "blvd", "brig", "capt", "cf", "co", "col",
    "corp", "dec", "dept", "dr", "e.g", "eg", "et", "feb", "fig", "figs", "fr", "gen", "gov",
    "hon", "i.e", "ie", "inc", "jan", "jr", "lt", "ltd", "maj", "mr", "mrs", "ms", "mt", "nov",
    "nos", "oct", "p.s", "p.p.s", "ph", "pp", "prof", "rep", "rev", "sen", "sep", "sept", "sgt",
    "sr", "st", "u.s", "univ", "viz", "vol", "vs",
];

/// The byte ranges of the sentences, without white space around them.
pub(crate) fn split(text: &str) -> Vec<Range<usize>> {
    let joined;
    let source = if text.contains(['\n', '\r', '\u{b}', '\u{c}']) {
        // Of the same length, so that ranges are those of the text.
        joined = text.replace(['\n', '\r', '\u{b}', '\u{c}'], " ");
        joined.as_str()
    } else {
        text
    };
    let mut sentences: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for segment in source.split_sentence_bounds() {
        at += segment.len();
        if at < start {
            continue;
        }
        let rest = &source[at..];
        if rest.is_empty() || !continues(&source[start..at]) {
            let end = at + closing(rest);
            push(source, start..end, &mut sentences);
            start = end.max(at);
        }
    }
    sentences
}

/// Length of what still belongs to the sentence before it: emojis, and white space before them.
fn closing(rest: &str) -> usize {
    let mut end = 0;
    for (at, character) in rest.char_indices() {
        if is_emoji(character) || matches!(character, '\u{fe0f}' | '\u{200d}') {
            end = at + character.len_utf8();
        } else if !character.is_whitespace() {
            break;
        }
    }
    end
}

/// Whether a character is an emoji.
pub(crate) fn is_emoji(character: char) -> bool {
    matches!(u32::from(character),
        0x231A..=0x231B | 0x23E9..=0x23F3 | 0x2600..=0x27BF | 0x2B05..=0x2B07 | 0x2B1B..=0x2B1C
        | 0x2B50 | 0x2B55 | 0x1F000..=0x1FAFF)
}

/// Whether the text of a sentence so far does not end it.
fn continues(sentence: &str) -> bool {
    let sentence = sentence.trim();
    let Some(before) = sentence.strip_suffix('.') else {
        // A segment may consist of marks only, which belong to what follows.
        return !sentence.chars().any(char::is_alphanumeric) && !ends_sentence(sentence);
    };
    let word = before
        .rsplit(|c: char| c.is_whitespace() || "([{\"“*_-#".contains(c))
        .next()
        .unwrap_or_default();
    let is_initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    // "1. First": the number is all that there is.
    let is_number = !word.is_empty()
        && word.len() <= 3
        && word.bytes().all(|byte| byte.is_ascii_digit())
        && before[..before.len() - word.len()]
            .chars()
            .all(|c| !c.is_alphanumeric());
    let lower = word.to_lowercase();
    is_initial && word != "I" || is_number || ABBREVIATIONS.contains(&lower.as_str())
}

fn ends_sentence(text: &str) -> bool {
    text.contains(['.', '!', '?', '…', '。', '！', '？', '।', '؟'])
}

fn push(text: &str, at: Range<usize>, sentences: &mut Vec<Range<usize>>) {
    let part = &text[at.clone()];
    let start = at.start + (part.len() - part.trim_start().len());
    let end = start + part.trim().len();
    if start == end {
        return;
    }
    match sentences.last_mut() {
        // Marks without a word belong to the sentence before them.
        Some(last) if !part.chars().any(char::is_alphanumeric) => last.end = end,
        _ => sentences.push(start..end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(text: &str) -> Vec<&str> {
        split(text).into_iter().map(|at| &text[at]).collect()
    }

    #[test]
    fn ends_at_marks() {
        assert_eq!(sentences("One. Two! Three?"), ["One.", "Two!", "Three?"]);
        assert_eq!(
            sentences("He said \"no.\" Then left."),
            ["He said \"no.\"", "Then left."]
        );
        assert_eq!(sentences("今日は。元気？"), ["今日は。", "元気？"]);
        assert_eq!(sentences("यह एक है। वह दो है।"), ["यह एक है।", "वह दो है।"]);
    }

    #[test]
    fn does_not_end_at_abbreviations_numbers_and_lines() {
        assert_eq!(
            sentences("Dr. J. Smith paid 3.50, e.g. Twice."),
            ["Dr. J. Smith paid 3.50, e.g. Twice."]
        );
        assert_eq!(
            sentences("1. First item.\n2. Second item."),
            ["1. First item.", "2. Second item."]
        );
        assert_eq!(
            sentences("A line\nthat goes on. End"),
            ["A line\nthat goes on.", "End"]
        );
        assert_eq!(sentences("Well... maybe"), ["Well... maybe"]);
        assert_eq!(sentences("So do I. You too."), ["So do I.", "You too."]);
    }

    #[test]
    fn emojis_after_a_sentence_belong_to_it() {
        assert_eq!(sentences("Hi. 😀 Bye. ❤️"), ["Hi. 😀", "Bye. ❤️"]);
    }
}
