//! The `state` of a task, as in a request.

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with `initial` and `effects`"
)]
pub(crate) struct RawState {
    pub(crate) initial: Box<RawValue>,
    #[serde(default)]
    pub(crate) expected: Option<Box<RawValue>>,
    pub(crate) effects: Box<RawValue>,
    #[serde(default)]
    pub(crate) ignore: Vec<String>,
    #[serde(default)]
    pub(crate) bags: Vec<String>,
    #[serde(default)]
    pub(crate) reads: Reads,
}

/// Whether expected calls that change nothing are required.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reads {
    #[default]
    Expected,
    Free,
}
