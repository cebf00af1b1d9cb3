//! The labels of options in an answer: `C`, `(C) Paris`, `option 2`, `A and D`, `ACD`. Labels are
//! those of the task: letters, numbers or other short texts.

use crate::word_roles::{Joiner, lower, roles};

/// The labels that an answer names, and the text after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels<'t> {
    /// The labels as the task writes them, without repetition.
    pub labels: Vec<String>,
    /// Whether they are alternatives: "A or B".
    pub alternatives: bool,
    /// What follows the labels, such as the text of the option.
    pub rest: &'t str,
}

/// Words before a label, in lower case.
const NAMES: &[&str] = &[
    "option",
    "options",
    "choice",
    "choices",
    "answer",
    "answers",
    "letter",
    "letters",
    "number",
    "statement",
    "both",
    "réponse",
    "réponses",
    "lettre",
    "lettres",
    "opción",
    "opciones",
    "letra",
    "letras",
    "opção",
    "opções",
    "antwort",
    "antworten",
    "buchstabe",
    "auswahl",
    "opzione",
    "opzioni",
    "lettera",
    "вариант",
    "варианты",
    "ответ",
    "буква",
    "选项",
    "答案",
    "选",
    "选择",
    "選択肢",
    "選項",
    "答え",
    "보기",
    "선택지",
    "정답",
    "विकल्प",
    "सही",
    "अंतिम",
    "उत्तर",
    "الخيار",
    "الإجابة",
    "الاختيار",
    "optie",
    "opcja",
    "alternativ",
    "seçenek",
    "şık",
    "đáp",
    "án",
    "phương",
    "pilihan",
    "jawaban",
    "der",
    "die",
    "das",
    "the",
    "la",
    "le",
    "les",
    "las",
    "los",
    "el",
    "il",
    "o",
    "a",
];

/// Words that may follow a label in a statement.
const COPULAS: &[&str] = &[
    "है",
    "हैं",
    "होगा",
    "입니다",
    "이다",
    "です",
    "だ",
    "である",
    "is",
    "only",
];

/// Commands of LaTeX around a label.
const COMMANDS: &[&str] = &[
    "\\boxed", "\\textbf", "\\textsf", "\\textrm", "\\text", "\\mathrm", "\\mathbf", "\\mathsf",
    "\\mbox", "\\left", "\\right", "\\(", "\\)", "\\,",
];

/// Marks around a label.
const MARKS: [char; 25] = [
    '(', ')', '[', ']', '{', '}', '*', '$', '"', '\'', '`', '.', ':', '_', '（', '）', '「', '」',
    '。', '：', '、', '，', ',', '“', '”',
];

/// Reads the labels at the start of an answer; `None` if it does not start with one of `known`.
#[must_use]
pub fn read<'t>(answer: &'t str, known: &[&str]) -> Option<Labels<'t>> {
    let start = opened(answer);
    if let Some(read) = series(start, known) {
        return Some(read);
    }
    let (first, mut rest) = next(start, known)?;
    let mut labels = vec![first];
    let mut alternatives = false;
    while let Some((joiner, after)) = joined(rest) {
        // "A or 7": what follows is no label and still another answer.
        alternatives |= joiner == Joiner::Or;
        let Some((label, after)) = next(after, known) else {
            break;
        };
        if !labels.contains(&label) {
            labels.push(label);
        }
        rest = after;
    }
    Some(Labels {
        labels,
        alternatives,
        rest,
    })
}

/// Whether the text after a label leaves it as it is: it is empty, is set off by a mark, or
/// completes a statement. Other words may deny the label, as in "B is wrong".
#[must_use]
pub fn is_closed(rest: &str) -> bool {
    let is_mark = |c: char| MARKS.contains(&c) || "-–—=।!".contains(c);
    if rest.starts_with(is_mark) {
        return true;
    }
    let rest = rest.trim_matches(|c: char| c.is_whitespace() || is_mark(c));
    rest.is_empty() || COPULAS.contains(&rest)
}

/// "ACD": a word of letters that are labels, in the order of the alphabet.
fn series<'t>(text: &'t str, known: &[&str]) -> Option<Labels<'t>> {
    const MAX_LETTERS: usize = 10;
    let end = text
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(text.len());
    let word = &text[..end];
    let is_series = (2..=MAX_LETTERS).contains(&word.len())
        && !known.contains(&word)
        && word.bytes().all(|byte| byte.is_ascii_uppercase())
        && word.as_bytes().windows(2).all(|pair| pair[0] < pair[1])
        && word
            .char_indices()
            .all(|(at, _)| known.contains(&&word[at..=at]));
    is_series.then(|| Labels {
        labels: word.chars().map(String::from).collect(),
        alternatives: false,
        rest: &text[end..],
    })
}

/// A text without marks, commands and names of options at its start.
fn opened(text: &str) -> &str {
    let mut rest = text;
    loop {
        let before = rest.len();
        rest = rest.trim_start().trim_start_matches(MARKS);
        for command in COMMANDS {
            rest = rest.strip_prefix(command).unwrap_or(rest);
        }
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && !is_mark(c))
            .unwrap_or(rest.len());
        // A name is followed by something else, and single letters may be labels.
        let follows =
            rest[end..].trim_start_matches([' ', ':', '：', '*', '(', '\\', '{', '$', '"']);
        let is_name = end > 1 && NAMES.contains(&&*lower(&rest[..end]));
        if is_name && !follows.is_empty() {
            rest = &rest[end..];
        } else if let Some(name) = ["选项", "答案", "选择", "选", "選択肢", "答え", "보기"]
            .iter()
            .find_map(|name| rest.strip_prefix(name))
        {
            rest = name;
        }
        if rest.len() == before {
            return rest;
        }
    }
}

