//! Parsing and validation of a policy. Every error has a JSON pointer and a remedy.

use assay_base::pointer::{self, escaped};
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

use super::Outcome;
use super::rules::PolicyRules;
use super::validate::{PolicyError, ValidationResult};
use crate::Estimator;

/// Maximum length of a policy's summary in bytes. It is stored and shown with the policy.
const MAX_SUMMARY: usize = 4_096;

impl PolicyRules {
    /// Parses and validates a policy. Unknown fields are errors, because a misspelt field would
    /// change rewards without notice.
    ///
    /// # Errors
    /// [`PolicyError`] for the first violation: JSON of the wrong structure, a number out of range,
    /// or sections that contradict each other.
    pub fn from_json(value: &Value) -> Result<Self, PolicyError> {
        let policy: Self = serde_path_to_error::deserialize(value).map_err(|error| {
            let mut pointer = pointer(error.path());
            let message = error.inner().to_string();
            // The path does not include an unknown name.
            let unknown = ["unknown field `", "unknown variant `"]
                .iter()
                .find_map(|start| message.strip_prefix(start));
            if let Some(name) = unknown.and_then(|rest| rest.split('`').next()) {
                let segment = pointer::member("", name);
                if !pointer.ends_with(&segment) {
                    pointer.push_str(&segment);
                }
            }
            PolicyError { pointer, message }
        })?;
        match positional(value, &policy.to_json()) {
            Some(pointer) => Err(PolicyError {
                pointer,
                message: "expected an object with named fields; found a list".to_owned(),
            }),
            None => policy.check().map(|()| policy),
        }
    }

