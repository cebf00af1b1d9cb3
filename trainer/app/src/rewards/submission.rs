//! A completion to grade.

use std::collections::BTreeMap;

use assay_core::{Completion, Meta};
use assay_wire::ItemRequest;
use serde_json::Value;
use serde_json::value::RawValue;

/// A completion with its task.
#[derive(Debug, Clone)]
pub struct Submission<'a> {
    /// Id of the completion, unique in its step.
    pub id: String,
    /// Name of the group, shared by the completions of a prompt in a step.
    pub group: String,
    /// Key of the prompt's history over steps.
    pub prompt_key: Option<&'a str>,
    /// Task family; with the grader's name it makes the channel.
    pub channel: Option<&'a str>,
    /// The prompt.
    pub prompt: &'a str,
    /// The text of the completion.
    pub completion: &'a str,
    /// What the completion should achieve: an object whose `type` names the grader.
    pub task: &'a RawValue,
    /// Length of the completion in tokens.
    pub tokens: usize,
    /// Whether the completion was truncated at the maximum length.
    pub truncated: bool,
    /// Index of the completion, sent as `meta.sample` if equal completions are graded separately.
    pub sample: Option<u64>,
}

impl Submission<'_> {
    pub(super) fn to_item(&self) -> ItemRequest {
        ItemRequest {
            id: Some(self.id.clone()),
            group: Some(self.group.clone()),
            prompt_key: self.prompt_key.map(str::to_owned),
            policy: None,
            channel: self.channel.map(str::to_owned),
            prompt: Some(Completion::Text(self.prompt.into())),
            completion: Completion::Text(self.completion.into()),
            task: self.task.to_owned(),
            checks: BTreeMap::new(),
            session: None,
            meta: Meta {
                tokens: Some(self.tokens as u64),
                truncated: self.truncated,
                rest: self
                    .sample
                    .iter()
                    .map(|sample| ("sample".to_owned(), Value::from(*sample).into()))
                    .collect(),
                ..Meta::default()
            },
        }
    }
}
