//! `POST /compat/vllm/classify`: what verl's reward loop asks; it reads `data[-1]["probs"][-1]`.

use assay_core::Completion;
use assay_core::reward_model::ModelInput;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Basics, List, Refused, Wishes};
use crate::Api;
use crate::compat::reward::{
    Inputs, Trouble, ask, conversation, label, largest, read, stamp, values,
};

/// What is judged: texts, token ids, or one conversation.
#[derive(Deserialize, ToSchema)]
#[schema(as = VllmJudged)]
pub(super) struct Judged {
    #[serde(default)]
    input: Option<Inputs>,
    /// A conversation whose last message is judged.
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

impl Judged {
    pub(super) fn into_inputs(self) -> Result<Vec<ModelInput>, Trouble> {
        match (self.input, self.messages) {
            (Some(input), None) => Ok(input.into_inputs(self.add_special_tokens.unwrap_or(true))),
            (None, Some(messages)) => {
                let unmet = [
                    ("add_generation_prompt", self.add_generation_prompt),
                    ("continue_final_message", self.continue_final_message),
                    ("chat_template", self.chat_template.is_some()),
                    ("add_special_tokens", self.add_special_tokens == Some(true)),
                ];
                if let Some((field, _)) = unmet.iter().find(|(_, wanted)| *wanted) {
                    return Err(Trouble::Input(format!(
                        "`{field}` is not supported: messages are rendered by the model's own \
                         template, as it was loaded"
                    )));
                }
                Ok(vec![conversation(&messages)?])
            }
            _ => Err(Trouble::Input(
                "send either `input` or `messages`".to_owned(),
            )),
        }
    }
}

#[derive(Deserialize, ToSchema)]
#[schema(as = VllmClassifyRequest)]
struct ClassifyRequest {
    #[serde(flatten)]
    basics: Basics,
    #[serde(flatten)]
    judged: Judged,
}

#[derive(Serialize, ToSchema)]
#[schema(as = VllmClassified)]
struct Classified {
    index: usize,
    label: Option<String>,
    probs: Vec<f32>,
    num_classes: usize,
}

/// Numbers under a model's head, in vLLM's format.
#[utoipa::path(post, path = "/compat/vllm/classify", tag = "compatibility",
    request_body(content = ClassifyRequest, content_type = "application/json", example = json!({
        "model": "skywork", "input": "a text that the chat template made", "use_activation": false,
    })),
    responses(
        (status = 200, description = "The numbers of each input in `data[].probs`", body = List<Classified>),
    ))]
pub(crate) async fn classify(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let (ClassifyRequest { basics, judged }, _held) = read(&api, &headers, body).await?;
    let Wishes {
        model,
        activation,
        truncate,
    } = basics.check(&api)?;
    let answer = ask(&api, model, judged.into_inputs()?, truncate).await?;
    let data = answer.scores.iter().enumerate().map(|(index, score)| {
        let probs = values(&answer.model, score, activation);
        Classified {
            index,
            label: Some(label(&answer.model, largest(&probs))),
            num_classes: probs.len(),
            probs,
        }
    });
    let data = data.collect();
    Ok(List::reply(&answer, stamp(&api, "classify"), data))
}
