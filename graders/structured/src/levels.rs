//! Partial scores by level. A level counts only if the share of the previous one is above 0. Levels
//! that the task cannot measure are omitted, and the weights of the others are normalised.

use std::collections::{BTreeMap, HashMap};

use assay_documents::{Json, Schema};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::requirements::{RequiredPath, required_paths};

/// Maximum score of an incorrect document.
const MAX_INCORRECT_SCORE: f64 = 0.999;

/// The weight of each level.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object of weights")]
pub(crate) struct Weights {
    parses: f64,
    required: f64,
    schema: f64,
    values: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            parses: 0.1,
            required: 0.2,
            schema: 0.3,
            values: 0.4,
        }
    }
}

impl Weights {
    /// Validates the weights. An error has the name of the level, or an empty name for all of them.
    pub(crate) fn check(
        &self,
        has_schema: bool,
        has_expected: bool,
    ) -> Result<(), (&'static str, String)> {
        let Self {
            parses,
            required,
            schema,
            values,
        } = *self;
        for (level, weight) in [
            ("parses", parses),
            ("required", required),
            ("schema", schema),
            ("values", values),
        ] {
            if !(0.0..=1e9).contains(&weight) {
                return Err((
                    level,
                    format!("a weight must be between 0 and 1e9, not {weight}"),
                ));
            }
        }
        // Whether keys are required is known only after the schema is compiled.
        let counted = parses
            + if has_schema { schema } else { 0.0 }
            + if has_expected { values } else { 0.0 };
        let any = counted > 0.0;
        any.then_some(()).ok_or_else(|| {
            (
                "",
                "a level of this task other than `required` must have a weight above 0".to_owned(),
            )
        })
    }
}

/// The levels of one task.
#[derive(Debug)]
pub(crate) struct Levels {
    weights: Weights,
    required: Vec<RequiredPath>,
    properties: BTreeMap<String, Schema>,
    /// Names of the required top-level properties.
    required_names: Vec<String>,
}

/// One level: its name, its weight, and the share that was reached.
struct Level {
    name: &'static str,
    weight: f64,
    share: f64,
}

/// The levels that a document reached.
pub(crate) struct ReachedLevels {
    levels: Vec<Level>,
}

impl Levels {
    pub(crate) fn new(weights: Weights, schema: Option<&Schema>) -> Self {
        let required = schema
            .map(|schema| required_paths(schema.source()))
            .unwrap_or_default();
        let required_names = required
            .iter()
            .filter(|path| path.len() == 1)
            .filter_map(|path| path.first().cloned())
            .collect();
        Self {
            weights,
            required,
            properties: schema.map(Schema::properties).unwrap_or_default(),
            required_names,
        }
    }

    /// The levels that a document reaches. `is_valid` is whether it satisfies the schema, if the
    /// task has one; `values` is its share of equal leaves, if the task has an expected value.
    pub(crate) fn reached(
        &self,
        document: &Json,
        is_valid: Option<bool>,
        values: Option<f64>,
    ) -> ReachedLevels {
        let Weights {
            parses,
            required,
            schema,
            ..
        } = self.weights;
        let mut levels = vec![Level {
            name: "parses",
            weight: parses,
            share: 1.0,
        }];
        if !self.required.is_empty() {
            let present = self
                .required
                .iter()
                .filter(|path| contains_path(document, path))
                .count();
            levels.push(Level {
                name: "required",
                weight: required,
                share: share(present, self.required.len()),
            });
        }
        if let Some(is_valid) = is_valid {
            let share = if is_valid {
                1.0
            } else {
                self.valid_share(document)
            };
            levels.push(Level {
                name: "schema",
                weight: schema,
                share,
            });
        }
        if let Some(share) = values {
            levels.push(Level {
                name: "values",
                weight: self.weights.values,
                share,
            });
        }
        ReachedLevels { levels }
    }

    /// The share of valid parts among the properties of the schema and, as one more part, the
    /// document. Properties that the schema does not list are ignored. Optional ones count only if
    /// present.
    fn valid_share(&self, document: &Json) -> f64 {
        let (mut valid, mut all) = (0, 1);
        let members: HashMap<&str, &Json> = document
            .members()
            .iter()
            .map(|(key, value)| (key.as_str(), value))
            .collect();
        for (name, schema) in &self.properties {
            match members.get(name.as_str()) {
                Some(value) => {
                    all += 1;
                    valid += usize::from(schema.holds(value));
                }
                None => all += usize::from(self.required_names.contains(name)),
            }
        }
        share(valid, all)
    }

