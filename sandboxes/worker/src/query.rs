//! What may be asked of a cell about databases, and what it answers. A database is an image: the
//! bytes of an SQLite file. Gold results are no part of it: a cell runs statements, its asker
//! compares.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_bytes::ByteBuf;

use crate::{WorkerRequest, checked};

/// Steps the scripts of a database may take: some seconds, or millions of rows.
pub const BUILD_STEPS: u64 = 300_000_000;

/// Bytes that a run may take in a reply in addition to its rows: column names, a message.
pub const RUN_OVERHEAD: u64 = 2 << 20;

/// Longest image, in bytes.
pub const MAX_IMAGE: usize = 128 << 20;

/// Rows of each table that a description shows at most.
pub const SAMPLE: usize = 200;

/// Longest text or blob in the sample of a description, in bytes; longer ones are cut.
pub const SAMPLE_CELL: usize = 16_000;

/// Bytes of sample rows, over all tables, after which a description samples no more.
pub const SAMPLE_BYTES: usize = 16 << 20;

/// A request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Request {
    /// Makes an image.
    Build(Build),
    /// Tells tables, keys and some rows of an image.
    Describe(Image),
    /// Runs statements, each on several images.
    Run(Run),
}

impl WorkerRequest for Request {
    type Reply = Reply;
    const KIND: u8 = 2;

    fn probe() -> Self {
        Self::Build(Build::default())
    }

    fn check(reply: &Reply) -> Result<(), &'static str> {
        checked::reply(reply)
    }
}

/// A database to make: an image to begin with, scripts to run on it, rows to replace all others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The image to begin with; an empty database without one.
    pub image: Option<ByteBuf>,
    /// Scripts, run in order.
    pub scripts: Vec<String>,
    /// Where it is given, every table is emptied and these rows are put in; those that break a rule
    /// of the schema are left out.
    pub rows: Option<Vec<TableRows>>,
}

/// Rows for one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRows {
    /// The table.
    pub table: String,
    /// Its columns that get a value, in the order of the cells.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Rows,
}

/// An image by its name, with its bytes where the cell may not have it.
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
    /// The statements. None sees anything of another.
    pub statements: Vec<String>,
    /// Databases each is run on, in order, each with the steps it may take there.
    pub on: Vec<(Image, u64)>,
    /// What a statement may use on each.
    pub limits: Limits,
    /// Whether scans without an order of their own run backwards, to see whether the result depends
    /// on it.
    pub reverse: bool,
    /// Most bytes of runs in the reply, by [`Ran::bytes`]. [`Limits::bytes`] plus [`RUN_OVERHEAD`]
    /// is enough for any one run.
    pub reply_bytes: u64,
}

/// What a statement may use beside its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Rows it may give.
    pub rows: u64,
    /// Bytes its rows may have.
    pub bytes: u64,
    /// Bytes of memory it may use while it runs.
    pub memory_bytes: u64,
    /// Whether it may make long values: 100,000 bytes instead of 16,000, or of 8,000 where it reads
    /// JSON. What one step costs grows with the values it may meet. No value of the database is too
    /// long.
    pub long_values: bool,
}

/// An answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Reply {
    /// To [`Request::Build`]: the image, or what is wrong with the scripts.
    Built(Result<ByteBuf, String>),
    /// To [`Request::Describe`].
    Described(Vec<Table>),
    /// To [`Request::Run`]: for each statement its runs, up to the first that does not end with
    /// rows. Runs that do not fit into [`Run::reply_bytes`] are left out and must be requested
    /// again: whole statements at the end, and databases of the last statement included. There is
    /// at least one run.
    Ran(Vec<Vec<Ran>>),
    /// To [`Request::Run`]: the first run alone does not fit into [`Run::reply_bytes`].
    TooLarge {
        /// Bytes it takes, by [`Ran::bytes`].
        bytes: u64,
    },
    /// The cell does not have an image; to be asked again with the bytes.
    Missing,
    /// The cell cannot do it: an image is no database, or takes too much to read. Not the
    /// statement's fault.
    Unable(String),
}

