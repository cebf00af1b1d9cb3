//! Forms of a text that are not a number of things: each is a variant with its arguments.

mod brackets;
mod bullets;
mod copies;
mod lists;
mod questions;
mod tables;

use lists::Options;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::finding::Finding;
use crate::language;
use crate::limits::MAX_TEXT_BYTES;
use crate::text::Text;
use crate::units::{Unit, is_punctuation};

/// A form of a text, by its name in tasks.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Format {
    /// The whole text is JSON, which may be in a fenced block.
    Json,
    /// The text is in a language.
    Language { language: String },
    /// Every word that is not a function word starts with a capital letter.
    TitleCase,
    /// Brackets are nested to a depth.
    NestedBrackets { levels: usize },
    /// Quotation marks of two kinds alternate to a depth.
    NestedQuotes { levels: usize },
    /// After each quoted phrase there is text that is not quoted.
    QuotesExplained,
    /// Each bullet point has points below it.
    SubBullets,
    /// A postscript with this marker ends the text.
    Postscript { marker: String },
    /// The text is a table with these columns.
    Csv {
        columns: Vec<String>,
        rows: f64,
        delimiter: char,
        #[serde(default)]
        quoted: bool,
        #[serde(default)]
        special: bool,
    },
    /// The text is numbered questions with options, each question longer than the one before.
    ChoiceQuestions { questions: usize, options: usize },
    /// The text starts with another one and continues after it.
    Repeats { text: String },
    /// The text is another one with another first word.
    ChangedFirstWord { text: String },
    /// The text is the characters `start` to `end` of another one, from 0, both included.
    Span { text: String, start: f64, end: f64 },
    /// A phrase occurs a number of times, each time with one other word in the middle.
    ChangedPhrase { phrase: String, times: f64 },
    /// The share of trigrams of characters that also occur in a reference is within two percent.
    TrigramOverlap {
        reference_text: String,
        percentage: f64,
    },
    /// The text is one of the options, which may be one text with slashes.
    OneOf { options: Options },
    /// The first word is also the last one.
    SameEnds,
    /// Words that read the same in reverse, all different.
    Palindromes { min: usize, letters: usize },
    /// The countries of Africa in descending alphabetical order, each on a line.
    AfricanCountriesDescending { min: usize },
}

impl Format {
    /// Reads the format of a rule: its name, or an object with `name` and arguments.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        let value = match value {
            Value::String(name) => json!({ "name": name }),
            value => value.clone(),
        };
        let format: Self = serde_json::from_value(value).map_err(|error| error.to_string())?;
        format.checked()
    }

    fn checked(self) -> Result<Self, String> {
        let text = match &self {
            Self::Language { language } => {
                if language::known(language).is_none() {
                    return Err(format!(
                        "the language `{language}` is not supported; use a code of ISO 639-1"
                    ));
                }
                return Ok(self);
            }
            Self::Csv { delimiter, .. } if !delimiter.is_ascii() => {
                return Err("`delimiter` must be a character of ASCII".to_owned());
            }
            Self::Postscript { marker: text }
            | Self::Repeats { text }
            | Self::ChangedFirstWord { text }
            | Self::Span { text, .. }
            | Self::ChangedPhrase { phrase: text, .. }
            | Self::TrigramOverlap {
                reference_text: text,
                ..
            } => text,
            _ => return Ok(self),
        };
        if text.trim().is_empty() || text.len() > MAX_TEXT_BYTES {
            return Err(format!("a text must have 1 to {MAX_TEXT_BYTES} bytes"));
        }
        Ok(self)
    }

    /// Checks a text.
    pub(crate) fn check(&self, text: &Text<'_>) -> Finding {
        match self {
            Self::Json => json_text(text.str),
            Self::Language { language } => in_language(text, language),
            Self::TitleCase => title_case(text),
            Self::NestedBrackets { levels } => brackets::nested(text.str, *levels),
            Self::NestedQuotes { levels } => brackets::quotes(text.str, *levels),
            Self::QuotesExplained => brackets::explained(text.str),
            Self::SubBullets => bullets::sub_bullets(text),
            Self::Postscript { marker } => bullets::postscript(text.str, marker),
            Self::Csv {
                columns,
                rows,
                delimiter,
                quoted,
                special,
            } => tables::csv(
                text.str,
                &tables::Shape {
                    columns,
                    rows: *rows,
                    delimiter: *delimiter,
                    quoted: *quoted,
                    special: *special,
                },
            ),
            Self::ChoiceQuestions { questions, options } => {
                questions::check(text.str, *questions, *options)
            }
            Self::Repeats { text: own } => copies::repeats(text.str, own),
            Self::ChangedFirstWord { text: own } => copies::changed_first_word(text.str, own),
            Self::Span {
                text: own,
                start,
                end,
            } => copies::span(text.str, own, *start, *end),
            Self::ChangedPhrase { phrase, times } => {
                copies::changed_phrase(text.str, phrase, *times)
            }
            Self::TrigramOverlap {
                reference_text,
                percentage,
            } => copies::trigram_overlap(text.str, reference_text, *percentage),
            Self::OneOf { options } => lists::one_of(text.str, options),
            Self::SameEnds => same_ends(text.str),
            Self::Palindromes { min, letters } => palindromes(text, *min, *letters),
            Self::AfricanCountriesDescending { min } => lists::african_countries(text, *min),
        }
    }
}

