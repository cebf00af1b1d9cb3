//! Columns that a check adds to the rows of its datasets before templates read them: from a second
//! file, under other names, and from folders of databases.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::row::{DatasetRow, SourceRow};
use crate::sources::{self, SourceError};

/// Maximum size of the rows of a joined file as JSON, in bytes. They are in memory.
const MAX_JOINED_BYTES: usize = 1 << 30;

/// Maximum size of a database file, in bytes, as in the grader `sql`.
const MAX_DATABASE_BYTES: u64 = 128 << 20;

/// The column with the name of a database, as in Spider and BIRD.
const DATABASE_ID: &str = "db_id";

/// The column that receives the database, which the templates of Spider and BIRD read.
const DATABASE: &str = "image";

/// Columns to add.
#[derive(Debug, Default)]
pub struct ColumnSources {
    /// Columns of a second file.
    pub join: Option<Join>,
    /// New columns and the columns that they copy.
    pub map: Vec<ColumnCopy>,
    /// Folder with databases.
    pub databases: Option<PathBuf>,
}

/// A new column, and the column or part of a column that it copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnCopy {
    name: String,
    source: String,
}

impl fmt::Display for ColumnCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.source)
    }
}

impl ColumnCopy {
    /// Reads `NEW=COLUMN`. Dots in a name that is not a column select parts of objects.
    ///
    /// # Errors
    /// A message: the text has another form.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, source)) if !name.is_empty() && !source.is_empty() => Ok(Self {
                name: name.to_owned(),
                source: source.to_owned(),
            }),
            _ => Err("expected `NEW=COLUMN`, such as `answer=final_answer`".to_owned()),
        }
    }

    fn value(&self, row: &DatasetRow) -> Option<Value> {
        if let Some(value) = row.columns.get(&self.source) {
            return Some(value.clone());
        }
        let mut names = self.source.split('.');
        let first = row.columns.get(names.next()?)?;
        names
            .try_fold(first, |value, name| match value {
                Value::Array(values) => values.get(name.parse::<usize>().ok()?),
                value => value.get(name),
            })
            .cloned()
    }
}

/// Why a file cannot be joined.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The file cannot be read completely.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A row of the file cannot be joined.
    #[error("cannot join `{path}`: {message}")]
    Row {
        /// Path of the file.
        path: PathBuf,
        /// Which row, and why.
        message: String,
    },
}

/// The rows of a second file by their ids.
#[derive(Debug)]
pub struct Join {
    path: PathBuf,
    /// The column with the id in the datasets.
    on: String,
    rows: HashMap<String, JoinedRow>,
}

#[derive(Debug)]
struct JoinedRow {
    columns: assay_templates::Row,
    task: Option<Box<RawValue>>,
}

impl Join {
    /// Reads a file in any dataset format. `on` is the column with the id in the datasets, and
    /// `on_joined` that in the file.
    ///
    /// # Errors
    /// [`JoinError`]: the file cannot be read completely, is too large, or has rows without an id
    /// or with equal ids.
    pub fn read(path: &Path, on: &str, on_joined: &str) -> Result<Self, JoinError> {
        let invalid = |message: String| JoinError::Row {
            path: path.to_owned(),
            message,
        };
        let (mut rows, mut bytes) = (HashMap::new(), 0);
        for row in sources::open(&path.display().to_string(), path)? {
            let DatasetRow {
                location,
                columns,
                task,
                lost_digits,
            } = match row {
                SourceRow::Row(row) => row,
                SourceRow::Unreadable { location, message } => {
                    return Err(invalid(format!("{location}: {message}")));
                }
            };
            if lost_digits {
                return Err(invalid(format!(
                    "{location}: an integer has more than 64 bits; write it as a string"
                )));
            }
            let id = columns.get(on_joined).and_then(id_text).ok_or_else(|| {
                invalid(format!(
                    "{location}: the row has no text or number `{on_joined}`"
                ))
            })?;
            bytes += serde_json::to_string(&columns).map_or(0, |json| json.len());
            bytes += task.as_ref().map_or(0, |task| task.get().len());
            if bytes > MAX_JOINED_BYTES {
                return Err(invalid(format!(
                    "its rows have more than {MAX_JOINED_BYTES} bytes"
                )));
            }
            if rows
                .insert(id.clone(), JoinedRow { columns, task })
                .is_some()
            {
                return Err(invalid(format!(
                    "{location}: an earlier row has the id `{id}` too"
                )));
            }
        }
        Ok(Self {
            path: path.to_owned(),
            on: on.to_owned(),
            rows,
        })
    }

