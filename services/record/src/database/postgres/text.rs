//! Texts, which cannot contain the character 0 in PostgreSQL.

use std::borrow::Cow;

/// Written before [`ZERO`] and before itself. A character for private use, which texts of users
/// hardly contain.
const ESCAPE: char = '\u{f8ff}';

/// Stands for the character 0 after [`ESCAPE`].
const ZERO: char = '0';

/// The text as it is stored.
pub(crate) fn encode_text(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\0' => encoded.extend([ESCAPE, ZERO]),
            ESCAPE => encoded.extend([ESCAPE, ESCAPE]),
            other => encoded.push(other),
        }
    }
    Cow::Owned(encoded)
}

/// The text that was stored.
pub(crate) fn decode_text(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        decoded.push(match character {
            ESCAPE => match characters.next() {
                Some(ZERO) => '\0',
                // A text that ends with one was cut by a statement.
                other => other.unwrap_or(ESCAPE),
            },
            other => other,
        });
    }
    Cow::Owned(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_the_character_0_are_the_same_when_read() {
        for text in [
            "",
            "run-a",
            "a\0b",
            "\u{f8ff}0",
            "\0\u{f8ff}\u{f8ff}\0",
            "0\0",
        ] {
            let encoded = encode_text(text);
            assert!(!encoded.contains('\0'), "{encoded:?}");
            assert_eq!(decode_text(&encoded), text);
        }
    }
}