/// A database server that is asked what cells are asked about images. It counts time, not steps:
/// the same statement may end otherwise another time.
pub trait Server: Send + Sync {
    /// Makes a database of these scripts, unless it is there; its name.
    fn build<'a>(&'a self, scripts: &'a [String]) -> Served<'a, String>;

    /// Tells its tables.
    fn describe<'a>(&'a self, database: &'a str) -> Served<'a, Vec<Table>>;

    /// Runs one statement on a database. `reverse` asks for rows in another order where the
    /// statement leaves it open.
    fn run<'a>(
        &'a self,
        database: &'a str,
        sql: &'a str,
        limits: Limits,
        reverse: bool,
    ) -> Served<'a, Ran>;
}

/// What a [`Server`] answers, later.
pub type Served<'a, T> = Pin<Box<dyn Future<Output = Result<T, ServerError>> + Send + 'a>>;

/// A server gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// The scripts make no database.
    #[error("{0}")]
    Scripts(String),
    /// The server cannot be reached, or does not let this node work as it must.
    #[error("the database server does not answer: {0}")]
    Unreachable(String),
}

/// How a statement ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// With all its rows.
    Rows,
    /// There is no statement in the text.
    Nothing,
    /// There is more than one.
    Several,
    /// It is no query: it gives no rows, would write, or explains.
    NotAQuery,
    /// It does what no query needs: what it was.
    Denied(String),
    /// The text is no statement: the message.
    Syntax(String),
    /// It names what is not there, or fails while it runs: the message.
    Error(String),
    /// All steps were taken.
    OutOfSteps,
    /// More memory was asked for than allowed.
    OutOfMemory,
    /// It gave more rows or bytes than allowed.
    TooManyRows,
    /// The statement, or a value it makes, is too long.
    TooLong,
}

/// One run of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows, when it ended with all of them.
    pub rows: Rows,
    /// Steps it took: instructions of the virtual machine, and what long texts cost inside one. A
    /// [`Server`] counts none.
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

    /// Upper bound on the bytes it takes in a reply.
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

/// A table as it is described.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns that can be given a value.
    pub columns: Vec<Column>,
    /// Sets of columns that are unique together, by index; the primary key first, where there is
    /// one.
    pub keys: Vec<Vec<usize>>,
    /// Whether the first of the keys is the primary one.
    pub has_primary_key: bool,
    /// References to other tables.
    pub foreign_keys: Vec<ForeignKey>,
    /// How many rows it has.
    pub count: u64,
    /// Some of them, spread over the table: at most [`SAMPLE`], fewer once [`SAMPLE_BYTES`] are
    /// used up. Texts and blobs are cut to [`SAMPLE_CELL`] bytes.
    pub sample: Rows,
}

/// A column as it is described.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its declared type.
    pub declared: String,
    /// Whether it is declared without NULL.
    pub not_null: bool,
    /// Whether any row has NULL there.
    pub has_null: bool,
    /// Whether all rows have values there that differ.
    pub is_distinct: bool,
}

/// A reference to another table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// Columns that refer, by index.
    pub columns: Vec<usize>,
    /// The table they refer to.
    pub table: String,
    /// Its columns, by name.
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
    /// A text, in UTF-8 unless somebody put other bytes there.
    Text(&'a [u8]),
    /// Bytes.
    Blob(&'a [u8]),
}

/// Rows of equal width, packed: a tag for each cell, then its value. Cheap to clone: clones share
/// the cells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Rows {
    width: u32,
    count: u64,
    #[serde(serialize_with = "as_bytes")]
    cells: Arc<Vec<u8>>,
}

fn as_bytes<S: Serializer>(bytes: &Arc<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    serde_bytes::serialize(bytes.as_slice(), serializer)
}

/// Rows as received: `count` and `width` may claim more cells than there are.
#[derive(Deserialize)]
struct Unchecked {
    width: u32,
    count: u64,
    #[serde(with = "serde_bytes")]
    cells: Vec<u8>,
}

