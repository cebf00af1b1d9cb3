//! Converts rows of a dataset to items. The template makes the task from the columns; the row has a
//! `completion`.

use assay_core::{ErrorCode, RawJson};
use assay_templates::{Row, RowError, read_row};
use assay_wire::Problem;
use serde::Serialize;
use serde_json::{Value, json};

use crate::commands::template::RowTemplate;

/// Columns that are copied to the item under the same name. The others are only for the template.
const FIELDS: &[&str] = &[
    "id",
    "group",
    "prompt_key",
    "policy",
    "channel",
    "prompt",
    "completion",
    "checks",
    "meta",
];

/// Converts a row to an item, as JSON.
pub(crate) fn item(line: &str, row_template: &RowTemplate) -> Result<String, Problem> {
    let RowTemplate { name, template } = row_template;
    let row = read_row(line)
        .map_err(|error| Problem::new(ErrorCode::MalformedJson, error.to_string()))?;
    let problem = |error: RowError| match error {
        RowError::Missing { column, .. } => {
            let message = "missing column; the template needs it to make the task";
            Problem::invalid(format!("/{column}"), message.to_owned())
        }
        other => Problem::at(
            ErrorCode::InvalidTask,
            "/task".to_owned(),
            other.to_string(),
        ),
    };
    if row.get("completion").is_none_or(Value::is_null) {
        let message = "missing column; each row needs the text to grade in `completion`";
        return Err(Problem::invalid("/completion", message.to_owned()));
    }
    let task = template.task(&row).map_err(problem)?;
    let rendered = [
        ("id", template.id(&row).map_err(problem)?),
        ("prompt", template.prompt(&row).map_err(problem)?),
    ];
    let mut fields: Row = row
        .into_iter()
        .filter(|(name, _)| FIELDS.contains(&name.as_str()))
        .collect();
    for (name, value) in rendered {
        if let Some(value) = value {
            fields.insert(name.to_owned(), value);
        }
    }
    if let Some(Value::Number(id)) = fields.get("id") {
        let id = Value::from(id.to_string());
        fields.insert("id".to_owned(), id);
    }
    if let Some(name) = name
        && let Value::Object(facts) = fields.entry("meta").or_insert_with(|| json!({}))
    {
        // As in requests, so that the record contains the name.
        facts.entry("template").or_insert_with(|| json!(name));
    }
    let item = Item {
        fields,
        task: &task.body,
    };
    serde_json::to_string(&item)
        .map_err(|error| Problem::new(ErrorCode::MalformedJson, error.to_string()))
}

/// An item. The text of its task is copied, so that numbers keep all digits.
#[derive(Serialize)]
struct Item<'a> {
    #[serde(flatten)]
    fields: Row,
    task: &'a RawJson,
}
