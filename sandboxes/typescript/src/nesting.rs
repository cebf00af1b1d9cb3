//! How deeply a text may be nested. The parser tries several readings of a bracket, each of which
//! keeps its memory, so the cost of a text grows with the square of its nesting.

/// Deepest nesting of brackets, and most brackets of type arguments and conditions that may be open
/// in one statement.
const DEEPEST: usize = 200;

/// The offset of the first character that is nested too deeply. Strings and comments are skipped
/// where that is possible without a parser.
pub(crate) fn too_deep(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut brackets, mut angles, mut conditions) = (0_usize, 0_usize, 0_usize);
    let mut at = 0;
    while at < bytes.len() {
        let next = bytes.get(at + 1).copied();
        match bytes[at] {
            b'/' if next == Some(b'/') => at = end_of(bytes, at, b"\n"),
            b'/' if next == Some(b'*') => at = end_of(bytes, at + 2, b"*/"),
            quote @ (b'"' | b'\'') => at = end_of_string(bytes, at, quote),
            b'(' | b'[' | b'{' => brackets += 1,
            b')' | b']' | b'}' => brackets = brackets.saturating_sub(1),
            b'<' => angles += 1,
            b'>' => angles = angles.saturating_sub(1),
            b'?' if next != Some(b'.') && next != Some(b'?') => conditions += 1,
            b';' => (angles, conditions) = (0, 0),
            _ => {}
        }
        if brackets.max(angles).max(conditions) > DEEPEST {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// The offset of the last character of the first `end` from an offset, or of the text.
fn end_of(bytes: &[u8], from: usize, end: &[u8]) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let found = rest.windows(end.len()).position(|window| window == end);
    found.map_or(bytes.len(), |found| from + found + end.len() - 1)
}

/// The offset of the closing quote of a string, or of the opening one if it is not closed on its
/// line, as in a regular expression or a template.
fn end_of_string(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\n' => break,
            found if *found == quote => return at,
            _ => {}
        }
        at += 1;
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_nesting_is_found_outside_strings_and_comments() {
        for unit in ["(", "[", "{", "f<", "a?1:", "async(a=", "`${"] {
            assert!(too_deep(&unit.repeat(150)).is_none(), "{unit}");
            assert!(too_deep(&unit.repeat(300)).is_some(), "{unit}");
        }
        let many = "(".repeat(300);
        for text in [
            format!("'{many}'"),
            format!("\"\\\"{many}\""),
            format!("// {many}\nx"),
            format!("/* {many}\n*/ x"),
            "f(a, b[0], { c: 1 });\n".repeat(300),
            "for (let i = 0; i < n; i++) { x = a?.b ?? c; }\n".repeat(300),
        ] {
            assert_eq!(too_deep(&text), None, "{text:.40}");
        }
    }
}