fn is_mark(c: char) -> bool {
    !c.is_ascii() && !c.is_whitespace() && !MARKS.contains(&c)
}

/// The label at the start of a text, in the form of the task, and what follows it.
fn next<'t>(text: &'t str, known: &[&str]) -> Option<(String, &'t str)> {
    let text = opened(text);
    let label = known
        .iter()
        .filter(|label| starts(text, label))
        .max_by_key(|label| label.len())?;
    let rest = &text[label.len()..];
    let is_lower = label.len() == 1 && text.starts_with(|c: char| c.is_ascii_lowercase());
    // "a dog": an article or another word, unless a mark or the end follows.
    let continues = rest
        .trim_start_matches(' ')
        .starts_with(char::is_alphanumeric);
    if is_lower && !label.starts_with(|c: char| c.is_ascii_lowercase()) && continues {
        return None;
    }
    Some(((*label).to_owned(), rest))
}

/// Whether a text starts with a label that no letter or digit continues.
fn starts(text: &str, label: &str) -> bool {
    let head = text.get(..label.len());
    let is_digit = |c: char| c.is_ascii_digit();
    let goes_on = |rest: &str| {
        let is_word =
            rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '\'' || c == '’');
        // "3.5" and "1,000" are not the labels 3 and 1.
        let is_number = label.ends_with(is_digit)
            && rest.starts_with(['.', ',', '/', '^'])
            && rest[1..].starts_with(is_digit);
        is_word || is_number
    };
    head.is_some_and(|head| head.eq_ignore_ascii_case(label)) && !goes_on(&text[label.len()..])
}

/// How a text joins what follows it to the label before it; `None` if it does not.
fn joined(text: &str) -> Option<(Joiner, &str)> {
    let mut rest = text.trim_start_matches([')', ']', '}', '*', '$', '"', '`', ' ', '）']);
    let mut joiner = None;
    for mark in [',', '、', '，', ';', '；', '&', '+', '/'] {
        if let Some(after) = rest.strip_prefix(mark) {
            // "A/B" offers a choice.
            joiner = Some(if mark == '/' {
                Joiner::Or
            } else {
                Joiner::Comma
            });
            rest = after.trim_start();
            break;
        }
    }
    let end = rest
        .find(|c: char| !c.is_alphabetic())
        .unwrap_or(rest.len());
    let word = &rest[..end];
    if let Some(found) = roles(word).joiner() {
        return Some((found, &rest[end..]));
    }
    // Languages without spaces write the joiner and the label together.
    for (word, found) in [
        ("和", Joiner::And),
        ("与", Joiner::And),
        ("或", Joiner::Or),
        ("と", Joiner::And),
    ] {
        if let Some(after) = rest.strip_prefix(word) {
            return Some((found, after));
        }
    }
    joiner.map(|joiner| (joiner, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(answer: &str, known: &str) -> Option<(String, bool, String)> {
        let known: Vec<&str> = known.split(' ').collect();
        read(answer, &known).map(|read| {
            (
                read.labels.join(" "),
                read.alternatives,
                read.rest.trim().to_owned(),
            )
        })
    }

    #[test]
    fn reads_single_labels() {
        for answer in [
            "C",
            "(C)",
            "C.",
            "**C**",
            r"\text{C}",
            r"\boxed{\textbf{(C)}}",
            "option C",
            "c",
            "Answer: (C)",
            "Option (c)",
            "选项C",
            "la réponse C",
        ] {
            let read = labels(answer, "A B C D").unwrap_or_else(|| panic!("{answer}"));
            assert_eq!((read.0.as_str(), read.1), ("C", false), "{answer}");
        }
        assert_eq!(labels("option 2", "1 2 3").unwrap().0, "2");
        assert_eq!(labels("10", "1 2 10").unwrap().0, "10");
        assert_eq!(labels("II", "I II III").unwrap().0, "II");
    }

    #[test]
    fn words_and_numbers_are_no_labels() {
        for answer in ["a dog", "Cat", "3.5", "I'm sure", "E = mc", "CAB", "AAC"] {
            assert_eq!(labels(answer, "A B C 3 1"), None, "{answer}");
        }
    }

    #[test]
    fn reads_several_labels() {
        for (answer, expected) in [
            ("A and C", ("A C", false)),
            ("A, C, D", ("A C D", false)),
            ("ACD", ("A C D", false)),
            ("(A) und (D)", ("A D", false)),
            ("A、C", ("A C", false)),
            ("A和C", ("A C", false)),
            ("A or B", ("A B", true)),
            ("A/B", ("A B", true)),
        ] {
            let read = labels(answer, "A B C D").unwrap_or_else(|| panic!("{answer}"));
            assert_eq!((read.0.as_str(), read.1), expected, "{answer}");
        }
        assert_eq!(labels("(B) Paris", "A B").unwrap().2, ") Paris");
    }
}
