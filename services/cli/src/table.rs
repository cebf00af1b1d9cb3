//! Rows in aligned columns.

use std::io::{self, Write};

/// Writes `rows` under `head`, each column as wide as its widest cell.
pub(crate) fn write<const N: usize>(out: &mut impl Write, head: [&str; N], rows: &[[String; N]]) -> io::Result<()> {
    let mut widths = head.map(|cell| cell.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    write_row(out, &head.map(str::to_owned), &widths)?;
    rows.iter().try_for_each(|row| write_row(out, row, &widths))
}

fn write_row<const N: usize>(out: &mut impl Write, row: &[String; N], widths: &[usize; N]) -> io::Result<()> {
    let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
    writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())
}

/// An absent value as an empty cell.
pub(crate) fn cell<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut out = Vec::new();
        let rows = [["λ".to_owned(), "1".to_owned()], ["longer".to_owned(), String::new()]];
        super::write(&mut out, ["NAME", "N"], &rows).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "NAME    N\nλ       1\nlonger\n");
    }
}
