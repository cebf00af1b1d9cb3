//! The published instructions, by id: a table that gives each the rule it stands for.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use assay_base::similar::did_you_mean;
use serde::Deserialize;
use serde_json::{Map, Value};

/// An instruction of a data set: a line of `published.jsonl`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Its id, such as `keywords:existence`.
    pub id: String,
    /// The sets that have it: `ifeval`, `ifevalg`, `ifbench`.
    pub sets: Vec<String>,
    /// Its arguments. `$name` in the rule stands for the argument, and `${name}` for its text in a
    /// pattern.
    #[serde(default)]
    arguments: BTreeMap<String, Kind>,
    /// What makes its verdicts approximate, if anything does.
    #[serde(default)]
    pub approximate: Option<String>,
    rule: Value,
}

/// The type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Text,
    Texts,
    Number,
    Relation,
    /// A text that separates options, or a list of them.
    Options,
    /// Accepted and not read.
    Ignored,
}

static TABLE: LazyLock<Vec<Published>> = LazyLock::new(|| {
    include_str!("published.jsonl")
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
});

/// All published instructions.
#[must_use]
pub fn all() -> &'static [Published] {
    &TABLE
}

/// The instruction with an id.
///
/// # Errors
/// A message with a similar id if there is none.
pub(crate) fn find(id: &str) -> Result<&'static Published, String> {
    TABLE
        .iter()
        .find(|published| published.id == id)
        .ok_or_else(|| {
            let ids = TABLE.iter().map(|published| published.id.as_str());
            format!("unknown instruction `{id}`{}", did_you_mean(id, ids))
        })
}

impl Published {
    /// The rule with these arguments, of which those that are null are missing.
    ///
    /// # Errors
    /// The argument that is wrong, if it is one, and the message.
    pub(crate) fn rule(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<Value, (Option<String>, String)> {
        let given = |name: &str| arguments.get(name).filter(|value| !value.is_null());
        if let Some((name, _)) = arguments
            .iter()
            .find(|(name, value)| !value.is_null() && !self.arguments.contains_key(*name))
        {
            let known = self.arguments.keys().map(String::as_str);
            let message = format!(
                "`{}` has no argument `{name}`{}",
                self.id,
                did_you_mean(name, known)
            );
            return Err((Some(name.clone()), message));
        }
        let mut values = BTreeMap::new();
        for (name, kind) in &self.arguments {
            let Some(value) = given(name) else {
                if *kind == Kind::Ignored {
                    continue;
                }
                return Err((None, format!("`{}` needs the argument `{name}`", self.id)));
            };
            let value = kind.read(value).map_err(|expected| {
                let message = format!(
                    "`{name}` of `{}` must be {expected}, not `{value}`",
                    self.id
                );
                (Some(name.clone()), message)
            })?;
            values.insert(name.as_str(), value);
        }
        Ok(filled(&self.rule, &values))
    }
}

impl Kind {
    /// The value of an argument, with counts as numbers.
    fn read(self, value: &Value) -> Result<Value, &'static str> {
        let filled = |text: &Value| text.as_str().is_some_and(|text| !text.trim().is_empty());
        match self {
            Self::Text if filled(value) => Ok(value.clone()),
            Self::Text => Err("a text"),
            Self::Texts | Self::Options => match value {
                Value::Array(texts) if !texts.is_empty() && texts.iter().all(filled) => {
                    Ok(value.clone())
                }
                value if self == Self::Options && filled(value) => Ok(value.clone()),
                _ => Err("a list of texts"),
            },
            Self::Number => {
                let number = value.as_f64().filter(|number| (0.0..=1e9).contains(number));
                number
                    .map(|_| value.clone())
                    .ok_or("a number from 0 to 1e9")
            }
            Self::Relation if value.is_string() => Ok(value.clone()),
            Self::Relation => Err("a relation such as `at least`"),
            Self::Ignored => Ok(Value::Null),
        }
    }
}

/// A rule with the arguments in their places.
fn filled(rule: &Value, values: &BTreeMap<&str, Value>) -> Value {
    match rule {
        Value::String(text) => match text.strip_prefix('$').and_then(|name| values.get(name)) {
            Some(value) => value.clone(),
            None => Value::String(filled_pattern(text, values)),
        },
        Value::Array(items) => items.iter().map(|item| filled(item, values)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), filled(value, values)))
            .collect(),
        other => other.clone(),
    }
}

/// A pattern with the texts of arguments as literals. White space in them matches any white space.
fn filled_pattern(pattern: &str, values: &BTreeMap<&str, Value>) -> String {
    let mut out = pattern.to_owned();
    for (name, value) in values {
        let mark = format!("${{{name}}}");
        if let Some(text) = value.as_str().filter(|_| out.contains(&mark)) {
            let words: Vec<String> = text.split_whitespace().map(regex::escape).collect();
            out = out.replace(&mark, &words.join(r"\s+"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Rule;
    use serde_json::json;

    #[test]
    fn every_line_is_a_rule() {
        let lines = include_str!("published.jsonl").lines().count();
        assert_eq!(all().len(), lines);
        for published in all() {
            let arguments: Map<String, Value> = published
                .arguments
                .iter()
                .map(|(name, kind)| {
                    let value = match kind {
                        Kind::Text if name == "language" => json!("de"),
                        Kind::Text | Kind::Options => json!("a+b (c)"),
                        Kind::Texts => json!(["x", "[y"]),
                        Kind::Number => json!(3.0),
                        Kind::Relation => json!("at least"),
                        Kind::Ignored => json!("anything"),
                    };
                    (name.clone(), value)
                })
                .collect();
            let rule = published.rule(&arguments).unwrap();
            Rule::read(&rule).unwrap_or_else(|error| panic!("{}: {error:?}", published.id));
            assert!(!rule.to_string().contains("\"$"), "{rule}");
        }
    }

    #[test]
    fn names_wrong_arguments() {
        let find = |id: &str, arguments: Value| {
            find(id)
                .unwrap()
                .rule(arguments.as_object().unwrap())
                .unwrap_err()
        };
        let (name, message) = find("keywords:existence", json!({ "keyword": "x" }));
        assert_eq!(name.as_deref(), Some("keyword"));
        assert!(message.contains("did you mean `keywords`"), "{message}");
        // Nulls are missing, and an empty list would hold for every text.
        assert!(
            find("keywords:existence", json!({ "keywords": null }))
                .1
                .contains("needs")
        );
        assert!(
            find("keywords:existence", json!({ "keywords": [] }))
                .1
                .contains("a list of texts")
        );
        assert!(
            super::find("keywords:existance")
                .unwrap_err()
                .contains("keywords:existence")
        );
    }
}
