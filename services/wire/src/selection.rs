//! The parts of a reply that a request selects with `fields`.

use assay_core::{ErrorCode, did_you_mean};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::Problem;
use crate::reply::ResultBody;

/// Names of the parts of a reply that are not keys of a result.
const GROUPS: &str = "groups";
const CHANNELS: &str = "channels";

/// Keys that a result which is not graded always has, so that a failure cannot be
/// overlooked.
const OF_FAILURES: u64 = bit_of("outcome") | bit_of("error");

/// Which keys results have, and whether a reply has groups and channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Selection(Option<Chosen>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chosen {
    /// One bit for each of [`NAMES`].
    keys: u64,
    groups: bool,
    channels: bool,
}

impl Selection {
    /// The names that a request can choose.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().copied().chain([GROUPS, CHANNELS])
    }

    /// Reads the names in a request; without a list, the reply has all parts.
    ///
    /// # Errors
    /// A [`Problem`] at the unknown name.
    pub fn of_reply(fields: Option<&[String]>) -> Result<Self, Problem> {
        Self::read(fields, &[GROUPS, CHANNELS])
    }

    /// As [`Selection::of_reply`], for results outside a reply.
    ///
    /// # Errors
    /// A [`Problem`] at the unknown name.
    pub fn of_results(fields: Option<&[String]>) -> Result<Self, Problem> {
        Self::read(fields, &[])
    }

    fn read(fields: Option<&[String]>, others: &[&str]) -> Result<Self, Problem> {
        let Some(fields) = fields else {
            return Ok(Self(None));
        };
        if fields.is_empty() {
            let message = "`fields` is empty; name at least one key of a result, or omit the field";
            return Err(Problem::at(
                ErrorCode::InvalidField,
                "/fields".to_owned(),
                message,
            ));
        }
        let mut chosen = Chosen {
            keys: 0,
            groups: false,
            channels: false,
        };
        for (at, name) in fields.iter().enumerate() {
            match NAMES.iter().position(|known| known == name) {
                Some(key) => chosen.keys |= 1 << key,
                None if others.contains(&name.as_str()) => {
                    chosen.groups |= name == GROUPS;
                    chosen.channels |= name == CHANNELS;
                }
                None => {
                    let known = || NAMES.iter().chain(others).copied();
                    let mut suggestion = did_you_mean(name, known());
                    if suggestion.is_empty() {
                        let known: Vec<_> = known().map(|known| format!("`{known}`")).collect();
                        suggestion = format!("; the keys are {}", known.join(", "));
                    }
                    let message = format!("results have no key `{name}`{suggestion}");
                    return Err(Problem::at(
                        ErrorCode::InvalidField,
                        format!("/fields/{at}"),
                        message,
                    ));
                }
            }
        }
        Ok(Self(Some(chosen)))
    }

    /// Whether the reply has groups.
    #[must_use]
    pub fn has_groups(&self) -> bool {
        self.0.is_none_or(|chosen| chosen.groups)
    }

    /// Whether the reply has channels.
    #[must_use]
    pub fn has_channels(&self) -> bool {
        self.0.is_none_or(|chosen| chosen.channels)
    }

    /// Whether a result with this outcome has a key.
    #[must_use]
    pub fn has_key(&self, outcome: &str, key: &str) -> bool {
        let keys = self.keys(outcome);
        NAMES
            .iter()
            .position(|known| *known == key)
            .is_some_and(|at| keys >> at & 1 == 1)
    }

    /// The keys of a result with this outcome, one bit each.
    fn keys(&self, outcome: &str) -> u64 {
        match self.0 {
            None => u64::MAX,
            Some(chosen) if outcome == "graded" => chosen.keys,
            Some(chosen) => chosen.keys | OF_FAILURES,
        }
    }
}

/// A result with the keys that a selection contains.
pub struct Selected<'a> {
    /// The keys to serialise.
    pub selection: Selection,
    /// Position in the batch, if this is a line of a stream.
    pub position: Option<usize>,
    /// The result.
    pub result: &'a ResultBody<'a>,
}

