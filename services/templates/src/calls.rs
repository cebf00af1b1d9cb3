//! Expected tool calls, read from the text of a dataset.

use assay_documents::calls;
use serde_json::{Value, json};

/// The calls in a text in any form that the grader of tools reads.
///
/// # Errors
/// That the text has no calls, or an attempt at a call is malformed.
pub(crate) fn read(text: &str) -> Result<Vec<Value>, String> {
    let reading = calls::read(text, false, &|_| true);
    if let Some(malformed) = reading.malformed.first() {
        return Err(format!(
            "the text contains a call that cannot be read: {}",
            malformed.broken
        ));
    }
    if reading.calls.is_empty() {
        return Err("the text contains no call".to_owned());
    }
    let calls = reading.calls.iter().map(|call| {
        if !call.positional.is_empty() {
            return Err(format!(
                "the call of `{}` has arguments without names",
                call.name
            ));
        }
        let arguments: serde_json::Map<String, Value> = call
            .arguments
            .iter()
            .map(|(name, value)| (name.clone(), value.to_value()))
            .collect();
        Ok(json!({ "name": call.name, "arguments": arguments }))
    });
    calls.collect()
}
