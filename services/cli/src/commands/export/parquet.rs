//! Parquet: typed columns, compressed with zstd. Rows are buffered by column and written as row
//! groups of bounded size, which bounds memory.

use std::io::Write;
use std::sync::Arc;

use assay_wire::grades::GradeBody;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

use super::GradeWriter;
use super::columns::{COLUMNS, Column, Getter};

/// A row group is written when it has this many rows or bytes of text.
const GROUP_ROWS: usize = 65_536;
const GROUP_BYTES: usize = 64 << 20;

pub(super) struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<ColumnBuffer>,
    rows: usize,
    bytes: usize,
}

impl<W: Write + Send> ParquetWriter<W> {
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

impl<W: Write + Send> GradeWriter for ParquetWriter<W> {
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

/// The schema in Parquet's schema language.
fn schema() -> String {
    let fields = COLUMNS.iter().map(|Column { name, getter }| match getter {
        Getter::Text(_) => format!("optional binary {name} (string);"),
        Getter::Json(_) => format!("optional binary {name} (json);"),
        Getter::Integer(_) => format!("optional int64 {name};"),
        Getter::Number(_) => format!("optional double {name};"),
        Getter::Bool(_) => format!("optional boolean {name};"),
        Getter::Time(_) => format!("required int64 {name} (timestamp(micros, true));"),
    });
    format!(
        "message grade {{ {} }}",
        fields.collect::<Vec<_>>().join(" ")
    )
}

/// Buffered values of one column.
struct ColumnBuffer {
    /// Definition level of each row: 1 if the row has a value, 0 if it is null.
    present: Vec<i16>,
    /// The values that are not null.
    typed: TypedValues,
}

enum TypedValues {
    Texts(Vec<ByteArray>),
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    Bools(Vec<bool>),
    /// Never null.
    Times(Vec<i64>),
}

fn empty() -> Vec<ColumnBuffer> {
    let typed = COLUMNS.iter().map(|column| match column.getter {
        Getter::Text(_) | Getter::Json(_) => TypedValues::Texts(Vec::new()),
        Getter::Integer(_) => TypedValues::Integers(Vec::new()),
        Getter::Number(_) => TypedValues::Numbers(Vec::new()),
        Getter::Bool(_) => TypedValues::Bools(Vec::new()),
        Getter::Time(_) => TypedValues::Times(Vec::new()),
    });
    typed
        .map(|typed| ColumnBuffer {
            present: Vec::new(),
            typed,
        })
        .collect()
}

impl ColumnBuffer {
    /// Adds the value of a grade and returns its size in bytes.
    fn push(&mut self, column: &Column, grade: &GradeBody) -> usize {
        fn add<T>(values: &mut Vec<T>, value: Option<T>) -> bool {
            let is_present = value.is_some();
            values.extend(value);
            is_present
        }
        let mut bytes = size_of::<i64>();
        let present = match (&mut self.typed, &column.getter) {
            (TypedValues::Texts(values), Getter::Text(get)) => add(
                values,
                get(grade).map(|text| {
                    bytes = text.len();
                    ByteArray::from(text.into_owned().into_bytes())
                }),
            ),
            (TypedValues::Texts(values), Getter::Json(get)) => add(
                values,
                get(grade).map(|text| {
                    bytes = text.len();
                    ByteArray::from(text.into_bytes())
                }),
            ),
            (TypedValues::Integers(values), Getter::Integer(get)) => add(values, get(grade)),
            (TypedValues::Numbers(values), Getter::Number(get)) => add(values, get(grade)),
            (TypedValues::Bools(values), Getter::Bool(get)) => add(values, get(grade)),
            (TypedValues::Times(values), Getter::Time(get)) => add(values, Some(get(grade))),
            // Unreachable: buffers and columns are made from the same table.
            _ => false,
        };
        self.present.push(present.into());
        bytes
    }

    fn write(&self, column: &mut SerializedColumnWriter<'_>) -> parquet::errors::Result<()> {
        let present = Some(self.present.as_slice());
        match &self.typed {
            TypedValues::Texts(values) => put::<ByteArrayType>(column, values, present),
            TypedValues::Integers(values) => put::<Int64Type>(column, values, present),
            TypedValues::Numbers(values) => put::<DoubleType>(column, values, present),
            TypedValues::Bools(values) => put::<BoolType>(column, values, present),
            TypedValues::Times(values) => put::<Int64Type>(column, values, None),
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
        let mut columns = ParquetWriter::new(Vec::new()).unwrap();
        columns.write(grades).unwrap();
        columns.write_group().unwrap();
        SerializedFileReader::new(Bytes::from(columns.file.into_inner().unwrap())).unwrap()
    }

    #[test]
    fn parquet_reads_back_with_the_same_types() {
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
    fn large_files_have_several_row_groups() {
        let mut grades = rows();
        grades[0].evidence = serde_json::json!({ "message": "x".repeat(GROUP_BYTES / 4) });
        let grades: Vec<GradeBody> = std::iter::repeat_n(grades, 6).flatten().collect();
        let reader = file(&grades);
        assert!(reader.metadata().num_row_groups() > 1);
        assert_eq!(reader.metadata().file_metadata().num_rows(), 12);
    }
}
