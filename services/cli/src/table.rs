//! Tables with aligned columns.

use std::io::{self, Write};

use assay_base::utc;
use assay_base::visible::Visible;

/// Writes `rows` under `head`, each column as wide as its widest cell.
pub(crate) fn write<const N: usize>(
    out: &mut impl Write,
    head: [&str; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let rows: Vec<[String; N]> = rows
        .iter()
        .map(|row| std::array::from_fn(|at| printable(&row[at])))
        .collect();
    let mut widths = head.map(|cell| cell.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    write_row(out, &head.map(str::to_owned), &widths)?;
    rows.iter().try_for_each(|row| write_row(out, row, &widths))
}

fn write_row<const N: usize>(
    out: &mut impl Write,
    row: &[String; N],
    widths: &[usize; N],
) -> io::Result<()> {
    let cells = row
        .iter()
        .zip(widths)
        .map(|(cell, width)| format!("{cell:width$}"));
    writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())
}

/// Longest cell, in characters.
const MAX_WIDTH: usize = 512;

/// A cell that is safe to print on a terminal: one line, escaped, truncated if too long.
pub(crate) fn printable(cell: &str) -> String {
    let end = cell
        .char_indices()
        .nth(MAX_WIDTH)
        .map_or(cell.len(), |(end, _)| end);
    Visible::line(&cell[..end]).to_string()
}

/// An absent value as an empty cell.
pub(crate) fn cell<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A time in UTC, to the second, in a form that options read: `2026-11-18T11:06:40Z`.
pub(crate) fn time(unix_us: i64) -> String {
    utc::shown(unix_us).map_or_else(|| "-".to_owned(), |time| time.replacen(' ', "T", 1) + "Z")
}

#[cfg(test)]
mod tests {
    #[test]
    fn shows_times_in_utc() {
        assert_eq!(super::time(1_795_000_000_123_456), "2026-11-18T11:06:40Z");
        assert_eq!(super::time(i64::MAX), "-");
    }

    #[test]
    fn aligns_columns_to_their_widest_cell() {
        let mut out = Vec::new();
        let rows = [
            ["λ".to_owned(), "1".to_owned()],
            ["longer".to_owned(), String::new()],
        ];
        super::write(&mut out, ["NAME", "N"], &rows).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "NAME    N\nλ       1\nlonger\n"
        );
    }

    #[test]
    fn escapes_and_truncates_cells() {
        let mut out = Vec::new();
        super::write(
            &mut out,
            ["NAME"],
            &[
                ["\u{1b}[2J\n\u{202e}\u{9b}".to_owned()],
                ["x".repeat(100_000)],
            ],
        )
        .unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            !text.contains(['\u{1b}', '\u{202e}', '\u{9b}'])
                && text.lines().count() == 3
                && text.len() < 2_000,
            "{text}"
        );
    }
}