    /// Approximate size in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let paths: usize = self
            .required
            .iter()
            .flatten()
            .map(|step| size_of::<String>() + step.len())
            .sum();
        paths + self.properties.values().map(Schema::bytes).sum::<usize>()
    }
}

/// Whether a document has a value at a path.
fn contains_path(document: &Json, path: &[String]) -> bool {
    path.iter()
        .try_fold(document, |tree, key| tree.get(key))
        .is_some()
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

impl ReachedLevels {
    /// The score: 1 for a correct document, less for others.
    pub(crate) fn score(&self, is_correct: bool) -> f64 {
        if is_correct {
            return 1.0;
        }
        let whole: f64 = self.levels.iter().map(|level| level.weight).sum();
        let score: f64 = self
            .counted()
            .map(|level| level.weight / whole * level.share)
            .sum();
        if score.is_finite() {
            score.clamp(0.0, MAX_INCORRECT_SCORE)
        } else {
            0.0
        }
    }

    /// The levels before the first one with a share of 0.
    fn counted(&self) -> impl Iterator<Item = &Level> {
        self.levels.iter().take_while(|level| level.share > 0.0)
    }

    /// The levels as a table, for the evidence.
    pub(crate) fn table(&self) -> Value {
        let counted = self.counted().count();
        let row = |(at, level): (usize, &Level)| {
            json!({
                "level": level.name,
                "weight": level.weight,
                "share": level.share,
                "counted": at < counted,
            })
        };
        self.levels.iter().enumerate().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use assay_documents::schema::Dialect;

    use super::*;

    fn levels(schema: &Value) -> Levels {
        let schema = Schema::compile(schema.clone(), Dialect::default()).unwrap();
        Levels::new(Weights::default(), Some(&schema))
    }

    fn score(levels: &Levels, document: &str, values: Option<f64>) -> f64 {
        levels
            .reached(&Json::read(document).unwrap(), Some(false), values)
            .score(false)
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn a_level_counts_only_if_the_previous_one_passes() {
        let levels = levels(&json!({
            "required": ["a", "b"],
            "properties": {
                "a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "null"}
            }
        }));
        assert!(close(score(&levels, "{}", Some(0.9)), 0.1));
        // Half of the keys; one of three counted properties is valid.
        assert!(close(
            score(&levels, r#"{"a":1}"#, Some(0.5)),
            0.1 + 0.2 * 0.5 + 0.3 / 3.0 + 0.4 * 0.5
        ));
        assert!(close(
            score(&levels, r#"{"a":"x","b":1}"#, Some(0.5)),
            0.1 + 0.2
        ));
        assert!(close(
            score(&levels, r#"{"a":1,"b":"x","c":0}"#, Some(0.0)),
            0.1 + 0.2 + 0.3 * 0.5
        ));
    }

    #[test]
    fn padding_does_not_raise_the_score() {
        let levels = levels(&json!({
            "required": ["a"],
            "properties": {"a": {"type": "integer"}},
            "additionalProperties": false
        }));
        let plain = score(&levels, r#"{"a":"x"}"#, None);
        assert!(close(
            plain,
            score(&levels, r#"{"a":"x","b":1,"c":2,"d":[1,2,3]}"#, None)
        ));
    }

    #[test]
    fn omits_levels_without_a_measure() {
        let levels = Levels::new(Weights::default(), None);
        let reached = levels.reached(&Json::Null, None, Some(0.5));
        assert!(close(reached.score(false), (0.1 + 0.4 * 0.5) / 0.5));
        assert_eq!(reached.table().as_array().map(Vec::len), Some(2));
        assert!(close(reached.score(true), 1.0));
    }

    #[test]
    fn required_paths_take_memory() {
        let levels = levels(&json!({"required": ["a", "bc"]}));
        assert_eq!(levels.bytes(), 2 * size_of::<String>() + "abc".len());
    }

    #[test]
    fn only_correct_documents_score_one() {
        let weights = Weights {
            parses: 1.0,
            required: 0.0,
            schema: 0.0,
            values: 0.0,
        };
        let reached = Levels::new(weights, None).reached(&Json::Null, Some(false), None);
        assert!(reached.score(false) < 1.0);
    }
}
