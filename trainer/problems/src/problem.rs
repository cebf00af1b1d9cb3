//! A problem: its prompt and its task.

use serde::Serialize;
use serde_json::Value;

/// A problem with the task that grades it. As JSON, it is a line of a prompt file with the fields
/// `prompt`, `task`, `prompt_key` and `solution`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    /// The prompt.
    pub prompt: String,
    /// The task of the service that grades a completion.
    pub task: Value,
    /// The service's `prompt_key`. Stable and unique: it identifies the prompt with its task in
    /// every run.
    #[serde(rename = "prompt_key")]
    pub key: String,
    /// A completion with score 1.
    pub solution: String,
}
