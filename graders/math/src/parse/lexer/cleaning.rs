//! Repairs damaged text and replaces special characters before the lexer, which does not know them.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

use super::super::names;

/// Repairs and simplifies a text: full-width and styled characters, superscript and subscript
/// digits, HTML, escapes that a JSON or Python reader removed, doubled backslashes.
pub(crate) fn cleaned(text: &str) -> Cow<'_, str> {
    let stages: [fn(&str) -> Cow<'_, str>; 4] = [repaired, with_points, with_systems, with_angles];
    let mut clean = Cow::Borrowed(text);
    for stage in stages {
        let changed = match stage(&clean) {
            Cow::Owned(changed) => changed,
            Cow::Borrowed(_) => continue,
        };
        clean = Cow::Owned(changed);
    }
    clean
}

/// `<1, 2>` as `\langle 1, 2\rangle`.
fn with_angles(text: &str) -> Cow<'_, str> {
    let inner = text.trim().strip_prefix('<');
    match inner.and_then(|inner| inner.strip_suffix('>')) {
        Some(inner) if inner.contains(',') && !inner.contains(['<', '>', '=']) => {
            Cow::Owned(format!("\\langle {inner} \\rangle"))
        }
        _ => Cow::Borrowed(text),
    }
}

/// `\left\{\begin{array}{l} … \end{array}\right.` as an environment of cases. Signs that align a
/// relation are removed.
fn with_systems(text: &str) -> Cow<'_, str> {
    const OPEN: &str = "\\left\\{";
    // The point at the end of an answer is trimmed.
    const CLOSE: &str = "\\right";
    let parts = || {
        let (before, rest) = text.split_once(OPEN)?;
        let (name, rest) = rest
            .trim_start()
            .strip_prefix("\\begin{")?
            .split_once('}')?;
        let (body, rest) = rest.split_once(&format!("\\end{{{name}}}"))?;
        let after = rest.trim_start().strip_prefix(CLOSE)?.trim_start();
        let after = after
            .strip_prefix('.')
            .or(after.is_empty().then_some(after))?;
        let body = match name {
            "array" => body.trim_start().strip_prefix('{')?.split_once('}')?.1,
            "aligned" | "align" | "gathered" | "matrix" => body,
            _ => return None,
        };
        (!after.contains(OPEN)).then_some((before, body, after))
    };
    let Some((before, body, after)) = parts() else {
        return Cow::Borrowed(text);
    };
    let mut plain = String::with_capacity(body.len());
    let mut cells = body.split('&').peekable();
    while let Some(cell) = cells.next() {
        plain.push_str(cell);
        let is_relation = |c: char| matches!(c, '=' | '<' | '>');
        let aligns = cell.trim_end().ends_with(is_relation)
            || cells
                .peek()
                .is_some_and(|next| next.trim_start().starts_with(is_relation));
        if cells.peek().is_some() && !aligns {
            plain.push('&');
        }
    }
    Cow::Owned(format!(
        "{before}\\begin{{cases}}{plain}\\end{{cases}}{after}"
    ))
}

/// `0{,}5` as `0.5`: a comma in braces that does not separate three digits is a decimal point.
fn with_points(text: &str) -> Cow<'_, str> {
    const COMMA: &str = "{,}";
    let mut parts = text.split(COMMA);
    let (Some(before), Some(after), None) = (parts.next(), parts.next(), parts.next()) else {
        return Cow::Borrowed(text);
    };
    let places = after.bytes().take_while(u8::is_ascii_digit).count();
    let whole = before.bytes().rev().take_while(u8::is_ascii_digit).count();
    let zero = whole == 1 && before.ends_with('0');
    let pointed = before
        .trim_end_matches(|c: char| c.is_ascii_digit())
        .ends_with('.');
    if whole == 0 || places == 0 || places == 3 && !zero || pointed {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{before}.{after}"))
}

/// Whether a byte is the rest of a backslash and a letter, or a special blank.
fn is_damage(byte: u8) -> bool {
    matches!(byte, 0x07..=0x09 | 0x0b..=0x0d)
}

/// Whether the lexer uses another character instead.
fn is_foreign(c: char) -> bool {
    u8::try_from(c).is_ok_and(is_damage)
        || !c.is_ascii() && plain(c).is_some()
        || names::script(c).is_some()
}

/// The digits 0 of scripts with decimal digits of their own, in order (Unicode 16, `Nd`). The other
/// nine follow each of them.
const ZEROS: [char; 28] = [
    '\u{660}', '\u{6f0}', '\u{7c0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}', '\u{b66}',
    '\u{be6}', '\u{c66}', '\u{ce6}', '\u{d66}', '\u{de6}', '\u{e50}', '\u{ed0}', '\u{f20}',
    '\u{1040}', '\u{1090}', '\u{17e0}', '\u{1810}', '\u{1946}', '\u{19d0}', '\u{1a80}', '\u{1b50}',
    '\u{1bb0}', '\u{1c40}', '\u{1c50}', '\u{a620}',
];

/// The value of a digit of another script.
fn digit(c: char) -> Option<char> {
    let script = ZEROS.partition_point(|zero| *zero <= c).checked_sub(1)?;
    let value = u32::from(c) - u32::from(*ZEROS.get(script)?);
    char::from_digit(value, 10)
}

