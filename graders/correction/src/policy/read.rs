//! Reading a policy: shape, ranges and contradictions, each error with the place and the remedy.
//! Computes no reward.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

use super::{OUTCOME, Outcome, PolicyRules, Sample};

/// Most names or numbers in one list of a policy: an inline policy must not make every item of a
/// batch expensive.
pub const MAX_LIST: usize = 64;

/// Most bytes of a policy's summary: it is kept and shown with the policy.
const MAX_SUMMARY: usize = 4_096;

/// A policy cannot be used as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyError {
    /// JSON pointer within the policy; empty for the policy as a whole.
    pub pointer: String,
    /// What is wrong and what to do.
    pub message: String,
}

/// Whether a section may stand as it is.
pub(super) type Checked = Result<(), PolicyError>;

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, message } = self;
        if pointer.is_empty() {
            write!(f, "policy: {message}")
        } else {
            write!(f, "policy at `{pointer}`: {message}")
        }
    }
}

impl std::error::Error for PolicyError {}

impl PolicyError {
    /// An error at `field` of a section; `field` is empty for the section itself and may be a path
    /// (`weights/style`).
    pub(super) fn at(field: impl fmt::Display, message: impl Into<String>) -> Self {
        Self {
            pointer: String::new(),
            message: message.into(),
        }
        .under(field)
    }

    /// The same seen from one level up.
    pub(super) fn under(mut self, segment: impl fmt::Display) -> Self {
        let segment = segment.to_string();
        if !segment.is_empty() {
            self.pointer = format!("/{segment}{}", self.pointer);
        }
        self
    }
}

impl PolicyRules {
    /// Reads a policy strictly: an unknown field is an error, for a typing error in one would
    /// change rewards in silence.
    ///
    /// # Errors
    /// [`PolicyError`] for the first thing that is wrong: shape, a number out of range, or sections
    /// that contradict each other.
    pub fn from_json(value: &Value) -> Result<Self, PolicyError> {
        let policy: Self = serde_path_to_error::deserialize(value).map_err(|error| {
            let mut pointer = pointer(error.path());
            let message = error.inner().to_string();
            // The path of a name that nobody knows ends before it.
            let unknown = ["unknown field `", "unknown variant `"]
                .iter()
                .find_map(|start| message.strip_prefix(start));
            if let Some(name) = unknown.and_then(|rest| rest.split('`').next()) {
                let segment = format!("/{}", escaped(name));
                if !pointer.ends_with(&segment) {
                    pointer.push_str(&segment);
                }
            }
            PolicyError { pointer, message }
        })?;
        match positional(value, &policy.to_json()) {
            Some(pointer) => Err(PolicyError {
                pointer,
                message: "this is a list; write an object with named fields".to_owned(),
            }),
            None => policy.check().map(|()| policy),
        }
    }

    /// The policy as JSON with its defaults written out; [`Policy::from_json`] reads it back to the
    /// same policy.
    #[must_use]
    pub fn to_json(&self) -> Value {
        // Strings for keys and finite numbers only: there is nothing that JSON could not hold.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Ranges and contradictions.
    ///
    /// # Errors
    /// [`PolicyError`] for the first thing that is wrong.
    pub fn check(&self) -> Checked {
        if let Some(summary) = self
            .summary
            .as_ref()
            .filter(|summary| summary.len() > MAX_SUMMARY)
        {
            let message = format!(
                "{} bytes are more than {MAX_SUMMARY}; say it in fewer words",
                summary.len()
            );
            return Err(PolicyError::at("summary", message));
        }
        for (name, section) in self.sections() {
            section.check().map_err(|error| error.under(name))?;
        }
        if self.combine.is_some() && self.progressive.is_some() {
            let message = "`progressive` already makes one number of outcome and parts; remove it \
                           or `combine`";
            return Err(PolicyError::at("progressive", message));
        }
        let measured = matches!(self.outcome, Some(Outcome::Measure(_)));
        if self.consensus.is_some() && self.outcome.is_some() {
            let message = "with `consensus` the outcome is agreement with the group's label, \
                           which no rates and no measure speak of; remove one of the two";
            return Err(PolicyError::at("outcome", message));
        }
        if measured && self.efficiency.is_some() {
            let message = "factors act on what a right answer has above a wrong one, which a \
                           measure as the outcome does not say; use `length` or `repetition`, or \
                           another outcome";
            return Err(PolicyError::at("efficiency", message));
        }
        Ok(())
    }
}

/// Where a list stands in place of an object: serde would read its entries as the fields in the
/// order in which the code has them.
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

/// A name as a segment of a JSON pointer (RFC 6901, section 3).
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Unlike the pointer into a task, one into a policy names the chosen function too, which is a key
/// there.
fn pointer(path: &Path) -> String {
    let step = |segment: &Segment| match segment {
        Segment::Seq { index } => format!("/{index}"),
        Segment::Map { key } => format!("/{}", escaped(key)),
        Segment::Enum { variant } => format!("/{}", escaped(variant)),
        Segment::Unknown => String::new(),
    };
    path.iter().map(step).collect()
}

/// A number as messages show it: by its exponent where it would be a row of zeros, which is up to
/// 300 of them.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 1e9 || (size > 0.0 && size < 1e-9) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// Refuses a number outside `low..=high`.
pub(super) fn within(field: impl fmt::Display, value: f64, low: f64, high: f64) -> Checked {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(PolicyError::at(
        field,
        format!(
            "{} is not from {} to {}",
            number(value),
            number(low),
            number(high)
        ),
    ))
}

/// Refuses what is not a finite number above 0.
pub(super) fn positive(field: impl fmt::Display, value: f64) -> Checked {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(PolicyError::at(
        field,
        format!("{} is not a number above 0", number(value)),
    ))
}

/// Refuses NaN and infinities.
pub(super) fn finite(field: impl fmt::Display, value: f64) -> Checked {
    if value.is_finite() {
        Ok(())
    } else {
        Err(PolicyError::at(field, "this is not a finite number"))
    }
}

/// Refuses an empty name of a part or measure.
pub(super) fn named(field: impl fmt::Display, name: &str) -> Checked {
    if name.is_empty() {
        Err(PolicyError::at(
            field,
            "the name is empty; write the name of a part or measure",
        ))
    } else {
        Ok(())
    }
}

/// Refuses the outcome where a part is meant.
pub(super) fn part(field: impl fmt::Display, name: &str) -> Checked {
    if name == OUTCOME {
        return Err(PolicyError::at(
            field,
            "`outcome` is not a part and cannot stand here; name a check or a component",
        ));
    }
    named(field, name)
}

/// Refuses an empty list, a list that is too long, and one that names something twice.
pub(super) fn distinct<'n>(field: &str, names: impl ExactSizeIterator<Item = &'n str>) -> Checked {
    listed(field, names.len())?;
    let mut seen: Vec<&str> = Vec::with_capacity(names.len());
    for (at, name) in names.enumerate() {
        let place = if field.is_empty() {
            at.to_string()
        } else {
            format!("{field}/{at}")
        };
        named(&place, name)?;
        if seen.contains(&name) {
            return Err(PolicyError::at(
                place,
                format!("`{name}` is named twice; name it once"),
            ));
        }
        seen.push(name);
    }
    Ok(())
}