    /// Adds the columns that the row does not have.
    fn apply(&self, row: &mut DatasetRow) -> Result<(), String> {
        let id = row.columns.get(&self.on).and_then(id_text);
        let id = id.ok_or_else(|| format!("the row has no text or number `{}`", self.on))?;
        let path = self.path.display();
        let joined = self.rows.get(&id);
        let joined = joined.ok_or_else(|| format!("`{path}` has no row with the id `{id}`"))?;
        for (name, value) in &joined.columns {
            if !row.columns.contains_key(name) {
                row.columns.insert(name.clone(), value.clone());
            }
        }
        if row.task.is_none() {
            row.task.clone_from(&joined.task);
        }
        Ok(())
    }
}

fn id_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Adds columns to the rows of one dataset.
pub(crate) struct ColumnAdder {
    sources: Arc<ColumnSources>,
    /// The name and the content of the last database. Neighbouring rows often have the same.
    last: Option<(String, String)>,
}

impl ColumnAdder {
    pub(crate) fn new(sources: Arc<ColumnSources>) -> Self {
        Self {
            sources,
            last: None,
        }
    }

    /// Adds the columns to a row; a row for which this fails is unreadable. Also returns the size
    /// of its database, in bytes.
    pub(crate) fn add(&mut self, row: SourceRow) -> (SourceRow, usize) {
        let mut row = match row {
            SourceRow::Row(row) => row,
            unreadable @ SourceRow::Unreadable { .. } => return (unreadable, 0),
        };
        match self.add_to(&mut row) {
            Ok(bytes) => (SourceRow::Row(row), bytes),
            Err(message) => {
                let DatasetRow { location, .. } = row;
                (SourceRow::Unreadable { location, message }, 0)
            }
        }
    }

    fn add_to(&mut self, row: &mut DatasetRow) -> Result<usize, String> {
        let ColumnSources {
            join,
            map,
            databases,
        } = &*self.sources;
        if let Some(join) = join {
            join.apply(row)?;
        }
        for copy in map {
            if let Some(value) = copy.value(row) {
                row.set(copy.name.clone(), value);
            }
        }
        let Some(folder) = databases else {
            return Ok(0);
        };
        if row.columns.contains_key(DATABASE) {
            return Ok(0);
        }
        let id = row.columns.get(DATABASE_ID).and_then(Value::as_str);
        let id = id.ok_or_else(|| format!("the row has no text `{DATABASE_ID}`"))?;
        let content = match &self.last {
            Some((last, content)) if last == id => content.clone(),
            _ => {
                let content = read_database(folder, id)?;
                self.last = Some((id.to_owned(), content.clone()));
                content
            }
        };
        let bytes = content.len();
        row.set(DATABASE.to_owned(), Value::String(content));
        Ok(bytes)
    }
}

