//! Characters that a conversion damaged.

/// What is damaged in a text, with an excerpt of it; `None` if nothing is.
pub(crate) fn damage(text: &str) -> Option<(&'static str, String)> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\r') && byte != b'&';
    if text.bytes().all(is_plain) {
        return None;
    }
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        let what = match c {
            '\0' => "a NUL character",
            '\u{fffd}' => "the replacement character U+FFFD",
            // `\f` of `\frac` and `\b` of `\begin` that a JSON or Python string swallowed.
            '\u{c}' if text[at + 1..].starts_with("rac") => "a form feed instead of `\\f`",
            '\u{8}' => "a backspace instead of `\\b`",
            '\t' if is_swallowed_t(&text[at + 1..]) => "a tab instead of `\\t`",
            '\u{1}'..='\u{7}' | '\u{e}'..='\u{1a}' | '\u{1c}'..='\u{1f}' | '\u{7f}' => {
                "a control character"
            }
            '\u{80}'..='\u{9f}' => "a control character of another encoding",
            'Ã' if next.is_some_and(|next| ('\u{80}'..='\u{bf}').contains(&next)) => MOJIBAKE,
            'Â' if next.is_some_and(|next| ('\u{a0}'..='\u{bf}').contains(&next)) => MOJIBAKE,
            'â' if next
                .is_some_and(|next| matches!(next, '€' | '\u{80}'..='\u{9f}' | 'ˆ' | '‰')) =>
            {
                MOJIBAKE
            }
            'ï' if text[at..].starts_with("ï¿½") => MOJIBAKE,
            '&' => match ENTITIES
                .iter()
                .find(|entity| text[at..].starts_with(**entity))
            {
                Some(_) if !is_about_markup(text) => "an HTML entity",
                _ => continue,
            },
            _ => continue,
        };
        let start = text[..at]
            .char_indices()
            .rev()
            .nth(19)
            .map_or(0, |(start, _)| start);
        let end = text[at..]
            .char_indices()
            .nth(20)
            .map_or(text.len(), |(end, _)| at + end);
        return Some((what, text[start..end].to_owned()));
    }
    None
}

const MOJIBAKE: &str = "UTF-8 that was read in another encoding";

const ENTITIES: &[&str] = &[
    "&amp;", "&quot;", "&nbsp;", "&#39;", "&#x27;", "&rsquo;", "&ldquo;",
];

/// Whether `\t` was swallowed before this text.
fn is_swallowed_t(rest: &str) -> bool {
    ["imes ", "imes{", "ext{", "heta", "extbf{"]
        .iter()
        .any(|start| rest.starts_with(start))
}

/// Whether a text is about markup, where entities are meant.
fn is_about_markup(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["html", "xml", "entit", "escape", "<div", "<p>"]
        .iter()
        .any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::damage;

    #[test]
    fn finds_damaged_characters() {
        for text in [
            "a\0b",
            "a\u{fffd}b",
            "CafÃ©",
            "donâ€™t",
            "5Â°",
            "\u{c}rac{1}{2}",
            "3 \times 4",
            "Tom &amp; Ann",
            "\u{8}egin{align}",
        ] {
            assert!(damage(text).is_some(), "{text:?}");
        }
    }

    #[test]
    fn leaves_other_texts() {
        for text in [
            "Café",
            "SÃO PAULO",
            "A\tB\nC",
            "Ânimo",
            "write &amp; in HTML",
            "a & b",
            "âme",
            "naïve",
        ] {
            assert_eq!(damage(text), None, "{text:?}");
        }
    }
}
