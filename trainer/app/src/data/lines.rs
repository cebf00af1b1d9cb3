//! Prompts from a JSONL file. Empty lines are skipped; unknown fields are rejected.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use assay_base::json_pointer;
use assay_core::{Hash, Task};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::source::{DataError, Item, Source};

/// The prompts of a file, in order.
#[derive(Debug, Clone, Default)]
pub struct Lines(Vec<Item>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PromptLine {
    prompt: String,
    task: Box<RawValue>,
    prompt_key: Option<String>,
    channel: Option<String>,
    solution: Option<String>,
}

impl Lines {
    /// Reads lines of the form `{"prompt": str, "task": {"type": …}, "prompt_key"?: str,
    /// "channel"?: str, "solution"?: str}`. The default key is the hash of prompt and task.
    ///
    /// # Errors
    /// [`DataError`], with line and field.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let text = fs::read_to_string(path).map_err(|error| DataError::Unreadable {
            path: path.to_owned(),
            error,
        })?;
        let mut first_of: HashMap<String, usize> = HashMap::new();
        let mut items = Vec::new();
        // Some editors write a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        for (index, text) in text
            .lines()
            .enumerate()
            .filter(|(_, text)| !text.trim().is_empty())
        {
            let line = index + 1;
            let item = item(text).map_err(|(field, message)| DataError::Line {
                path: path.to_owned(),
                line,
                field,
                message,
            })?;
            if let Some(first) = first_of.insert(item.key.clone(), line) {
                return Err(DataError::Duplicate {
                    path: path.to_owned(),
                    line,
                    first,
                    key: item.key,
                });
            }
            items.push(item);
        }
        if items.is_empty() {
            Err(DataError::NoLines {
                path: path.to_owned(),
            })
        } else {
            Ok(Self(items))
        }
    }
}

/// The prompt of a line; the error has the field and the reason.
fn item(text: &str) -> Result<Item, (String, String)> {
    let mut json = serde_json::Deserializer::from_str(text);
    let PromptLine {
        prompt,
        task,
        prompt_key,
        channel,
        solution,
    } = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| (json_pointer(error.path()), error.into_inner().to_string()))?;
    json.end()
        .map_err(|error| (String::new(), error.to_string()))?;
    Task::from_raw(&task).map_err(|error| (format!("/task{}", error.pointer), error.message))?;
    for (field, value) in [
        ("/prompt", Some(&prompt)),
        ("/prompt_key", prompt_key.as_ref()),
    ] {
        if value.is_some_and(|value| value.trim().is_empty()) {
            return Err((field.to_owned(), "must not be empty".to_owned()));
        }
    }
    let hash = || Hash::of_parts(&[prompt.as_bytes(), task.get().as_bytes()]).to_string();
    Ok(Item {
        key: prompt_key.unwrap_or_else(hash),
        prompt,
        task,
        channel,
        solution,
    })
}

impl Source for Lines {
    fn size(&self) -> Option<u64> {
        Some(self.0.len() as u64)
    }

    fn problem(&self, index: u64) -> Option<Item> {
        self.0.get(usize::try_from(index).ok()?).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Lines, DataError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        Lines::read(file.path())
    }

    /// Line, field and message of the error.
    fn line_error(text: &str) -> (usize, String, String) {
        match read(text).unwrap_err() {
            DataError::Line {
                line,
                field,
                message,
                ..
            } => (line, field, message),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn reads_prompts() {
        let lines = read(concat!(
            r#"{"prompt":"1+1=","task":{"type":"math","answer":"2"},"prompt_key":"a","#,
            r#""channel":"sums","solution":"2"}"#,
            "\n\n",
            r#"{"prompt":"1+2=","task":{"type":"math","answer":"3"}}"#,
            "\n"
        ))
        .unwrap();
        assert_eq!(lines.size(), Some(2));
        let first = lines.problem(0).unwrap();
        assert_eq!(
            (
                first.key.as_str(),
                first.prompt.as_str(),
                first.channel.as_deref(),
                first.solution.as_deref()
            ),
            ("a", "1+1=", Some("sums"), Some("2"))
        );
        assert_eq!(lines.problem(1).unwrap().key.len(), 64);
        assert!(lines.problem(2).is_none());
    }

    #[test]
    fn errors_have_line_and_field() {
        let good = r#"{"prompt":"1","task":{"type":"math","answer":"1"}}"#;
        for (bad, field, part) in [
            (
                r#"{"prompt":3,"task":{"type":"math"}}"#,
                "/prompt",
                "expected a string",
            ),
            (
                r#"{"prompt":" ","task":{"type":"math"}}"#,
                "/prompt",
                "empty",
            ),
            (r#"{"prompt":"1"}"#, "", "missing field `task`"),
            (
                r#"{"prompt":"1","task":{"answer":"1"}}"#,
                "/task/type",
                "type",
            ),
            (
                r#"{"prompt":"1","task":{"type":"math"},"answer":"1"}"#,
                "/answer",
                "unknown field",
            ),
            (
                r#"{"prompt":"1","task":{"type":"math"}} {}"#,
                "",
                "trailing",
            ),
            ("prompt", "", "expected"),
        ] {
            let (line, pointer, message) = line_error(&format!("{good}\n{bad}\n"));
            assert_eq!((line, pointer.as_str()), (2, field), "{bad}: {message}");
            assert!(message.contains(part), "{bad}: {message}");
        }
    }

    #[test]
    fn rejects_duplicate_keys_and_empty_files() {
        let line = r#"{"prompt":"1","task":{"type":"math","answer":"1"}}"#;
        let error = read(&format!("{line}\n\n{line}")).unwrap_err();
        assert!(
            matches!(
                error,
                DataError::Duplicate {
                    line: 3,
                    first: 1,
                    ..
                }
            ),
            "{error}"
        );
        assert!(matches!(read("\n").unwrap_err(), DataError::NoLines { .. }));
        assert_eq!(read(&format!("\u{feff}{line}")).unwrap().size(), Some(1));
    }
}
