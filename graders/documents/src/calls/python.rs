//! Reads calls in Python, such as `f(a=1, b=["x"])`. Arguments must be literals; expressions are
//! not evaluated.

use std::collections::HashSet;
use std::ops::Range;

use super::parsed::ParsedCall;
use crate::json::{Json, MAX_DEPTH, SyntaxError, is_duplicate};

/// Reads Python from the start of a text.
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Where the dictionaries started in which an error occurred, innermost first.
    unclosed: Vec<usize>,
}

/// Parses a text that is a Python literal; `None` for other texts.
#[must_use]
pub fn literal(text: &str) -> Option<Json> {
    let mut reader = Reader::new(text);
    let value = reader.value(0).ok()?;
    reader.skip_space();
    (reader.at == text.len()).then_some(value)
}

/// The name at the start of a call, as in `module.function(`. Hyphens, which Python does not have,
/// must be part of a name that the parenthesis follows directly.
pub(super) fn called_name(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || "_.-".contains(c)))?;
    let (name, after) = text.split_at(end);
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let after = match name.contains('-') {
        true => after,
        false => after.trim_start(),
    };
    (is_name && after.starts_with('(')).then_some(name)
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            unclosed: Vec::new(),
        }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Where the dictionaries started that cannot be read, innermost first.
    pub(super) fn into_unclosed(self) -> Vec<usize> {
        self.unclosed
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn error<T>(&self, reason: &str) -> Result<T, SyntaxError> {
        Err(SyntaxError::new(self.at, reason))
    }

    /// Skips white space and comments.
    fn skip_space(&mut self) {
        loop {
            self.at += self.rest().len() - self.rest().trim_start().len();
            if !self.rest().starts_with('#') {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// Skips white space, and `mark` if it follows. Returns whether it did.
    fn take(&mut self, mark: char) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(mark);
        if found {
            self.at += mark.len_utf8();
        }
        found
    }

    /// Reads calls in brackets, as in `[f(a=1), g()]`, or one or several without brackets. Returns
    /// each with its byte range.
    pub(super) fn calls(&mut self) -> Result<Vec<(Range<usize>, ParsedCall)>, SyntaxError> {
        let mut calls = Vec::new();
        let bracketed = self.take('[');
        loop {
            self.skip_space();
            if bracketed && calls.is_empty() && self.take(']') {
                return Ok(calls);
            }
            calls.push(self.call()?);
            if bracketed {
                let comma = self.take(',');
                if self.take(']') {
                    return Ok(calls);
                }
                if !comma {
                    return self.error("expected `,` or `]`");
                }
            } else {
                let _separated = self.take(';') || self.take(',');
                self.skip_space();
                if called_name(self.rest()).is_none() {
                    return Ok(calls);
                }
            }
        }
    }

    /// Reads one call, such as `f(1, a=2)`.
    pub(super) fn call(&mut self) -> Result<(Range<usize>, ParsedCall), SyntaxError> {
        self.skip_space();
        let start = self.at;
        let Some(name) = called_name(self.rest()) else {
            return self.error("expected a call such as `f(a=1)`");
        };
        self.at += name.len();
        let _opened = self.take('(');
        let mut call = ParsedCall {
            name: name.to_owned(),
            ..ParsedCall::default()
        };
        let mut seen = HashSet::new();
        loop {
            if self.take(')') {
                return Ok((start..self.at, call));
            }
            self.argument(&mut call, &mut seen)?;
            if !self.take(',') {
                if self.take(')') {
                    return Ok((start..self.at, call));
                }
                return self.error("expected `,` or `)`");
            }
        }
    }

    /// Reads one argument. `seen` must be empty at the start of each call.
    fn argument(
        &mut self,
        call: &mut ParsedCall,
        seen: &mut HashSet<String>,
    ) -> Result<(), SyntaxError> {
        self.skip_space();
        let start = self.at;
        if let Some(key) = self.keyword() {
            if is_duplicate(key, &call.arguments, seen) {
                return Err(SyntaxError::new(
                    start,
                    format!("duplicate argument `{key}`"),
                ));
            }
            let value = self.value(0)?;
            call.arguments.push((key.to_owned(), value));
            return Ok(());
        }
        if !call.arguments.is_empty() {
            return self.error("positional argument after a named argument");
        }
        let value = self.value(0)?;
        call.positional.push(value);
        Ok(())
    }

    /// Reads `name =`, if it follows.
    fn keyword(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let after_name = rest[end..].trim_start();
        let is_keyword = end > 0 && after_name.starts_with('=') && !after_name.starts_with("==");
        is_keyword.then(|| {
            self.at += rest.len() - after_name.len() + 1;
            &rest[..end]
        })
    }

    pub(super) fn value(&mut self, depth: usize) -> Result<Json, SyntaxError> {
        self.skip_space();
        if depth > MAX_DEPTH {
            return self.error("the value nests too deeply");
        }
        let rest = self.rest();
        match rest.chars().next() {
            Some('[') => self
                .sequence('[', ']', depth)
                .map(|(elements, _)| Json::Array(elements)),
            Some('(') => self.parenthesised(depth),
            Some('{') => {
                let start = self.at;
                self.dictionary(depth)
                    .inspect_err(|_| self.unclosed.push(start))
            }
            Some('"' | '\'') => self.strings(),
            Some('-' | '+' | '.' | '0'..='9') => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.keyword_or_string(),
            _ => self.error("expected a value"),
        }
    }

    /// Reads elements up to `close`. Also returns whether a comma follows the last one.
    fn sequence(
        &mut self,
        open: char,
        close: char,
        depth: usize,
    ) -> Result<(Vec<Json>, bool), SyntaxError> {
        let _opened = self.take(open);
        let (mut elements, mut comma) = (Vec::new(), false);
        loop {
            if self.take(close) {
                return Ok((elements, comma));
            }
            if !elements.is_empty() && !comma {
                return self.error(&format!("expected `,` or `{close}`"));
            }
            elements.push(self.value(depth + 1)?);
            comma = self.take(',');
        }
    }

    /// Reads a tuple, which becomes an array, or a value in parentheses.
    fn parenthesised(&mut self, depth: usize) -> Result<Json, SyntaxError> {
        let (mut elements, comma) = self.sequence('(', ')', depth)?;
        match elements.pop() {
            Some(only) if elements.is_empty() && !comma => Ok(only),
            last => Ok(Json::Array(elements.into_iter().chain(last).collect())),
        }
    }

    fn dictionary(&mut self, depth: usize) -> Result<Json, SyntaxError> {
        let _opened = self.take('{');
        let mut members: Vec<(String, Json)> = Vec::new();
        let mut seen = HashSet::new();
        loop {
            if self.take('}') {
                return Ok(Json::Object(members));
            }
            self.skip_space();
            let start = self.at;
            let Json::Text(key) = self.value(depth + 1)? else {
                return Err(SyntaxError::new(
                    start,
                    "a key of a dictionary is not a string",
                ));
            };
            if is_duplicate(&key, &members, &mut seen) {
                return Err(SyntaxError::new(start, "duplicate key in a dictionary"));
            }
            if !self.take(':') {
                return self.error("expected `:`");
            }
            let value = self.value(depth + 1)?;
            members.push((key, value));
            if !self.take(',') && !self.rest().starts_with('}') {
                return self.error("expected `,` or `}`");
            }
        }
    }

    /// Reads `True`, `None`, their JSON spellings, or a string with a prefix.
    fn keyword_or_string(&mut self) -> Result<Json, SyntaxError> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let value = match &rest[..end] {
            "True" | "true" => Json::Bool(true),
            "False" | "false" => Json::Bool(false),
            "None" | "null" => Json::Null,
            "r" | "R" | "u" | "U" if rest[end..].starts_with(['"', '\'']) => return self.strings(),
            _ => return self.error("expected a literal; names and expressions are not evaluated"),
        };
        self.at += end;
        Ok(value)
    }

    /// Reads adjacent strings, which are concatenated.
    fn strings(&mut self) -> Result<Json, SyntaxError> {
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let raw = rest.starts_with(['r', 'R']);
            let prefix = usize::from(raw || rest.starts_with(['u', 'U']));
            self.string(prefix, raw, &mut text)?;
            self.skip_space();
            let next = self
                .rest()
                .strip_prefix(['r', 'R', 'u', 'U'])
                .unwrap_or(self.rest());
            if !next.starts_with(['"', '\'']) {
                return Ok(Json::Text(text));
            }
        }
    }

    /// Reads one string and appends it to `text`. `prefix` is the length of its prefix.
    fn string(&mut self, prefix: usize, raw: bool, text: &mut String) -> Result<(), SyntaxError> {
        let start = self.at;
        self.at += prefix;
        let quote = &self.rest()[..1];
        let triple = quote.repeat(3);
        let close = if self.rest().starts_with(&triple) {
            triple.as_str()
        } else {
            quote
        };
        self.at += close.len();
        loop {
            let rest = self.rest();
            if rest.starts_with(close) {
                self.at += close.len();
                return Ok(());
            }
            match rest.chars().next() {
                None => return Err(SyntaxError::new(start, "unterminated string")),
                Some('\n') if close.len() == 1 => {
                    return self.error("unterminated string at the end of the line");
                }
                Some('\\') if raw => {
                    let escape: String = rest.chars().take(2).collect();
                    self.at += escape.len();
                    text.push_str(&escape);
                }
                Some('\\') => self.escape(text)?,
                Some(c) => {
                    self.at += c.len_utf8();
                    text.push(c);
                }
            }
        }
    }

    /// Reads an escape sequence and appends its character to `text`.
    fn escape(&mut self, text: &mut String) -> Result<(), SyntaxError> {
        let rest = &self.rest()[1..];
        let Some(kind) = rest.chars().next() else {
            return self.error("unterminated string");
        };
        let (c, length) = match kind {
            '\n' => {
                self.at += 2;
                return Ok(());
            }
            'n' => ('\n', 1),
            't' => ('\t', 1),
            'r' => ('\r', 1),
            'a' => ('\x07', 1),
            'b' => ('\x08', 1),
            'f' => ('\x0c', 1),
            'v' => ('\x0b', 1),
            '\\' | '\'' | '"' => (kind, 1),
            '0'..='7' => {
                let length = rest
                    .bytes()
                    .take(3)
                    .take_while(|byte| (b'0'..=b'7').contains(byte))
                    .count();
                (self.code_point(&rest[..length], 8)?, length)
            }
            'x' => (self.code_point(rest.get(1..3).unwrap_or_default(), 16)?, 3),
            'u' => (self.code_point(rest.get(1..5).unwrap_or_default(), 16)?, 5),
            'U' => (self.code_point(rest.get(1..9).unwrap_or_default(), 16)?, 9),
            'N' => return self.error("escapes with character names are not supported"),
            // Python keeps the backslash of an unknown escape.
            _ => {
                text.push('\\');
                (kind, kind.len_utf8())
            }
        };
        self.at += 1 + length;
        text.push(c);
        Ok(())
    }

    /// The character with this code.
    fn code_point(&self, digits: &str, radix: u32) -> Result<char, SyntaxError> {
        let code = u32::from_str_radix(digits, radix)
            .ok()
            .filter(|_| !digits.starts_with('+'));
        code.and_then(char::from_u32)
            .ok_or_else(|| SyntaxError::new(self.at, "invalid escape sequence in the string"))
    }

    /// Reads a number and converts it to the grammar of JSON.
    fn number(&mut self) -> Result<Json, SyntaxError> {
        let start = self.at;
        let mut negative = false;
        while let Some(sign) = self.rest().chars().next().filter(|c| "+-".contains(*c)) {
            negative ^= sign == '-';
            self.at += 1;
        }
        let rest = self.rest();
        let is_part = |at: usize, c: char| {
            let signs_exponent =
                "+-".contains(c) && rest[..at].ends_with(['e', 'E']) && !rest.starts_with("0x");
            c.is_ascii_alphanumeric() || c == '.' || c == '_' || signs_exponent
        };
        let end = rest
            .char_indices()
            .find(|(at, c)| !is_part(*at, *c))
            .map_or(rest.len(), |(at, _)| at);
        let digits =
            json_number(&rest[..end]).ok_or_else(|| SyntaxError::new(start, "invalid number"))?;
        self.at += end;
        Ok(Json::Number(if negative {
            format!("-{digits}")
        } else {
            digits
        }))
    }
}

