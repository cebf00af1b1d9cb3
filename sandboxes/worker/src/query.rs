//! Requests to workers about databases, and their replies. A database is an image: the bytes of an
//! SQLite file. They never contain gold results: a worker runs statements, and the caller compares
//! the results.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer};
use serde_bytes::ByteBuf;

use crate::request::attached;
use crate::{Message, WorkerRequest, coded_by_serde};

/// Limit on the steps of the scripts of a database: enough for millions of rows.
pub const BUILD_STEPS: u64 = 300_000_000;

/// Most bytes of a run in a reply in addition to its rows: column names, a message.
pub const RUN_OVERHEAD: u64 = 2 << 20;

/// Longest image, in bytes.
pub const MAX_IMAGE: usize = 128 << 20;

/// Most sample rows of each table in a description.
pub const SAMPLE: usize = 200;

/// Longest text or blob in sample rows, in bytes. Longer ones are truncated.
pub const SAMPLE_CELL: usize = 16_000;

/// Bytes of sample rows over all tables, after which no more rows are sampled.
pub const SAMPLE_BYTES: usize = 16 << 20;

/// A request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Request {
    /// Builds an image.
    Build(Build),
    /// Describes the tables, keys and some rows of an image.
    Describe(Image),
    /// Runs statements, each on several images.
    Run(Run),
    /// Runs a script in a session with a database of its own.
    Call(Call),
}

impl Message for Request {
    coded_by_serde!();

    fn attachment(&self) -> Option<&Bytes> {
        match self {
            Self::Call(call) => call.image.as_ref(),
            _ => None,
        }
    }

    fn attach(&mut self, attachment: Bytes) {
        if let Self::Call(call) = self
            && let Some(image) = &mut call.image
        {
            *image = attachment;
        }
    }
}

impl Message for Reply {
    coded_by_serde!();

    fn attachment(&self) -> Option<&Bytes> {
        match self {
            Self::Called(called) => called.image.as_ref(),
            _ => None,
        }
    }

    fn attach(&mut self, attachment: Bytes) {
        if let Self::Called(called) = self
            && let Some(image) = &mut called.image
        {
            *image = attachment;
        }
    }
}

impl WorkerRequest for Request {
    type Reply = Reply;
    const KIND: u8 = 2;

    fn probe() -> Self {
        Self::Build(Build::default())
    }

    fn check(reply: &Reply) -> Result<(), &'static str> {
        reply.check()
    }
}

/// A database to build: an image to start from, scripts to run on it, and rows that replace its
/// own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The image to start from; an empty database if `None`.
    pub image: Option<ByteBuf>,
    /// Scripts, which run in order.
    pub scripts: Vec<String>,
    /// If set, every table is emptied and these rows are inserted. Rows that violate a constraint
    /// of the schema are left out.
    pub rows: Option<Vec<TableRows>>,
}

/// Rows for one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRows {
    /// The table.
    pub table: String,
    /// The columns that receive values, in the order of the cells.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Rows,
}

/// An image by its hash, with its bytes if the worker may not have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// BLAKE3 of the bytes.
    pub hash: [u8; 32],
    /// The bytes.
    pub bytes: Option<ByteBuf>,
}

/// Statements to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The statements. They are independent of each other.
    pub statements: Vec<String>,
    /// The databases on which each statement is run, in order, each with its limit on steps.
    pub on: Vec<(Image, u64)>,
    /// Limits of a statement on each database.
    pub limits: Limits,
    /// The order in which rows are read.
    pub order: ReadOrder,
    /// Most bytes of runs in the reply, by [`Ran::bytes`]. [`Limits::bytes`] plus [`RUN_OVERHEAD`]
    /// is enough for any single run.
    pub reply_bytes: u64,
}

/// One call of a session with a database of its own. A session that only reads an image that others
/// use as well needs no calls: each is a [`Run`] of one statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The image that the call before left, see [`Called::image`], or with which the session
    /// starts; an empty database if `None`.
    #[serde(with = "attached")]
    pub image: Option<Bytes>,
    /// Statements, which may write. They run in order up to the first that fails.
    pub script: String,
    /// Limit on the steps of all statements together.
    pub steps: u64,
    /// Limits of each statement.
    pub limits: Limits,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Called {
    /// How the last statement that ran ended. The rows are those of the last statement that has
    /// columns, and the steps are those of all statements.
    pub ran: Ran,
    /// The database after the call. `None` if it has not changed: no statement wrote to it, or one
    /// failed, in which case the call has no effect.
    #[serde(with = "attached")]
    pub image: Option<Bytes>,
}

