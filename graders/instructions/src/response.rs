//! The text of a response as it is checked: without reasoning and without what a reader cannot see.

use std::borrow::Cow;

use assay_extraction::reasoning;

/// A response.
pub(crate) struct Response<'t> {
    pub(crate) text: Cow<'t, str>,
    /// Number of characters that were removed because they are invisible.
    pub(crate) hidden: usize,
}

impl<'t> Response<'t> {
    pub(crate) fn new(text: &'t str, think_open: bool) -> Self {
        let visible = reasoning::visible_text(text, think_open);
        let is_plain = !visible.contains("<!--") && visible.is_ascii();
        if is_plain || !(visible.contains("<!--") || visible.chars().any(is_hidden)) {
            return Self {
                text: visible,
                hidden: 0,
            };
        }
        let without_comments = without_comments(&visible);
        let text: String = without_comments
            .chars()
            .filter(|c| !is_hidden(*c))
            .collect();
        let hidden = visible.chars().count() - text.chars().count();
        Self {
            text: Cow::Owned(text),
            hidden,
        }
    }
}

/// Whether a character is never visible. Joiners of scripts and of emojis are not removed.
fn is_hidden(character: char) -> bool {
    matches!(u32::from(character),
        0x00AD | 0x034F | 0x061C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F | 0x200B
        | 0x200E..=0x200F | 0x202A..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFEFF | 0xFFA0
        | 0xE0000..=0xE0FFF)
}

/// A text without HTML comments, which are invisible when it is rendered. In a text with code they
/// may be visible and stay.
fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("<!--") || text.contains("```") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        out.push_str(&rest[..start]);
        rest = rest[start..]
            .find("-->")
            .map_or("", |end| &rest[start + end + 3..]);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The forms of a response that are accepted loosely: without its first line, its last line or
/// both, and each without asterisks.
pub(crate) fn loose_forms(text: &str) -> Vec<(&'static str, String)> {
    let lines: Vec<&str> = text.split('\n').collect();
    let joined = |from: usize, to: usize| {
        lines
            .get(from..to.max(from))
            .unwrap_or_default()
            .join("\n")
            .trim()
            .to_owned()
    };
    let last = lines.len() - 1;
    let cut = [
        ("whole", text.to_owned()),
        ("without_first_line", joined(1, lines.len())),
        ("without_last_line", joined(0, last)),
        ("without_first_and_last_line", joined(1, last)),
    ];
    let plain = cut
        .clone()
        .map(|(name, text)| (name, text.replace('*', "")));
    cut.into_iter()
        .chain(plain)
        .filter(|(_, text)| !text.trim().is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_what_is_invisible() {
        let response = Response::new("ban\u{200b}ana<!-- river -->\u{feff}", false);
        assert_eq!(response.text, "banana");
        assert!(response.hidden > 10);
        // The joiner of a family emoji and of Persian words stays.
        assert_eq!(Response::new("می\u{200c}روم", false).hidden, 0);
    }

    #[test]
    fn loose_forms_leave_out_lines_and_asterisks() {
        let forms = loose_forms("Sure:\n**Hi**\nBye");
        let texts: Vec<&str> = forms.iter().map(|(_, text)| text.as_str()).collect();
        assert!(texts.contains(&"**Hi**") && texts.contains(&"Hi") && texts.contains(&"Hi\nBye"));
        assert_eq!(loose_forms("one").len(), 2);
    }
}
