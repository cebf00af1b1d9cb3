//! Messages about text that is not the expected JSON. serde_json appends the line and the column of
//! the text that it was given, in bytes. That text is often a line or a part of a file.

use std::fmt;

/// A position in a text. Columns are characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPosition {
    line: usize,
    column: usize,
}

impl TextPosition {
    /// The line, from 1.
    #[must_use]
    pub fn line(self) -> u64 {
        self.line as u64
    }

    /// The start of a text.
    pub const START: Self = Self { line: 1, column: 1 };

    /// The position of an error in the text that was parsed.
    #[must_use]
    pub fn of(error: &serde_json::Error, text: &[u8]) -> Self {
        let line = error.line().max(1);
        let content = text.split(|byte| *byte == b'\n').nth(line - 1);
        let content = content.unwrap_or_default();
        let before = &content[..error.column().saturating_sub(1).min(content.len())];
        let start = Self { line, column: 1 };
        before.iter().fold(start, |at, byte| at.after(*byte))
    }

    /// The position after this byte of UTF-8.
    #[must_use]
    pub const fn after(self, byte: u8) -> Self {
        match byte {
            b'\n' => Self {
                line: self.line + 1,
                column: 1,
            },
            // Continues a character.
            0x80..=0xBF => self,
            _ => Self {
                column: self.column + 1,
                ..self
            },
        }
    }

    /// This position in a part that starts at `start`, in the whole.
    #[must_use]
    pub const fn within(self, start: Self) -> Self {
        Self {
            line: start.line + self.line - 1,
            column: if self.line == 1 {
                start.column + self.column - 1
            } else {
                self.column
            },
        }
    }

    /// The position in a text, without the line if the text has only one.
    #[must_use]
    pub fn in_text(self, text: &[u8]) -> String {
        if text.trim_ascii_end().contains(&b'\n') {
            self.to_string()
        } else {
            format!("column {}", self.column)
        }
    }
}

impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

/// The message of an error without its position.
#[must_use]
pub fn json_reason(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    match message.strip_suffix(&position) {
        Some(reason) => reason.to_owned(),
        None => message,
    }
}

/// The message of an error in a text, with its position. A text of one line may be a line of a
/// file, so it has only a column.
#[must_use]
pub fn json_message(error: &serde_json::Error, text: &[u8]) -> String {
    let reason = json_reason(error);
    if error.line() == 0 {
        return reason;
    }
    format!(
        "{reason} at {}",
        TextPosition::of(error, text).in_text(text)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn message(text: &str) -> String {
        let error = serde_json::from_str::<Vec<Value>>(text).unwrap_err();
        json_message(&error, text.as_bytes())
    }

    #[test]
    fn positions_count_characters_and_name_the_line_of_several() {
        assert_eq!(message("[1, x]"), "expected value at column 5");
        assert_eq!(message("[1, x]\n"), "expected value at column 5");
        assert_eq!(message("[\"ü€\", x]\n"), "expected value at column 8");
        assert_eq!(
            message("[\n \"ü\", x]"),
            "expected value at line 2 column 7"
        );
        assert_eq!(message("[1"), "EOF while parsing a list at column 2");
        assert_eq!(message(""), "EOF while parsing a value at column 1");
        assert_eq!(
            message("{}"),
            "invalid type: map, expected a sequence at column 1"
        );
    }

    #[test]
    fn errors_of_values_have_no_position() {
        let error = serde_json::from_value::<u32>("a at line 1 column 2".into()).unwrap_err();
        let reason = "invalid type: string \"a at line 1 column 2\", expected u32";
        assert_eq!(json_reason(&error), reason);
        assert_eq!(json_message(&error, b""), reason);
    }

    #[test]
    fn positions_in_a_part_are_those_of_the_whole() {
        let (before, part) = ("[0,\n  [1],", " [2,\n x]");
        let start = before
            .bytes()
            .fold(TextPosition::START, TextPosition::after);
        let error = serde_json::from_str::<Value>(part).unwrap_err();
        let at = TextPosition::of(&error, part.as_bytes()).within(start);
        assert_eq!(at.to_string(), "line 3 column 2");
        let first = TextPosition::START.after(b'a').within(start);
        assert_eq!(first.to_string(), "line 2 column 8");
    }
}