/// The order in which rows are read where a statement leaves it undefined. A result that differs
/// between two orders is not defined by the statement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadOrder {
    /// The order in which they are stored.
    #[default]
    Stored,
    /// Scans run backwards, except those of a statement that sorts or groups.
    ReverseScans,
    /// Every table stores its rows in reverse order. Equal to [`Self::ReverseScans`] if the
    /// statement reads row ids, or if the database is too large to be copied.
    ReversedRows,
}

/// Limits of a statement in addition to its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Rows of the result.
    pub rows: u64,
    /// Bytes of the rows.
    pub bytes: u64,
    /// Bytes of memory during the run.
    pub memory_bytes: u64,
    /// Whether the statement may compute long values: 100,000 bytes instead of 16,000, or of 8,000
    /// if it reads JSON. The cost of a step grows with the longest value. Values of the database
    /// may have any length.
    pub long_values: bool,
    /// Limit on steps of a statement that computes or reads values of more than 1,000 bytes, or
    /// reads JSON. It has no effect with `long_values`, or if the limit on steps is lower.
    pub long_value_steps: u64,
}

/// A reply.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Reply {
    /// To [`Request::Build`]: the image, or the error in the scripts.
    Built(Result<ByteBuf, String>),
    /// To [`Request::Describe`].
    Described(Vec<Table>),
    /// To [`Request::Run`]: for each statement its runs, up to the first that does not end with
    /// rows. Runs that do not fit into [`Run::reply_bytes`] are left out and must be requested
    /// again: databases of the last statement, and all statements after it. There is at least one
    /// run.
    Ran(Vec<Vec<Ran>>),
    /// To [`Request::Call`].
    Called(Called),
    /// To [`Request::Run`]: the first run alone does not fit into [`Run::reply_bytes`].
    TooLarge {
        /// Size of the run, by [`Ran::bytes`].
        bytes: u64,
    },
    /// The worker does not have an image; the request must be repeated with the bytes.
    Missing,
    /// The worker cannot serve the request: an image is not a database, or needs too many resources
    /// to read. Not the statement's fault.
    Unable(String),
}

/// A database server that serves the same requests as workers. It limits time, not steps, so the
/// same statement may end differently when repeated.
pub trait Server: Send + Sync {
    /// Builds a database from these scripts, unless it exists. Returns its name.
    fn build<'a>(&'a self, scripts: &'a [String]) -> Served<'a, String>;

    /// Describes the tables of a database.
    fn describe<'a>(&'a self, database: &'a str) -> Served<'a, Vec<Table>>;

    /// Runs one statement on a database. With an order other than [`ReadOrder::Stored`], rows come
    /// in another order if the statement does not define one.
    fn run<'a>(
        &'a self,
        database: &'a str,
        sql: &'a str,
        limits: Limits,
        order: ReadOrder,
    ) -> Served<'a, Ran>;
}

/// The future of a [`Server`]'s reply.
pub type Served<'a, T> = Pin<Box<dyn Future<Output = Result<T, ServerError>> + Send + 'a>>;

/// A [`Server`] did not serve a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// The scripts do not build a database.
    #[error("{0}")]
    Scripts(String),
    /// The server cannot be reached, or its configuration does not allow the required operations.
    #[error("the database server does not answer: {0}")]
    Unreachable(String),
}

/// How a statement ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// It returned all its rows.
    Rows,
    /// The text contains no statement.
    Nothing,
    /// The text contains more than one statement.
    Several,
    /// The statement is not a query: it returns no rows, would write, or explains.
    NotAQuery,
    /// It uses an operation that queries may not use: the operation.
    Denied(String),
    /// The text is not a valid statement: the message.
    Syntax(String),
    /// It refers to something that does not exist, or fails while it runs: the message.
    Error(String),
    /// It used up its steps.
    OutOfSteps,
    /// It requested more memory than allowed.
    OutOfMemory,
    /// It returned more rows or bytes than allowed.
    TooManyRows,
    /// The statement, or a value that it computes, is too long.
    TooLong,
}

/// One run of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows, if it ended with [`End::Rows`].
    pub rows: Rows,
    /// Steps: instructions of the virtual machine, with a surcharge for long texts. 0 from a
    /// [`Server`], which does not count them.
    pub steps: u64,
}

impl Ran {
    /// A run without rows.
    #[must_use]
    pub fn ended(end: End) -> Self {
        Self {
            end,
            columns: Vec::new(),
            rows: Rows::default(),
            steps: 0,
        }
    }

    /// Upper bound on its size in a reply, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        // Tags, lengths and counts take at most ten bytes each.
        const FIXED: usize = 64;
        const NAME: usize = 10;
        let message = match &self.end {
            End::Denied(text) | End::Syntax(text) | End::Error(text) => text.len(),
            _ => 0,
        };
        let names: usize = self.columns.iter().map(|name| NAME + name.len()).sum();
        (FIXED + message + names + self.rows.bytes()) as u64
    }
}

