//! Readable JSON: names with values, and tables for arrays of objects.

use serde_json::{Map, Value};

use super::conversation::pretty;
use crate::display::{cell, text};

/// Maximum number of rows per table.
const MAX_ROWS: usize = 200;

/// A name and a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) name: String,
    pub(crate) value: FactValue,
}

/// A value of a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FactValue {
    /// A short text on one line.
    Line(String),
    /// A text of several lines.
    Block(String),
    /// An array of objects.
    Table(Table),
}

/// An array of objects with their fields as columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Number of rows that are not shown.
    pub(crate) left: usize,
}

impl Fact {
    /// A fact with a text.
    pub(crate) fn one(name: &str, value: &str) -> Self {
        Self {
            name: cell(name),
            value: fact_value(&Value::String(value.to_owned())),
        }
    }

    /// A fact for each field of an object.
    pub(crate) fn all(fields: &Map<String, Value>) -> Vec<Self> {
        fields
            .iter()
            .map(|(name, value)| Self {
                name: cell(name),
                value: fact_value(value),
            })
            .collect()
    }
}

impl Table {
    /// The table of an array of objects; `None` for other values.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let objects: Vec<&Map<String, Value>> = value
            .as_array()?
            .iter()
            .map(Value::as_object)
            .collect::<Option<_>>()?;
        let mut heads: Vec<&str> = Vec::new();
        for name in objects
            .iter()
            .take(MAX_ROWS)
            .flat_map(|object| object.keys())
        {
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
        let rows = objects.iter().take(MAX_ROWS).map(row).collect();
        Some(Self {
            rows,
            left: objects.len().saturating_sub(MAX_ROWS),
            heads: heads.iter().map(|head| cell(head)).collect(),
        })
    }
}

/// The fields of an object; empty for other values.
pub(super) fn facts(value: &Value) -> Vec<Fact> {
    value.as_object().map(Fact::all).unwrap_or_default()
}

/// The fields of an object except those that are shown elsewhere.
pub(super) fn facts_without(value: &Value, shown_elsewhere: &[&str]) -> Vec<Fact> {
    let fields = value
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| !shown_elsewhere.contains(&name.as_str()));
    fields
        .map(|(name, value)| Fact {
            name: cell(name),
            value: fact_value(value),
        })
        .collect()
}

fn fact_value(value: &Value) -> FactValue {
    match value {
        Value::String(content) if content.len() <= 120 && !content.contains('\n') => {
            FactValue::Line(text(content))
        }
        Value::String(content) => FactValue::Block(text(content)),
        Value::Array(_) | Value::Object(_) => match Table::of(value) {
            Some(table) => FactValue::Table(table),
            None => {
                let short = value.to_string();
                if short.len() <= 120 {
                    FactValue::Line(text(&short))
                } else {
                    FactValue::Block(text(&pretty(value)))
                }
            }
        },
        other => FactValue::Line(line(Some(other))),
    }
}

/// A value in a table cell.
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
    fn short_values_are_lines_and_long_values_are_blocks() {
        let found = facts(&json!({
            "a": "x", "b": "x\ny", "c": [1, 2], "d": null, "e": { "f": "y".repeat(200) },
        }));
        let kinds: Vec<_> = found
            .iter()
            .map(|fact| matches!(fact.value, FactValue::Line(_)))
            .collect();
        assert_eq!(kinds, [true, false, true, true, false]);
        assert_eq!(found[2].value, FactValue::Line("[1,2]".to_owned()));
        assert!(facts(&json!("x")).is_empty());
    }

    #[test]
    fn arrays_of_objects_are_tables_of_all_fields() {
        let table = Table::of(
            &json!([{ "name": "a", "score": 1.0 }, { "name": "b", "error": { "code": "x" } }]),
        )
        .unwrap();
        assert_eq!(table.heads, ["name", "score", "error"]);
        assert_eq!(table.rows[1], ["b", "–", r#"{"code":"x"}"#]);
        let many = Table::of(&Value::Array(vec![json!({ "a": 1 }); MAX_ROWS + 5])).unwrap();
        assert_eq!((many.rows.len(), many.left), (MAX_ROWS, 5));
        assert_eq!(
            (Table::of(&json!([])), Table::of(&json!([1]))),
            (None, None)
        );
    }
}
