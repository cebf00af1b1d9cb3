//! Calls written as Python: `f(a=1, b=["x"])`, with literals only. Nothing is evaluated.

use std::collections::HashSet;
use std::ops::Range;

use super::scan::Bare;
use crate::json::{Broken, Json, MAX_DEPTH, repeats};

/// Reads Python from a text, from its start on.
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

/// A Python literal that is the whole text; `None` for anything else.
#[must_use]
pub fn literal(text: &str) -> Option<Json> {
    let mut reader = Reader::new(text);
    let value = reader.value(0).ok()?;
    reader.skip_space();
    (reader.at == text.len()).then_some(value)
}

/// The name a call begins with, as in `module.function(`.
pub(super) fn called_name(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'))?;
    let name = &text[..end];
    let begins = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (begins && text[end..].trim_start().starts_with('(')).then_some(name)
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn broken<T>(&self, reason: &str) -> Result<T, Broken> {
        Err(Broken::new(self.at, reason))
    }

    /// Goes past blanks and comments.
    fn skip_space(&mut self) {
        loop {
            self.at += self.rest().len() - self.rest().trim_start().len();
            if !self.rest().starts_with('#') {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn take(&mut self, mark: char) -> bool {
        self.skip_space();
        let stands = self.rest().starts_with(mark);
        if stands {
            self.at += mark.len_utf8();
        }
        stands
    }

    /// Calls in brackets, as in `[f(a=1), g()]`, or one or several on their own; each with its
    /// place.
    pub(super) fn calls(&mut self) -> Result<Vec<(Range<usize>, Bare)>, Broken> {
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
                    return self.broken("expected `,` or `]`");
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

    /// One call, as in `f(1, a=2)`.
    pub(super) fn call(&mut self) -> Result<(Range<usize>, Bare), Broken> {
        self.skip_space();
        let start = self.at;
        let Some(name) = called_name(self.rest()) else {
            return self.broken("expected a call such as `f(a=1)`");
        };
        self.at += name.len();
        let _opened = self.take('(');
        let mut bare = Bare {
            name: name.to_owned(),
            ..Bare::default()
        };
        let mut seen = HashSet::new();
        loop {
            if self.take(')') {
                return Ok((start..self.at, bare));
            }
            self.argument(&mut bare, &mut seen)?;
            if !self.take(',') {
                if self.take(')') {
                    return Ok((start..self.at, bare));
                }
                return self.broken("expected `,` or `)`");
            }
        }
    }

    /// One argument. `seen` starts empty for each call.
    fn argument(&mut self, bare: &mut Bare, seen: &mut HashSet<String>) -> Result<(), Broken> {
        self.skip_space();
        let start = self.at;
        if let Some(key) = self.keyword() {
            if repeats(key, &bare.arguments, seen) {
                return Err(Broken::new(
                    start,
                    format!("the argument `{key}` stands twice"),
                ));
            }
            let value = self.value(0)?;
            bare.arguments.push((key.to_owned(), value));
            return Ok(());
        }
        if !bare.arguments.is_empty() {
            return self.broken("an argument without a name stands behind one with a name");
        }
        let value = self.value(0)?;
        bare.positional.push(value);
        Ok(())
    }

    /// Goes past `name =`.
    fn keyword(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let behind = rest[end..].trim_start();
        let is_keyword = end > 0 && behind.starts_with('=') && !behind.starts_with("==");
        is_keyword.then(|| {
            self.at += rest.len() - behind.len() + 1;
            &rest[..end]
        })
    }

    fn value(&mut self, depth: usize) -> Result<Json, Broken> {
        self.skip_space();
        if depth > MAX_DEPTH {
            return self.broken("it nests too deep");
        }
        let rest = self.rest();
        match rest.chars().next() {
            Some('[') => self
                .sequence('[', ']', depth)
                .map(|(elements, _)| Json::Array(elements)),
            Some('(') => self.parenthesised(depth),
            Some('{') => self.dictionary(depth),
            Some('"' | '\'') => self.strings(),
            Some('-' | '+' | '.' | '0'..='9') => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.word(),
            _ => self.broken("expected a value"),
        }
    }

    /// Elements up to `close`, and whether a comma stands behind the last.
    fn sequence(
        &mut self,
        open: char,
        close: char,
        depth: usize,
    ) -> Result<(Vec<Json>, bool), Broken> {
        let _opened = self.take(open);
        let (mut elements, mut comma) = (Vec::new(), false);
        loop {
            if self.take(close) {
                return Ok((elements, comma));
            }
            if !elements.is_empty() && !comma {
                return self.broken(&format!("expected `,` or `{close}`"));
            }
            elements.push(self.value(depth + 1)?);
            comma = self.take(',');
        }
    }

    /// A tuple, which is an array, or a value in parentheses.
    fn parenthesised(&mut self, depth: usize) -> Result<Json, Broken> {
        let (mut elements, comma) = self.sequence('(', ')', depth)?;
        match elements.pop() {
            Some(only) if elements.is_empty() && !comma => Ok(only),
            last => Ok(Json::Array(elements.into_iter().chain(last).collect())),
        }
    }

    fn dictionary(&mut self, depth: usize) -> Result<Json, Broken> {
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
                return Err(Broken::new(start, "a key of a dictionary is no string"));
            };
            if repeats(&key, &members, &mut seen) {
                return Err(Broken::new(start, "a key of a dictionary stands twice"));
            }
            if !self.take(':') {
                return self.broken("expected `:`");
            }
            let value = self.value(depth + 1)?;
            members.push((key, value));
            if !self.take(',') && !self.rest().starts_with('}') {
                return self.broken("expected `,` or `}`");
            }
        }
    }

    /// `True`, `None`, their JSON spellings, and strings with a prefix.
    fn word(&mut self) -> Result<Json, Broken> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let value = match &rest[..end] {
            "True" | "true" => Json::Bool(true),
            "False" | "false" => Json::Bool(false),
            "None" | "null" => Json::Null,
            "r" | "R" | "u" | "U" if rest[end..].starts_with(['"', '\'']) => return self.strings(),
            _ => return self.broken("expected a literal: names and expressions are not evaluated"),
        };
        self.at += end;
        Ok(value)
    }

    /// Strings beside one another are one.
    fn strings(&mut self) -> Result<Json, Broken> {
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

    fn string(&mut self, prefix: usize, raw: bool, text: &mut String) -> Result<(), Broken> {
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
                None => return Err(Broken::new(start, "the string never ends")),
                Some('\n') if close.len() == 1 => {
                    return self.broken("the string ends with its line");
                }
                Some('\\') if raw => {
                    let kept: String = rest.chars().take(2).collect();
                    self.at += kept.len();
                    text.push_str(&kept);
                }
                Some('\\') => self.escape(text)?,
                Some(c) => {
                    self.at += c.len_utf8();
                    text.push(c);
                }
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), Broken> {
        let rest = &self.rest()[1..];
        let Some(kind) = rest.chars().next() else {
            return self.broken("the string never ends");
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
                (self.coded(&rest[..length], 8)?, length)
            }
            'x' => (self.coded(rest.get(1..3).unwrap_or_default(), 16)?, 3),
            'u' => (self.coded(rest.get(1..5).unwrap_or_default(), 16)?, 5),
            'U' => (self.coded(rest.get(1..9).unwrap_or_default(), 16)?, 9),
            'N' => return self.broken("characters by name are not read"),
            // As Python keeps it.
            _ => {
                text.push('\\');
                (kind, kind.len_utf8())
            }
        };
        self.at += 1 + length;
        text.push(c);
        Ok(())
    }

    fn coded(&self, digits: &str, radix: u32) -> Result<char, Broken> {
        let code = u32::from_str_radix(digits, radix)
            .ok()
            .filter(|_| !digits.starts_with('+'));
        code.and_then(char::from_u32)
            .ok_or_else(|| Broken::new(self.at, "the string has a broken escape"))
    }

    /// A number, in JSON's grammar afterwards.
    fn number(&mut self) -> Result<Json, Broken> {
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
            json_number(&rest[..end]).ok_or_else(|| Broken::new(start, "the number is none"))?;
        self.at += end;
        Ok(Json::Number(if negative {
            format!("-{digits}")
        } else {
            digits
        }))
    }
}

/// A number of Python without its sign in JSON's grammar.
fn json_number(text: &str) -> Option<String> {
    let lonely = text.starts_with('_') || text.ends_with('_') || text.contains("__");
    let text = text.replace('_', "");
    if lonely {
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
    let zeros_lead = whole.len() > 1 && whole.starts_with('0');
    let is_integer = fraction.is_none() && exponent.is_empty();
    if zeros_lead && is_integer && whole.bytes().any(|byte| byte != b'0') {
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
    // JSON's own grammar has the last word.
    matches!(Json::read(&number), Ok(Json::Number(_))).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Option<String> {
        literal(text).map(|value| value.to_string())
    }

    #[test]
    fn literals_become_json() {
        for (python, json) in [
            ("True", "true"),
            ("None", "null"),
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
            ("'''two\nlines'''", r#""two\nlines""#),
            (r"r'\d+'", r#""\\d+""#),
            ("'a' \"b\"", r#""ab""#),
        ] {
            assert_eq!(written(python).as_deref(), Some(json), "{python}");
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
            assert_eq!(written(text), None, "{text}");
        }
        assert_eq!(literal(&"[".repeat(5_000)), None);
    }

    #[test]
    fn calls_have_places() {
        let text = "[f(a=1, b='x'), m.g(2, c=True)]";
        let calls = Reader::new(text).calls().unwrap();
        let places: Vec<_> = calls.iter().map(|(span, _)| &text[span.clone()]).collect();
        assert_eq!(places, ["f(a=1, b='x')", "m.g(2, c=True)"]);
        assert_eq!(calls[1].1.name, "m.g");
        assert_eq!(calls[1].1.positional, [Json::Number("2".to_owned())]);
    }

    #[test]
    fn what_is_broken_is_told() {
        let broken = |text: &str| Reader::new(text).calls().map(drop).unwrap_err();
        assert_eq!(
            broken("[f(a=1 b=2)]"),
            Broken::new(7, "expected `,` or `)`")
        );
        assert_eq!(
            broken("[f(a=1, a=2)]"),
            Broken::new(8, "the argument `a` stands twice")
        );
        assert_eq!(broken("[f(a=1), g(b=x)]").at, 13);
        assert_eq!(
            broken("[f(a=1), 2]").reason,
            "expected a call such as `f(a=1)`"
        );
        assert_eq!(
            broken("[f(a=1, 2)]").reason,
            "an argument without a name stands behind one with a name"
        );
    }
}
