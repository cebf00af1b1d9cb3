//! `POST /compat/vllm/classify`, which verl's reward loop uses; it reads `data[-1]["probs"][-1]`.

use assay_core::Completion;
use assay_core::reward_model::ModelInput;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{CommonFields, List, RequestOptions};
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::compat::peer_error::PeerError;
use crate::compat::reward::{
    Inputs, argmax, conversation, label, new_reply_id, score_inputs, values,
};

/// The inputs to score: texts, token ids, or one conversation.
#[derive(Deserialize, ToSchema)]
#[schema(as = VllmJudged)]
pub(super) struct ScoredInput {
    #[serde(default)]
    input: Option<Inputs>,
    /// A conversation whose last message is scored.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>, min_items = 1)]
    messages: Option<Completion>,
    #[serde(default)]
    add_special_tokens: Option<bool>,
    #[serde(default)]
    add_generation_prompt: bool,
    #[serde(default)]
    continue_final_message: bool,
    #[serde(default)]
    chat_template: Option<String>,
}

impl ScoredInput {
    pub(super) fn into_inputs(self) -> Result<Vec<ModelInput>, PeerError> {
        match (self.input, self.messages) {
            (Some(input), None) => Ok(input.into_inputs(self.add_special_tokens.unwrap_or(true))),
            (None, Some(messages)) => {
                let unsupported = [
                    ("add_generation_prompt", self.add_generation_prompt),
                    ("continue_final_message", self.continue_final_message),
                    ("chat_template", self.chat_template.is_some()),
                    ("add_special_tokens", self.add_special_tokens == Some(true)),
                ];
                if let Some((field, _)) = unsupported.iter().find(|(_, is_set)| *is_set) {
                    return Err(PeerError::Input(format!(
                        "`{field}` is not supported; messages are rendered by the model's own \
                         template"
                    )));
                }
                Ok(vec![conversation(&messages)?])
            }
            _ => Err(PeerError::Input(
                "send either `input` or `messages`".to_owned(),
            )),
        }
    }
}

#[derive(Deserialize, ToSchema)]
#[schema(as = VllmClassifyRequest)]
struct ClassifyRequest {
    #[serde(flatten)]
    common: CommonFields,
    #[serde(flatten)]
    input: ScoredInput,
}

#[derive(Serialize, ToSchema)]
#[schema(as = VllmClassified)]
struct Classified {
    index: usize,
    label: Option<String>,
    probs: Vec<f32>,
    num_classes: usize,
}

/// Computes class probabilities, or the raw score of a reward model, in vLLM's format.
#[utoipa::path(post, path = "/compat/vllm/classify", tag = "compatibility",
    request_body(content = ClassifyRequest, content_type = "application/json", example = json!({
        "model": "skywork", "input": "a text rendered by the chat template",
        "use_activation": false,
    })),
    responses(
        (status = 200, description = "The numbers of each input in `data[].probs`",
         body = List<Classified>),
    ))]
pub(crate) async fn classify(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    let (ClassifyRequest { common, input }, _permit) =
        body.lenient_json(&api, BodyKind::Batch).await?;
    let RequestOptions {
        model,
        activation,
        truncate,
    } = common.validate(&api)?;
    let answer = score_inputs(&api, model, input.into_inputs()?, truncate).await?;
    let data = answer.scores.iter().enumerate().map(|(index, score)| {
        let probs = values(&answer.model, score, activation);
        Classified {
            index,
            label: Some(label(&answer.model, argmax(&probs))),
            num_classes: probs.len(),
            probs,
        }
    });
    let data = data.collect();
    Ok(List::reply(&answer, new_reply_id(&api, "classify"), data))
}
