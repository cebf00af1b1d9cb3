//! Inputs in the formats of other servers: texts, token ids, conversations.

use assay_core::Completion;
use assay_core::reward_model::ModelInput;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::compat::peer_error::PeerError;

/// One text or several.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a string or a list of strings")]
pub(in crate::compat) enum Texts {
    /// One text.
    One(String),
    /// Several texts.
    Several(Vec<String>),
}

impl Texts {
    /// The texts, in order.
    pub(in crate::compat) fn into_list(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Several(texts) => texts,
        }
    }
}

/// One input or several, as texts or token ids.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "expected a string, a list of strings, a list of token ids, or a list of such lists"
)]
pub(in crate::compat) enum Inputs {
    /// One text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
    /// Token ids of one input.
    Ids(Vec<u32>),
    /// Token ids of several inputs.
    IdLists(Vec<Vec<u32>>),
}

impl Inputs {
    /// Whether the reply must be a list.
    pub(in crate::compat) fn is_list(&self) -> bool {
        matches!(self, Self::Texts(_) | Self::IdLists(_))
    }

    /// Converts to model inputs. The tokenizer adds its special tokens to texts only if
    /// `add_special_tokens` is true.
    pub(in crate::compat) fn into_inputs(self, add_special_tokens: bool) -> Vec<ModelInput> {
        let text = |text: String| {
            let text = text.into();
            if add_special_tokens {
                ModelInput::Text(text)
            } else {
                ModelInput::Bare { text, ended: false }
            }
        };
        match self {
            Self::Text(one) => vec![text(one)],
            Self::Texts(texts) => texts.into_iter().map(text).collect(),
            Self::Ids(ids) => vec![ModelInput::Ids(ids)],
            Self::IdLists(lists) => lists.into_iter().map(ModelInput::Ids).collect(),
        }
    }
}

/// Converts a conversation to an input. Its last message, from the assistant, is scored.
pub(in crate::compat) fn conversation(messages: &Completion) -> Result<ModelInput, PeerError> {
    let Completion::Messages(messages) = messages else {
        return Err(PeerError::Input(
            "`messages` must be a list of messages".to_owned(),
        ));
    };
    match messages.split_last() {
        Some((last, before)) if last.role == "assistant" => Ok(ModelInput::Rollout {
            prompt: (!before.is_empty()).then(|| Completion::Messages(before.into())),
            completion: Completion::Messages([last.clone()].into()),
            reference: None,
        }),
        _ => Err(PeerError::Input(
            "the last of the `messages`, which is scored, must have the role `assistant`"
                .to_owned(),
        )),
    }
}
