//! Templates by name: the built-in ones, and those in the configuration.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;

use crate::{NAMES, Row, Template, TemplateError, source};

/// Maximum number of templates that a message suggests for a row.
const MAX_SUGGESTIONS: usize = 3;

/// Templates by name. Built-in ones are compiled when first used.
pub struct Templates {
    by_name: BTreeMap<String, Entry>,
}

struct Entry {
    source: String,
    compiled: OnceLock<Result<Template, TemplateError>>,
}

impl Entry {
    fn template(&self) -> Result<&Template, TemplateError> {
        let compiled = self
            .compiled
            .get_or_init(|| Template::from_json(&self.source));
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
    #[must_use]
    pub fn fitting(&self, row: &Row) -> Vec<&str> {
        let mut fitting: Vec<(usize, &str)> = Vec::new();
        for (name, entry) in &self.by_name {
            let Ok(template) = entry.template() else {
                continue;
            };
            let columns = template.all_columns().into_iter();
            let is_present = |column: &&str| row.get(*column).is_some_and(|value| !value.is_null());
            let read = columns.filter(is_present).count();
            if read > 0
                && template.prompt(row).is_ok()
                && template.id(row).is_ok()
                && template.task(row).is_ok()
            {
                fitting.push((read, name));
            }
        }
        let most = fitting.iter().map(|(read, _)| *read).max();
        fitting.retain(|(read, _)| Some(*read) == most);
        fitting.into_iter().map(|(_, name)| name).collect()
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
