//! What a search for texts asks: words, phrases and prefixes, each of which must or must not occur.
//! Does not depend on the database that answers it.

use std::fmt;
use std::str::FromStr;

use crate::text_pattern::TextPattern;

/// Longest search, in bytes.
const MAX_TEXT_BYTES: usize = 256;

/// Fewest characters of a prefix. A shorter one stands for so many words that it takes long.
const MIN_PREFIX: usize = 3;

/// Most words for which a prefix may stand. A search looks at all of them for each grade.
pub(crate) const MAX_PREFIX_WORDS: usize = 128;

/// A search in completions and prompts: `word "a phrase" prefix* -excluded /regex/`. A grade
/// matches if all terms occur in its completion or its prompt, and no excluded term does. Case,
/// diacritics and punctuation do not matter in words; they do in regular expressions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextQuery {
    source: String,
    terms: Vec<TextTerm>,
    patterns: Vec<TextPattern>,
}

/// A part of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextTerm {
    /// A word or several that follow each other; contains a letter or digit, and no quotes.
    pub(crate) text: String,
    /// Whether its last word may continue. It is then in ASCII.
    pub(crate) is_prefix: bool,
    /// Whether it must not occur.
    pub(crate) is_excluded: bool,
}

/// Why a search is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextQueryError {
    /// It has no term.
    #[error("the search is empty; enter a word or a quoted phrase")]
    Empty,
    /// It has too many bytes.
    #[error("the search has {0} bytes; at most {MAX_TEXT_BYTES} are allowed")]
    TooLong(usize),
    /// A phrase has no end, or a quote is within a word.
    #[error(
        "a quote has no counterpart or is within a word; put a phrase in quotes, with spaces \
         around it: `word \"a phrase\"`"
    )]
    Quotes,
    /// A term has neither letters nor digits.
    #[error("`{0}` has no letter or digit to search for; punctuation is not searched")]
    NoWord(String),
    /// A prefix is too short.
    #[error("`{0}` is too short; at least {MIN_PREFIX} letters or digits must precede `*`")]
    ShortPrefix(String),
    /// A prefix has other letters.
    #[error("`{0}` has letters other than `a` to `z` before `*`; search for whole words instead")]
    OtherPrefix(String),
    /// A regular expression is invalid or too large.
    #[error("`/{pattern}/` is not a regular expression that can be searched: {reason}")]
    Pattern {
        /// The expression.
        pattern: String,
        /// What is wrong.
        reason: String,
    },
    /// All terms are excluded.
    #[error(
        "all terms are excluded; add one that must occur, or quote a text that begins with `-`"
    )]
    OnlyExcluded,
}

impl TextQuery {
    /// Whether words must occur. Otherwise, regular expressions must match, and no word is
    /// excluded.
    pub(crate) fn has_words(&self) -> bool {
        self.required().next().is_some()
    }

    /// Regular expressions, which must or must not match.
    pub(crate) fn patterns(&self) -> &[TextPattern] {
        &self.patterns
    }

    /// The terms that must occur.
    pub(crate) fn required(&self) -> impl Iterator<Item = &TextTerm> {
        self.terms.iter().filter(|term| !term.is_excluded)
    }

    /// The terms that must not occur.
    pub(crate) fn excluded(&self) -> impl Iterator<Item = &TextTerm> {
        self.terms.iter().filter(|term| term.is_excluded)
    }
}

impl fmt::Display for TextQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

impl FromStr for TextQuery {
    type Err = TextQueryError;

    fn from_str(source: &str) -> Result<Self, TextQueryError> {
        if source.len() > MAX_TEXT_BYTES {
            return Err(TextQueryError::TooLong(source.len()));
        }
        let (mut terms, mut patterns) = (Vec::new(), Vec::new());
        let mut rest = source.trim_start();
        while !rest.is_empty() {
            if let Some((pattern, after)) = next_pattern(rest)? {
                patterns.push(pattern);
                rest = after.trim_start();
                continue;
            }
            let (term, after) = next_term(rest)?;
            terms.push(term);
            rest = after.trim_start();
        }
        if terms.is_empty() && patterns.is_empty() {
            return Err(TextQueryError::Empty);
        }
        let required = patterns.iter().filter(|pattern| !pattern.is_excluded);
        terms.extend(
            required
                .clone()
                .flat_map(TextPattern::words)
                .map(|text| TextTerm {
                    text,
                    is_prefix: false,
                    is_excluded: false,
                }),
        );
        let has_word = terms.iter().any(|term| !term.is_excluded);
        if !has_word && (!terms.is_empty() || required.count() == 0) {
            return Err(TextQueryError::OnlyExcluded);
        }
        Ok(Self {
            source: source.to_owned(),
            terms,
            patterns,
        })
    }
}

/// The regular expression at the start of a text, between slashes, and the rest. `None` if there is
/// none: a path such as `/usr/bin` is a word.
fn next_pattern(text: &str) -> Result<Option<(TextPattern, &str)>, TextQueryError> {
    let unsigned = text.strip_prefix('-');
    let Some(rest) = unsigned.unwrap_or(text).strip_prefix('/') else {
        return Ok(None);
    };
    let mut escaped = false;
    let end = rest.char_indices().find(|(at, character)| {
        let after = &rest[at + character.len_utf8()..];
        let ends = *character == '/'
            && !escaped
            && *at > 0
            && (after.is_empty() || after.starts_with(char::is_whitespace));
        escaped = *character == '\\' && !escaped;
        ends
    });
    let Some((end, _)) = end else {
        return Ok(None);
    };
    let (pattern, after) = (&rest[..end], &rest[end + 1..]);
    let compiled = TextPattern::new(pattern, unsigned.is_some());
    let compiled = compiled.map_err(|reason| TextQueryError::Pattern {
        pattern: pattern.to_owned(),
        reason,
    })?;
    Ok(Some((compiled, after)))
}

