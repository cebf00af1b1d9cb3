//! Parses JSON strictly: reports the byte of the first error and never repairs input.

use std::collections::HashSet;
use std::fmt;

use assay_base::truncated;
use memchr::memchr2;

use super::tree::Json;

/// Maximum nesting of a document written by a model.
pub const MAX_DEPTH: usize = 256;

/// Maximum number of values in a document. Each takes about sixty bytes.
const MAX_VALUES: usize = 4_000_000;

/// Number of members from which keys are looked up in a set instead of compared one by one.
const MIN_MEMBERS_FOR_SET: usize = 16;

/// A syntax error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Byte offset of the error in the text that was read.
    pub at: usize,
    /// What was expected or found there, in lower case without a full stop.
    pub reason: String,
}

impl Json {
    /// Parses a text that consists of one JSON value, nested at most [`MAX_DEPTH`] levels, without
    /// duplicate keys.
    ///
    /// # Errors
    /// [`SyntaxError`] with the byte of the first error.
    pub fn read(text: &str) -> Result<Self, SyntaxError> {
        Reader::new(text).all()
    }
}

impl SyntaxError {
    /// Creates an error at a byte.
    #[must_use]
    pub fn new(at: usize, reason: impl Into<String>) -> Self {
        Self {
            at,
            reason: reason.into(),
        }
    }

    /// The same error for a longer text, in which the text that was read starts at byte `start`.
    #[must_use]
    pub fn offset_by(mut self, start: usize) -> Self {
        self.at += start;
        self
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.reason, self.at)
    }
}

/// Parses JSON from the start of a text.
#[derive(Debug)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    values_left: usize,
    max_depth: usize,
    keys_may_repeat: bool,
}

