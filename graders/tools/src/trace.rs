//! The calls, the malformed attempts and the void messages of a completion, by turn.
//!
//! A turn is the messages between two messages of the user. A completion that is a text is one turn
//! with one message. A message without a call is void if it is truncated, or if it has neither a
//! malformed attempt nor prose.

use std::collections::{HashMap, HashSet};

use assay_core::{Completion, ContentPart, Item, Message};
use assay_documents::Json;
use assay_documents::calls::{self, Call, Malformed, Reading};

use crate::compare::{ActualCall, CallError};
use crate::task::{Mode, ToolsTask};
use crate::tool;

/// The actions of the assistant between two messages of the user.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) calls: Vec<ActualCall>,
    pub(crate) malformed: Vec<Malformed>,
    /// Whether one of its messages is void.
    pub(crate) has_void_message: bool,
}

/// All turns of a completion.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) turns: Vec<Turn>,
    /// Indices of the void messages among those of the assistant.
    pub(crate) void_messages: Vec<usize>,
    /// Number of messages in which a tool reports an error.
    pub(crate) tool_errors: usize,
    /// The calls of the last message of the assistant without a result: their indices in the turn,
    /// and their ids.
    pending: Vec<(usize, Option<String>)>,
}

impl Trace {
    /// Reads a completion. The result has at least one turn.
    pub(crate) fn read(item: &Item, task: &ToolsTask) -> Self {
        let is_tool = |name: &str| task.tools.get(name).is_some();
        let mut trace = Self {
            turns: vec![Turn::default()],
            ..Self::default()
        };
        match &item.completion {
            Completion::Text(text) => {
                let reading = calls::read(text, item.meta.think_open, &is_tool);
                let has_prose = reading
                    .prose
                    .iter()
                    .any(|range| !text[range.clone()].trim().is_empty());
                trace.record(reading, has_prose, item.meta.truncated, 0, task);
            }
            Completion::Messages(messages) => {
                let last = messages
                    .iter()
                    .rposition(|message| message.role == "assistant");
                let mut count = 0;
                for (at, message) in messages.iter().enumerate() {
                    match message.role.as_str() {
                        "user" if is_of_tools(message) => trace.results_in_parts(message),
                        "user" if count > 0 => trace.turns.push(Turn::default()),
                        "tool" | "function" => trace.result(message),
                        "assistant" => {
                            let think_open = item.meta.think_open && count == 0;
                            let reading = calls::read_message(message, think_open, &is_tool);
                            let is_truncated = ends_at_length_limit(message)
                                || Some(at) == last && item.meta.truncated;
                            let text = message.text();
                            let has_prose = reading
                                .prose
                                .iter()
                                .any(|range| !text[range.clone()].trim().is_empty());
                            trace.record(reading, has_prose, is_truncated, count, task);
                            count += 1;
                        }
                        _ => {}
                    }
                }
            }
        }
        trace
    }

    /// Adds what was read from one message to the last turn.
    fn record(
        &mut self,
        mut reading: Reading,
        has_prose: bool,
        is_truncated: bool,
        message: usize,
        task: &ToolsTask,
    ) {
        if let Some(form) = task.form {
            reading.keep_form(form);
        }
        let Some(turn) = self.turns.last_mut() else {
            return;
        };
        // A malformed attempt is not void, unless the message is truncated.
        let is_empty = reading.malformed.is_empty() && !has_prose;
        if reading.calls.is_empty() && (is_truncated || is_empty) {
            turn.has_void_message = true;
            self.void_messages.push(message);
        }
        turn.malformed.extend(reading.malformed);
        let ids = reading.calls.iter().map(|call| call.id.clone());
        self.pending = (turn.calls.len()..).zip(ids).collect();
        turn.calls.extend(
            reading
                .calls
                .into_iter()
                .map(|call| actual_call(call, task)),
        );
    }

    /// Marks the call to which the message of a tool replies, if it reports an error.
    fn result(&mut self, message: &Message) {
        let id = ["tool_call_id", "call_id"];
        let id = id.iter().find_map(|key| message.text_of(key));
        self.record_result(id.as_deref(), reports_error(message));
    }

    /// The same for a message of the user that consists of results.
    fn results_in_parts(&mut self, message: &Message) {
        for part in message.content.parts() {
            let inside = RESULTS.iter().find_map(|name| part.field(name));
            let inside = inside.and_then(|inside| Json::read(inside.get()).ok());
            let field = |name: &str| match &inside {
                Some(inside) => inside.get(name).cloned(),
                None => Json::read(part.field(name)?.get()).ok(),
            };
            let id = ["tool_use_id", "toolUseId", "id"]
                .into_iter()
                .find_map(field);
            let failed = field("is_error") == Some(Json::Bool(true))
                || field("status").as_ref().and_then(Json::text) == Some("error")
                || field("response").is_some_and(|response| response.get("error").is_some());
            self.record_result(id.as_ref().and_then(Json::text), failed);
        }
    }

