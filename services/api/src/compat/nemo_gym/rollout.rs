//! What is graded of a rollout: the messages and calls of its response, with the prompt and facts.

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
    let completion = completion(response)?;
    let parameters = parameters.map_or(Ok(Value::Null), |text| serde_json::from_str(text.get()));
    let prompt = parameters.ok().as_ref().and_then(prompt);
    Ok(Rollout {
        completion,
        task,
        session: None,
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

/// The completion of a response: the text of the last message of the assistant or, if the model
/// called functions, all messages. The text is empty if the model wrote none, for example because
/// it ran out of tokens: that is no answer rather than an error, which would let a model avoid a
/// low reward. NeMo Gym's own servers do the same.
fn completion(response: &Value) -> Result<Completion, PeerError> {
    let malformed =
        || PeerError::Input("`response` has no `output`, or a message without a text".to_owned());
    let output = response["output"].as_array().ok_or_else(malformed)?;
    if output.is_empty() {
        return Err(malformed());
    }
    if output.iter().any(is_call) {
        let messages = messages(output).ok_or_else(malformed)?;
        return serde_json::from_value(Value::Array(messages))
            .map_err(|error| PeerError::Input(format!("cannot read `response`: {error}")));
    }
    let is_message = |entry: &&Value| entry["type"] == "message" && entry["role"] == "assistant";
    let text = match output.iter().rev().find(is_message) {
        Some(message) => text(message).ok_or_else(malformed)?,
        None => String::new(),
    };
    Ok(Completion::Text(text.into()))
}

/// Whether an entry is a call that the caller of the model executes.
fn is_call(entry: &Value) -> bool {
    entry["type"] == "function_call" || entry["type"] == "custom_tool_call"
}

/// The entries of a response as messages. A call belongs to the message of the assistant before it.
/// `None` if a message has no text.
fn messages(output: &[Value]) -> Option<Vec<Value>> {
    let mut messages: Vec<Value> = Vec::new();
    for entry in output {
        match entry["type"].as_str() {
            Some("message") => messages.push(json!({
                "role": entry["role"],
                "content": [{ "type": "text", "text": text(entry)? }],
                "tool_calls": [],
            })),
            Some("function_call_output" | "custom_tool_call_output") => messages.push(json!({
                "role": "tool",
                "tool_call_id": entry["call_id"],
                "content": content(&entry["output"]),
            })),
            Some(kind) if is_call(entry) => {
                if messages
                    .last()
                    .is_none_or(|last| last["role"] != "assistant")
                {
                    messages.push(json!({ "role": "assistant", "content": [], "tool_calls": [] }));
                }
                let last = messages.last_mut()?;
                if kind == "function_call" {
                    last["tool_calls"].as_array_mut()?.push(json!({
                        "id": entry["call_id"],
                        "type": "function",
                        "function": { "name": entry["name"], "arguments": entry["arguments"] },
                    }));
                } else {
                    // Its input is not JSON; the grader reports that it does not read it.
                    last["content"]
                        .as_array_mut()?
                        .push(json!({ "type": kind }));
                }
            }
            // Reasoning, and calls that the provider of the model executed.
            _ => {}
        }
    }
    Some(messages)
}

/// The text of a message; `None` if it has none.
fn text(message: &Value) -> Option<String> {
    match &message["content"] {
        Value::String(text) => Some(text.clone()),
        content => content
            .as_array()?
            .iter()
            .filter(|part| part["type"] == "output_text" || part["type"] == "input_text")
            .map(|part| part["text"].as_str())
            .collect(),
    }
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

    fn message(text: &str) -> Value {
        json!({ "type": "message", "role": "assistant",
            "content": [{ "type": "output_text", "text": text }] })
    }

    fn read_completion(output: &[Value]) -> Value {
        serde_json::to_value(completion(&json!({ "output": output })).unwrap()).unwrap()
    }

    #[test]
    fn the_last_message_of_the_assistant_is_graded() {
        let reasoning = json!({ "type": "reasoning", "summary": [] });
        assert_eq!(
            read_completion(&[message("a"), reasoning.clone(), message("b")]),
            json!("b")
        );
        assert_eq!(read_completion(&[reasoning]), json!(""));
        let mut malformed = message("c");
        malformed["content"][0]["text"] = json!(5);
        for response in [
            json!({ "output": [] }),
            json!({ "output": [malformed] }),
            json!({}),
        ] {
            assert!(completion(&response).is_err(), "{response}");
        }
    }

    #[test]
    fn calls_of_functions_are_those_of_messages() {
        let call = |id: &str| json!({ "type": "function_call", "name": "f", "arguments": "{\"x\":1}", "call_id": id });
        let output = json!({ "type": "function_call_output", "call_id": "1", "output": "4" });
        let reasoning = json!({ "type": "reasoning", "summary": [] });
        let read = |id: &str| {
            json!({ "id": id, "type": "function",
                "function": { "name": "f", "arguments": "{\"x\":1}" } })
        };
        assert_eq!(
            read_completion(&[
                reasoning,
                message("a"),
                call("1"),
                call("2"),
                output,
                call("3"),
                json!({ "type": "custom_tool_call", "name": "g", "input": "x", "call_id": "4" }),
            ]),
            json!([
                { "role": "assistant", "content": [{ "type": "text", "text": "a" }],
                    "tool_calls": [read("1"), read("2")] },
                { "role": "tool", "tool_call_id": "1", "content": "4" },
                { "role": "assistant", "content": [{ "type": "custom_tool_call" }],
                    "tool_calls": [read("3")] },
            ])
        );
        let text = completion(&json!({ "output": [message("a"), call("1")] })).unwrap();
        assert_eq!(text.text(), "a");
    }
}
