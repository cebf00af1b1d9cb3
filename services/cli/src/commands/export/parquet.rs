//! Parquet: typed columns, compressed with zstd. Rows are kept by column until a group of them is
//! worth writing, which bounds memory.

use std::io::Write;
use std::sync::Arc;

use assay_wire::grades::GradeBody;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

use super::Sink;
use super::columns::{COLUMNS, Column, Read};

/// Rows of a group, and bytes of text in it, at which it is written.
const GROUP_ROWS: usize = 65_536;
const GROUP_BYTES: usize = 64 << 20;

pub(super) struct Columns<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Values>,
    rows: usize,
    bytes: usize,
}

impl<W: Write + Send> Columns<W> {
    pub(super) fn new(out: W) -> anyhow::Result<Self> {
        let schema = parse_message_type(&schema())?;
        let properties =
            WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?));
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build()))?;
        Ok(Self {
            file,
            columns: empty(),
            rows: 0,
            bytes: 0,
        })
    }

    fn push(&mut self, grade: &GradeBody) {
        for (column, values) in COLUMNS.iter().zip(&mut self.columns) {
            self.bytes += values.push(column, grade);
        }
        self.rows += 1;
    }

    fn write_group(&mut self) -> anyhow::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for values in &self.columns {
            if let Some(mut column) = group.next_column()? {
                values.write(&mut column)?;
                column.close()?;
            }
        }
        group.close()?;
        (self.columns, self.rows, self.bytes) = (empty(), 0, 0);
        Ok(())
    }
}

impl<W: Write + Send> Sink for Columns<W> {
    fn write(&mut self, grades: &[GradeBody]) -> anyhow::Result<()> {
        for grade in grades {
            self.push(grade);
            if self.rows >= GROUP_ROWS || self.bytes >= GROUP_BYTES {
                self.write_group()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<()> {
        self.write_group()?;
        self.file.finish()?;
        Ok(self.file.inner_mut().flush()?)
    }
}

/// The schema in Parquet's own language.
fn schema() -> String {
    let fields = COLUMNS.iter().map(|Column { name, read }| match read {
        Read::Text(_) => format!("optional binary {name} (string);"),
        Read::Json(_) => format!("optional binary {name} (json);"),
        Read::Whole(_) => format!("optional int64 {name};"),
        Read::Number(_) => format!("optional double {name};"),
        Read::Truth(_) => format!("optional boolean {name};"),
        Read::Time(_) => format!("required int64 {name} (timestamp(micros, true));"),
    });
    format!(
        "message grade {{ {} }}",
        fields.collect::<Vec<_>>().join(" ")
    )
}

/// Values of one column that are there, and for every row whether one is.
struct Values {
    present: Vec<i16>,
    typed: Typed,
}

enum Typed {
    Texts(Vec<ByteArray>),
    Wholes(Vec<i64>),
    Numbers(Vec<f64>),
    Truths(Vec<bool>),
    /// Always there.
    Times(Vec<i64>),
}

fn empty() -> Vec<Values> {
    let typed = COLUMNS.iter().map(|column| match column.read {
        Read::Text(_) | Read::Json(_) => Typed::Texts(Vec::new()),
        Read::Whole(_) => Typed::Wholes(Vec::new()),
        Read::Number(_) => Typed::Numbers(Vec::new()),
        Read::Truth(_) => Typed::Truths(Vec::new()),
        Read::Time(_) => Typed::Times(Vec::new()),
    });
    typed
        .map(|typed| Values {
            present: Vec::new(),
            typed,
        })
        .collect()
}

impl Values {
    /// Adds the column's value; answers its bytes.
    fn push(&mut self, column: &Column, grade: &GradeBody) -> usize {
        fn add<T>(values: &mut Vec<T>, value: Option<T>) -> bool {
            let there = value.is_some();
            values.extend(value);
            there
        }
        let mut bytes = size_of::<i64>();
        let present = match (&mut self.typed, &column.read) {
            (Typed::Texts(values), Read::Text(read)) => add(
                values,
                read(grade).map(|text| {
                    bytes = text.len();
                    ByteArray::from(text.into_owned().into_bytes())
                }),
            ),
            (Typed::Texts(values), Read::Json(read)) => add(
                values,
                read(grade).map(|text| {
                    bytes = text.len();
                    ByteArray::from(text.into_bytes())
                }),
            ),
            (Typed::Wholes(values), Read::Whole(read)) => add(values, read(grade)),
            (Typed::Numbers(values), Read::Number(read)) => add(values, read(grade)),
            (Typed::Truths(values), Read::Truth(read)) => add(values, read(grade)),
            (Typed::Times(values), Read::Time(read)) => add(values, Some(read(grade))),
            // Both were made from the same table.
            _ => false,
        };
        self.present.push(present.into());
        bytes
    }

    fn write(&self, column: &mut SerializedColumnWriter<'_>) -> parquet::errors::Result<()> {
        let present = Some(self.present.as_slice());
        match &self.typed {
            Typed::Texts(values) => put::<ByteArrayType>(column, values, present),
            Typed::Wholes(values) => put::<Int64Type>(column, values, present),
            Typed::Numbers(values) => put::<DoubleType>(column, values, present),
            Typed::Truths(values) => put::<BoolType>(column, values, present),
            Typed::Times(values) => put::<Int64Type>(column, values, None),
        }
    }
}

fn put<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: &[T::T],
    present: Option<&[i16]>,
) -> parquet::errors::Result<()> {
    column
        .typed::<T>()
        .write_batch(values, present, None)
        .map(drop)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Field, RowAccessor};

    use super::super::columns::tests::rows;
    use super::*;

    fn file(grades: &[GradeBody]) -> SerializedFileReader<Bytes> {
        let mut columns = Columns::new(Vec::new()).unwrap();
        columns.write(grades).unwrap();
        columns.write_group().unwrap();
        SerializedFileReader::new(Bytes::from(columns.file.into_inner().unwrap())).unwrap()
    }

    #[test]
    fn a_file_reads_back_with_its_types() {
        let reader = file(&rows());
        let read: Vec<_> = reader
            .get_row_iter(None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let at = |name: &str| {
            COLUMNS
                .iter()
                .position(|column| column.name == name)
                .unwrap()
        };
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].get_string(at("run")).unwrap(), "r, \"one\"\n");
        assert_eq!(read[0].get_long(at("step")).unwrap(), -4);
        assert_eq!(read[0].get_double(at("score")).unwrap(), 0.1);
        assert!(!read[0].get_bool(at("pass")).unwrap());
        assert_eq!(
            read[0].get_timestamp_micros(at("time_us")).unwrap(),
            1_795_000_000_123_456
        );
        let evidence = &read[0].get_column_iter().nth(at("evidence")).unwrap().1;
        assert_eq!(evidence, &&Field::Str(r#"{"extracted":"½ 😀"}"#.to_owned()));
        for name in ["run", "step", "pass", "score", "evidence"] {
            assert_eq!(
                read[1].get_column_iter().nth(at(name)).unwrap().1,
                &Field::Null,
                "{name}"
            );
        }
    }

    #[test]
    fn long_files_have_several_groups() {
        let mut grades = rows();
        grades[0].evidence = serde_json::json!({ "message": "x".repeat(GROUP_BYTES / 4) });
        let grades: Vec<GradeBody> = std::iter::repeat_n(grades, 6).flatten().collect();
        let reader = file(&grades);
        assert!(reader.metadata().num_row_groups() > 1);
        assert_eq!(reader.metadata().file_metadata().num_rows(), 12);
    }
}
