//! Lists and dictionaries as Python and JSON write them: `["A", "B"]`, `{"x": 3, "y": 4}`.

use std::borrow::Cow;

/// Longest text in quotation marks, in bytes.
const MAX_QUOTED: usize = 60;

/// Maximum number of texts in quotation marks.
const MAX_ITEMS: usize = 200;

/// The text of a list without quotation marks, or of a dictionary as equations; the text as it is
/// if it is neither.
pub(super) fn unquoted(text: Cow<'_, str>) -> Cow<'_, str> {
    match rewritten(&text) {
        Some(plain) => Cow::Owned(plain),
        None => text,
    }
}

fn rewritten(text: &str) -> Option<String> {
    let text = text.trim();
    if !text.contains(['"', '\'']) || !text.starts_with(['[', '(', '{']) {
        return None;
    }
    if !text.ends_with([']', ')', '}']) {
        return None;
    }
    let inner = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    let (mut keys, mut items) = (0, 0);
    while let Some(at) = rest.find(['"', '\'']) {
        let (before, quoted) = rest.split_at(at);
        plain.push_str(before);
        if !before.trim_end().ends_with(['[', '(', '{', ',', ':']) {
            return None;
        }
        let mark = quoted.chars().next()?;
        let (content, after) = quoted.get(1..)?.split_once(mark)?;
        let next = after.trim_start();
        items += 1;
        if content.is_empty()
            || content.len() > MAX_QUOTED
            || items > MAX_ITEMS
            || content.contains(['\'', '"', '{', '}', ',', '='])
            || !next.starts_with([',', ']', ')', '}', ':'])
        {
            return None;
        }
        let is_words = content
            .split(|c: char| !c.is_alphabetic())
            .any(|word| word.len() > 1);
        if is_words && !content.contains('\\') {
            plain.push_str(&format!("\\text{{{content}}}"));
        } else {
            plain.push_str(content);
        }
        rest = after;
        if let Some(value) = next.strip_prefix(':') {
            keys += 1;
            plain.push('=');
            rest = value;
        }
    }
    if items == 0 {
        return None;
    }
    plain.push_str(rest);
    if keys == 0 {
        // Brackets of words are not an interval.
        let inner = plain
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'));
        return Some(inner.map_or(plain.clone(), |inner| format!("({inner})")));
    }
    // The keys of one dictionary, not of one inside a list.
    let values = inner?.matches(',').count() + 1;
    let flat = !inner?.contains(['[', '(', '{']);
    let equations = plain.strip_prefix('{')?.strip_suffix('}')?;
    (flat && keys == values).then(|| equations.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_quotation_marks() {
        for (text, plain) in [
            (r#"["A", "B"]"#, "(A, B)"),
            (r#"['red','dark blue']"#, r"(\text{red},\text{dark blue})"),
            (r#"["1/2", 3]"#, "(1/2, 3)"),
            (r#"{"x": 3, "y": 4}"#, "x= 3, y= 4"),
        ] {
            assert_eq!(unquoted(text.into()), plain);
        }
        for text in [
            r#"f'(x)"#,
            "(f', g')",
            r#"["A, "B"]"#,
            "{x' : x > 0}",
            r#"(5'2")"#,
        ] {
            assert_eq!(unquoted(text.into()), text);
        }
    }
}
