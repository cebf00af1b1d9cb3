//! Formats numbers, times and texts. Texts are untrusted, so control characters and characters that
//! change the text direction become visible, and cannot move or hide other parts of a page.

use std::fmt;

use assay_base::utc;
use assay_base::visible::Visible;

/// Maximum length of a text on a page, in characters. The API returns the complete text.
pub(crate) const MAX_TEXT_CHARACTERS: usize = 20_000;

/// Maximum length of a note of an operator, in bytes. The API has the same limit.
pub(crate) const MAX_NOTE_BYTES: usize = 4_096;

/// A text without invisible characters. Templates escape it for HTML.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SafeText<'t>(pub(crate) &'t str);

impl fmt::Display for SafeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Visible::page(self.0).fmt(f)
    }
}

/// A text on a page, truncated if it is too long.
pub(crate) fn text(text: &str) -> String {
    truncate(text, MAX_TEXT_CHARACTERS)
}

/// A text in a table cell.
pub(crate) fn cell(text: &str) -> String {
    truncate(text, 80)
}

/// The first words of a text that may be long, in one line.
pub(crate) fn short(text: &str) -> String {
    cut(text, 48)
}

/// The start of a sentence, in one line.
pub(crate) fn sentence(text: &str) -> String {
    cut(text, 120)
}

/// The last words of a text, in one line.
pub(crate) fn last_words(text: &str) -> String {
    const MOST: usize = 200;
    let end = text.trim_end();
    let tail: Vec<char> = end.chars().rev().take(MOST).collect();
    let tail: String = tail.into_iter().rev().collect();
    let start = if tail.len() < end.len() { "…" } else { "" };
    let line = tail.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{start}{}", SafeText(&line))
}

/// The first characters of a text, in one line.
fn cut(text: &str, most: usize) -> String {
    // Enough for the result, whatever the length of the text.
    let head: String = text.chars().take(4 * most).collect();
    let line = head.split_whitespace().collect::<Vec<_>>().join(" ");
    let more = line.chars().count() > most || head.len() < text.len();
    let line: String = line.chars().take(most).collect();
    let end = if more { "…" } else { "" };
    format!("{}{end}", SafeText(&line))
}

/// A name of a run in a list. Long names differ at the end, so the middle of those is left out.
pub(crate) fn middle(text: &str) -> String {
    const START: usize = 24;
    const END: usize = 39;
    let characters = text.chars().count();
    if characters <= START + 1 + END {
        return SafeText(text).to_string();
    }
    let start: String = text.chars().take(START).collect();
    let end: String = text.chars().skip(characters - END).collect();
    format!("{}…{}", SafeText(&start), SafeText(&end))
}

/// A name of a file or dataset. The limit is higher, because long names differ at the end.
pub(crate) fn name(text: &str) -> String {
    truncate(text, 300)
}

fn truncate(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!(
            "{}… ({} bytes in all)",
            SafeText(&text[..end]),
            count(text.len() as u64)
        ),
        None => SafeText(text).to_string(),
    }
}

/// A whole number with thousands separators.
pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A number with three decimals, or in scientific notation if it is very small or large.
pub(crate) fn number(number: f64) -> String {
    if number != 0.0 && number.abs() < 0.001 || number.abs() >= 1e6 {
        return format!("{number:.2e}");
    }
    format!("{number:.3}")
}

/// A number, or a dash if it is missing.
pub(crate) fn optional_number(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), number)
}

/// The share of `part` in `whole`, in percent.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        "–".to_owned()
    } else {
        format!("{:.1} %", 100.0 * part as f64 / whole as f64)
    }
}

/// A duration, given in microseconds.
pub(crate) fn span(us: f64) -> String {
    match us {
        us if us < 999.5 => format!("{us:.0} µs"),
        us if us < 999_500.0 => format!("{:.1} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

/// A length in bytes.
pub(crate) fn bytes(bytes: f64) -> String {
    let (unit, name) = match bytes {
        _ if bytes < 1e3 => return format!("{bytes:.0} B"),
        _ if bytes < 1e6 => (1e3, "kB"),
        _ if bytes < 1e9 => (1e6, "MB"),
        _ => (1e9, "GB"),
    };
    format!("{:.1} {name}", bytes / unit)
}

/// A time in UTC, to the second.
pub(crate) fn time(unix_us: i64) -> String {
    utc::shown(unix_us).unwrap_or_else(|| "–".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_invisible_and_direction_changing_characters() {
        assert_eq!(
            text("a\u{202e}b\u{0}c\td\n\u{1b}[2J\u{200b}"),
            "a⟨202E⟩b⟨0000⟩c\td\n⟨001B⟩[2J⟨200B⟩"
        );
        assert_eq!(text("a\u{ad}b\u{3164}c\u{e0041}"), "a⟨00AD⟩b⟨3164⟩c⟨E0041⟩");
        assert_eq!(
            text("שלום ½ 🙂"),
            "שלום ½ 🙂",
            "other characters are unchanged"
        );
    }

    #[test]
    fn truncates_long_texts_with_a_note() {
        let long = text(&"é".repeat(MAX_TEXT_CHARACTERS + 1));
        assert!(
            long.ends_with("é… (40,002 bytes in all)"),
            "{}",
            &long[long.len() - 40..]
        );
        assert_eq!(cell(&"x".repeat(80)).len(), 80);
    }

    #[test]
    fn shows_both_ends_of_long_names() {
        let name = format!("{}{}", "é".repeat(40), "x".repeat(24));
        assert_eq!(middle(&name), name);
        let long = format!("start-{}-end\u{202e}", "x".repeat(100));
        assert!(middle(&long).starts_with("start-x") && middle(&long).ends_with("x-end⟨202E⟩"));
        assert_eq!(middle(&long).chars().count(), 64 + 5);
    }

    #[test]
    fn shortens_texts_to_one_line() {
        assert_eq!(short("a\n  b\t\u{202e}c"), "a b ⟨202E⟩c");
        assert_eq!(short(&"é".repeat(48)), "é".repeat(48));
        assert_eq!(short(&"é".repeat(49)), format!("{}…", "é".repeat(48)));
        assert_eq!(short(&format!("a{}b", " ".repeat(1_000))), "a…");
        assert_eq!(last_words(" a\n b\u{202e} \n"), "a b⟨202E⟩");
        assert_eq!(
            last_words(&"é".repeat(201)),
            format!("…{}", "é".repeat(200))
        );
    }

    #[test]
    fn formats_numbers() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [0.0, 0.5, -1.0, 1e-5, 2e7].map(number),
            ["0.000", "0.500", "-1.000", "1.00e-5", "2.00e7"]
        );
        assert_eq!(
            [850.0, 12_300.0, 4.5e6].map(span),
            ["850 µs", "12.3 ms", "4.5 s"]
        );
        assert_eq!(
            (percent(1, 8), percent(0, 0)),
            ("12.5 %".to_owned(), "–".to_owned())
        );
        assert_eq!(
            [12.0, 20_480.0, 3.25e6, 1.5e12].map(bytes),
            ["12 B", "20.5 kB", "3.2 MB", "1500.0 GB"]
        );
    }

    #[test]
    fn formats_times_in_utc() {
        assert_eq!(time(1_795_000_000_000_000), "2026-11-18 11:06:40");
        assert_eq!(time(i64::MAX), "–");
    }
}
