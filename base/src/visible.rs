//! Escapes untrusted text for display on terminals, in logs and on pages, so that it cannot move
//! the cursor, change colours, change the text direction or contain invisible characters.

use std::fmt::{self, Write};
use std::io;

/// Displays a text with its unsafe characters escaped: on terminals and in reports as `\u{202e}`,
/// on pages as `⟨202E⟩`.
#[derive(Debug, Clone, Copy)]
pub struct Visible<'t> {
    text: &'t str,
    lines: bool,
    form: Form,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    Escape,
    CodePoint,
}

impl<'t> Visible<'t> {
    /// A multi-line text for a terminal: line breaks and tabs are kept.
    #[must_use]
    pub fn lines(text: &'t str) -> Self {
        Self {
            text,
            lines: true,
            form: Form::Escape,
        }
    }

    /// A single-line text, such as a table cell or a name in a message.
    #[must_use]
    pub fn line(text: &'t str) -> Self {
        Self {
            text,
            lines: false,
            form: Form::Escape,
        }
    }

    /// A multi-line text for a page, where a backslash escape would look like part of the text.
    #[must_use]
    pub fn page(text: &'t str) -> Self {
        Self {
            text,
            lines: true,
            form: Form::CodePoint,
        }
    }
}

impl fmt::Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escapes = |c| !(self.lines && matches!(c, '\n' | '\t'));
        escape(self.text, f, escapes, |c, f| match self.form {
            Form::Escape => write!(f, "{}", c.escape_default()),
            Form::CodePoint => write!(f, "⟨{:04X}⟩", u32::from(c)),
        })
    }
}

/// Escapes characters in JSON that are unsafe on a terminal. The value is unchanged, since they
/// occur only in strings.
#[must_use]
pub fn json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let escaped = escape(
        json,
        &mut out,
        // In JSON these occur only between tokens.
        |c| !matches!(c, '\n' | '\r' | '\t'),
        |c, out| {
            c.encode_utf16(&mut [0; 2])
                .iter()
                .try_for_each(|unit| write!(out, "\\u{unit:04x}"))
        },
    );
    // Writing into a `String` does not fail.
    debug_assert!(escaped.is_ok());
    out
}

/// Writes `text`, with `written` called for the unsafe characters that are to be escaped.
fn escape<W: Write>(
    text: &str,
    out: &mut W,
    escapes: impl Fn(char) -> bool,
    written: impl Fn(char, &mut W) -> fmt::Result,
) -> fmt::Result {
    let (mut plain, mut before) = (0, None);
    for (at, c) in text.char_indices() {
        let hidden = is_unsafe(c) || (is_joiner(c) && !joins(before, c));
        if hidden && escapes(c) {
            out.write_str(&text[plain..at])?;
            written(c, out)?;
            plain = at + c.len_utf8();
        }
        before = Some(c);
    }
    out.write_str(&text[plain..])
}

/// Whether a character controls a terminal, changes the text direction, or has no width.
fn is_unsafe(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{13430}'..='\u{1345f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether a character has no width but a legitimate use after certain others: joiners and
/// variation selectors.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// Whether a joiner is legitimate here: one after a visible character. Several in a row, or some
/// after ASCII letters, can hide text.
fn joins(before: Option<char>, joiner: char) -> bool {
    before.is_some_and(|before| match before {
        // In emoji a joiner may follow a variation selector.
        '\u{fe00}'..='\u{fe0f}' => joiner == '\u{200d}',
        before if is_joiner(before) || is_unsafe(before) || before.is_whitespace() => false,
        before if before.is_ascii() => {
            joiner == '\u{fe0f}' && matches!(before, '0'..='9' | '#' | '*')
        }
        _ => true,
    })
}

/// A writer for untrusted text to a terminal that escapes unsafe characters. Line breaks and tabs
/// are kept.
///
/// Each string must be written by a single call, as `write!` does. Bytes that are not UTF-8 are
/// replaced.
#[derive(Debug)]
pub struct VisibleWriter<W>(pub W);

impl<W: io::Write> io::Write for VisibleWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        write!(self.0, "{}", Visible::lines(&text))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn escapes_unsafe_characters() {
        let text = "a\u{202e}b\u{0}c\td\n\u{1b}[2J\u{200b}\u{9b}31m\u{7f}\u{2066}";
        assert_eq!(
            Visible::lines(text).to_string(),
            "a\\u{202e}b\\u{0}c\td\n\\u{1b}[2J\\u{200b}\\u{9b}31m\\u{7f}\\u{2066}"
        );
        assert_eq!(
            Visible::page(text).to_string(),
            "a⟨202E⟩b⟨0000⟩c\td\n⟨001B⟩[2J⟨200B⟩⟨009B⟩31m⟨007F⟩⟨2066⟩"
        );
        assert_eq!(Visible::line("a\tb\r\n").to_string(), "a\\tb\\r\\n");
        assert_eq!(
            Visible::page("a\u{ad}b\u{3164}c\u{e0041}").to_string(),
            "a⟨00AD⟩b⟨3164⟩c⟨E0041⟩"
        );
    }

    #[test]
    fn keeps_joiners_in_legitimate_positions() {
        for text in [
            "שלום ½ 🙂",
            "👩\u{200d}🚀",
            "❤\u{fe0f}",
            "👁\u{fe0f}\u{200d}🗨",
            "1\u{fe0f}\u{20e3}",
            "می\u{200c}خواهم",
        ] {
            assert_eq!(Visible::line(text).to_string(), text);
        }
        assert_eq!(Visible::line("a\u{200d}b").to_string(), "a\\u{200d}b");
        assert_eq!(
            Visible::line("🙂\u{fe01}\u{fe02}").to_string(),
            "🙂\u{fe01}\\u{fe02}"
        );
        assert_eq!(Visible::line("\u{fe0f}").to_string(), "\\u{fe0f}");
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({ "a\u{202e}": ["\u{7f}\u{9b}\n", "\u{e0041}", "é🙂"] });
        let written = json(&serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&written).unwrap(),
            value
        );
        assert!(
            written.contains("a\\u202e")
                && written.contains("\\udb40\\udc41")
                && !written.contains('\u{9b}')
        );
    }

    #[test]
    fn escapes_formatted_text() {
        let mut out = VisibleWriter(Vec::new());
        let (name, value) = ("a\u{1b}[2J", "\u{202e}");
        writeln!(out, "{name}: {value}").unwrap();
        assert_eq!(
            String::from_utf8(out.0).unwrap(),
            "a\\u{1b}[2J: \\u{202e}\n"
        );
    }
}
