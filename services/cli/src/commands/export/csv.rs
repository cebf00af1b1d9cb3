//! Comma-separated values (RFC 4180) with a header. Absent values are empty cells. Numbers have
//! enough digits to read back as the same value.

use std::io::Write;

use assay_wire::grades::GradeBody;
use csv::Writer;

use super::columns::{Cell, Column, cells, columns};
use super::writer::GradeWriter;

pub(super) struct CsvWriter<W: Write> {
    out: Writer<W>,
    columns: Vec<Column>,
}

impl<W: Write> CsvWriter<W> {
    pub(super) fn new(out: W) -> anyhow::Result<Self> {
        let (mut out, columns) = (Writer::from_writer(out), columns());
        out.write_record(columns.iter().map(|column| &column.name))?;
        Ok(Self { out, columns })
    }

    #[cfg(test)]
    pub(super) fn into_bytes(self) -> W {
        self.out.into_inner().ok().unwrap()
    }
}

impl<W: Write> GradeWriter for CsvWriter<W> {
    fn write(&mut self, grades: &[GradeBody]) -> anyhow::Result<()> {
        for grade in grades {
            for cell in cells(&self.columns, grade)? {
                let text = match cell {
                    Cell::Null => String::new(),
                    Cell::Text(text) => text,
                    Cell::Integer(integer) => integer.to_string(),
                    Cell::Number(number) => number.to_string(),
                    Cell::Bool(value) => value.to_string(),
                };
                self.out.write_field(text)?;
            }
            self.out.write_record(None::<&[u8]>)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<()> {
        Ok(self.out.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::tests::rows;
    use super::*;

    #[test]
    fn csv_reads_back_with_the_same_values() {
        let mut table = CsvWriter::new(Vec::new()).unwrap();
        table.write(&rows()).unwrap();
        let bytes = table.into_bytes();
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let head = reader.headers().unwrap().clone();
        let cell = |row: &csv::StringRecord, name: &str| {
            let at = head.iter().position(|column| column == name).unwrap();
            row[at].to_owned()
        };
        let read: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!((head.len(), read.len()), (columns().len(), 2));
        assert_eq!(cell(&read[0], "run"), "r, \"one\"\n");
        assert_eq!(cell(&read[0], "score").parse::<f64>().unwrap(), 0.1);
        assert_eq!(cell(&read[0], "advantage").parse::<f64>().unwrap(), 1e-300);
        assert_eq!(cell(&read[0], "evidence"), r#"{"extracted":"½ 😀"}"#);
        assert_eq!(cell(&read[0], "time_us"), "1795000000123456");
        assert_eq!(
            (cell(&read[1], "run"), cell(&read[1], "pass")),
            (String::new(), String::new())
        );
        assert_eq!(cell(&read[1], "error"), r#"{"code":"cancelled"}"#);
    }
}