/// The description of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns, except generated ones.
    pub columns: Vec<Column>,
    /// Sets of columns that are unique together, by index. The primary key, if there is one, is
    /// first.
    pub keys: Vec<Vec<usize>>,
    /// Whether the first of the keys is the primary key.
    pub has_primary_key: bool,
    /// References to other tables.
    pub foreign_keys: Vec<ForeignKey>,
    /// Number of rows.
    pub count: u64,
    /// Rows sampled across the table: at most [`SAMPLE`], fewer if [`SAMPLE_BYTES`] are used up.
    /// Texts and blobs are truncated to [`SAMPLE_CELL`] bytes.
    pub sample: Rows,
}

/// The description of a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its declared type.
    pub declared: String,
    /// Whether it is declared `NOT NULL`.
    pub not_null: bool,
    /// Whether it is NULL in any row.
    pub has_null: bool,
    /// Whether its values differ in all rows.
    pub is_distinct: bool,
}

/// A reference to another table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// The referring columns, by index.
    pub columns: Vec<usize>,
    /// The referenced table.
    pub table: String,
    /// The referenced columns, by name.
    pub references: Vec<String>,
}

/// One cell of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// A binary floating-point number.
    Real(f64),
    /// A text, usually in UTF-8. A database may contain other bytes.
    Text(&'a [u8]),
    /// Bytes.
    Blob(&'a [u8]),
}

/// Rows of equal width, packed: each cell is a tag and a value. Cheap to clone: clones share the
/// cells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ReceivedRows")]
pub struct Rows {
    width: u32,
    count: u64,
    #[serde(serialize_with = "as_bytes")]
    cells: Arc<Vec<u8>>,
}

fn as_bytes<S: Serializer>(bytes: &Arc<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    serde_bytes::serialize(bytes.as_slice(), serializer)
}

/// Rows before validation: `count` and `width` may claim more cells than there are.
#[derive(Deserialize)]
struct ReceivedRows {
    width: u32,
    count: u64,
    #[serde(with = "serde_bytes")]
    cells: Vec<u8>,
}

impl TryFrom<ReceivedRows> for Rows {
    type Error = &'static str;

    fn try_from(received: ReceivedRows) -> Result<Self, Self::Error> {
        let ReceivedRows {
            width,
            count,
            cells,
        } = received;
        let (mut rest, mut found) = (cells.as_slice(), 0u64);
        while !rest.is_empty() {
            next_cell(&mut rest).ok_or("a cell of a row is truncated or of an unknown type")?;
            found += 1;
        }
        // Rows without cells take no bytes, so their number would be unbounded.
        let is_complete =
            u64::from(width).checked_mul(count) == Some(found) && (width > 0 || count == 0);
        if is_complete {
            Ok(Self {
                width,
                count,
                cells: Arc::new(cells),
            })
        } else {
            Err("the rows do not have the number of cells that they claim")
        }
    }
}

impl Rows {
    /// An empty list of rows of `width` cells each.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self {
            width: u32::try_from(width).unwrap_or(u32::MAX),
            count: 0,
            cells: Arc::default(),
        }
    }

    /// Number of cells in each row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width as usize
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::try_from(self.count).unwrap_or(usize::MAX)
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Size of the packed rows, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.cells.len()
    }

    /// Appends a row. Cells beyond the width are left out, and missing ones are NULL.
    pub fn push<'a>(&mut self, row: impl IntoIterator<Item = Value<'a>>) {
        let mut row = row.into_iter();
        let cells = Arc::make_mut(&mut self.cells);
        for _ in 0..self.width {
            push_cell(cells, row.next().unwrap_or(Value::Null));
        }
        self.count += 1;
    }

    /// The cells of all rows, row by row.
    pub fn cells(&self) -> impl Iterator<Item = Value<'_>> {
        let mut rest = self.cells.as_slice();
        std::iter::from_fn(move || next_cell(&mut rest))
    }

    /// The rows.
    pub fn rows(&self) -> impl Iterator<Item = Vec<Value<'_>>> {
        let mut cells = self.cells();
        (0..self.len()).map(move |_| cells.by_ref().take(self.width()).collect())
    }
}

