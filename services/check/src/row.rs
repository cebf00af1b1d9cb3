//! A row of a dataset file and its location.

use std::fmt;
use std::sync::Arc;

use assay_base::{TextPosition, has_large_integer, json_reason};
use assay_core::Hash;
use assay_templates::{Row, UniqueValue};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// The column that contains a whole task.
pub(crate) const TASK: &str = "task";

/// Location of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowLocation {
    /// Name of the dataset, as given.
    pub dataset: Arc<str>,
    /// Line number in formats with lines, otherwise row number; from 1.
    pub number: u64,
    /// Whether `number` is a line number.
    pub is_line: bool,
    /// The line on which the row begins, in files of text.
    pub line: Option<u64>,
}

impl fmt::Display for RowLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = if self.is_line { "" } else { "row " };
        write!(f, "{}:{row}{}", self.dataset, self.number)
    }
}

/// A row.
#[derive(Debug)]
pub(crate) struct DatasetRow {
    pub(crate) location: RowLocation,
    /// All columns except `task`.
    pub(crate) columns: Row,
    /// The column `task` as JSON text, so that numbers keep their digits.
    pub(crate) task: Option<Box<RawValue>>,
    /// Whether an integer of more than 64 bits lost digits in its column.
    pub(crate) lost_digits: bool,
}

/// A row, or the reason why it cannot be read.
#[derive(Debug)]
pub(crate) enum SourceRow {
    Row(DatasetRow),
    Unreadable {
        location: RowLocation,
        message: String,
    },
}

impl SourceRow {
    pub(crate) fn location(&self) -> &RowLocation {
        match self {
            Self::Row(row) => &row.location,
            Self::Unreadable { location, .. } => location,
        }
    }

    /// Reads a row from a JSON object: a line, or a part of a file that starts at `start`.
    pub(crate) fn from_json(
        location: RowLocation,
        json: &[u8],
        start: Option<TextPosition>,
    ) -> Self {
        let text = match std::str::from_utf8(json) {
            // Some Windows editors put a byte order mark before the first line.
            Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
            Err(error) => {
                return Self::Unreadable {
                    location,
                    message: format!("not UTF-8: {error}"),
                };
            }
        };
        match serde_json::from_str::<Columns>(text) {
            Ok(Columns { columns, task }) => Self::Row(DatasetRow {
                location,
                columns,
                task,
                lost_digits: has_large_integer(text),
            }),
            Err(error) => {
                let reason = json_reason(&error);
                let at = TextPosition::of(&error, text.as_bytes());
                let at = match start {
                    Some(start) => at.within(start).to_string(),
                    None => at.in_text(text.as_bytes()),
                };
                Self::Unreadable {
                    location,
                    message: format!("not a JSON object of columns: {reason} at {at}"),
                }
            }
        }
    }
}

impl DatasetRow {
    /// Makes a row of columns.
    pub(crate) fn from_columns(location: RowLocation, mut columns: Row) -> Self {
        let task = columns.remove(TASK).and_then(raw_task);
        Self {
            location,
            columns,
            task,
            lost_digits: false,
        }
    }

    /// Sets a column.
    pub(crate) fn set(&mut self, name: String, value: Value) {
        if name == TASK {
            self.task = raw_task(value);
        } else {
            self.columns.insert(name, value);
        }
    }

    /// Hash of the content of the row.
    pub(crate) fn hash(&self) -> Hash {
        // Serialising cannot fail, because columns come from JSON or text.
        let columns = serde_json::to_vec(&self.columns).unwrap_or_default();
        Hash::of_parts(&[
            &columns,
            self.task.as_ref().map_or("", |task| task.get()).as_bytes(),
        ])
    }
}

/// The task in a column. Formats without objects contain it as JSON text.
fn raw_task(value: Value) -> Option<Box<RawValue>> {
    match value {
        Value::Null => None,
        Value::String(text) => RawValue::from_string(text.clone())
            .or_else(|_| to_raw_value(&text))
            .ok(),
        task => to_raw_value(&task).ok(),
    }
}

struct Columns {
    columns: Row,
    task: Option<Box<RawValue>>,
}

/// By hand, because `task` keeps its text while the other columns become values.
impl<'de> Deserialize<'de> for Columns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Columns;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Columns, A::Error> {
                let (mut columns, mut task) = (Row::new(), None);
                while let Some(name) = object.next_key::<String>()? {
                    if name == TASK && task.is_none() {
                        let raw: Box<RawValue> = object.next_value()?;
                        task = (raw.get() != "null").then_some(raw);
                    } else if name == TASK || columns.contains_key(&name) {
                        return Err(de::Error::custom(format_args!("duplicate column `{name}`")));
                    } else {
                        let UniqueValue(value) = object.next_value()?;
                        columns.insert(name, value);
                    }
                }
                Ok(Columns { columns, task })
            }
        }

        deserializer.deserialize_map(Object)
    }
}
