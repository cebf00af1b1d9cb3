//! Reads JSON and says where it breaks. Repairs nothing.

use std::collections::HashSet;
use std::fmt;

use memchr::memchr2;

use super::Json;

/// Deepest nesting a document of a model may have.
pub const MAX_DEPTH: usize = 256;

/// Most parts of a value that is read: a part takes some sixty bytes.
const MAX_PARTS: usize = 4_000_000;

/// From how many members on keys are looked up instead of compared one by one.
const MANY: usize = 16;

/// A text that is not what it should be, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The byte at which it breaks, counted from the start of the text that was read.
    pub at: usize,
    /// What was expected or found there: lower case, no full stop.
    pub reason: String,
}

impl Broken {
    /// A reason at a byte.
    #[must_use]
    pub fn new(at: usize, reason: impl Into<String>) -> Self {
        Self {
            at,
            reason: reason.into(),
        }
    }

    /// The same in a longer text in which the one that was read begins at byte `start`.
    #[must_use]
    pub fn within(mut self, start: usize) -> Self {
        self.at += start;
        self
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.reason, self.at)
    }
}

/// Reads JSON from a text, from its start on.
#[derive(Debug)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    parts: usize,
    deepest: usize,
    keys_may_repeat: bool,
}

impl<'a> Reader<'a> {
    /// A reader of `text` with the limits of [`Json::read`].
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            parts: MAX_PARTS,
            deepest: MAX_DEPTH,
            keys_may_repeat: false,
        }
    }

    /// Takes values nested up to `deepest`, which is at most 1,000.
    #[must_use]
    pub fn to_depth(mut self, deepest: usize) -> Self {
        self.deepest = deepest.min(1_000);
        self
    }

    /// Keeps keys of an object that stand twice, both with their values.
    #[must_use]
    pub fn with_repeated_keys(mut self) -> Self {
        self.keys_may_repeat = true;
        self
    }

    /// One value, and nothing behind it.
    ///
    /// # Errors
    /// [`Broken`] for anything else.
    pub fn all(mut self) -> Result<Json, Broken> {
        let value = self.value(0)?;
        self.skip_space();
        if self.at < self.text.len() {
            return Err(self.broken("something stands behind the value"));
        }
        Ok(value)
    }

    /// The next value; [`Reader::at`] is its end.
    ///
    /// # Errors
    /// [`Broken`] where none stands.
    pub fn next_value(&mut self) -> Result<Json, Broken> {
        self.value(0)
    }

    /// How far the text is read, in bytes.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Goes past blanks, and past `mark` where it stands there.
    pub fn take(&mut self, mark: &str) -> bool {
        self.skip_space();
        let stands = self.text[self.at..].starts_with(mark);
        if stands {
            self.at += mark.len();
        }
        stands
    }

    /// Whether only blanks are left.
    pub fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.text.len()
    }

    fn broken(&self, reason: &str) -> Broken {
        Broken::new(self.at, reason)
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, Broken> {
        self.parts = self
            .parts
            .checked_sub(1)
            .ok_or_else(|| self.broken("it has more than four million parts"))?;
        self.skip_space();
        match self.byte() {
            Some(b'"') => self.string().map(Json::Text),
            Some(b'{' | b'[') if depth == self.deepest => Err(Broken::new(
                self.at,
                format!("it nests deeper than {} levels", self.deepest),
            )),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'n') => self.word("null", Json::Null),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => Err(self.broken("expected a value")),
            None => Err(self.broken("the text ends where a value is expected")),
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, Broken> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.broken("expected a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    /// A string; its escapes are serde_json's to read once its end is found.
    fn string(&mut self) -> Result<String, Broken> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut end = start + 1;
        let mut escapes = false;
        loop {
            let Some(step) = memchr2(b'"', b'\\', &bytes[end..]) else {
                return Err(Broken::new(start, "the string never ends"));
            };
            end += step;
            if bytes[end] == b'"' {
                break;
            }
            escapes = true;
            end = (end + 2).min(bytes.len());
        }
        let inside = &self.text[start + 1..end];
        if let Some(at) = inside.bytes().position(|byte| byte < b' ') {
            let reason = format!(
                "a control character (U+{:04X}) in a string is written as an escape",
                inside.as_bytes()[at]
            );
            return Err(Broken::new(start + 1 + at, reason));
        }
        self.at = end + 1;
        if !escapes {
            return Ok(inside.to_owned());
        }
        serde_json::from_str(&self.text[start..=end]).map_err(|error| {
            Broken::new(
                start + error.column().saturating_sub(1),
                "the string has a broken escape",
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

    fn number(&mut self) -> Result<Json, Broken> {
        let start = self.at;
        let broken = Err(Broken::new(start, "the number is not one of JSON's"));
        self.at += usize::from(self.byte() == Some(b'-'));
        let leads_with_zero = self.byte() == Some(b'0');
        match self.digits() {
            0 => return broken,
            1 => {}
            _ if leads_with_zero => return broken,
            _ => {}
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return broken;
            }
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
            if self.digits() == 0 {
                return broken;
            }
        }
        Ok(Json::Number(self.text[start..self.at].to_owned()))
    }

    fn array(&mut self, depth: usize) -> Result<Json, Broken> {
        self.at += 1;
        let mut elements = Vec::new();
        if self.take("]") {
            return Ok(Json::Array(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            if self.take("]") {
                return Ok(Json::Array(elements));
            }
            if !self.take(",") {
                return Err(self.broken("expected `,` or `]`"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, Broken> {
        self.at += 1;
        let mut members: Vec<(String, Json)> = Vec::new();
        let mut seen: HashSet<String> = HashSet::new();
        if self.take("}") {
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_space();
            if self.byte() != Some(b'"') {
                return Err(self.broken("expected a key in double quotes"));
            }
            let start = self.at;
            let key = self.string()?;
            if !self.keys_may_repeat && repeats(&key, &members, &mut seen) {
                return Err(Broken::new(
                    start,
                    format!("the key `{}` stands twice", short(&key)),
                ));
            }
            if !self.take(":") {
                return Err(self.broken("expected `:`"));
            }
            let value = self.value(depth + 1)?;
            members.push((key, value));
            if self.take("}") {
                return Ok(Json::Object(members));
            }
            if !self.take(",") {
                return Err(self.broken("expected `,` or `}`"));
            }
        }
    }
}

/// Whether a key is among those of the members that stand before it; `seen` is begun empty and kept
/// for one object.
pub fn repeats(key: &str, members: &[(String, Json)], seen: &mut HashSet<String>) -> bool {
    if members.len() < MANY {
        return members.iter().any(|(name, _)| name == key);
    }
    if members.len() == MANY {
        seen.extend(members.iter().map(|(name, _)| name.clone()));
    }
    !seen.insert(key.to_owned())
}

/// A key for a message: not more than anyone reads.
fn short(key: &str) -> String {
    key.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(text: &str) -> (usize, String) {
        let broken = Json::read(text).unwrap_err();
        (broken.at, broken.reason)
    }

    #[test]
    fn numbers_keep_their_digits() {
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
    fn what_is_no_json_is_broken_somewhere() {
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
    fn the_place_is_told() {
        assert_eq!(
            broken(r#"{"a": 1, "b": 2, "a": 3}"#),
            (17, "the key `a` stands twice".to_owned())
        );
        assert_eq!(
            broken(r#"{"a": 1} x"#),
            (9, "something stands behind the value".to_owned())
        );
        assert_eq!(broken("[1 2]"), (3, "expected `,` or `]`".to_owned()));
        assert_eq!(broken("\"a\nb\"").0, 2);
        assert_eq!(
            broken(&format!("{}1{}", "[".repeat(257), "]".repeat(257))).0,
            256
        );
        assert!(Json::read(&format!("{}1{}", "[".repeat(256), "]".repeat(256))).is_ok());
    }

    #[test]
    fn keys_of_large_objects_stand_once_too() {
        let members: Vec<String> = (0..40).map(|key| format!("\"k{key}\":1")).collect();
        assert!(Json::read(&format!("{{{}}}", members.join(","))).is_ok());
        for key in [0, 15, 16, 17, 39] {
            let text = format!("{{{},\"k{key}\":2}}", members.join(","));
            assert!(
                Json::read(&text)
                    .unwrap_err()
                    .reason
                    .ends_with("stands twice")
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
    fn a_value_may_be_read_from_the_front() {
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
