//! Templates by name: the built-in ones, and those in the configuration.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;

use crate::{NAMES, Row, Template, TemplateError, source};

/// Maximum number of templates that a message suggests for a row.
const MAX_SUGGESTIONS: usize = 3;

/// Maximum number of templates that are tried on a row to suggest one, and maximum size of such a
/// row in bytes. With both, the worst row of many that were tried took 60 ms of CPU; with neither,
/// 103 ms for each MiB of the row.
const MAX_TRIED: usize = 8;
const MAX_TRIED_BYTES: usize = 1 << 20;

/// Templates by name. Built-in ones are compiled when first used.
pub struct Templates {
    by_name: BTreeMap<String, Entry>,
}

struct Entry {
    source: String,
    /// Built-in templates are compiled when first used.
    compiled: OnceLock<Result<Template, TemplateError>>,
}

impl Entry {
    fn template(&self) -> Result<&Template, TemplateError> {
        let compiled = self
            .compiled
            .get_or_init(|| Template::built_in(&self.source));
        compiled.as_ref().map_err(Clone::clone)
    }
}

impl Default for Templates {
    fn default() -> Self {
        let built_in = NAMES.iter().map(|name| {
            let entry = Entry {
                source: source(name).unwrap_or_default().to_owned(),
                compiled: OnceLock::new(),
            };
            ((*name).to_owned(), entry)
        });
        Self {
            by_name: built_in.collect(),
        }
    }
}

impl Templates {
    /// Adds a template, which is compiled now.
    ///
    /// # Errors
    /// [`TemplateError`]: the name is taken, or the template is invalid.
    pub fn add(&mut self, name: &str, json: &str) -> Result<(), TemplateError> {
        if self.by_name.contains_key(name) {
            return Err(TemplateError::Taken(name.to_owned()));
        }
        let entry = Entry {
            source: json.to_owned(),
            compiled: OnceLock::from(Ok(Template::from_json(json)?)),
        };
        self.by_name.insert(name.to_owned(), entry);
        Ok(())
    }

    /// The template with this name.
    ///
    /// # Errors
    /// [`TemplateError::Unknown`], with the available names.
    pub fn get(&self, name: &str) -> Result<&Template, TemplateError> {
        self.entry(name)?.template()
    }

    /// The JSON of the template with this name.
    ///
    /// # Errors
    /// [`TemplateError::Unknown`], with the available names.
    pub fn source(&self, name: &str) -> Result<&str, TemplateError> {
        Ok(&self.entry(name)?.source)
    }

    fn entry(&self, name: &str) -> Result<&Entry, TemplateError> {
        let found = self.by_name.get(name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            TemplateError::unknown(name, &names)
        })
    }

    /// All names, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Of the templates that can make a task from a row, those that read the most of its columns.
    /// At most 8 are tried, and none for a large row.
    #[must_use]
    pub fn fitting(&self, row: &Row) -> Vec<&str> {
        if size(row, MAX_TRIED_BYTES) > MAX_TRIED_BYTES {
            return Vec::new();
        }
        let is_present = |column: &&&str| row.get(**column).is_some_and(|value| !value.is_null());
        let mut candidates: Vec<(usize, usize, &str, &Template)> = Vec::new();
        for (name, entry) in &self.by_name {
            let Ok(template) = entry.template() else {
                continue;
            };
            let columns = template.all_columns();
            let read = columns.iter().filter(is_present).count();
            if read > 0 {
                candidates.push((read, columns.len() - read, name, template));
            }
        }
        candidates.sort_by_key(|(read, missing, ..)| (Reverse(*read), *missing));
        let mut fitting: Vec<&str> = Vec::new();
        let mut read_by_first = 0;
        for (read, _, name, template) in candidates.into_iter().take(MAX_TRIED) {
            if !fitting.is_empty() && read < read_by_first {
                break;
            }
            if template.prompt(row).is_ok()
                && template.id(row).is_ok()
                && template.task(row).is_ok()
            {
                read_by_first = read;
                fitting.push(name);
            }
        }
        fitting.sort_unstable();
        fitting
    }

    /// The end of a message about a row that a template cannot use: the other templates that can
    /// make a task from it. Empty if there are none.
    #[must_use]
    pub fn suggestion(&self, row: &Row, name: &str) -> String {
        let fitting = self.fitting(row);
        let names: Vec<String> = fitting
            .iter()
            .filter(|fitting| **fitting != name)
            .take(MAX_SUGGESTIONS)
            .map(|name| format!("`{name}`"))
            .collect();
        if names.is_empty() {
            return String::new();
        }
        let columns: Vec<String> = row
            .iter()
            .filter(|(_, value)| !Value::is_null(value))
            .take(8)
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        format!(
            "; the columns {} fit template {}",
            columns.join(", "),
            names.join(" or ")
        )
    }
}

/// Approximate size of a row in bytes. What exceeds `max` is not counted.
fn size(row: &Row, max: usize) -> usize {
    fn add(value: &Value, total: &mut usize, max: usize) {
        // More than the shortest text of a value in JSON.
        *total += 2;
        match value {
            Value::String(text) => *total += text.len(),
            Value::Array(values) => {
                for value in values {
                    if *total > max {
                        return;
                    }
                    add(value, total, max);
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    if *total > max {
                        return;
                    }
                    *total += name.len();
                    add(value, total, max);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    let mut total = 0;
    for (name, value) in row {
        total += name.len();
        add(value, &mut total, max);
    }
    total
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(columns: &Value) -> Row {
        columns.as_object().cloned().unwrap()
    }

    #[test]
    fn rows_over_the_limit_get_no_suggestion() {
        let mut templates = Templates::default();
        let fits = r#"{"type":"math","answer":"{{ total }}"}"#;
        templates.add("fits", fits).unwrap();
        let with = |text: &str| row(&json!({ "total": 3, "text": [text] }));
        let most = MAX_TRIED_BYTES - size(&with(""), MAX_TRIED_BYTES);
        assert_eq!(templates.fitting(&with(&"a".repeat(most))), ["fits"]);
        assert!(templates.fitting(&with(&"a".repeat(most + 1))).is_empty());
        let deep = row(&json!({ "a": { "b": vec![0; MAX_TRIED_BYTES] }, "c": [[1]] }));
        assert!(size(&deep, MAX_TRIED_BYTES) > MAX_TRIED_BYTES);
    }

    #[test]
    fn few_templates_are_tried() {
        let mut templates = Templates::default();
        let fits = r#"{"type":"math","answer":"{{ total }}"}"#;
        templates.add("fits", fits).unwrap();
        let values = row(&json!({ "total": 3, "b": 1 }));
        assert_eq!(templates.fitting(&values), ["fits"]);
        // These read more of its columns, so they are tried first.
        let fails = r#"{"type":"math","answer":"{{ total.x ~ b }}"}"#;
        for at in 1..MAX_TRIED {
            templates.add(&format!("fails-{at}"), fails).unwrap();
        }
        assert_eq!(templates.fitting(&values), ["fits"]);
        templates.add("fails", fails).unwrap();
        assert!(templates.fitting(&values).is_empty());
    }
}