/// A database in base64: `FOLDER/ID/ID.sqlite`, or `FOLDER/ID.sqlite`.
fn read_database(folder: &Path, id: &str) -> Result<String, String> {
    let mut components = Path::new(id).components();
    let is_name = matches!(components.next(), Some(Component::Normal(_)))
        && components.next().is_none()
        && !id.contains('/');
    if !is_name {
        return Err(format!(
            "the `{DATABASE_ID}` `{id}` is not the name of a folder"
        ));
    }
    let file = format!("{id}.sqlite");
    let nested = folder.join(id).join(&file);
    let path = if nested.is_file() {
        nested
    } else {
        folder.join(&file)
    };
    let unreadable = |error| format!("cannot read the database `{}`: {error}", path.display());
    let file = File::open(&path).map_err(unreadable)?;
    let mut content = Vec::new();
    file.take(MAX_DATABASE_BYTES + 1)
        .read_to_end(&mut content)
        .map_err(unreadable)?;
    if content.len() as u64 > MAX_DATABASE_BYTES {
        return Err(format!(
            "the database `{}` has more than {MAX_DATABASE_BYTES} bytes, which the grader `sql` \
             does not accept",
            path.display()
        ));
    }
    Ok(STANDARD.encode(content))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::row::RowLocation;

    fn row(columns: &Value) -> SourceRow {
        let location = RowLocation {
            dataset: "rows".into(),
            number: 1,
            is_line: true,
            line: Some(1),
        };
        SourceRow::from_json(location, columns.to_string().as_bytes(), None)
    }

    /// The columns of a row after `sources` were added, or why it is unreadable.
    fn added(sources: ColumnSources, columns: &Value) -> Result<Value, String> {
        match ColumnAdder::new(Arc::new(sources)).add(row(columns)).0 {
            SourceRow::Row(row) => Ok(Value::Object(row.columns)),
            SourceRow::Unreadable { message, .. } => Err(message),
        }
    }

    #[test]
    fn copies_columns_and_their_parts() {
        let map = ["answer=final", "prompt=chat.1.content", "other=missing"];
        let sources = ColumnSources {
            map: map.map(|text| ColumnCopy::parse(text).unwrap()).to_vec(),
            ..ColumnSources::default()
        };
        let columns = json!({"final": 4, "chat": [{"content": "a"}, {"content": "b"}]});
        let added = added(sources, &columns).unwrap();
        assert_eq!(added["answer"], 4);
        assert_eq!(added["prompt"], "b");
        assert!(added.get("other").is_none());
        assert!(ColumnCopy::parse("answer").is_err());
    }

    #[test]
    fn joins_rows_by_their_ids() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.jsonl");
        std::fs::write(&path, "{\"qid\":7,\"answer\":\"4\",\"prompt\":\"other\"}\n").unwrap();
        let join = || ColumnSources {
            join: Some(Join::read(&path, "id", "qid").unwrap()),
            ..ColumnSources::default()
        };
        let found = added(join(), &json!({"id": "7", "prompt": "2 + 2?"})).unwrap();
        assert_eq!(found["answer"], "4");
        assert_eq!(found["prompt"], "2 + 2?", "columns of the dataset are kept");
        let message = added(join(), &json!({"id": 8})).unwrap_err();
        assert!(message.contains("no row with the id `8`"), "{message}");
        std::fs::write(&path, "{\"qid\":7}\n{\"qid\":\"7\"}\n").unwrap();
        let error = Join::read(&path, "id", "qid").unwrap_err().to_string();
        assert!(
            error.contains(":2: an earlier row has the id `7` too"),
            "{error}"
        );
    }

    #[test]
    fn reads_databases_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("shop")).unwrap();
        std::fs::write(folder.path().join("shop/shop.sqlite"), "one").unwrap();
        std::fs::write(folder.path().join("flat.sqlite"), "two").unwrap();
        let read = |id: &str| {
            let sources = ColumnSources {
                databases: Some(folder.path().to_owned()),
                ..ColumnSources::default()
            };
            added(sources, &json!({"db_id": id}))
        };
        assert_eq!(read("shop").unwrap()["image"], "b25l");
        assert_eq!(read("flat").unwrap()["image"], "dHdv");
        assert!(
            read("none")
                .unwrap_err()
                .starts_with("cannot read the database")
        );
        for outside in ["../shop", "/etc", "shop/..", "", "."] {
            let message = read(outside).unwrap_err();
            assert!(message.contains("is not the name of a folder"), "{message}");
        }
    }
}