/// The term at the start of a text that does not start with a space, and the rest.
fn next_term(text: &str) -> Result<(TextTerm, &str), TextQueryError> {
    let (is_excluded, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, text),
    };
    let (words, rest, is_prefix) = if let Some(quoted) = unsigned.strip_prefix('"') {
        let (phrase, rest) = quoted.split_once('"').ok_or(TextQueryError::Quotes)?;
        if !(rest.is_empty() || rest.starts_with(char::is_whitespace)) {
            return Err(TextQueryError::Quotes);
        }
        (phrase, rest, false)
    } else {
        let end = unsigned.find(char::is_whitespace).unwrap_or(unsigned.len());
        let (word, rest) = unsigned.split_at(end);
        if word.contains('"') {
            return Err(TextQueryError::Quotes);
        }
        match word.strip_suffix('*') {
            Some(prefix) => (prefix, rest, true),
            None => (word, rest, false),
        }
    };
    let term = || text[..text.len() - rest.len()].to_owned();
    if is_prefix {
        let last = words.chars().rev().take_while(|c| c.is_alphanumeric());
        if last.count() < MIN_PREFIX {
            return Err(TextQueryError::ShortPrefix(term()));
        }
        if !words.is_ascii() {
            return Err(TextQueryError::OtherPrefix(term()));
        }
    } else if !words.contains(char::is_alphanumeric) {
        return Err(TextQueryError::NoWord(term()));
    }
    let term = TextTerm {
        text: words.to_owned(),
        is_prefix,
        is_excluded,
    };
    Ok((term, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<TextQuery, TextQueryError> {
        text.parse()
    }

    #[test]
    fn reads_words_phrases_prefixes_and_exclusions() {
        let query = parse(" right  \"a b\" -wrong appl* -\"c d\" x-ray ").unwrap();
        let term = |text: &str, is_prefix, is_excluded| TextTerm {
            text: text.to_owned(),
            is_prefix,
            is_excluded,
        };
        assert_eq!(
            query.terms,
            [
                term("right", false, false),
                term("a b", false, false),
                term("wrong", false, true),
                term("appl", true, false),
                term("c d", false, true),
                term("x-ray", false, false),
            ]
        );
    }

    #[test]
    fn reads_regular_expressions_and_their_words() {
        let query = parse(r"math /a b\/c d/ -/x+/").unwrap();
        let words: Vec<&str> = query.required().map(|term| term.text.as_str()).collect();
        assert_eq!(words, ["math", "b", "c"]);
        let excluded: Vec<bool> = query.patterns.iter().map(|one| one.is_excluded).collect();
        assert_eq!(excluded, [false, true]);
        assert!(query.patterns[0].passes("a b/c d", ""));
        assert!(!parse(r"/\d{3}/").unwrap().has_words());
        // Paths are words.
        for path in ["/usr/bin", "//", "/usr", "a/b/"] {
            let query = parse(path);
            assert!(
                query.is_err() || query.unwrap().patterns.is_empty(),
                "{path}"
            );
        }
        let error = parse("/(a/").unwrap_err().to_string();
        assert!(error.ends_with("searched: unclosed group"), "{error}");
        for only_excluded in ["-/a/", "-word /a+/", "-word -/a/"] {
            assert_eq!(parse(only_excluded), Err(TextQueryError::OnlyExcluded));
        }
    }

    #[test]
    fn rejects_what_cannot_be_searched() {
        let long = "word ".repeat(60);
        for (text, error) in [
            ("", TextQueryError::Empty),
            ("  ", TextQueryError::Empty),
            ("\"open", TextQueryError::Quotes),
            ("word\"", TextQueryError::Quotes),
            ("\"a\"b", TextQueryError::Quotes),
            ("\"a\"*", TextQueryError::Quotes),
            ("a \"\"", TextQueryError::NoWord("\"\"".to_owned())),
            ("a -", TextQueryError::NoWord("-".to_owned())),
            ("==", TextQueryError::NoWord("==".to_owned())),
            ("ab*", TextQueryError::ShortPrefix("ab*".to_owned())),
            (
                "long-ab*",
                TextQueryError::ShortPrefix("long-ab*".to_owned()),
            ),
            ("*", TextQueryError::ShortPrefix("*".to_owned())),
            ("élan*", TextQueryError::OtherPrefix("élan*".to_owned())),
            ("-word -\"a b\"", TextQueryError::OnlyExcluded),
            (&*long, TextQueryError::TooLong(long.len())),
        ] {
            assert_eq!(parse(text), Err(error), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn reads_any_text_and_prints_it_again(text in "(?s).{0,80}") {
            if let Ok(query) = parse(&text) {
                prop_assert!(query.has_words() || !query.patterns.is_empty());
                prop_assert!(query.terms.iter().all(|term| !term.text.contains('"')));
                prop_assert_eq!(query.to_string(), text);
            }
        }
    }
}
