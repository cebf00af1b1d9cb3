//! Calls of tools in what a model wrote: in messages of the OpenAI and Anthropic shapes, and in
//! every text form of [`Form::ALL`].
//!
//! Nothing is repaired: an attempt that is not what its form asks for is [`Malformed`], with the
//! byte at which it breaks. What is neither a call nor an attempt is prose. Reasoning and made-up
//! turns never count.

mod bare;
mod forms;
mod json;
mod marked;
mod message;
mod parameters;
mod python;
mod scan;

#[cfg(test)]
mod tests;

use std::ops::Range;

use assay_core::Message;
use assay_core::extraction::reasoning;

pub use forms::Form;
pub use parameters::typed;
pub use python::literal;

use crate::json::{Broken, Json};
use scan::Scan;

/// Most calls that are read; what stands behind them is one malformed attempt.
pub const MAX_CALLS: usize = 1_000;

/// Most malformed attempts that are told; what stands behind them is not read.
pub const MAX_MALFORMED: usize = 50;

/// A call as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool's name.
    pub name: String,
    /// Arguments by name, each name once.
    pub arguments: Vec<(String, Json)>,
    /// Arguments without a name, in their order; only some forms have them.
    pub positional: Vec<Json>,
    /// Whether the arguments are texts whose types the form does not tell; see [`typed`].
    pub untyped: bool,
    /// Where it stands, in bytes of the text; empty for a call of a message.
    pub span: Range<usize>,
    /// How it was written.
    pub form: Form,
}

/// An attempt that is no call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Where the attempt stands, in bytes of the text; empty for one of a message.
    pub span: Range<usize>,
    /// Where and why it is none. The byte counts from the start of the text, or of the message's
    /// `arguments`.
    pub broken: Broken,
    /// The form it was in.
    pub form: Form,
}

/// What was read in one text or message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// The calls, in their order.
    pub calls: Vec<Call>,
    /// Attempts that are none, in their order.
    pub malformed: Vec<Malformed>,
    /// What stands outside of both, reasoning left out, in bytes of the text.
    pub prose: Vec<Range<usize>>,
}

impl Reading {
    /// Whether there is neither a call nor an attempt.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.malformed.is_empty()
    }

    /// Takes only calls of one form; others become malformed attempts.
    pub fn keep_form(&mut self, form: Form) {
        let (kept, others) = std::mem::take(&mut self.calls)
            .into_iter()
            .partition(|call| call.form == form);
        self.calls = kept;
        let refused = |call: Call| Malformed {
            broken: Broken::new(
                call.span.start,
                format!("the call is written as `{}`, not as `{form}`", call.form),
            ),
            span: call.span,
            form: call.form,
        };
        self.malformed.extend(others.into_iter().map(refused));
        self.malformed.sort_by_key(|malformed| malformed.span.start);
    }
}

/// Reads the calls in a text. `think_open` says that it starts inside reasoning; `is_tool` knows
/// the names of the tools, which settles what is a call where nothing marks one.
#[must_use]
pub fn read(text: &str, think_open: bool, is_tool: &dyn Fn(&str) -> bool) -> Reading {
    let mut parts = visible(text, think_open);
    if let Some(first) = parts.first_mut() {
        first.start += header(&text[first.clone()]);
    }
    if let Some(last) = parts.last_mut() {
        last.end = last.start + without_end(&text[last.clone()]).len();
    }
    // A text that is calls and nothing else may have the marks of other forms in its strings.
    if let [only] = parts.as_slice() {
        let mut bare = Reading::default();
        bare::scan(&mut Scan::new(text, only.clone(), &mut bare), is_tool);
        if !bare.calls.is_empty() && bare.malformed.is_empty() {
            return bare;
        }
    }
    let mut reading = Reading::default();
    for part in &parts {
        let mut scan = Scan::new(text, part.clone(), &mut reading);
        marked::scan(&mut scan);
    }
    if reading.is_empty()
        && let [.., last] = parts.as_slice()
    {
        let mut bare = Reading::default();
        bare::scan(&mut Scan::new(text, last.clone(), &mut bare), is_tool);
        if !bare.is_empty() {
            bare.prose = reading
                .prose
                .into_iter()
                .filter(|range| range.end <= last.start)
                .collect();
            return bare;
        }
    }
    reading
}

/// Reads the calls of one message of the assistant: those in its fields, else those in its text.
#[must_use]
pub fn read_message(
    message: &Message,
    think_open: bool,
    is_tool: &dyn Fn(&str) -> bool,
) -> Reading {
    let mut reading = message::read(message);
    let text = message.text();
    if reading.is_empty() {
        return read(&text, think_open, is_tool);
    }
    reading.prose = reasoning::visible(&text, think_open);
    reading
}

/// What servers that hand texts over as they come leave at their end.
const END_TOKENS: &[&str] = &[
    "</s>",
    "<eos>",
    "[EOS]",
    "<|end|>",
    "<|eot|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|observation|>",
    "<|user|>",
];

/// A text without tokens at its end that say that the turn is over.
fn without_end(text: &str) -> &str {
    let mut text = text.trim_end();
    while let Some(rest) = END_TOKENS.iter().find_map(|token| text.strip_suffix(token)) {
        text = rest.trim_end();
    }
    text
}

/// How long the header is that a text of Llama may begin with.
fn header(text: &str) -> usize {
    const HEADER: &str = "<|start_header_id|>assistant<|end_header_id|>";
    let trimmed = text.trim_start();
    if trimmed.starts_with(HEADER) {
        text.len() - trimmed.len() + HEADER.len()
    } else {
        0
    }
}

/// The parts of a text that count. Texts in channels (gpt-oss) say of each message whether it is
/// reasoning.
fn visible(text: &str, think_open: bool) -> Vec<Range<usize>> {
    if !text.contains("<|channel|>") {
        return reasoning::visible(text, think_open);
    }
    let starts = std::iter::once(0).chain(text.match_indices("<|start|>").map(|(at, _)| at));
    let ends = text
        .match_indices("<|start|>")
        .map(|(at, _)| at)
        .chain([text.len()]);
    let counts = |message: &Range<usize>| {
        let message = &text[message.clone()];
        !message.contains("<|channel|>analysis") && !message.trim().is_empty()
    };
    starts
        .zip(ends)
        .map(|(start, end)| start..end)
        .filter(counts)
        .collect()
}