fn push_cell(cells: &mut Vec<u8>, cell: Value<'_>) {
    let mut append = |tag: u8, header: &[u8], bytes: &[u8]| {
        cells.push(tag);
        cells.extend_from_slice(header);
        cells.extend_from_slice(bytes);
    };
    match cell {
        Value::Null => append(0, &[], &[]),
        Value::Integer(integer) => append(1, &integer.to_le_bytes(), &[]),
        Value::Real(real) => append(2, &real.to_bits().to_le_bytes(), &[]),
        Value::Text(text) => append(3, &(text.len() as u64).to_le_bytes(), text),
        Value::Blob(bytes) => append(4, &(bytes.len() as u64).to_le_bytes(), bytes),
    }
}

fn next_cell<'a>(rest: &mut &'a [u8]) -> Option<Value<'a>> {
    fn eight_bytes(rest: &mut &[u8]) -> Option<[u8; 8]> {
        let (head, tail) = rest.split_first_chunk::<8>()?;
        *rest = tail;
        Some(*head)
    }
    let (tag, tail) = rest.split_first()?;
    *rest = tail;
    Some(match tag {
        0 => Value::Null,
        1 => Value::Integer(i64::from_le_bytes(eight_bytes(rest)?)),
        2 => Value::Real(f64::from_bits(u64::from_le_bytes(eight_bytes(rest)?))),
        3 | 4 => {
            let length = usize::try_from(u64::from_le_bytes(eight_bytes(rest)?)).ok()?;
            let (bytes, tail) = rest.split_at_checked(length)?;
            *rest = tail;
            if *tag == 3 {
                Value::Text(bytes)
            } else {
                Value::Blob(bytes)
            }
        }
        _ => return None,
    })
}

/// Writes the value as an SQL literal.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::Real(real) => write!(f, "{real:?}"),
            Self::Text(text) => {
                write!(f, "'{}'", String::from_utf8_lossy(text).replace('\'', "''"))
            }
            Self::Blob(bytes) => {
                f.write_str("X'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))?;
                f.write_str("'")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_rows_round_trip() {
        let mut rows = Rows::new(3);
        rows.push([Value::Integer(-1), Value::Real(0.5), Value::Text(b"it's")]);
        rows.push([Value::Null, Value::Blob(&[0, 255])]);
        let read: Vec<_> = rows.rows().collect();
        assert_eq!(
            read[0],
            [Value::Integer(-1), Value::Real(0.5), Value::Text(b"it's")]
        );
        assert_eq!(read[1], [Value::Null, Value::Blob(&[0, 255]), Value::Null]);
        assert_eq!((rows.len(), rows.width()), (2, 3));
        let shown: Vec<String> = rows.cells().map(|cell| cell.to_string()).collect();
        assert_eq!(shown, ["-1", "0.5", "'it''s'", "NULL", "X'00FF'", "NULL"]);
    }

    #[test]
    fn rejects_rows_without_the_cells_they_claim() {
        let receive = |width: u32, count: u64, cells: &[u8]| {
            Rows::try_from(ReceivedRows {
                width,
                count,
                cells: cells.to_vec(),
            })
        };
        assert_eq!(
            receive(2, 1, &[0, 0]).map(|rows| rows.rows().count()),
            Ok(1)
        );
        assert_eq!(receive(0, 0, &[]), Ok(Rows::default()));
        let integer = [1, 7, 0, 0, 0, 0, 0, 0, 0];
        for (width, count, cells) in [
            (1, u64::MAX, [0u8; 0].as_slice()),
            (u32::MAX, u64::MAX, &[]),
            (0, u64::MAX, &[]),
            (2, 1, &[0]),
            (1, 1, &[0, 0]),
            (1, 1, &integer[..8]),
            (1, 1, &[1]),
            (1, 1, &[3, 255, 255, 255, 255, 255, 255, 255, 255]),
            (1, 1, &[9]),
        ] {
            assert!(
                receive(width, count, cells).is_err(),
                "{width} {count} {cells:?}"
            );
        }
        assert!(receive(1, 1, &integer).is_ok());
    }

    #[test]
    fn bytes_of_a_run_bound_its_encoding() {
        let mut rows = Rows::new(2);
        (0..1_000).for_each(|at| rows.push([Value::Integer(at), Value::Null]));
        let columns = vec!["a".to_owned(), "b".repeat(300)];
        let complete = Ran {
            end: End::Rows,
            columns,
            rows,
            steps: u64::MAX,
        };
        for ran in [
            Ran::ended(End::OutOfSteps),
            Ran::ended(End::Error("no such table".to_owned())),
            complete,
        ] {
            let written = postcard::to_stdvec(&ran).unwrap().len() as u64;
            assert!(
                written <= ran.bytes() && ran.bytes() <= written + 100,
                "{written} bytes, not {}",
                ran.bytes()
            );
        }
    }

    #[test]
    fn counts_rows_without_columns() {
        let mut rows = Rows::new(0);
        rows.push([]);
        assert_eq!(rows.rows().count(), 1);
    }
}