    /// The policy as JSON with its defaults written out. [`PolicyRules::from_json`] parses it to an
    /// equal policy.
    #[must_use]
    pub fn to_json(&self) -> Value {
        // Serialisation cannot fail: keys are strings and numbers are finite.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Validates ranges, and sections that contradict each other.
    ///
    /// # Errors
    /// [`PolicyError`] for the first violation.
    pub fn check(&self) -> ValidationResult {
        if let Some(summary) = self
            .summary
            .as_ref()
            .filter(|summary| summary.len() > MAX_SUMMARY)
        {
            let message = format!(
                "the summary has {} bytes, more than {MAX_SUMMARY}; shorten it",
                summary.len()
            );
            return Err(PolicyError::at("summary", message));
        }
        for (name, section) in self.sections() {
            section.check().map_err(|error| error.under(name))?;
        }
        if self.combine.is_some() && self.progressive.is_some() {
            let message = "`progressive` and `combine` cannot be used together; remove one of them";
            return Err(PolicyError::at("progressive", message));
        }
        let measured = matches!(self.outcome, Some(Outcome::Measure(_)));
        if self.consensus.is_some() && measured {
            let message = "a measure and `consensus` cannot be used together, because with \
                           `consensus` the outcome is agreement with the group's label; remove \
                           one of them";
            return Err(PolicyError::at("outcome", message));
        }
        let weighted = self.weights.is_some();
        if weighted && !matches!(self.advantage_estimator, None | Some(Estimator::Mean)) {
            let message = "`weights` need the estimator `mean`; remove `advantage_estimator` or \
                           `weights`";
            return Err(PolicyError::at("weights", message));
        }
        if measured && self.efficiency.is_some() {
            let message = "`efficiency` needs right and wrong answers, which a measure as the \
                           outcome does not distinguish; use `length` or `repetition`, or another \
                           outcome";
            return Err(PolicyError::at("efficiency", message));
        }
        Ok(())
    }
}

/// Pointer to a list in place of an object. Serde would accept it as the fields in the order of
/// their declaration.
fn positional(written: &Value, read: &Value) -> Option<String> {
    match (written, read) {
        (Value::Array(_), Value::Object(_)) => Some(String::new()),
        (Value::Array(written), Value::Array(read)) => {
            let mut entries = written.iter().zip(read).enumerate();
            entries.find_map(|(at, (written, read))| {
                Some(format!("/{at}{}", positional(written, read)?))
            })
        }
        (Value::Object(written), Value::Object(read)) => written.iter().find_map(|(key, value)| {
            Some(format!(
                "/{}{}",
                escaped(key),
                positional(value, read.get(key)?)?
            ))
        }),
        _ => None,
    }
}

/// The JSON pointer of a path. Unlike a pointer into a task, it includes names of variants, because
/// in a policy the chosen function is a key.
fn pointer(path: &Path) -> String {
    let step = |segment: &Segment| match segment {
        Segment::Seq { index } => format!("/{index}"),
        Segment::Map { key } => pointer::member("", key),
        Segment::Enum { variant } => pointer::member("", variant),
        Segment::Unknown => String::new(),
    };
    path.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::format::format_number;

    fn rejected(policy: &Value) -> (String, String) {
        let error = PolicyRules::from_json(policy).expect_err(&policy.to_string());
        (error.pointer, error.message)
    }

    #[test]
    fn errors_point_to_the_invalid_field() {
        let cases = [
            (json!({ "lenght": {} }), "/lenght", "unknown field"),
            (
                json!({ "combine": { "mean": {} } }),
                "/combine/mean",
                "unknown variant",
            ),
            (
                json!({ "combine": { "weighted": { "weights": { "outcome": "x" } } } }),
                "/combine/weighted/weights/outcome",
                "invalid type",
            ),
            (
                json!({ "combine": { "weighted": { "weights": { "outcome": 0, "a": 0 } } } }),
                "/combine/weighted/weights",
                "0",
            ),
            (
                json!({ "combine": { "weighted": { "weights": { "a": 1 } } } }),
                "/combine/weighted/weights",
                "`outcome`",
            ),
            (
                json!({ "combine": { "min": { "parts": [""] } } }),
                "/combine/min/parts/0",
                "empty",
            ),
            (
                json!({ "combine": { "product": { "parts": [] } } }),
                "/combine/product/parts",
                "empty",
            ),
            (
                json!({ "combine": { "weighted": { "weights": { "outcome": 1, "a/b~": -1 } } } }),
                "/combine/weighted/weights/a~1b~0",
                "0 to 1e9",
            ),
            (
                json!({ "combine": { "points": { "points": { "outcome": 1, "a/b": 1e300 } } } }),
                "/combine/points/points/a~1b",
                "1e9",
            ),
            (
                json!({ "veto": { "parts": ["safe", "safe"] } }),
                "/veto/parts/1",
                "twice",
            ),
            (
                json!({ "veto": { "parts": ["outcome"] } }),
                "/veto/parts/0",
                "not a part",
            ),
            (json!({ "veto": { "parts": [] } }), "/veto/parts", "empty"),
            (
                json!({ "shape": { "bounds": { "low": 2, "high": 1 } } }),
                "/shape/bounds/low",
                "high",
            ),
            (
                json!({ "progressive": [{ "weight": 1 }] }),
                "/progressive/0",
                "missing field `part`",
            ),
            (
                json!({ "progressive": [{ "part": "a" }] }),
                "/progressive",
                "`outcome`",
            ),
            (
                json!({ "length": { "soft_overlong": { "max": 10, "buffer": 20 } } }),
                "/length/soft_overlong/buffer",
                "max",
            ),
            (json!({ "length": {} }), "/length", "empty"),
            (
                json!({ "efficiency": { "otc": { "form": "ppo" } } }),
                "/efficiency/otc/max",
                "ppo",
            ),
            (
                json!({ "efficiency": { "work": { "alpha": 1.5, "reference": 10 } } }),
                "/efficiency/work/alpha",
                "0 to 1",
            ),
            (
                json!({ "efficiency": { "work": { "reference": [] } } }),
                "/efficiency/work/reference",
                "a number or the name",
            ),
            (
                json!({ "format": [{ "part": "a" }, { "part": "b", "factor": 2 }] }),
                "/format/1/factor",
                "0 to 1",
            ),
            (
                json!({ "outcome": { "measure": "r" }, "consensus": { "ttrl": {} } }),
                "/outcome",
                "consensus",
            ),
            (
                json!({ "weights": { "inverse_probability": {} }, "advantage_estimator": "grpo" }),
                "/weights",
                "`mean`",
            ),
            (
                json!({ "weights": { "inverse_probability": { "by": ["length", "length"] } } }),
                "/weights/inverse_probability/by/1",
                "twice",
            ),
            (
                json!({ "weights": { "inverse_probability": { "max": 0.5 } } }),
                "/weights/inverse_probability/max",
                "1 to 100",
            ),
            (
                json!({ "consensus": { "ttrl": { "gold": "outcome" } } }),
                "/consensus/ttrl/gold",
                "not a part",
            ),
            (
                json!({ "consensus": { "ttrl": { "votes": 0 } } }),
                "/consensus/ttrl/votes",
                "1 to 4096",
            ),
            (
                json!({ "outcome": { "measure": "r" }, "efficiency": { "otc": {} } }),
                "/efficiency",
                "measure",
            ),
            (
                json!({ "combine": { "min": { "parts": ["a"] } }, "progressive": [{ "part": "outcome" }] }),
                "/progressive",
                "remove",
            ),
            (json!([]), "", "named fields"),
            (json!({ "diversity": [0.2] }), "/diversity", "named fields"),
            (
                json!({ "format": [{ "part": "a" }, ["b"]] }),
                "/format/1",
                "named fields",
            ),
            (
                json!({ "shape": { "clip": [1] } }),
                "/shape/clip",
                "named fields",
            ),
            (json!("x"), "", "invalid type"),
            (
                json!({ "shape": { "min_max": { "k": 1 } } }),
                "/shape/min_max/k",
                "unknown field",
            ),
            (
                json!({ "combine": "weighted" }),
                "/combine/weighted",
                "invalid type",
            ),
            (
                json!({ "filter": { "power": {}, "best_of_n": {} } }),
                "/filter",
                "single key",
            ),
        ];
        for (policy, pointer, message) in cases {
            let text = policy.to_string();
            let found = rejected(&policy);
            assert_eq!(found.0, pointer, "{text}: {}", found.1);
            assert!(found.1.contains(message), "{text}: {}", found.1);
        }
    }

    #[test]
    fn policies_round_trip_through_json() {
        for function in super::super::FUNCTIONS {
            let section: Value = serde_json::from_str(function.example).unwrap();
            let policy = PolicyRules::from_json(&section).unwrap();
            assert_eq!(
                PolicyRules::from_json(&policy.to_json()).unwrap(),
                policy,
                "{}",
                function.name
            );
        }
        assert_eq!(PolicyRules::default().to_json(), json!({}));
        assert_eq!(
            PolicyRules::from_json(&json!({})).unwrap(),
            PolicyRules::default()
        );
        assert_eq!(
            PolicyRules::from_json(&json!({ "summary": "x" }))
                .unwrap()
                .to_json(),
            json!({ "summary": "x" })
        );
    }

    #[test]
    fn error_includes_the_pointer() {
        let error = PolicyRules::from_json(&json!({ "diversity": { "lambda": -1 } })).unwrap_err();
        assert_eq!(
            error.to_string(),
            "policy at `/diversity/lambda`: must be from 0 to 1; found -1"
        );
    }

    #[test]
    fn messages_use_exponents_for_large_and_small_numbers() {
        let message = |policy: &Value| rejected(policy).1;
        assert_eq!(
            message(&json!({ "diversity": { "lambda": 1e308 } })),
            "must be from 0 to 1; found 1e308"
        );
        assert_eq!(
            message(&json!({ "diversity": { "lambda": -1e-300 } })),
            "must be from 0 to 1; found -1e-300"
        );
        assert_eq!(
            message(&json!({ "shape": { "tanh": { "k": -2.5e9 } } })),
            "must be above 0; found -2.5e9"
        );
        assert_eq!(format_number(999_999_999.5), "999999999.5");
        for policy in [
            json!({ "length": { "soft_overlong": { "max": 1e307, "buffer": 1e308 } } }),
            json!({ "length": { "beyond": { "max": 1e307, "threshold": 1e308 } } }),
            json!({ "shape": { "bounds": { "low": 1e308, "high": 1e307 } } }),
            json!({ "repetition": { "ngrams": { "above": 1e308 } } }),
            json!({ "filter": { "best_worst": { "best": 1e308 } } }),
            json!({ "rates": { "math/a": { "rho0": 1e308, "rho1": 0 } } }),
            json!({ "appeals": [{ "judge": { "type": "math" }, "negatives": 1e308 }] }),
        ] {
            let message = message(&policy);
            assert!(
                message.contains("1e308") && message.len() < 120,
                "{message}"
            );
        }
    }

    #[test]
    fn rejects_long_summaries() {
        let of = |bytes: usize| json!({ "summary": "x".repeat(bytes) });
        assert!(PolicyRules::from_json(&of(4_096)).is_ok());
        let (pointer, message) = rejected(&of(4_097));
        assert_eq!(
            (&pointer[..], &message[..]),
            (
                "/summary",
                "the summary has 4097 bytes, more than 4096; shorten it"
            )
        );
    }
}
