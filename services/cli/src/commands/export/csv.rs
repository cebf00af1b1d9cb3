//! Comma-separated values (RFC 4180) with a header. Absent values are empty cells. Numbers have
//! enough digits to read back as the same value.
//!
//! Spreadsheets run cells as formulas, and trainers choose texts such as names of runs. Texts that
//! a spreadsheet may take for a formula get an apostrophe in front, as OWASP recommends ("CSV
//! Injection"). So do texts that start with an apostrophe: a program gets the text back by removing
//! one apostrophe from the start of a text that has any.

use std::io::{self, Write};

use csv::Writer;

use super::columns::{Cell, Column, cells, columns};
use super::writer::{GradeWriter, Row};

/// First characters with which spreadsheets recognise a formula, or which they skip before one. The
/// wide forms are those of East Asian input.
const FORMULA_STARTS: [char; 11] = [
    '=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
];

/// The cell of a text.
fn text_cell(text: String) -> String {
    if text.starts_with(FORMULA_STARTS) || text.starts_with('\'') {
        format!("'{text}")
    } else {
        text
    }
}

pub(super) struct CsvWriter<W: Write> {
    out: Writer<W>,
    columns: Vec<Column>,
}

/// The error of the output, which shows whether its reader has closed it: that of the library has
/// no source.
fn output_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
}

impl<W: Write> CsvWriter<W> {
    pub(super) fn new(out: W, with_texts: bool) -> anyhow::Result<Self> {
        let (mut out, columns) = (Writer::from_writer(out), columns(with_texts));
        out.write_record(columns.iter().map(|column| &column.name))
            .map_err(output_error)?;
        Ok(Self { out, columns })
    }

    #[cfg(test)]
    pub(super) fn into_bytes(self) -> W {
        self.out.into_inner().ok().unwrap()
    }
}

impl<W: Write> GradeWriter for CsvWriter<W> {
    fn write(&mut self, rows: &[Row]) -> anyhow::Result<()> {
        for row in rows {
            for cell in cells(&self.columns, row)? {
                let text = match cell {
                    Cell::Null => String::new(),
                    Cell::Text(text) => text_cell(text),
                    Cell::Integer(integer) => integer.to_string(),
                    Cell::Number(number) => number.to_string(),
                    Cell::Bool(value) => value.to_string(),
                };
                self.out.write_field(text).map_err(output_error)?;
            }
            self.out.write_record(None::<&[u8]>).map_err(output_error)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<()> {
        Ok(self.out.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::tests::{plain, rows};
    use super::*;

    #[test]
    fn no_text_is_a_formula_and_every_text_reads_back() {
        let texts = [
            "=1+1",
            "+1",
            "-1",
            "@SUM(1)",
            "\t=1",
            "\r=1",
            "\n=1",
            "\u{ff1d}1",
            "'",
            "'=1",
            "''",
            "a=1",
            "",
            "1",
        ];
        for text in texts {
            let cell = text_cell(text.to_owned());
            assert!(!cell.starts_with(FORMULA_STARTS), "{cell:?}");
            assert_eq!(cell.strip_prefix('\'').unwrap_or(&cell), text);
        }
        let mut grade = rows().swap_remove(0);
        grade.source.run = Some("=cmd|'/C calc'!A0".into());
        let mut table = CsvWriter::new(Vec::new(), false).unwrap();
        table.write(&[Row::Grade(Box::new(grade))]).unwrap();
        let bytes = table.into_bytes();
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let head = reader.headers().unwrap().clone();
        let row = reader.records().next().unwrap().unwrap();
        let cell = |name: &str| &row[head.iter().position(|column| column == name).unwrap()];
        assert_eq!(cell("run"), "'=cmd|'/C calc'!A0");
        assert_eq!(
            (cell("step"), cell("reward")),
            ("-4", "-0.3"),
            "numbers stay numbers"
        );
    }

    #[test]
    fn errors_of_the_output_keep_their_cause() {
        struct Closed;

        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::other("closed by its reader"))
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        let mut table = CsvWriter::new(Closed, false).unwrap();
        let written = (0..1_000).try_for_each(|_| table.write(&plain()));
        let error = written.unwrap_err();
        let cause = error.downcast_ref::<io::Error>().unwrap();
        assert_eq!(cause.to_string(), "closed by its reader");
    }

    #[test]
    fn csv_reads_back_with_the_same_values() {
        let mut table = CsvWriter::new(Vec::new(), false).unwrap();
        table.write(&plain()).unwrap();
        let bytes = table.into_bytes();
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let head = reader.headers().unwrap().clone();
        let cell = |row: &csv::StringRecord, name: &str| {
            let at = head.iter().position(|column| column == name).unwrap();
            row[at].to_owned()
        };
        let read: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!((head.len(), read.len()), (columns(false).len(), 2));
        assert_eq!(cell(&read[0], "run"), "r, \"one\"\n");
        assert_eq!(cell(&read[0], "score").parse::<f64>().unwrap(), 0.1);
        assert_eq!(cell(&read[0], "advantage").parse::<f64>().unwrap(), 1e-300);
        assert_eq!(cell(&read[0], "evidence"), r#"{"extracted":"½ 😀"}"#);
        assert_eq!(cell(&read[0], "time_us"), "1795000000123456");
        assert_eq!(
            (cell(&read[1], "run"), cell(&read[1], "pass")),
            (String::new(), String::new())
        );
        assert_eq!(
            cell(&read[1], "error"),
            r#"{"code":"cancelled","message":"m","retryable":true}"#
        );
    }
}