/// Converts a Python number without its sign to the grammar of JSON.
fn json_number(text: &str) -> Option<String> {
    let has_misplaced_underscore =
        text.starts_with('_') || text.ends_with('_') || text.contains("__");
    let text = text.replace('_', "");
    if has_misplaced_underscore {
        return None;
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = text.to_ascii_lowercase().strip_prefix(prefix) {
            return u128::from_str_radix(digits, radix)
                .ok()
                .map(|value| value.to_string());
        }
    }
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => text.split_at(at),
        None => (text.as_str(), ""),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    if whole.is_empty() && fraction.is_none_or(str::is_empty) {
        return None;
    }
    let has_leading_zero = whole.len() > 1 && whole.starts_with('0');
    let is_integer = fraction.is_none() && exponent.is_empty();
    if has_leading_zero && is_integer && whole.bytes().any(|byte| byte != b'0') {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let fraction = match fraction {
        Some("") => ".0".to_owned(),
        Some(digits) => format!(".{digits}"),
        None => String::new(),
    };
    let number = format!("{whole}{fraction}{exponent}");
    // The JSON reader makes the final check.
    matches!(Json::read(&number), Ok(Json::Number(_))).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_json(text: &str) -> Option<String> {
        literal(text).map(|value| value.to_string())
    }

    #[test]
    fn converts_literals_to_json() {
        for (python, json) in [
            ("True", "true"),
            ("False", "false"),
            ("None", "null"),
            ("[true, false, null]", "[true,false,null]"),
            ("-5", "-5"),
            ("--5", "5"),
            ("1_000", "1000"),
            ("0x1F", "31"),
            (".5", "0.5"),
            ("5.", "5.0"),
            ("1e-3", "1e-3"),
            ("(1, 'a')", r#"[1,"a"]"#),
            ("(1)", "1"),
            ("(1,)", "[1]"),
            ("()", "[]"),
            ("[1, 2,]", "[1,2]"),
            ("{'a': {\"b\": [None]}, }", r#"{"a":{"b":[null]}}"#),
            (r"'it\'s \x41\u00e9\n\d'", r#""it's Aé\n\\d""#),
            (r"'\a\b\f\n\r\t\v'", r#""\u0007\b\f\n\r\t\u000b""#),
            ("'''two\nlines'''", r#""two\nlines""#),
            (r"r'\d+'", r#""\\d+""#),
            ("'a' \"b\"", r#""ab""#),
        ] {
            assert_eq!(as_json(python).as_deref(), Some(json), "{python}");
        }
        for text in [
            "x",
            "1+1",
            "f(1)",
            "{1: 2}",
            "{'a': 1, 'a': 2}",
            "'a",
            "'a\nb'",
            "012",
            "1__0",
            "[1 2]",
            "1j",
            "b'a'",
            "",
        ] {
            assert_eq!(as_json(text), None, "{text}");
        }
        assert_eq!(literal(&"[".repeat(5_000)), None);
    }

    #[test]
    fn returns_ranges_of_calls() {
        let text = "[f(a=1, b='x'), m.g(2, c=True)]";
        let calls = Reader::new(text).calls().unwrap();
        let sources: Vec<_> = calls.iter().map(|(span, _)| &text[span.clone()]).collect();
        assert_eq!(sources, ["f(a=1, b='x')", "m.g(2, c=True)"]);
        assert_eq!(calls[1].1.name, "m.g");
        assert_eq!(calls[1].1.positional, [Json::Number("2".to_owned())]);
    }

    #[test]
    fn reports_position_of_errors() {
        let error = |text: &str| Reader::new(text).calls().map(drop).unwrap_err();
        assert_eq!(
            error("[f(a=1 b=2)]"),
            SyntaxError::new(7, "expected `,` or `)`")
        );
        assert_eq!(
            error("[f(a=1, a=2)]"),
            SyntaxError::new(8, "duplicate argument `a`")
        );
        assert_eq!(error("[f(a=1), g(b=x)]").at, 13);
        assert_eq!(
            error("[f(a=1), 2]").reason,
            "expected a call such as `f(a=1)`"
        );
        assert_eq!(
            error("[f(a=1, 2)]").reason,
            "positional argument after a named argument"
        );
    }
}
