//! What a completion did, turn by turn: which calls it made, which attempts failed, where it said
//! nothing.
//!
//! A turn is the messages between two messages of the user; a text is one turn of one message.

use std::collections::{HashMap, HashSet};

use assay_core::{Completion, Item, Message};
use assay_documents::Json;
use assay_documents::calls::{self, Call, Malformed, Reading};
use serde_json::Value;

use crate::compare::{Made, Unsound};
use crate::task::{Mode, ToolsTask};
use crate::tool;

/// What the assistant did between two messages of the user.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) calls: Vec<Made>,
    pub(crate) malformed: Vec<Malformed>,
    /// Messages of the assistant in it that have neither a call nor an answer.
    pub(crate) void: bool,
}

/// All turns, and what is measured over them.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) turns: Vec<Turn>,
    /// Messages of the assistant without a call and without an answer, counted from 0.
    pub(crate) void_messages: Vec<usize>,
    /// Calls that a tool's message says it refused.
    pub(crate) refused: usize,
}

impl Trace {
    /// Reads a completion. There is always a turn.
    pub(crate) fn read(item: &Item, task: &ToolsTask) -> Self {
        let is_tool = |name: &str| task.tools.get(name).is_some();
        let mut trace = Self {
            turns: vec![Turn::default()],
            ..Self::default()
        };
        match &item.completion {
            Completion::Text(text) => {
                let reading = calls::read(text, item.meta.think_open, &is_tool);
                let says = reading
                    .prose
                    .iter()
                    .any(|range| !text[range.clone()].trim().is_empty());
                trace.file(reading, says, item.meta.truncated, 0, task);
            }
            Completion::Messages(messages) => {
                let last = messages
                    .iter()
                    .rposition(|message| message.role == "assistant");
                let mut count = 0;
                for (at, message) in messages.iter().enumerate() {
                    match message.role.as_str() {
                        "user"
                            if trace.turns.last().is_some_and(|turn| !turn.is_untouched())
                                || count > 0 =>
                        {
                            trace.turns.push(Turn::default());
                        }
                        "tool" | "function" if is_refusal(message) => trace.refused += 1,
                        "assistant" => {
                            let think_open = item.meta.think_open && count == 0;
                            let reading = calls::read_message(message, think_open, &is_tool);
                            let cut = is_cut(message) || Some(at) == last && item.meta.truncated;
                            let text = message.text();
                            let says = reading
                                .prose
                                .iter()
                                .any(|range| !text[range.clone()].trim().is_empty());
                            trace.file(reading, says, cut, count, task);
                            count += 1;
                        }
                        _ => {}
                    }
                }
            }
        }
        trace
    }

    fn file(
        &mut self,
        mut reading: Reading,
        says_something: bool,
        cut: bool,
        message: usize,
        task: &ToolsTask,
    ) {
        if let Some(form) = task.form {
            reading.keep_form(form);
        }
        let Some(turn) = self.turns.last_mut() else {
            return;
        };
        // An attempt that is malformed says something, unless it was cut off.
        let is_trivial = reading.malformed.is_empty() && !says_something;
        if reading.calls.is_empty() && (cut || is_trivial) {
            turn.void = true;
            self.void_messages.push(message);
        }
        turn.malformed.extend(reading.malformed);
        turn.calls
            .extend(reading.calls.into_iter().map(|call| made(call, task)));
    }

    /// All calls in order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Made> {
        self.turns.iter().flat_map(|turn| &turn.calls)
    }

    /// Number of attempts that are not calls.
    pub(crate) fn malformed(&self) -> usize {
        self.turns.iter().map(|turn| turn.malformed.len()).sum()
    }

    /// How many calls were made before, with nothing changed since; `changes` says which calls
    /// change something, where known.
    pub(crate) fn redundant(&self, changes: &[bool]) -> usize {
        let mut since: HashSet<(&str, String)> = HashSet::new();
        let mut names: HashMap<&str, usize> = HashMap::new();
        self.calls()
            .for_each(|call| *names.entry(&call.name).or_default() += 1);
        let mut redundant = 0;
        for (at, call) in self.calls().enumerate() {
            if changes.get(at).copied().unwrap_or_default() {
                since.clear();
            } else if names[call.name.as_str()] > 1 {
                redundant += usize::from(!since.insert((&call.name, call.arguments.canonical())));
            }
        }
        redundant
    }
}

impl Turn {
    fn is_untouched(&self) -> bool {
        self.calls.is_empty() && self.malformed.is_empty() && !self.void
    }
}

fn made(mut call: Call, task: &ToolsTask) -> Made {
    let tool = task.tools.get(&call.name);
    let (arguments, problem) = match tool::arguments(&mut call, tool) {
        Ok(arguments) => (Json::Object(arguments), None),
        Err(reason) => (
            Json::Object(call.arguments),
            Some(Unsound::Arguments(reason)),
        ),
    };
    let unsound = problem.or_else(|| match tool {
        // BFCL looks at schemas in its own way.
        _ if task.mode == Mode::Bfcl => None,
        None if task.tools.are_given() => Some(Unsound::UnknownTool),
        None => None,
        Some(tool) => tool.violation(&arguments).map(Unsound::Schema),
    });
    Made {
        name: call.name,
        arguments,
        unsound,
        form: call.form,
        span: call.span,
    }
}

/// Whether the server reports that the message ended at the length limit.
fn is_cut(message: &Message) -> bool {
    let reason = message
        .rest
        .get("finish_reason")
        .or_else(|| message.rest.get("stop_reason"));
    reason
        .and_then(Value::as_str)
        .is_some_and(|reason| reason == "length" || reason == "max_tokens")
}

/// A tool's message that says it failed: `is_error`, `status: "error"`, or JSON with an `error`.
fn is_refusal(message: &Message) -> bool {
    let flagged = message.rest.get("is_error") == Some(&Value::Bool(true))
        || message
            .rest
            .get("status")
            .is_some_and(|status| status == "error");
    let text = message.text();
    let names_error = || match Json::read(text.trim()) {
        Ok(json) => json
            .get("error")
            .is_some_and(|error| !matches!(error, Json::Null | Json::Bool(false))),
        Err(_) => false,
    };
    flagged || text.trim_start().starts_with('{') && names_error()
}
