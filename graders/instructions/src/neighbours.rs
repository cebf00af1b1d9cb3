//! Relations between adjacent units of a text.

use serde_json::{Map, Value};

use crate::syllables;
use crate::text::Text;
use crate::units::{Unit, is_punctuation};

/// A relation of a unit to the one after it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Relation {
    /// Their first letters differ.
    OtherInitial,
    /// The second does not start with the letter after the first one's in the alphabet.
    NotNextInitial,
    /// The second starts with the letter after the first one's; `a` follows `z`.
    NextInitial,
    /// The second has this many more words.
    LongerBy(i64),
    /// They have the same number of characters.
    SameLength,
    /// The second has more words that start with the same letter as a word next to them.
    MoreAlliteration,
    /// The second starts with the last word of the first.
    StartsWithLastWord,
    /// One has an even and the other an odd number of syllables.
    OtherParityOfSyllables,
    /// The second is indented by more spaces.
    DeeperIndent,
    /// The second has more characters.
    Longer,
}

/// Relations by name.
const NAMES: &[(&str, Relation)] = &[
    ("other_initial", Relation::OtherInitial),
    ("not_next_initial", Relation::NotNextInitial),
    ("next_initial", Relation::NextInitial),
    ("same_length", Relation::SameLength),
    ("more_alliteration", Relation::MoreAlliteration),
    ("starts_with_last_word", Relation::StartsWithLastWord),
    (
        "other_parity_of_syllables",
        Relation::OtherParityOfSyllables,
    ),
    ("deeper_indent", Relation::DeeperIndent),
    ("longer", Relation::Longer),
];

impl Relation {
    /// Reads the relation of a rule.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(body: &Map<String, Value>) -> Result<Self, String> {
        let name = body
            .get("relation")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if name == "longer_by" {
            let by = body
                .get("by")
                .and_then(Value::as_f64)
                .filter(|by| by.fract() == 0.0);
            let by = by
                .filter(|by| by.abs() < 1e6)
                .ok_or("`longer_by` needs a whole number `by`")?;
            return Ok(Self::LongerBy(by as i64));
        }
        let known = NAMES.iter().find(|(known, _)| *known == name);
        known.map(|(_, relation)| *relation).ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            format!(
                "unknown relation `{name}`; use `longer_by` or one of `{}`",
                names.join("`, `")
            )
        })
    }

    /// Whether `first` is in the relation to `second`, the unit after it.
    pub(crate) fn holds(self, first: &str, second: &str) -> bool {
        match self {
            Self::OtherInitial => initial(first) != initial(second),
            Self::NotNextInitial => step(first, second) != Some(1),
            Self::NextInitial => step(first, second).is_some_and(|step| step.rem_euclid(26) == 1),
            Self::LongerBy(by) => terms(second).checked_sub(terms(first)) == Some(by),
            Self::SameLength => first.chars().count() == second.chars().count(),
            Self::Longer => first.chars().count() < second.chars().count(),
            Self::MoreAlliteration => alliteration(first) < alliteration(second),
            Self::StartsWithLastWord => {
                let words = |text: &str| -> Option<(String, String)> {
                    let bare = |word: &str| word.trim_matches(is_punctuation).to_lowercase();
                    let mut words = text
                        .split_whitespace()
                        .map(bare)
                        .filter(|word| !word.is_empty());
                    let first = words.next()?;
                    let last = words.next_back().unwrap_or_else(|| first.clone());
                    Some((first, last))
                };
                words(first)
                    .zip(words(second))
                    .is_some_and(|(a, b)| a.1 == b.0)
            }
            Self::OtherParityOfSyllables => {
                syllables::count(first) % 2 != syllables::count(second) % 2
            }
            Self::DeeperIndent => indent(first) < indent(second),
        }
    }
}

/// The first letter or digit, in lower case.
fn initial(word: &str) -> Option<char> {
    word.chars()
        .find(|c| c.is_alphanumeric())
        .and_then(|c| c.to_lowercase().next())
}

/// Distance of the first letters in the alphabet; `None` unless both are letters of ASCII.
fn step(first: &str, second: &str) -> Option<i64> {
    let letter = |word: &str| initial(word).filter(char::is_ascii_lowercase);
    Some(i64::from(u32::from(letter(second)?)) - i64::from(u32::from(letter(first)?)))
}

fn terms(text: &str) -> i64 {
    i64::try_from(Text::new(text).pieces(Unit::Terms).len()).unwrap_or(i64::MAX)
}

/// Number of words that start with the letter of the word before or after them.
fn alliteration(sentence: &str) -> usize {
    let text = Text::new(sentence);
    let initials: Vec<Option<char>> = text
        .pieces(Unit::Terms)
        .iter()
        .map(|piece| initial(&piece.text))
        .collect();
    let equal = |at: usize| {
        initials
            .get(at)
            .is_some_and(|own| own.is_some() && initials.get(at + 1) == Some(own))
    };
    (0..initials.len())
        .filter(|at| equal(*at) || *at > 0 && equal(*at - 1))
        .count()
}

/// Number of spaces before a line.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_of_words_and_sentences() {
        assert!(Relation::NextInitial.holds("Zoo", "apple"));
        assert!(!Relation::NotNextInitial.holds("apple", "Bear"));
        assert!(Relation::LongerBy(2).holds("One two.", "One two three - four."));
        assert!(Relation::MoreAlliteration.holds("Big bears.", "Six silly snakes."));
        assert!(Relation::StartsWithLastWord.holds("I like \"tea\".", "Tea is hot."));
        assert!(Relation::OtherParityOfSyllables.holds("cat", "table"));
    }
}
