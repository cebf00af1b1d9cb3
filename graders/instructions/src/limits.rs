//! Limits of a number: `min`, `max`, `exactly`, or a relation and a number as data sets write them.

use serde_json::{Map, Value, json};

/// Maximum length of a text of a rule, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 64 << 10;

/// Smallest and largest number that is accepted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// Keys of a limit in a rule.
pub(crate) const KEYS: &[&str] = &["min", "max", "exactly", "relation", "number"];

/// Relations by name, with the limits that each makes of a number.
type OfNumber = fn(f64) -> (f64, f64);
const RELATIONS: &[(&str, OfNumber)] = &[
    ("at least", |number| (number, f64::INFINITY)),
    ("more than", |number| (number + 1.0, f64::INFINITY)),
    ("at most", |number| (0.0, number)),
    ("less than", |number| (0.0, number - 1.0)),
    ("fewer than", |number| (0.0, number - 1.0)),
    ("exactly", |number| (number, number)),
    ("equal to", |number| (number, number)),
    // Within a tenth, as in the rows of RLVR-IFeval.
    ("around", |number| {
        (
            number - (number * 0.1).floor().max(1.0),
            number + (number * 0.1).floor().max(1.0),
        )
    }),
];

impl Limits {
    /// At least one.
    pub(crate) const SOME: Self = Self {
        min: 1.0,
        max: f64::INFINITY,
    };

    /// Reads the limits among the members of a rule; at least one is required.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn read(rule: &Map<String, Value>) -> Result<Option<Self>, String> {
        let number = |name: &str| match rule.get(name) {
            None => Ok(None),
            Some(value) => match value.as_f64().filter(|number| (0.0..=1e9).contains(number)) {
                Some(number) => Ok(Some(number)),
                None => Err(format!(
                    "`{name}` must be a number from 0 to 1e9, not `{value}`"
                )),
            },
        };
        if let Some(exactly) = number("exactly")? {
            return Ok(Some(Self {
                min: exactly,
                max: exactly,
            }));
        }
        if let Some(relation) = rule.get("relation") {
            let known = relation
                .as_str()
                .and_then(|name| RELATIONS.iter().find(|(known, _)| *known == name));
            let Some((_, of_number)) = known else {
                let names: Vec<&str> = RELATIONS.iter().map(|(name, _)| *name).collect();
                return Err(format!(
                    "unknown relation `{relation}`; use one of `{}`",
                    names.join("`, `")
                ));
            };
            let number = number("number")?.ok_or("a relation needs a `number`")?;
            let (min, max) = of_number(number);
            return Ok(Some(Self { min, max }));
        }
        let (min, max) = (number("min")?, number("max")?);
        if min.is_none() && max.is_none() {
            return Ok(None);
        }
        Ok(Some(Self {
            min: min.unwrap_or(0.0),
            max: max.unwrap_or(f64::INFINITY),
        }))
    }

    pub(crate) fn contains(self, number: f64) -> bool {
        (self.min..=self.max).contains(&number)
    }

    /// Whether no count can be within the limits.
    pub(crate) fn is_empty(self) -> bool {
        self.max < 0.0 || self.min > self.max
    }

    /// The numbers that are within both.
    pub(crate) fn intersect(self, other: Self) -> Self {
        Self {
            min: self.min.max(other.min),
            max: self.max.min(other.max),
        }
    }

    /// The limits as they are shown in evidence.
    pub(crate) fn show(self, evidence: &mut Map<String, Value>) {
        if self.min > 0.0 {
            evidence.insert("min".to_owned(), whole(self.min));
        }
        if self.max.is_finite() {
            evidence.insert("max".to_owned(), whole(self.max));
        }
    }
}

/// A number, without a fraction if it is whole.
pub(crate) fn whole(number: f64) -> Value {
    if number.fract() == 0.0 {
        // At most 1e9, or a count.
        json!(number as i64)
    } else {
        json!((number * 1000.0).round() / 1000.0)
    }
}
