//! Dataset templates: compiles one and renders the task, prompt, solution and id of a row.
//!
//! The first line is the template as JSON, the second a row as a JSON object.
//!
//! Properties: an error points to a string of the template; rendering is deterministic and its
//! output bounded.

use assay_templates::{Row, RowError, Template, TemplateError};
use serde_json::Value;

/// Most bytes of output for one row.
const MOST_BYTES: usize = 128 << 20;

/// Compiles a template and applies it to a row.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let (template, row) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(written) = serde_json::from_str::<Value>(template) else {
        assert!(matches!(
            Template::from_json(template),
            Err(TemplateError::NotJson(_))
        ));
        return;
    };
    let template = match Template::from_json(template) {
        Ok(template) => template,
        Err(TemplateError::Text { pointer, message }) => {
            assert!(
                written.pointer(&pointer).is_some_and(Value::is_string),
                "`{pointer}`: {message}"
            );
            return;
        }
        Err(_) => return,
    };
    let row: Row = serde_json::from_str(row).unwrap_or_default();
    let task = template.task(&row);
    assert_eq!(task, template.task(&row), "deterministic");
    let size = |value: Option<Value>| value.map_or(0, |value| value.to_string().len());
    let parts = [
        template.prompt(&row),
        template.solution(&row),
        template.id(&row),
    ];
    let sizes = parts
        .into_iter()
        .map(|part| part.map(size))
        .chain([task.map(|task| task.body.get().len())]);
    for size in sizes {
        match size {
            Ok(size) => assert!(size <= MOST_BYTES, "{size} bytes"),
            Err(RowError::Missing { pointer, .. } | RowError::Failed { pointer, .. }) => {
                assert!(
                    written.pointer(&pointer).is_some_and(Value::is_string),
                    "`{pointer}` is not in the template"
                );
            }
            Err(RowError::Refused { .. } | RowError::NoTask(_)) => {}
        }
    }
}
