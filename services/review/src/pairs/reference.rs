//! The gold answer of a pair from the record, for reward models that compare with it.

use std::collections::HashMap;

use assay_base::pointer::unescaped;
use assay_core::{GradeId, Hash};
use assay_record::{Record, RecordError};
use serde_json::value::RawValue;

/// The gold answer in a task: a text as it is, another value as JSON. `None` if the task has none,
/// or the record no longer contains the task.
pub(super) async fn reference(
    record: &Record,
    task: Hash,
    pointer: &str,
    grade: GradeId,
) -> Result<Option<String>, RecordError> {
    let Some(body) = record.body(task).await? else {
        return Ok(None);
    };
    let task: &RawValue = serde_json::from_slice(&body.content)
        .map_err(|error| RecordError::Inconsistent(format!("task of `{grade}`: {error}")))?;
    let value = value_at(task, pointer).map(RawValue::get);
    Ok(value.filter(|value| *value != "null").map(|value| {
        // Anything but a text stays as it is, so numbers keep their digits.
        serde_json::from_str(value).unwrap_or_else(|_| value.to_owned())
    }))
}

/// The value at a JSON pointer (RFC 6901).
fn value_at<'a>(json: &'a RawValue, pointer: &str) -> Option<&'a RawValue> {
    if pointer.is_empty() {
        return Some(json);
    }
    let mut value = json;
    for step in pointer.strip_prefix('/')?.split('/') {
        let step = unescaped(step);
        value = if value.get().starts_with('[') {
            let values: Vec<&RawValue> = serde_json::from_str(value.get()).ok()?;
            // A pointer has no index such as `01` or `+1`.
            let is_index = step == "0" || !step.starts_with(['0', '+']);
            *values.get(step.parse::<usize>().ok().filter(|_| is_index)?)?
        } else {
            let mut fields: HashMap<String, &RawValue> = serde_json::from_str(value.get()).ok()?;
            fields.remove(&step)?
        };
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_digits() {
        let task = r#"{"a/b": [{"~": 12345678901234567890123}, 1.50, "x\n", null]}"#;
        let task: &RawValue = serde_json::from_str(task).unwrap();
        let at = |pointer| value_at(task, pointer).map(RawValue::get);
        assert_eq!(at("/a~1b/0/~0"), Some("12345678901234567890123"));
        assert_eq!(at("/a~1b/1"), Some("1.50"));
        assert_eq!(at("/a~1b/2"), Some(r#""x\n""#));
        assert_eq!(at("/a~1b/3"), Some("null"));
        assert_eq!(at(""), Some(task.get()));
        for pointer in ["a", "/a", "/a~1b/4", "/a~1b/x", "/a~1b/00", "/a~1b/0/~0/0"] {
            assert_eq!(at(pointer), None, "{pointer}");
        }
    }
}
