//! How numbers, times and texts are shown. Completions are written by whoever wants to be rewarded,
//! so a text never moves what stands beside it: control characters and marks that turn the
//! direction of writing become visible.

use std::fmt;

use assay_core::visible::Visible;
use time::OffsetDateTime;

/// Longest text a page shows whole, in characters; the API has the rest.
pub(crate) const LONGEST: usize = 20_000;

/// Longest note of an operator, in bytes; as the API has it.
pub(crate) const LONGEST_NOTE: usize = 4_096;

/// A text made safe to look at. Escaping is the template's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'t>(pub(crate) &'t str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Visible::page(self.0).fmt(f)
    }
}

/// A text as a page shows it: made visible, and cut where it is too long.
pub(crate) fn text(text: &str) -> String {
    cut(text, LONGEST)
}

/// A text in a cell of a table.
pub(crate) fn cell(text: &str) -> String {
    cut(text, 80)
}

/// A name of a file or dataset: long ones differ at their end.
pub(crate) fn name(text: &str) -> String {
    cut(text, 300)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!(
            "{}… ({} bytes in all)",
            Shown(&text[..end]),
            count(text.len() as u64)
        ),
        None => Shown(text).to_string(),
    }
}

/// A whole number with its thousands apart.
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

/// A number with three places, or as many as a small one needs.
pub(crate) fn number(number: f64) -> String {
    if number != 0.0 && number.abs() < 0.001 || number.abs() >= 1e6 {
        return format!("{number:.2e}");
    }
    format!("{number:.3}")
}

/// A number that may be missing.
pub(crate) fn maybe(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), number)
}

/// A share of `whole`, in percent.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of grades are far below 2^52"
)]
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        "–".to_owned()
    } else {
        format!("{:.1} %", 100.0 * part as f64 / whole as f64)
    }
}

/// A time span given in microseconds.
pub(crate) fn span(us: f64) -> String {
    match us {
        us if us < 999.5 => format!("{us:.0} µs"),
        us if us < 999_500.0 => format!("{:.1} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

/// A length in bytes.
pub(crate) fn bytes(bytes: f64) -> String {
    if bytes < 1_000.0 {
        format!("{bytes:.0} B")
    } else {
        format!("{:.1} kB", bytes / 1e3)
    }
}

/// A point in time, in UTC to the second.
pub(crate) fn time(unix_us: i64) -> String {
    let Ok(time) = OffsetDateTime::from_unix_timestamp(unix_us.div_euclid(1_000_000)) else {
        return "–".to_owned();
    };
    let (date, hour, minute, second) = (time.date(), time.hour(), time.minute(), time.second());
    format!("{date} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_hide_or_turn_text_is_visible() {
        assert_eq!(
            text("a\u{202e}b\u{0}c\td\n\u{1b}[2J\u{200b}"),
            "a⟨202E⟩b⟨0000⟩c\td\n⟨001B⟩[2J⟨200B⟩"
        );
        assert_eq!(text("a\u{ad}b\u{3164}c\u{e0041}"), "a⟨00AD⟩b⟨3164⟩c⟨E0041⟩");
        assert_eq!(text("שלום ½ 🙂"), "שלום ½ 🙂", "writing itself stays");
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let long = text(&"é".repeat(LONGEST + 1));
        assert!(
            long.ends_with("é… (40,002 bytes in all)"),
            "{}",
            &long[long.len() - 40..]
        );
        assert_eq!(cell(&"x".repeat(80)).len(), 80);
    }

    #[test]
    fn numbers_read_at_a_glance() {
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
            (bytes(12.0), bytes(20_480.0)),
            ("12 B".to_owned(), "20.5 kB".to_owned())
        );
    }

    #[test]
    fn times_are_utc() {
        assert_eq!(time(1_795_000_000_000_000), "2026-11-18 11:06:40");
        assert_eq!(time(i64::MAX), "–");
    }
}