macro_rules! keys_of_results {
    ($($key:ident)*) => {
        /// The keys of a result, in their order.
        const NAMES: &[&str] = &[$(stringify!($key)),*];

        impl Serialize for Selected<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Self { selection, position, result } = self;
                let mut object = serializer.serialize_map(None)?;
                if let Some(position) = position {
                    object.serialize_entry("type", "result")?;
                    object.serialize_entry("position", position)?;
                }
                let keys = selection.keys(&result.outcome);
                $(
                    if keys & const { bit_of(stringify!($key)) } != 0 {
                        object.serialize_entry(stringify!($key), &result.$key)?;
                    }
                )*
                object.end()
            }
        }
    };
}

keys_of_results! {
    id group grade channel grader outcome verdict pass score appeal score_after_appeal backward
    forward reward reward_breakdown advantage advantage_estimator components steps measures evidence
    error deterministic queue_us grade_us cached recorded
}

/// The bit of a key.
const fn bit_of(key: &str) -> u64 {
    let mut at = 0;
    while !is_equal(NAMES[at].as_bytes(), key.as_bytes()) {
        at += 1;
    }
    1 << at
}

const fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::reply::{FaultBody, StreamLine, StreamedResult};

    fn selection(names: &[&str]) -> Result<Selection, Problem> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Selection::of_reply(Some(&names))
    }

    fn json(selection: Selection, result: &ResultBody<'_>) -> String {
        serde_json::to_string(&Selected {
            selection,
            position: None,
            result,
        })
        .unwrap()
    }

    fn graded() -> ResultBody<'static> {
        ResultBody {
            outcome: Cow::Borrowed("graded"),
            verdict: Some(Cow::Borrowed("correct")),
            reward: Some(1.0),
            ..ResultBody::default()
        }
    }

    #[test]
    fn selecting_all_keys_yields_the_whole_result() {
        for result in [graded(), ResultBody::default()] {
            let whole = serde_json::to_string(&result).unwrap();
            assert_eq!(json(Selection::default(), &result), whole);
            assert_eq!(json(selection(NAMES).unwrap(), &result), whole);
            let line = Selected {
                selection: Selection::default(),
                position: Some(7),
                result: &result,
            };
            assert_eq!(
                serde_json::to_string(&line).unwrap(),
                serde_json::to_string(&StreamLine::Result(Box::new(StreamedResult {
                    position: 7,
                    result,
                })))
                .unwrap()
            );
        }
    }

    #[test]
    fn graded_results_have_only_the_selected_keys() {
        let chosen = selection(&["verdict", "reward", "verdict"]).unwrap();
        assert_eq!(
            json(chosen, &graded()),
            r#"{"verdict":"correct","reward":1.0}"#
        );
        assert!(!chosen.has_groups() && !chosen.has_channels());
        assert!(selection(&["groups"]).unwrap().has_groups());
        assert!(selection(&["channels", "id"]).unwrap().has_channels());
    }

    #[test]
    fn other_results_always_have_outcome_and_error() {
        for outcome in ["failed", "ungradable"] {
            let failed = ResultBody {
                outcome: Cow::Borrowed(outcome),
                error: Some(FaultBody {
                    code: ErrorCode::Internal,
                    message: Cow::Borrowed("m"),
                    retryable: true,
                }),
                ..ResultBody::default()
            };
            assert_eq!(
                json(selection(&["reward"]).unwrap(), &failed),
                format!(
                    r#"{{"outcome":"{outcome}","reward":null,"error":{{"code":"internal","message":"m","retryable":true}}}}"#
                )
            );
        }
    }

    #[test]
    fn rejects_unknown_names_with_a_suggestion() {
        let problem = selection(&["reward", "verdic"]).unwrap_err();
        assert_eq!(problem.pointer.as_deref(), Some("/fields/1"));
        assert!(
            problem.message.ends_with("did you mean `verdict`?"),
            "{problem}"
        );
        let problem = selection(&["mth"]).unwrap_err();
        assert!(
            problem
                .message
                .contains("`mth`; the keys are `id`, `group`"),
            "{problem}"
        );
        let problem = selection(&["group_s"]).unwrap_err();
        assert!(problem.message.contains("`group"), "{problem}");
        assert_eq!(
            selection(&[]).unwrap_err().pointer.as_deref(),
            Some("/fields")
        );
        let names = ["groups".to_owned()];
        assert!(Selection::of_results(Some(&names)).is_err());
    }
}