/// JSON by RFC 8259, alone or in one fenced block.
fn json_text(text: &str) -> Finding {
    let text = text.trim();
    let inner = text.strip_prefix("```").map_or(text, |fenced| {
        let body = fenced.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        body.strip_suffix("```").unwrap_or(body)
    });
    match serde_json::from_str::<serde::de::IgnoredAny>(inner.trim()) {
        Ok(_) => Finding::new(true),
        Err(error) => Finding::new(false).with("error", error.to_string()),
    }
}

fn in_language(text: &Text<'_>, required: &str) -> Finding {
    let found = text.language();
    let required = language::known(required).unwrap_or_default();
    Finding::new(found.is_some_and(|found| language::agrees(found, required)))
        .with("language", found)
        .with("expected", required)
}

/// Words that titles write in lower case.
const MINOR_WORDS: &[&str] = &[
    "a", "an", "and", "as", "at", "but", "by", "for", "from", "if", "in", "into", "nor", "of",
    "off", "on", "onto", "or", "over", "per", "so", "than", "the", "to", "up", "via", "vs", "with",
    "yet",
];

/// Words without letters, and minor words that do not start a line, may have any case.
fn title_case(text: &Text<'_>) -> Finding {
    let mut words = 0;
    for line in text.pieces(Unit::Lines) {
        let line_text = Text::new(&text.str[line.at.clone()]);
        let mut is_first = true;
        for piece in line_text.pieces(Unit::Chunks) {
            let word = piece.text.trim_matches(is_punctuation);
            let Some(first) = word.chars().next().filter(|first| first.is_alphabetic()) else {
                continue;
            };
            words += 1;
            let is_minor = !is_first && MINOR_WORDS.contains(&word);
            is_first = false;
            if first.is_lowercase() && !is_minor {
                let start = line.at.start + piece.at.start;
                return Finding::new(false).excerpt(text.str, start..start + piece.text.len());
            }
        }
    }
    Finding::new(words > 0).with("words", words)
}

fn same_ends(text: &str) -> Finding {
    let bare = |word: &str| word.trim_matches(is_punctuation).to_lowercase();
    let words: Vec<&str> = text
        .split_whitespace()
        .filter(|word| !word.chars().all(is_punctuation))
        .collect();
    match words.as_slice() {
        [first, .., last] => Finding::new(bare(first) == bare(last))
            .with("first", bare(first))
            .with("last", bare(last)),
        _ => Finding::new(false).with("words", words.len()),
    }
}

fn palindromes(text: &Text<'_>, min: usize, letters: usize) -> Finding {
    let mut found = std::collections::BTreeSet::new();
    for piece in text.pieces(Unit::Terms) {
        let word = piece.text.to_lowercase();
        let count = word.chars().count();
        if count >= letters
            && word.chars().all(char::is_alphabetic)
            && word.chars().eq(word.chars().rev())
        {
            found.insert(word);
        }
    }
    let shown: Vec<&String> = found.iter().take(3).collect();
    Finding::new(found.len() >= min)
        .with("count", found.len())
        .with("min", min)
        .with("words", json!(shown))
}
