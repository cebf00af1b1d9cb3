//! JSON as a person reads it: names with values, and tables where objects stand in a row.

use serde_json::{Map, Value};

use super::content::pretty;
use crate::show::{cell, text};

/// Most rows of a table.
const ROWS: usize = 200;

/// A name with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) name: String,
    pub(crate) value: Told,
}

/// A value: a text of one line, a block, or a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    /// Short, within a line.
    Line(String),
    /// Several lines.
    Block(String),
    /// Objects in a row.
    Table(Table),
}

/// Objects in a row, by their fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Rows that are not shown.
    pub(crate) left: usize,
}

impl Fact {
    /// A text under a name.
    pub(crate) fn one(name: &str, value: &str) -> Self {
        Self {
            name: cell(name),
            value: shown(&Value::String(value.to_owned())),
        }
    }

    /// Every field of an object.
    pub(crate) fn all(fields: &Map<String, Value>) -> Vec<Self> {
        fields
            .iter()
            .map(|(name, value)| Self {
                name: cell(name),
                value: shown(value),
            })
            .collect()
    }
}

impl Table {
    /// The table of an array of objects; `None` of anything else.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let objects: Vec<&Map<String, Value>> = value
            .as_array()?
            .iter()
            .map(Value::as_object)
            .collect::<Option<_>>()?;
        let mut heads: Vec<&str> = Vec::new();
        for name in objects.iter().take(ROWS).flat_map(|object| object.keys()) {
            if !heads.contains(&name.as_str()) {
                heads.push(name);
            }
        }
        if heads.is_empty() {
            return None;
        }
        let row = |object: &&Map<String, Value>| {
            heads.iter().map(|head| line(object.get(*head))).collect()
        };
        let rows = objects.iter().take(ROWS).map(row).collect();
        Some(Self {
            rows,
            left: objects.len().saturating_sub(ROWS),
            heads: heads.iter().map(|head| cell(head)).collect(),
        })
    }
}

/// The fields of an object; nothing of anything else.
pub(super) fn facts(value: &Value) -> Vec<Fact> {
    value.as_object().map(Fact::all).unwrap_or_default()
}

/// The fields of an object except one that is shown elsewhere.
pub(super) fn facts_without(value: &Value, shown_elsewhere: &str) -> Vec<Fact> {
    let fields = value
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| *name != shown_elsewhere);
    fields
        .map(|(name, value)| Fact {
            name: cell(name),
            value: shown(value),
        })
        .collect()
}

fn shown(value: &Value) -> Told {
    match value {
        Value::String(content) if content.len() <= 120 && !content.contains('\n') => {
            Told::Line(text(content))
        }
        Value::String(content) => Told::Block(text(content)),
        Value::Array(_) | Value::Object(_) => match Table::of(value) {
            Some(table) => Told::Table(table),
            None => {
                let short = value.to_string();
                if short.len() <= 120 {
                    Told::Line(text(&short))
                } else {
                    Told::Block(text(&pretty(value)))
                }
            }
        },
        other => Told::Line(line(Some(other))),
    }
}

/// A value in a cell.
fn line(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "–".to_owned(),
        Some(Value::String(content)) => text(content),
        Some(other) => text(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn short_values_are_lines_and_long_ones_blocks() {
        let found = facts(
            &json!({ "a": "x", "b": "x\ny", "c": [1, 2], "d": null, "e": { "f": "y".repeat(200) } }),
        );
        let kinds: Vec<_> = found
            .iter()
            .map(|fact| matches!(fact.value, Told::Line(_)))
            .collect();
        assert_eq!(kinds, [true, false, true, true, false]);
        assert_eq!(found[2].value, Told::Line("[1,2]".to_owned()));
        assert!(facts(&json!("x")).is_empty());
    }

    #[test]
    fn objects_in_a_row_are_a_table_of_all_their_fields() {
        let table = Table::of(
            &json!([{ "name": "a", "score": 1.0 }, { "name": "b", "error": { "code": "x" } }]),
        )
        .unwrap();
        assert_eq!(table.heads, ["name", "score", "error"]);
        assert_eq!(table.rows[1], ["b", "–", r#"{"code":"x"}"#]);
        let many = Table::of(&Value::Array(vec![json!({ "a": 1 }); ROWS + 5])).unwrap();
        assert_eq!((many.rows.len(), many.left), (ROWS, 5));
        assert_eq!(
            (Table::of(&json!([])), Table::of(&json!([1]))),
            (None, None)
        );
    }
}
