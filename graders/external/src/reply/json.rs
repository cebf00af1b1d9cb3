//! Replies that are a JSON object, which may be in a code fence. Nothing else may precede or follow
//! it.

use serde::Deserialize;

use super::fields::Fields;

/// The fields of a reply. A field that occurs twice is an error; other fields are ignored.
#[derive(Deserialize)]
struct Object {
    score: Option<f64>,
    label: Option<String>,
    preferred: Option<String>,
    criteria: Option<Vec<Entry>>,
}

/// A criterion of a reply.
#[derive(Deserialize)]
struct Entry {
    id: String,
    met: bool,
}

pub(super) fn read(answer: &str) -> Result<Fields, String> {
    let text = without_fence(answer);
    if !text.starts_with('{') {
        return Err("the reply is not one JSON object".to_owned());
    }
    let object: Object = serde_json::from_str(text)
        .map_err(|error| format!("the reply is not the expected JSON object: {error}"))?;
    let entry = |entry: Entry| (entry.id, entry.met);
    Ok(Fields {
        score: object.score,
        label: object.label,
        preferred: object.preferred,
        criteria: object
            .criteria
            .map(|all| all.into_iter().map(entry).collect()),
    })
}

/// The content of a fence around the whole reply.
fn without_fence(answer: &str) -> &str {
    let fenced = || {
        let inside = answer.strip_prefix("```")?.strip_suffix("```")?;
        let (language, content) = inside.split_once('\n')?;
        matches!(language.trim(), "" | "json").then_some(content)
    };
    fenced().unwrap_or(answer).trim()
}