/// Refuses an empty list and one that is too long.
pub(super) fn listed(field: &str, len: usize) -> Checked {
    match len {
        0 => Err(PolicyError::at(
            field,
            "the list is empty; name something or remove it",
        )),
        len if len > MAX_LIST => Err(PolicyError::at(
            field,
            format!("{len} entries are more than {MAX_LIST}"),
        )),
        _ => Ok(()),
    }
}

/// Refuses a section that switches nothing on.
pub(super) fn some_function(any: bool, names: &str) -> Checked {
    if any {
        Ok(())
    } else {
        Err(PolicyError::at(
            "",
            format!("the section is empty; add one of {names} or remove it"),
        ))
    }
}

/// A number, or the name of the measure of the item that holds it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Level {
    /// The same for all items.
    Number(f64),
    /// Each item's own.
    Measure(String),
}

impl Level {
    /// The number for this item; `None` when it lacks the measure.
    #[must_use]
    pub fn of(&self, item: &Sample<'_>) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Measure(name) => item.measure(name),
        }
    }

    pub(super) fn needs<'p>(&'p self, needs: &mut super::Needs<'p>) {
        if let Self::Measure(name) = self {
            needs.measure(name);
        }
    }

    pub(super) fn check(&self, field: &str) -> Checked {
        match self {
            Self::Number(number) => finite(field, *number),
            Self::Measure(name) => named(field, name),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Measure(name) => write!(f, "{name}"),
        }
    }
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Number(number) => number.as_f64().map(Self::Number),
            Value::String(name) => Some(Self::Measure(name)),
            _ => None,
        }
        .ok_or_else(|| de::Error::custom("expected a number or the name of a measure"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(policy: &Value) -> (String, String) {
        let error = PolicyRules::from_json(policy).expect_err(&policy.to_string());
        (error.pointer, error.message)
    }

    #[test]
    fn errors_name_the_field() {
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
                "/efficiency/otc/most",
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
                json!({ "outcome": "backward", "consensus": { "ttrl": {} } }),
                "/outcome",
                "consensus",
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
            let found = refused(&policy);
            assert_eq!(found.0, pointer, "{text}: {}", found.1);
            assert!(found.1.contains(message), "{text}: {}", found.1);
        }
    }

    #[test]
    fn a_policy_survives_the_round_trip() {
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
    fn an_error_reads_as_a_sentence() {
        let error = PolicyRules::from_json(&json!({ "diversity": { "lambda": -1 } })).unwrap_err();
        assert_eq!(
            error.to_string(),
            "policy at `/diversity/lambda`: -1 is not from 0 to 1"
        );
    }

    #[test]
    fn a_message_shows_a_large_number_by_its_exponent() {
        let message = |policy: &Value| refused(policy).1;
        assert_eq!(
            message(&json!({ "diversity": { "lambda": 1e308 } })),
            "1e308 is not from 0 to 1"
        );
        assert_eq!(
            message(&json!({ "diversity": { "lambda": -1e-300 } })),
            "-1e-300 is not from 0 to 1"
        );
        assert_eq!(
            message(&json!({ "shape": { "tanh": { "k": -2.5e9 } } })),
            "-2.5e9 is not a number above 0"
        );
        assert_eq!(number(999_999_999.5), "999999999.5");
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
    fn a_summary_has_a_length() {
        let of = |bytes: usize| json!({ "summary": "x".repeat(bytes) });
        assert!(PolicyRules::from_json(&of(4_096)).is_ok());
        let (pointer, message) = refused(&of(4_097));
        assert_eq!(
            (&pointer[..], &message[..]),
            (
                "/summary",
                "4097 bytes are more than 4096; say it in fewer words"
            )
        );
    }
}
