//! Chat completions as OpenAI defines them.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::prompt::Messages;
use crate::settings::JudgeSettings;

/// The body of a request. `schema` is that of the reply.
pub(crate) fn request(settings: &JudgeSettings, messages: &Messages, schema: &Value) -> Value {
    let mut body = Map::from_iter([
        ("model".to_owned(), json!(settings.model)),
        ("temperature".to_owned(), json!(settings.temperature)),
        ("max_tokens".to_owned(), json!(settings.max_tokens)),
        (
            "messages".to_owned(),
            json!([
                { "role": "system", "content": messages.system },
                { "role": "user", "content": messages.user },
            ]),
        ),
    ]);
    if settings.json_schema {
        let format = json!({
            "type": "json_schema",
            "json_schema": { "name": "reply", "strict": true, "schema": schema },
        });
        body.insert("response_format".to_owned(), format);
    }
    body.extend(settings.options.clone());
    Value::Object(body)
}

/// What a reply contains.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChatReply {
    pub(crate) text: String,
    /// The model as the server names it.
    pub(crate) model: Option<String>,
    /// Tokens read and written; `None` if the server does not count them.
    pub(crate) usage: Option<(u64, u64)>,
    /// The reply ended at the limit of tokens.
    pub(crate) is_truncated: bool,
}

/// Reads a reply.
///
/// # Errors
/// If it is not a chat completion.
pub(crate) fn reply(body: &[u8]) -> Result<ChatReply, String> {
    #[derive(Deserialize)]
    struct Body {
        model: Option<String>,
        choices: Vec<Choice>,
        usage: Option<Usage>,
    }
    #[derive(Deserialize)]
    struct Choice {
        message: Message,
        finish_reason: Option<String>,
    }
    #[derive(Deserialize)]
    struct Message {
        content: Option<String>,
    }
    #[derive(Deserialize)]
    struct Usage {
        prompt_tokens: Option<u64>,
        completion_tokens: Option<u64>,
    }
    let body: Body = serde_json::from_slice(body)
        .map_err(|error| format!("the reply is not a chat completion: {error}"))?;
    let choice = body.choices.into_iter().next();
    let choice = choice.ok_or("the reply has no choices")?;
    Ok(ChatReply {
        text: choice.message.content.unwrap_or_default(),
        model: body.model,
        usage: body
            .usage
            .and_then(|usage| usage.prompt_tokens.zip(usage.completion_tokens)),
        is_truncated: choice.finish_reason.as_deref() == Some("length"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_added_to_the_request() {
        let settings = JudgeSettings {
            model: "m".to_owned(),
            json_schema: true,
            options: Map::from_iter([("seed".to_owned(), json!(7))]),
            ..JudgeSettings::default()
        };
        let messages = Messages {
            system: "s".to_owned(),
            user: "u".to_owned(),
        };
        let body = request(&settings, &messages, &json!({ "type": "object" }));
        assert_eq!(
            (&body["seed"], &body["temperature"]),
            (&json!(7), &json!(0.0))
        );
        assert_eq!(
            body["messages"][1],
            json!({ "role": "user", "content": "u" })
        );
        assert_eq!(
            body["response_format"]["json_schema"]["schema"],
            json!({ "type": "object" })
        );
    }

    #[test]
    fn reads_replies_with_and_without_usage() {
        let body = json!({
            "model": "served", "usage": { "prompt_tokens": 5, "completion_tokens": 2 },
            "choices": [{ "message": { "content": "a" }, "finish_reason": "length" }],
        });
        let read = reply(body.to_string().as_bytes()).unwrap();
        assert_eq!((read.text.as_str(), read.usage), ("a", Some((5, 2))));
        assert!(read.is_truncated);
        let read = reply(
            br#"{"choices":[{"message":{"content":null}}],"usage":{"completion_tokens":null}}"#,
        )
        .unwrap();
        assert_eq!(
            (read.text.as_str(), read.usage, read.is_truncated),
            ("", None, false)
        );
        for body in [&b"<html>"[..], b"{}", br#"{"choices":[]}"#] {
            assert!(reply(body).is_err());
        }
    }
}
