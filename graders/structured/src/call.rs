//! Reads a document from the arguments of a tool call. Some interfaces return structured output
//! this way.

use assay_core::{Completion, Item};
use assay_documents::calls::{self, ArgumentTypes, Call, Reading};
use assay_documents::{Json, SyntaxError};
use serde_json::Value;

/// The document in the arguments of a call.
pub(crate) enum CallDocument {
    /// The arguments, and the byte range of the call.
    Document(Json, [usize; 2]),
    /// The error of a malformed attempt, or of a call other than the required one, and its byte
    /// range.
    Malformed(SyntaxError, [usize; 2]),
    /// The completion has neither a call nor an attempt.
    Missing,
}

/// Reads the arguments of the only call of a completion, which must be to `tool`. Untyped arguments
/// get their types from the schema.
pub(crate) fn read_call(item: &Item, tool: &str, schema: Option<&Value>) -> CallDocument {
    let is_tool = |name: &str| name == tool;
    let Reading {
        mut calls,
        mut malformed,
        ..
    } = match &item.completion {
        Completion::Text(text) => calls::read(text, item.meta.think_open, &is_tool),
        Completion::Messages(messages) => {
            match messages.iter().rfind(|message| message.role == "assistant") {
                Some(message) => calls::read_message(message, item.meta.think_open, &is_tool),
                None => Reading::default(),
            }
        }
    };
    if !malformed.is_empty() {
        let attempt = malformed.swap_remove(0);
        return CallDocument::Malformed(attempt.broken, [attempt.span.start, attempt.span.end]);
    }
    let count = calls.len();
    let Some(call) = calls.pop() else {
        return CallDocument::Missing;
    };
    let span = [call.span.start, call.span.end];
    let malformed_call =
        |reason: String| CallDocument::Malformed(SyntaxError::new(span[0], reason), span);
    if count > 1 {
        return malformed_call(format!("expected one call, found {count}"));
    }
    let Call {
        name,
        arguments,
        positional,
        untyped,
        ..
    } = call;
    if name != tool {
        return malformed_call(format!("expected a call of `{tool}`, found `{name}`"));
    }
    if !positional.is_empty() {
        return malformed_call("the call has positional arguments; expected named ones".to_owned());
    }
    let types = schema.filter(|_| untyped).map(ArgumentTypes::of);
    let types = types.unwrap_or_default();
    let with_type = |(name, value): (String, Json)| match value {
        Json::Text(text) if untyped => {
            let value = types.readings(&name, &text).swap_remove(0);
            (name, value)
        }
        value => (name, value),
    };
    CallDocument::Document(
        Json::Object(arguments.into_iter().map(with_type).collect()),
        span,
    )
}
