//! Comma-separated values (RFC 4180) with a header. Absent values are empty cells. Numbers have
//! enough digits to read back as the same value.

use std::io::Write;

use assay_wire::grades::GradeBody;
use csv::Writer;

use super::GradeWriter;
use super::columns::{COLUMNS, Getter};

pub(super) struct CsvWriter<W: Write>(Writer<W>);

impl<W: Write> CsvWriter<W> {
    pub(super) fn new(out: W) -> anyhow::Result<Self> {
        let mut writer = Writer::from_writer(out);
        writer.write_record(COLUMNS.iter().map(|column| column.name))?;
        Ok(Self(writer))
    }
}

impl<W: Write> GradeWriter for CsvWriter<W> {
    fn write(&mut self, grades: &[GradeBody]) -> anyhow::Result<()> {
        for grade in grades {
            for column in COLUMNS {
                match &column.getter {
                    Getter::Text(get) => self
                        .0
                        .write_field(get(grade).unwrap_or_default().as_bytes())?,
                    Getter::Json(get) => self.0.write_field(get(grade).unwrap_or_default())?,
                    Getter::Integer(get) => self.0.write_field(text_or_empty(get(grade)))?,
                    Getter::Number(get) => self.0.write_field(text_or_empty(get(grade)))?,
                    Getter::Bool(get) => self.0.write_field(text_or_empty(get(grade)))?,
                    Getter::Time(get) => self.0.write_field(get(grade).to_string())?,
                }
            }
            self.0.write_record(None::<&[u8]>)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<()> {
        Ok(self.0.flush()?)
    }
}

fn text_or_empty<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::columns::tests::rows;
    use super::*;

    #[test]
    fn csv_reads_back_with_the_same_values() {
        let mut table = CsvWriter::new(Vec::new()).unwrap();
        table.write(&rows()).unwrap();
        let bytes = table.0.into_inner().unwrap();
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let head = reader.headers().unwrap().clone();
        let cell = |row: &csv::StringRecord, name: &str| {
            let at = head.iter().position(|column| column == name).unwrap();
            row[at].to_owned()
        };
        let read: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!((head.len(), read.len()), (COLUMNS.len(), 2));
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
