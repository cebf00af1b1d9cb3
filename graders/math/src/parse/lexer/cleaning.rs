//! Undoes, before any token is read, damage and spelling that the lexer would need characters of their own for.

use std::borrow::Cow;

use super::super::names;

/// Undoes damage and spelling that would need characters of their own in the lexer: full-width forms, HTML, escapes that a JSON
/// or Python reader took away, doubled backslashes.
pub(crate) fn cleaned(text: &str) -> Cow<'_, str> {
    match undamaged(text) {
        Cow::Borrowed(text) => with_points(text),
        Cow::Owned(text) => Cow::Owned(with_points(&text).into_owned()),
    }
}

/// `0{,}5` as `0.5`: a comma in braces that makes no group of three is a decimal point.
fn with_points(text: &str) -> Cow<'_, str> {
    const COMMA: &str = "{,}";
    let mut parts = text.split(COMMA);
    let (Some(before), Some(after), None) = (parts.next(), parts.next(), parts.next()) else {
        return Cow::Borrowed(text);
    };
    let places = after.bytes().take_while(u8::is_ascii_digit).count();
    let whole = before.bytes().rev().take_while(u8::is_ascii_digit).count();
    let zero = whole == 1 && before.ends_with('0');
    let pointed = before.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with('.');
    if whole == 0 || places == 0 || places == 3 && !zero || pointed {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{before}.{after}"))
}

fn undamaged(text: &str) -> Cow<'_, str> {
    let wide = |c: char| ('\u{ff01}'..='\u{ff5e}').contains(&c) || c == '\u{3000}' || c == '。';
    let damaged = |c: char| matches!(c, '\u{8}' | '\u{b}' | '\u{c}' | '\u{7}' | '\t' | '\r');
    let doubled = text.contains("\\\\begin");
    if !text.contains(|c: char| wide(c) || damaged(c)) && !doubled && !text.contains('<') {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut after = text;
    while let Some(c) = rest.next() {
        after = after.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '\u{3000}' => clean.push(' '),
            '。' => clean.push('.'),
            _ if wide(c) => {
                let plain = u32::from(c) - 0xff01 + 0x21;
                clean.push(char::from_u32(plain).unwrap_or(c));
            }
            _ if damaged(c) => {
                let letter = match c {
                    '\u{8}' => 'b',
                    '\u{b}' => 'v',
                    '\u{c}' => 'f',
                    '\u{7}' => 'a',
                    '\t' => 't',
                    _ => 'r',
                };
                let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
                let mut name = String::from(letter);
                name.push_str(after.get(..end).unwrap_or_default());
                if end > 0 && names::command(&name).is_some() {
                    clean.push('\\');
                    clean.push(letter);
                } else {
                    clean.push(' ');
                }
            }
            '\\' if doubled && rest.peek() == Some(&'\\') => {
                rest.next();
                after = after.get(1..).unwrap_or_default();
                clean.push('\\');
            }
            _ => clean.push(c),
        }
    }
    if clean.contains("<sup>") || clean.contains("<sub>") {
        clean = clean.replace("<sup>", "^{").replace("<sub>", "_{").replace("</sup>", "}").replace("</sub>", "}");
    }
    Cow::Owned(clean)
}
