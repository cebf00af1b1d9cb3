//! Lines that are rows of a dataset with a completion: a template makes the item's task of their
//! columns.

use assay_core::ErrorCode;
use assay_templates::{Row, RowError, Template};
use assay_wire::Problem;
use serde_json::Value;

/// Columns that are fields of an item under the same name. All others are the template's.
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

/// The item that a row is, as JSON.
pub(super) fn item(line: &str, template: &Template) -> Result<String, Problem> {
    let row: Row = serde_json::from_str(line).map_err(|error| {
        Problem::new(
            ErrorCode::MalformedJson,
            format!("a row is a JSON object of columns: {error}"),
        )
    })?;
    let problem = |error: RowError| match error {
        RowError::Missing { column, .. } => {
            let message = "the row lacks it, and the template makes the task of it";
            Problem::at(
                ErrorCode::InvalidField,
                format!("/{column}"),
                message.to_owned(),
            )
        }
        other => Problem::at(
            ErrorCode::InvalidTask,
            "/task".to_owned(),
            other.to_string(),
        ),
    };
    if row.get("completion").is_none_or(Value::is_null) {
        let message = "the row lacks it; each row needs a `completion`, the text to grade";
        return Err(Problem::at(
            ErrorCode::InvalidField,
            "/completion".to_owned(),
            message.to_owned(),
        ));
    }
    let task = template.task(&row).map_err(problem)?;
    let made = [
        ("id", template.id(&row).map_err(problem)?),
        ("prompt", template.prompt(&row).map_err(problem)?),
    ];
    let mut fields: Row = row
        .into_iter()
        .filter(|(name, _)| FIELDS.contains(&name.as_str()))
        .collect();
    for (name, value) in made {
        if let Some(value) = value {
            fields.insert(name.to_owned(), value);
        }
    }
    if let Some(Value::Number(id)) = fields.get("id") {
        let id = Value::from(id.to_string());
        fields.insert("id".to_owned(), id);
    }
    // Joined as text, so that the task keeps the digits of its numbers.
    let fields = Value::Object(fields).to_string();
    let fields = fields.strip_suffix('}').unwrap_or(&fields);
    let comma = if fields.len() > 1 { "," } else { "" };
    Ok(format!("{fields}{comma}\"task\":{}}}", task.body.get()))
}