impl<'a> Reader<'a> {
    /// Creates a reader of `text` with the limits of [`Json::read`].
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            values_left: MAX_VALUES,
            max_depth: MAX_DEPTH,
            keys_may_repeat: false,
        }
    }

    /// Accepts values nested up to `max_depth`, at most 1,000.
    #[must_use]
    pub fn to_depth(mut self, max_depth: usize) -> Self {
        self.max_depth = max_depth.min(1_000);
        self
    }

    /// Accepts duplicate keys in an object and returns all of them with their values.
    #[must_use]
    pub fn with_repeated_keys(mut self) -> Self {
        self.keys_may_repeat = true;
        self
    }

    /// Reads one value and rejects anything after it.
    ///
    /// # Errors
    /// [`SyntaxError`] if the text is not one JSON value.
    pub fn all(mut self) -> Result<Json, SyntaxError> {
        let value = self.value(0)?;
        self.skip_space();
        if self.at < self.text.len() {
            return Err(self.error("unexpected text after the value"));
        }
        Ok(value)
    }

    /// Reads the next value. [`Reader::at`] is then its end.
    ///
    /// # Errors
    /// [`SyntaxError`] if there is no valid value.
    pub fn next_value(&mut self) -> Result<Json, SyntaxError> {
        self.value(0)
    }

    /// The position of the reader, in bytes.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Skips white space, and `mark` if it follows. Returns whether it did.
    pub fn take(&mut self, mark: &str) -> bool {
        self.skip_space();
        let found = self.text[self.at..].starts_with(mark);
        if found {
            self.at += mark.len();
        }
        found
    }

    /// Whether only white space is left.
    pub fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.text.len()
    }

    /// Skips white space, and one byte if it follows. Returns whether it did.
    fn take_byte(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.byte() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn error(&self, reason: &str) -> SyntaxError {
        SyntaxError::new(self.at, reason)
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, SyntaxError> {
        self.values_left = self
            .values_left
            .checked_sub(1)
            .ok_or_else(|| self.error("the document has more than four million values"))?;
        self.skip_space();
        match self.byte() {
            Some(b'"') => self.string().map(Json::Text),
            Some(b'{' | b'[') if depth == self.max_depth => Err(SyntaxError::new(
                self.at,
                format!("the document nests deeper than {} levels", self.max_depth),
            )),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'n') => self.keyword("null", Json::Null),
            Some(b't') => self.keyword("true", Json::Bool(true)),
            Some(b'f') => self.keyword("false", Json::Bool(false)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err(self.error("expected a value")),
            None => Err(self.error("expected a value, but the text ends")),
        }
    }

    fn keyword(&mut self, keyword: &str, value: Json) -> Result<Json, SyntaxError> {
        if !self.text[self.at..].starts_with(keyword) {
            return Err(self.error("expected a value"));
        }
        self.at += keyword.len();
        Ok(value)
    }

    /// Reads a string. Once its end is found, serde_json decodes the escapes.
    fn string(&mut self) -> Result<String, SyntaxError> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let (mut end, mut escapes) = (start + 1, false);
        loop {
            let rest = bytes.get(end..).unwrap_or_default();
            match memchr2(b'"', b'\\', rest) {
                None => return Err(SyntaxError::new(start, "unterminated string")),
                Some(found) => end += found,
            }
            if bytes[end] == b'"' {
                break;
            }
            escapes = true;
            end += 2;
        }
        if let Some(at) = control_character(&bytes[start + 1..end]) {
            let at = start + 1 + at;
            let reason = format!(
                "a control character (U+{:04X}) in a string must be escaped",
                bytes[at]
            );
            return Err(SyntaxError::new(at, reason));
        }
        let inside = &self.text[start + 1..end];
        self.at = end + 1;
        if !escapes {
            return Ok(inside.to_owned());
        }
        serde_json::from_str(&self.text[start..=end]).map_err(|error| {
            SyntaxError::new(
                start + error.column().saturating_sub(1),
                "invalid escape sequence in the string",
            )
        })
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Json, SyntaxError> {
        let start = self.at;
        let invalid = Err(SyntaxError::new(start, "invalid JSON number"));
        self.at += usize::from(self.byte() == Some(b'-'));
        let leads_with_zero = self.byte() == Some(b'0');
        match self.digits() {
            0 => return invalid,
            1 => {}
            _ if leads_with_zero => return invalid,
            _ => {}
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return invalid;
            }
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
            if self.digits() == 0 {
                return invalid;
            }
        }
        Ok(Json::Number(self.text[start..self.at].to_owned()))
    }

    fn array(&mut self, depth: usize) -> Result<Json, SyntaxError> {
        self.at += 1;
        let mut elements = Vec::new();
        if self.take_byte(b']') {
            return Ok(Json::Array(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            if self.take_byte(b']') {
                return Ok(Json::Array(elements));
            }
            if !self.take_byte(b',') {
                return Err(self.error("expected `,` or `]`"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, SyntaxError> {
        self.at += 1;
        let mut members: Vec<(String, Json)> = Vec::new();
        let mut seen: HashSet<String> = HashSet::new();
        if self.take_byte(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_space();
            if self.byte() != Some(b'"') {
                return Err(self.error("expected a key in double quotes"));
            }
            let start = self.at;
            let key = self.string()?;
            if !self.keys_may_repeat && is_duplicate(&key, &members, &mut seen) {
                return Err(SyntaxError::new(
                    start,
                    format!("duplicate key `{}`", truncated(&key, 60)),
                ));
            }
            if !self.take_byte(b':') {
                return Err(self.error("expected `:`"));
            }
            let value = self.value(depth + 1)?;
            members.push((key, value));
            if self.take_byte(b'}') {
                return Ok(Json::Object(members));
            }
            if !self.take_byte(b',') {
                return Err(self.error("expected `,` or `}`"));
            }
        }
    }
}

/// The index of the first control character in the content of a string that is no escape.
fn control_character(content: &[u8]) -> Option<usize> {
    // Without a branch for each byte, so that it compiles to vector instructions.
    if !content
        .iter()
        .fold(false, |found, byte| found | (*byte < b' '))
    {
        return None;
    }
    let mut is_escaped = false;
    content.iter().position(|byte| {
        let is_control = *byte < b' ' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_control
    })
}

/// Whether a key is among the members before it. `seen` must be empty at the start of each object.
pub fn is_duplicate(key: &str, members: &[(String, Json)], seen: &mut HashSet<String>) -> bool {
    if members.len() < MIN_MEMBERS_FOR_SET {
        return members.iter().any(|(name, _)| name == key);
    }
    if members.len() == MIN_MEMBERS_FOR_SET {
        seen.extend(members.iter().map(|(name, _)| name.clone()));
    }
    !seen.insert(key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_error(text: &str) -> (usize, String) {
        let error = Json::read(text).unwrap_err();
        (error.at, error.reason)
    }

    #[test]
    fn keeps_digits_of_numbers() {
        let text = format!(
            r#"[1, 1.0, -2e3, {}, "a\"b\n", {{"k": [true, null]}}]"#,
            "9".repeat(400)
        );
        let Json::Array(elements) = Json::read(&text).unwrap() else {
            panic!("an array")
        };
        assert_eq!(elements[0], Json::Number("1".to_owned()));
        assert_eq!(elements[1], Json::Number("1.0".to_owned()));
        assert_eq!(elements[3], Json::Number("9".repeat(400)));
        assert_eq!(elements[4], Json::Text("a\"b\n".to_owned()));
    }

    #[test]
    fn rejects_invalid_json() {
        for text in [
            "",
            "nan",
            "[1,]",
            "01",
            "1 2",
            "\"a",
            "{\"a\" 1}",
            "+1",
            "1_0",
            "1.",
            "1e",
            "-",
            "{'a':1}",
            "\"\\x\"",
        ] {
            assert!(Json::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn reports_position_of_errors() {
        assert_eq!(
            read_error(r#"{"a": 1, "b": 2, "a": 3}"#),
            (17, "duplicate key `a`".to_owned())
        );
        assert_eq!(
            read_error(r#"{"a": 1} x"#),
            (9, "unexpected text after the value".to_owned())
        );
        assert_eq!(read_error("[1 2]"), (3, "expected `,` or `]`".to_owned()));
        assert_eq!(read_error("\"a\nb\"").0, 2);
        assert_eq!(
            read_error("\"a\\\nb\"").1,
            "invalid escape sequence in the string"
        );
        assert_eq!(
            read_error(&format!("{}1{}", "[".repeat(257), "]".repeat(257))).0,
            256
        );
        assert!(Json::read(&format!("{}1{}", "[".repeat(256), "]".repeat(256))).is_ok());
    }

    #[test]
    fn rejects_duplicate_keys_in_large_objects() {
        let members: Vec<String> = (0..40).map(|key| format!("\"k{key}\":1")).collect();
        assert!(Json::read(&format!("{{{}}}", members.join(","))).is_ok());
        for key in [0, 15, 16, 17, 39] {
            let text = format!("{{{},\"k{key}\":2}}", members.join(","));
            assert!(
                Json::read(&text)
                    .unwrap_err()
                    .reason
                    .starts_with("duplicate key")
            );
        }
        assert!(
            Reader::new(r#"{"a":1,"a":2}"#)
                .with_repeated_keys()
                .all()
                .is_ok()
        );
    }

    #[test]
    fn reads_values_one_after_another() {
        let mut reader = Reader::new(r#"{"a":1}; [2] tail"#);
        assert!(reader.next_value().is_ok());
        assert!(reader.take(";"));
        assert_eq!(
            reader.next_value(),
            Ok(Json::Array(vec![Json::Number("2".to_owned())]))
        );
        assert_eq!(reader.at(), 12);
        assert!(!reader.is_at_end());
    }
}
