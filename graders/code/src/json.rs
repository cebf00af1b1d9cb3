//! JSON with its numbers as they were written: integers of any size stay exact, and `1` is told from `1.0`.

/// Deepest value that is read. The driver of a guest stops at 200 containers, each at most four levels of notation.
const MAX_DEPTH: usize = 1_000;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Most parts of a value that is read: a part takes some sixty bytes.
const MAX_PARTS: usize = 4_000_000;

impl Json {
    /// Reads a text that is one JSON value; `None` for anything else, and for values nested too deep or with too many
    /// parts.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut reader = Reader { text, at: 0, parts: MAX_PARTS };
        let value = reader.value(0)?;
        reader.skip_space();
        (reader.at == text.len()).then_some(value)
    }

    /// Bytes it keeps, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let inside = match self {
            Self::Null | Self::Bool(_) => 0,
            Self::Number(text) | Self::Text(text) => text.len(),
            Self::Array(elements) => elements.iter().map(Self::bytes).sum(),
            Self::Object(pairs) => pairs.iter().map(|(key, value)| key.len() + value.bytes()).sum(),
        };
        size_of::<Self>() + inside
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    parts: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn take(&mut self, word: &str) -> Option<()> {
        self.rest().starts_with(word).then(|| self.at += word.len())
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.parts = self.parts.checked_sub(1)?;
        self.skip_space();
        match self.rest().bytes().next()? {
            b'n' => self.take("null").map(|()| Json::Null),
            b't' => self.take("true").map(|()| Json::Bool(true)),
            b'f' => self.take("false").map(|()| Json::Bool(false)),
            b'"' => self.string().map(Json::Text),
            b'[' => self.array(depth),
            b'{' => self.object(depth),
            _ => self.number(),
        }
    }

    /// A string, unescaped by serde_json once its end is found.
    fn string(&mut self) -> Option<String> {
        let rest = self.rest();
        let mut escaped = false;
        let end = rest.bytes().enumerate().skip(1).find_map(|(at, byte)| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends.then_some(at + 1)
        })?;
        self.at += end;
        serde_json::from_str(&rest[..end]).ok()
    }

    fn number(&mut self) -> Option<Json> {
        let rest = self.rest();
        let length = rest.bytes().take_while(|b| b.is_ascii_digit() || b"+-.eE".contains(b)).count();
        let text = &rest[..length];
        // The grammar is serde_json's; only the digits are kept as they are.
        serde_json::from_str::<&serde_json::value::RawValue>(text).ok().filter(|_| length > 0)?;
        self.at += length;
        Some(Json::Number(text.to_owned()))
    }

    fn array(&mut self, depth: usize) -> Option<Json> {
        self.take("[")?;
        let mut elements = Vec::new();
        self.skip_space();
        if self.take("]").is_some() {
            return Some(Json::Array(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            self.skip_space();
            if self.take("]").is_some() {
                return Some(Json::Array(elements));
            }
            self.take(",")?;
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        self.take("{")?;
        let mut pairs = Vec::new();
        self.skip_space();
        if self.take("}").is_some() {
            return Some(Json::Object(pairs));
        }
        loop {
            self.skip_space();
            let key = self.string()?;
            self.skip_space();
            self.take(":")?;
            pairs.push((key, self.value(depth + 1)?));
            self.skip_space();
            if self.take("}").is_some() {
                return Some(Json::Object(pairs));
            }
            self.take(",")?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        let text = format!(r#"[1, 1.0, -2e3, {}, "a\"b\n", {{"k": [true, null]}}]"#, "9".repeat(400));
        let Json::Array(elements) = Json::read(&text).unwrap() else { panic!("an array") };
        assert_eq!(elements[0], Json::Number("1".to_owned()));
        assert_eq!(elements[1], Json::Number("1.0".to_owned()));
        assert_eq!(elements[3], Json::Number("9".repeat(400)));
        assert_eq!(elements[4], Json::Text("a\"b\n".to_owned()));
    }

    #[test]
    fn what_is_no_json_is_nothing() {
        for text in ["", "nan", "[1,]", "01", "1 2", "\"a", "{\"a\" 1}", "+1", "1_0", &"[".repeat(5_000)] {
            assert_eq!(Json::read(text), None, "{text:.20}");
        }
    }
}
