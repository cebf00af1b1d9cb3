//! One row as its file has it, and where it stands.

use std::fmt;
use std::sync::Arc;

use assay_core::Hash;
use assay_templates::Row;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// The column that holds a whole task.
pub(crate) const TASK: &str = "task";

/// Where a row stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The dataset, as it was named.
    pub dataset: Arc<str>,
    /// Line of the file where it has lines, else the number of the row; from 1.
    pub number: u64,
    /// Whether the number is that of a line.
    pub is_line: bool,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = if self.is_line { "" } else { "row " };
        write!(f, "{}:{row}{}", self.dataset, self.number)
    }
}

/// One row.
#[derive(Debug)]
pub(crate) struct DatasetRow {
    pub(crate) place: Place,
    /// Its columns, but for its task.
    pub(crate) columns: Row,
    /// Its task as it was written, so that numbers keep their digits.
    pub(crate) task: Option<Box<RawValue>>,
}

/// A row, or why there is none.
#[derive(Debug)]
pub(crate) enum Read {
    Row(DatasetRow),
    Unread { place: Place, message: String },
}

impl Read {
    pub(crate) fn place(&self) -> &Place {
        match self {
            Self::Row(row) => &row.place,
            Self::Unread { place, .. } => place,
        }
    }

    /// A row from a JSON object.
    pub(crate) fn from_json(place: Place, json: &[u8]) -> Self {
        let text = match std::str::from_utf8(json) {
            // Editors of another system put a byte order mark before the first line.
            Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
            Err(error) => {
                return Self::Unread {
                    place,
                    message: format!("it is not UTF-8: {error}"),
                };
            }
        };
        match serde_json::from_str::<Columns>(text) {
            Ok(Columns { columns, task }) => Self::Row(DatasetRow {
                place,
                columns,
                task,
            }),
            Err(error) => Self::Unread {
                place,
                message: format!("it is no JSON object of columns: {error}"),
            },
        }
    }
}

impl DatasetRow {
    /// A row from columns.
    pub(crate) fn from_columns(place: Place, mut columns: Row) -> Self {
        let task = match columns.remove(TASK) {
            None | Some(Value::Null) => None,
            // Formats without objects hold a task as its JSON.
            Some(Value::String(text)) => RawValue::from_string(text.clone())
                .or_else(|_| to_raw_value(&text))
                .ok(),
            Some(task) => to_raw_value(&task).ok(),
        };
        Self {
            place,
            columns,
            task,
        }
    }

    /// What the row holds, as a name.
    pub(crate) fn hash(&self) -> Hash {
        // Columns came from JSON or from text, so they go into it.
        let columns = serde_json::to_vec(&self.columns).unwrap_or_default();
        Hash::of_parts(&[
            &columns,
            self.task.as_ref().map_or("", |task| task.get()).as_bytes(),
        ])
    }
}

struct Columns {
    columns: Row,
    task: Option<Box<RawValue>>,
}

/// Written by hand: the task stays as it was written, everything else becomes values.
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
                        return Err(de::Error::custom(format_args!(
                            "the column `{name}` stands twice"
                        )));
                    } else {
                        columns.insert(name, object.next_value()?);
                    }
                }
                Ok(Columns { columns, task })
            }
        }

        deserializer.deserialize_map(Object)
    }
}