impl TryFrom<Unchecked> for Rows {
    type Error = &'static str;

    fn try_from(received: Unchecked) -> Result<Self, Self::Error> {
        let Unchecked {
            width,
            count,
            cells,
        } = received;
        let (mut rest, mut found) = (cells.as_slice(), 0u64);
        while !rest.is_empty() {
            next_cell(&mut rest).ok_or("a cell of a row is truncated or of an unknown type")?;
            found += 1;
        }
        // Any number of rows without cells would take no bytes.
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
    /// No rows yet, of `width` cells each.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self {
            width: u32::try_from(width).unwrap_or(u32::MAX),
            count: 0,
            cells: Arc::default(),
        }
    }

    /// Cells of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width as usize
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::try_from(self.count).unwrap_or(usize::MAX)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes they take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.cells.len()
    }

    /// Adds a row; cells beyond the width are left out, those that are missing are NULL.
    pub fn push<'a>(&mut self, row: impl IntoIterator<Item = Value<'a>>) {
        let mut row = row.into_iter();
        let cells = Arc::make_mut(&mut self.cells);
        for _ in 0..self.width {
            push_cell(cells, row.next().unwrap_or(Value::Null));
        }
        self.count += 1;
    }

    /// The cells of all rows, row after row.
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
    let mut put = |tag: u8, head: &[u8], bytes: &[u8]| {
        cells.push(tag);
        cells.extend_from_slice(head);
        cells.extend_from_slice(bytes);
    };
    match cell {
        Value::Null => put(0, &[], &[]),
        Value::Integer(integer) => put(1, &integer.to_le_bytes(), &[]),
        Value::Real(real) => put(2, &real.to_bits().to_le_bytes(), &[]),
        Value::Text(text) => put(3, &(text.len() as u64).to_le_bytes(), text),
        Value::Blob(bytes) => put(4, &(bytes.len() as u64).to_le_bytes(), bytes),
    }
}

fn next_cell<'a>(rest: &mut &'a [u8]) -> Option<Value<'a>> {
    fn eight(rest: &mut &[u8]) -> Option<[u8; 8]> {
        let (head, tail) = rest.split_first_chunk::<8>()?;
        *rest = tail;
        Some(*head)
    }
    let (tag, tail) = rest.split_first()?;
    *rest = tail;
    Some(match tag {
        0 => Value::Null,
        1 => Value::Integer(i64::from_le_bytes(eight(rest)?)),
        2 => Value::Real(f64::from_bits(u64::from_le_bytes(eight(rest)?))),
        3 | 4 => {
            let length = usize::try_from(u64::from_le_bytes(eight(rest)?)).ok()?;
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

/// As it would stand in a statement, for people.
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
    fn rows_are_read_as_they_were_packed() {
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
        let of = |width: u32, count: u64, cells: &[u8]| {
            Rows::try_from(Unchecked {
                width,
                count,
                cells: cells.to_vec(),
            })
        };
        assert_eq!(of(2, 1, &[0, 0]).map(|rows| rows.rows().count()), Ok(1));
        assert_eq!(of(0, 0, &[]), Ok(Rows::default()));
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
                of(width, count, cells).is_err(),
                "{width} {count} {cells:?}"
            );
        }
        assert!(of(1, 1, &integer).is_ok());
    }

    #[test]
    fn bytes_of_a_run_bound_its_encoding() {
        let mut rows = Rows::new(2);
        (0..1_000).for_each(|at| rows.push([Value::Integer(at), Value::Null]));
        let columns = vec!["a".to_owned(), "b".repeat(300)];
        let whole = Ran {
            end: End::Rows,
            columns,
            rows,
            steps: u64::MAX,
        };
        for ran in [
            Ran::ended(End::OutOfSteps),
            Ran::ended(End::Error("no such table".to_owned())),
            whole,
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
    fn rows_without_columns_are_counted() {
        let mut rows = Rows::new(0);
        rows.push([]);
        assert_eq!(rows.rows().count(), 1);
    }
}