/// The usual notation of a character.
fn plain(c: char) -> Option<Cow<'static, str>> {
    let letter = |from: u32, first: char| {
        char::from_u32(u32::from(first) + from).map(|letter| Cow::Owned(String::from(letter)))
    };
    match c {
        '\u{3000}' => Some(Cow::Borrowed(" ")),
        // They print nothing.
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => Some(Cow::Borrowed("")),
        '。' | '।' | '۔' => Some(Cow::Borrowed(".")),
        // The Arabic separators of decimals and of thousands, and percent sign.
        '٫' => Some(Cow::Borrowed(".")),
        '٬' => Some(Cow::Borrowed("{,}")),
        '٪' => Some(Cow::Borrowed("\\%")),
        '،' => Some(Cow::Borrowed(",")),
        '\u{ff01}'..='\u{ff5e}' => letter(u32::from(c) - 0xff01, '!'),
        // Mathematical alphabets of 26 capitals and 26 small letters each, then alphabets of
        // digits.
        '\u{1d400}'..='\u{1d6a3}' => match (u32::from(c) - 0x1d400) % 52 {
            small @ 26.. => letter(small - 26, 'a'),
            capital => letter(capital, 'A'),
        },
        '\u{1d7ce}'..='\u{1d7ff}' => letter((u32::from(c) - 0x1d7ce) % 10, '0'),
        '⁄' | '∕' => Some(Cow::Borrowed("/")),
        '∶' => Some(Cow::Borrowed(":")),
        '∛' => Some(Cow::Borrowed("\\sqrt[3]")),
        '∜' => Some(Cow::Borrowed("\\sqrt[4]")),
        'ℏ' => Some(Cow::Borrowed("\\hbar ")),
        '\u{660}'..='\u{a629}' => digit(c).map(|digit| Cow::Owned(digit.into())),
        _ => None,
    }
}

fn repaired(text: &str) -> Cow<'_, str> {
    let escaped = || text.contains("\\\\{") || text.contains("\\\\%");
    let doubled = text.contains("\\\\")
        && (text.contains("\\\\begin") || escaped() && !text.contains("\\\\\\"));
    let foreign = if text.is_ascii() {
        text.bytes().any(is_damage)
    } else {
        text.contains(is_foreign)
    };
    if !foreign && !doubled && !text.contains('<') {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut after = text;
    while let Some(c) = rest.next() {
        after = after.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '\u{8}' | '\u{b}' | '\u{c}' | '\u{7}' | '\t' | '\r' => {
                let letter = match c {
                    '\u{8}' => 'b',
                    '\u{b}' => 'v',
                    '\u{c}' => 'f',
                    '\u{7}' => 'a',
                    '\t' => 't',
                    _ => 'r',
                };
                let end = after
                    .find(|c: char| !c.is_ascii_alphabetic())
                    .unwrap_or(after.len());
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
            _ => {
                if let Some((first, superscript)) = names::script(c) {
                    let read = script(first, superscript, &mut rest, &mut clean);
                    after = after.get(read..).unwrap_or_default();
                } else if let Some(plain) = plain(c) {
                    clean.push_str(&plain);
                } else {
                    clean.push(c);
                }
            }
        }
    }
    if clean.contains("<sup>") || clean.contains("<sub>") {
        clean = clean
            .replace("<sup>", "^{")
            .replace("<sub>", "_{")
            .replace("</sup>", "}")
            .replace("</sub>", "}");
    }
    Cow::Owned(clean)
}

/// `x²³` as `x^{23}`, and `³⁄₄`, if nothing is raised, as `3/4`. Returns the number of bytes that
/// were read.
fn script(
    first: char,
    superscript: bool,
    rest: &mut Peekable<Chars<'_>>,
    clean: &mut String,
) -> usize {
    let mut read = 0;
    let mut run = String::from(first);
    let mut more = |rest: &mut Peekable<Chars<'_>>, run: &mut String, expected: bool| {
        while let Some((plain, is_super)) = rest.peek().and_then(|c| names::script(*c))
            && is_super == expected
        {
            read += rest.next().map_or(0, char::len_utf8);
            run.push(plain);
        }
    };
    more(rest, &mut run, superscript);
    let raises = clean.ends_with(|c: char| c.is_alphabetic() || matches!(c, ')' | ']' | '}' | '|'));
    if superscript && !raises && rest.peek() == Some(&'⁄') {
        let mut below = String::new();
        let mut ahead = rest.clone();
        ahead.next();
        more(&mut ahead, &mut below, false);
        if !below.is_empty() {
            *rest = ahead;
            let gap = if clean.ends_with(|c: char| c.is_ascii_digit()) {
                " "
            } else {
                ""
            };
            clean.push_str(&format!("{gap}{run}/{below}"));
            return read + '⁄'.len_utf8();
        }
    }
    clean.push(if superscript { '^' } else { '_' });
    clean.push_str(&format!("{{{run}}}"));
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_styled_characters() {
        for (text, plain) in [
            ("𝑥 + 𝒀 = 𝟓", "x + Y = 5"),
            ("𝐀𝐳𝒂𝖹", "AzaZ"),
            ("（ｘ）", "(x)"),
            ("१२/৩৪ ๕٦", "12/34 56"),
            ("٣٫٥ ١٬٢٠٠", "3.5 1{,}200"),
        ] {
            assert_eq!(cleaned(text), plain);
        }
    }
}
