//! What is graded of a rollout: the last message, with the prompt and facts about the response.

use assay_core::{Completion, Meta};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::compat::grading::{Rollout, opens_think};
use crate::compat::peer_error::PeerError;

/// The rollout of a response. `parameters` are those with which the response was created.
pub(super) fn read(
    response: &Value,
    parameters: Option<&RawValue>,
    task: Box<RawValue>,
) -> Result<Rollout, PeerError> {
    let completion = last_text(response).ok_or_else(|| {
        PeerError::Input("`response` has no `output`, or a message without a text".to_owned())
    })?;
    let parameters = parameters.map_or(Ok(Value::Null), |text| serde_json::from_str(text.get()));
    let prompt = parameters.ok().as_ref().and_then(prompt);
    Ok(Rollout {
        completion,
        task,
        meta: Meta {
            tokens: response["usage"]["output_tokens"].as_u64(),
            truncated: response["incomplete_details"]["reason"] == "max_output_tokens",
            think_open: prompt.as_ref().is_some_and(opens_think),
            ..Meta::default()
        },
        prompt,
    })
}

/// The prompt: the instructions and the messages of the input. `None` if there is none, or one that
/// items cannot have, because only some tasks read it.
fn prompt(parameters: &Value) -> Option<Completion> {
    let messages: Vec<Value> = match &parameters["input"] {
        Value::String(text) if parameters["instructions"].is_null() => {
            return Some(Completion::Text(text.as_str().into()));
        }
        Value::String(text) => vec![json!({ "role": "user", "content": text })],
        Value::Array(entries) => entries
            .iter()
            .filter(|entry| entry["role"].is_string())
            .map(|entry| json!({ "role": entry["role"], "content": content(&entry["content"]) }))
            .collect(),
        _ => return None,
    };
    let system = parameters["instructions"]
        .as_str()
        .map(|text| json!({ "role": "system", "content": text }));
    let messages = system.into_iter().chain(messages).collect();
    serde_json::from_value(Value::Array(messages)).ok()
}

/// The content of a message of OpenAI's `responses` API, whose text parts have other types.
fn content(content: &Value) -> Value {
    let Value::Array(parts) = content else {
        return content.clone();
    };
    let parts = parts.iter().map(|part| match &part["text"] {
        Value::String(text) => json!({ "type": "text", "text": text }),
        _ => json!({ "type": part["type"] }),
    });
    Value::Array(parts.collect())
}

/// The text of the last message of the assistant in a response. It is empty if the model wrote
/// none, for example because it ran out of tokens: that is no answer rather than an error, which
/// would let a model avoid a low reward. NeMo Gym's own servers do the same.
fn last_text(response: &Value) -> Option<String> {
    let output = response["output"].as_array()?;
    if output.is_empty() {
        return None;
    }
    let is_message = |entry: &&Value| entry["type"] == "message" && entry["role"] == "assistant";
    let Some(message) = output.iter().rev().find(is_message) else {
        return Some(String::new());
    };
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        content => content
            .as_array()?
            .iter()
            .filter(|part| part["type"] == "output_text")
            .map(|part| part["text"].as_str())
            .collect::<Option<_>>()?,
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_is_the_input_with_its_instructions() {
        let text = json!({ "input": "1+1?" });
        assert_eq!(prompt(&text), Some(Completion::Text("1+1?".into())));
        let messages = json!({ "instructions": "Add.", "input": [
            { "role": "user", "content": [{ "type": "input_text", "text": "1+1?" }] },
            { "type": "function_call", "name": "f", "arguments": "{}" },
        ] });
        assert_eq!(
            serde_json::to_value(prompt(&messages)).unwrap(),
            json!([
                { "role": "system", "content": "Add." },
                { "role": "user", "content": [{ "type": "text", "text": "1+1?" }] },
            ])
        );
        for other in [
            json!({}),
            json!({ "input": 1 }),
            json!({ "input": [{ "role": "human" }] }),
        ] {
            assert_eq!(prompt(&other), None, "{other}");
        }
    }

    #[test]
    fn the_last_message_of_the_assistant_is_graded() {
        let message = |text: &str| {
            json!({ "type": "message", "role": "assistant",
                "content": [{ "type": "output_text", "text": text }] })
        };
        let tool = json!({ "type": "function_call", "name": "f", "arguments": "{}" });
        let response = json!({ "output": [message("a"), tool, message("b"), tool] });
        assert_eq!(last_text(&response).as_deref(), Some("b"));
        assert_eq!(last_text(&json!({ "output": [tool] })).as_deref(), Some(""));
        assert_eq!(last_text(&json!({ "output": [] })), None);
        let mut malformed = message("c");
        malformed["content"][0]["text"] = json!(5);
        assert_eq!(last_text(&json!({ "output": [malformed] })), None);
        assert_eq!(last_text(&json!({})), None);
    }
}
