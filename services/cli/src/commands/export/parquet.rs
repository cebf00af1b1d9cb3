//! Parquet: typed columns, compressed with zstd. Rows are buffered by column and written as row
//! groups of bounded size, which bounds memory.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

use super::columns::{Cell, Column, Kind, cells, columns};
use super::writer::{GradeWriter, Row};

/// A row group is written when it has this many rows or bytes of text.
const GROUP_ROWS: usize = 65_536;
const GROUP_BYTES: usize = 64 << 20;

pub(super) struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Column>,
    /// One per column.
    buffers: Vec<ColumnBuffer>,
    rows: usize,
    bytes: usize,
}

impl<W: Write + Send> ParquetWriter<W> {
    pub(super) fn new(out: W, with_texts: bool) -> anyhow::Result<Self> {
        let columns = columns(with_texts);
        let schema = parse_message_type(&schema(&columns))?;
        let properties =
            WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?));
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build()))?;
        Ok(Self {
            file,
            buffers: empty(&columns),
            columns,
            rows: 0,
            bytes: 0,
        })
    }

    fn push(&mut self, row: &Row) -> anyhow::Result<()> {
        let cells = cells(&self.columns, row)?;
        for (buffer, cell) in self.buffers.iter_mut().zip(cells) {
            self.bytes += buffer.push(cell);
        }
        self.rows += 1;
        Ok(())
    }

    fn write_group(&mut self) -> anyhow::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for values in &self.buffers {
            if let Some(mut column) = group.next_column()? {
                values.write(&mut column)?;
                column.close()?;
            }
        }
        group.close()?;
        (self.buffers, self.rows, self.bytes) = (empty(&self.columns), 0, 0);
        Ok(())
    }
}

impl<W: Write + Send> GradeWriter for ParquetWriter<W> {
    fn write(&mut self, rows: &[Row]) -> anyhow::Result<()> {
        for row in rows {
            self.push(row)?;
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
fn schema(columns: &[Column]) -> String {
    let fields = columns.iter().map(|Column { name, kind }| match kind {
        Kind::Text | Kind::TextOrJson => format!("optional binary {name} (string);"),
        Kind::Json => format!("optional binary {name} (json);"),
        Kind::Integer => format!("optional int64 {name};"),
        Kind::Number => format!("optional double {name};"),
        Kind::Bool => format!("optional boolean {name};"),
        Kind::Time => format!("required int64 {name} (timestamp(micros, true));"),
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

fn empty(columns: &[Column]) -> Vec<ColumnBuffer> {
    let typed = columns.iter().map(|column| match column.kind {
        Kind::Text | Kind::Json | Kind::TextOrJson => TypedValues::Texts(Vec::new()),
        Kind::Integer => TypedValues::Integers(Vec::new()),
        Kind::Number => TypedValues::Numbers(Vec::new()),
        Kind::Bool => TypedValues::Bools(Vec::new()),
        Kind::Time => TypedValues::Times(Vec::new()),
    });
    typed
        .map(|typed| ColumnBuffer {
            present: Vec::new(),
            typed,
        })
        .collect()
}

impl ColumnBuffer {
    /// Adds a value and returns its size in bytes.
    fn push(&mut self, cell: Cell) -> usize {
        let mut bytes = size_of::<i64>();
        let is_present = match (&mut self.typed, cell) {
            (TypedValues::Texts(values), Cell::Text(text)) => {
                bytes = text.len();
                values.push(ByteArray::from(text.into_bytes()));
                true
            }
            (TypedValues::Integers(values) | TypedValues::Times(values), Cell::Integer(value)) => {
                values.push(value);
                true
            }
            (TypedValues::Numbers(values), Cell::Number(value)) => {
                values.push(value);
                true
            }
            (TypedValues::Bools(values), Cell::Bool(value)) => {
                values.push(value);
                true
            }
            // Cells are null or have the type of their column.
            _ => false,
        };
        self.present.push(is_present.into());
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
pub(super) mod tests {
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Field, RowAccessor};

    use super::super::columns::tests::{plain, rows};
    use assay_core::Evidence;

    use super::*;

    pub(in super::super) fn file(rows: &[Row]) -> SerializedFileReader<Bytes> {
        let mut columns = ParquetWriter::new(Vec::new(), false).unwrap();
        columns.write(rows).unwrap();
        columns.write_group().unwrap();
        SerializedFileReader::new(Bytes::from(columns.file.into_inner().unwrap())).unwrap()
    }

    /// The schema, and each row on a line.
    pub(in super::super) fn listed(file: &SerializedFileReader<Bytes>) -> String {
        let mut listed = Vec::new();
        let schema = file.metadata().file_metadata().schema();
        parquet::schema::printer::print_schema(&mut listed, schema);
        let mut listed = String::from_utf8(listed).unwrap();
        for row in file.get_row_iter(None).unwrap() {
            listed.push_str(&format!("{}\n", row.unwrap()));
        }
        listed
    }

    #[test]
    fn parquet_reads_back_with_the_same_types() {
        let reader = file(&plain());
        let read: Vec<_> = reader
            .get_row_iter(None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let at = |name: &str| {
            columns(false)
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
        let evidence = Evidence::new().value("message", "x".repeat(GROUP_BYTES / 4));
        grades[0].grade.evidence = Some(evidence);
        let grades = std::iter::repeat_n(grades, 6).flatten();
        let rows: Vec<Row> = grades.map(|grade| Row::Grade(Box::new(grade))).collect();
        let reader = file(&rows);
        assert!(reader.metadata().num_row_groups() > 1);
        assert_eq!(reader.metadata().file_metadata().num_rows(), 12);
    }
}