    /// Results without an id are in the order of the calls.
    fn record_result(&mut self, id: Option<&str>, failed: bool) {
        self.tool_errors += usize::from(failed);
        let is_named = |call: &Option<String>| id.is_some() && call.as_deref() == id;
        let mut pending = self.pending.iter();
        let at = pending.position(|(_, call)| is_named(call)).or_else(|| {
            let mut pending = self.pending.iter();
            pending.position(|(_, call)| id.is_none() || call.is_none())
        });
        let Some(at) = at else { return };
        let (call, _) = self.pending.remove(at);
        let turn = self.turns.last_mut();
        if let Some(call) = turn.and_then(|turn| turn.calls.get_mut(call)) {
            call.failed = failed;
        }
    }

    /// All calls in order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &ActualCall> {
        self.turns.iter().flat_map(|turn| &turn.calls)
    }

    /// Number of attempts that are not calls.
    pub(crate) fn malformed(&self) -> usize {
        self.turns.iter().map(|turn| turn.malformed.len()).sum()
    }

    /// Number of calls that repeat an earlier call without a change of the state in between.
    /// `changes` has whether each call changes the state; it is empty for a task without a state.
    pub(crate) fn redundant(&self, changes: &[bool]) -> usize {
        if self.calls().nth(1).is_none() {
            return 0;
        }
        let mut seen: HashSet<(&str, String)> = HashSet::new();
        let mut names: HashMap<&str, usize> = HashMap::new();
        self.calls()
            .for_each(|call| *names.entry(&call.name).or_default() += 1);
        let mut redundant = 0;
        for (at, call) in self.calls().enumerate() {
            if changes.get(at).copied().unwrap_or_default() {
                seen.clear();
            } else if names[call.name.as_str()] > 1 {
                redundant += usize::from(!seen.insert((&call.name, call.arguments.canonical())));
            }
        }
        redundant
    }
}

/// A parsed call, with its arguments assigned to parameters and validated.
fn actual_call(mut call: Call, task: &ToolsTask) -> ActualCall {
    let tool = task.tools.get(&call.name);
    if let Some(tool) = tool {
        call.name.clone_from(&tool.name);
    }
    let expected = task.turns.iter().flatten().flatten();
    let expected = expected.filter(|expected| expected.name == call.name);
    let accepted: Vec<_> = match call.untyped {
        true => expected.flat_map(|call| &call.arguments).collect(),
        false => Vec::new(),
    };
    let expects = |name: &str, value: &Json| {
        let mut accepted = accepted.iter().filter(|argument| argument.name == name);
        accepted.any(|argument| task.accepts(tool, argument, value))
    };
    let (arguments, problem) = match tool::arguments(&mut call, tool, &expects) {
        Ok(arguments) => (Json::Object(arguments), None),
        Err(reason) => (
            Json::Object(call.arguments),
            Some(CallError::Arguments(reason)),
        ),
    };
    let error = problem.or_else(|| match tool {
        // BFCL has its own rules for schemas; see `bfcl.rs`.
        _ if task.mode == Mode::Bfcl => None,
        None if task.tools.are_defined() => Some(CallError::UnknownTool),
        None => None,
        Some(tool) => tool.violation(&arguments).map(CallError::Schema),
    });
    ActualCall {
        name: call.name,
        arguments,
        error,
        failed: false,
        form: call.form,
        span: call.span,
    }
}

/// Whether the server reports that it stopped the message at the length limit.
fn ends_at_length_limit(message: &Message) -> bool {
    let reason = message
        .text_of("finish_reason")
        .or_else(|| message.text_of("stop_reason"));
    reason.is_some_and(|reason| reason == "length" || reason == "max_tokens")
}

/// Members of parts without a type that are results of tools (Gemini, Bedrock).
const RESULTS: &[&str] = &["functionResponse", "toolResult"];

/// Whether a message of the user consists of results of tools.
fn is_of_tools(message: &Message) -> bool {
    let is_result = |part: &ContentPart| {
        part.kind().as_deref() == Some("tool_result")
            || RESULTS.iter().any(|name| part.field(name).is_some())
    };
    let parts = message.content.parts();
    !parts.is_empty() && parts.iter().all(is_result)
}

/// Whether a message of a tool reports an error: `is_error`, `status: "error"`, or JSON with an
/// `error`.
fn reports_error(message: &Message) -> bool {
    let is_error = message.rest.get("is_error");
    let flagged = is_error.is_some_and(|is_error| is_error.get() == "true")
        || message.text_of("status").as_deref() == Some("error");
    let text = message.text();
    let has_error_member = || match Json::read(text.trim()) {
        Ok(json) => json
            .get("error")
            .is_some_and(|error| !matches!(error, Json::Null | Json::Bool(false))),
        Err(_) => false,
    };
    flagged || text.trim_start().starts_with('{') && has_error_member()
}
