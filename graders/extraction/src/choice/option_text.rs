//! The text of an option that a completion writes after the letter that it selects: "C, i.e. 12
//! apples".

use std::collections::BTreeMap;

/// Marks between a letter and the text of its option.
const MARKS: &[char] = &[
    ')', ']', '}', '.', ':', ',', '*', '$', ' ', '(', '-', '–', '—', '=',
];

/// Phrases between a letter and the text of its option.
const PHRASES: &[&str] = &[
    "i.e.",
    "that is",
    "which is",
    "namely",
    "d.h.",
    "das heißt",
    "c'est-à-dire",
    "es decir",
    "即",
];

/// The text of another option that follows a letter and ends its clause; `None` if none does. Of
/// several options, the longest text decides.
#[must_use]
pub fn contradicting<'t>(
    letter: &str,
    rest: &str,
    choices: &'t BTreeMap<String, String>,
) -> Option<&'t str> {
    let rest = rest.trim_start_matches(MARKS);
    let rest = PHRASES
        .iter()
        .find_map(|phrase| rest.strip_prefix(phrase))
        .unwrap_or(rest)
        .trim_start_matches(MARKS);
    let follows = |option: &str| {
        let after = rest
            .get(..option.len())
            .filter(|head| !head.is_empty() && head.eq_ignore_ascii_case(option))
            .map(|_| rest[option.len()..].trim_start_matches(['$', '*']));
        after.is_some_and(|after| {
            after.is_empty() || after.starts_with(['.', ',', ';', ')', '}', '\n', '!', '。', '，'])
        })
    };
    let plain = |option: &'t str| option.trim_matches(['$', ' ', '.']);
    let (key, text) = choices
        .iter()
        .filter(|(_, text)| follows(plain(text)))
        .max_by_key(|(_, text)| plain(text).len())?;
    let own = choices
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(letter))?
        .1;
    let same = key.eq_ignore_ascii_case(letter) || plain(own).eq_ignore_ascii_case(plain(text));
    (!same).then_some(&**text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(rest: &str) -> Option<String> {
        let texts = [
            ("A", "10"),
            ("B", "10 apples"),
            ("C", "12 apples"),
            ("D", "$x^2$"),
        ];
        let choices = texts
            .iter()
            .map(|(letter, text)| ((*letter).to_owned(), (*text).to_owned()))
            .collect();
        contradicting("C", rest, &choices).map(str::to_owned)
    }

    #[test]
    fn finds_text_of_another_option() {
        for (rest, text) in [
            (", i.e. 10 apples.", "10 apples"),
            (") 10 apples", "10 apples"),
            (": **10**\n", "10"),
            (") $x^2$.", "$x^2$"),
        ] {
            assert_eq!(other(rest).as_deref(), Some(text), "{rest}");
        }
    }

    #[test]
    fn ignores_own_text_and_remarks() {
        for rest in [
            "",
            ") 12 apples",
            ". 10 apples would be too few.",
            " because 10 is even",
            ", not 10",
            ". None of the others",
        ] {
            assert_eq!(other(rest), None, "{rest}");
        }
    }
}
