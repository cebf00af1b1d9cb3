//! Resources servers of NeMo Gym, which verify a response of OpenAI's `responses` API.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::prompt::Question;

/// The body of `POST /verify`: the fields of `data`, which the server reads as those of its row,
/// and the question and the completion as a response.
pub(crate) fn request(question: &Question<'_>) -> Value {
    let data = question
        .data
        .and_then(|data| serde_json::from_str(data.get()).ok());
    let mut body: Map<String, Value> = data.unwrap_or_default();
    let asked = question.material.question.as_deref().unwrap_or_default();
    body.insert(
        "responses_create_params".to_owned(),
        json!({ "input": [{ "role": "user", "content": asked }] }),
    );
    body.insert(
        "response".to_owned(),
        json!({
            "id": "resp_assay", "object": "response", "created_at": 0, "model": "policy",
            "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
            "output": [{
                "id": "msg_assay", "type": "message", "role": "assistant", "status": "completed",
                "content": [{
                    "type": "output_text", "annotations": [],
                    "text": question.material.completion,
                }],
            }],
        }),
    );
    Value::Object(body)
}

/// The reward of a reply.
///
/// # Errors
/// If there is none, or it must be left out of the loss because verification failed.
pub(crate) fn reward(reply: &str) -> Result<f64, String> {
    #[derive(Deserialize)]
    struct Reply {
        reward: f64,
        #[serde(default)]
        mask_sample: bool,
        failure_reason: Option<String>,
    }
    let reply: Reply = serde_json::from_str(reply)
        .map_err(|error| format!("the reply is not one of `/verify`: {error}"))?;
    if reply.mask_sample {
        let reason = reply.failure_reason.unwrap_or_default();
        let reason = assay_base::truncated(&reason, 200);
        return Err(format!("verification failed: {reason}"));
    }
    Ok(reply.reward)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_masked_reward_is_none() {
        assert_eq!(reward(r#"{"reward":0.5,"response":{}}"#), Ok(0.5));
        let masked = r#"{"reward":0,"mask_sample":true,"failure_reason":"sandbox"}"#;
        assert!(reward(masked).unwrap_err().contains("sandbox"));
        assert!(reward("{}").is_err());
    }
}
