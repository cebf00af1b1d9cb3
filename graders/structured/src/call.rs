//! Reads a document from the arguments of a tool call, which is how some interfaces
//! return structured output.

use assay_core::{Completion, Item};
use assay_documents::calls::{self, Call, Reading, typed};
use assay_documents::{Json, SyntaxError};
use serde_json::Value;

/// The document that a completion passes in a call.
pub(crate) enum Handed {
    /// The arguments, and the position of the call.
    Document(Json, [usize; 2]),
    /// A malformed attempt or another call than the required one, and its position.
    Malformed(SyntaxError, [usize; 2]),
    /// No call and no attempt.
    Nothing,
}

/// The arguments of the only call of a completion, which must be to `tool`; the schema types
/// untyped arguments.
pub(crate) fn handed(item: &Item, tool: &str, schema: Option<&Value>) -> Handed {
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
        return Handed::Malformed(attempt.broken, [attempt.span.start, attempt.span.end]);
    }
    let count = calls.len();
    let Some(call) = calls.pop() else {
        return Handed::Nothing;
    };
    let span = [call.span.start, call.span.end];
    let wrong = |reason: String| Handed::Malformed(SyntaxError::new(span[0], reason), span);
    if count > 1 {
        return wrong(format!("expected one call, found {count}"));
    }
    let Call {
        name,
        arguments,
        positional,
        untyped,
        ..
    } = call;
    if name != tool {
        return wrong(format!("expected a call of `{tool}`, found `{name}`"));
    }
    if !positional.is_empty() {
        return wrong("an argument of the call has no name".to_owned());
    }
    let with_type = |(name, value): (String, Json)| match value {
        Json::Text(text) if untyped => {
            let value = typed(&text, schema.map(|schema| &schema["properties"][&name]));
            (name, value)
        }
        value => (name, value),
    };
    Handed::Document(
        Json::Object(arguments.into_iter().map(with_type).collect()),
        span,
    )
}
