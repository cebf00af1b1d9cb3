//! A rubric of the library `verifiers`, behind a route that scores one rollout. The library serves
//! environments over ZeroMQ, and no rubric over HTTP; the documentation of this grader contains the
//! server, which has ten lines.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::prompt::Question;

/// The body of a request: the inputs of a rollout, as `verifiers` names them.
pub(crate) fn request(question: &Question<'_>) -> Value {
    let material = &question.material;
    let asked = material.question.as_deref().unwrap_or_default();
    json!({
        "prompt": [{ "role": "user", "content": asked }],
        "completion": [{ "role": "assistant", "content": material.completion }],
        "answer": material.reference.unwrap_or_default(),
        "info": question.data.map_or_else(|| json!({}), |data| json!(data)),
    })
}

/// The reward of a reply.
///
/// # Errors
/// If there is none, or the server reports an error.
pub(crate) fn reward(reply: &str) -> Result<f64, String> {
    #[derive(Deserialize)]
    struct Reply {
        reward: Option<f64>,
        error: Option<String>,
    }
    let reply: Reply = serde_json::from_str(reply)
        .map_err(|error| format!("the reply is not a scored rollout: {error}"))?;
    if let Some(error) = reply.error {
        let error = assay_base::truncated(&error, 200);
        return Err(format!("the rubric failed: {error}"));
    }
    reply
        .reward
        .ok_or_else(|| "the reply has no `reward`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_no_reward() {
        assert_eq!(reward(r#"{"reward":0.5,"metrics":{"a":1}}"#), Ok(0.5));
        let failed = reward(r#"{"reward":0,"error":"division by zero"}"#);
        assert!(failed.unwrap_err().contains("division"));
        assert!(reward(r#"{"reward":null}"#).is_err() && reward("{}").is_err());
    }
}
