//! Reads tool calls from the output of a model, from text and from the fields of messages, in every
//! form of [`Form::ALL`].
//!
//! Input is never repaired. An attempt that does not follow its form is [`Malformed`], with the
//! byte of the error, and so is an attempt in a form that is not read. All other text is prose.
//! Reasoning and invented turns are ignored.

mod elements;
mod enclosed;
mod forms;
mod gemma;
mod json;
mod mark;
mod marked;
mod marks;
mod message;
mod named;
mod parsed;
mod python;
mod scan;
#[cfg(test)]
mod tests;
mod typing;
mod unmarked;
mod unread;

use std::ops::Range;

use assay_core::Message;
use assay_extraction::reasoning;

use scan::Scan;

pub use forms::Form;
pub use parsed::{Call, MAX_CALLS, MAX_MALFORMED, Malformed, Reading};
pub use python::literal;
pub use typing::ArgumentTypes;

/// Reads the calls in a text. Set `think_open` if the text starts inside reasoning. `is_tool`
/// returns whether a name is that of a tool; it decides whether text without marks is a call.
#[must_use]
pub fn read(text: &str, think_open: bool, is_tool: &dyn Fn(&str) -> bool) -> Reading {
    let mut parts = visible_outside_strings(text, think_open, is_tool);
    if let Some(first) = parts.first_mut() {
        first.start += header_length(&text[first.clone()]);
    }
    if let Some(last) = parts.last_mut() {
        last.end = last.start + without_end_tokens(&text[last.clone()]).len();
    }
    // A text that consists of unmarked calls is read first, because its strings may contain marks
    // of other forms.
    if let [only] = parts.as_slice() {
        let mut unmarked = Reading::default();
        unmarked::scan(&mut Scan::new(text, only.clone(), is_tool, &mut unmarked));
        if !unmarked.calls.is_empty() && unmarked.malformed.is_empty() {
            return unmarked;
        }
    }
    let mut reading = Reading::default();
    for part in &parts {
        marked::scan(&mut Scan::new(text, part.clone(), is_tool, &mut reading));
    }
    if reading.is_empty()
        && let [.., last] = parts.as_slice()
    {
        let mut unmarked = Reading::default();
        unmarked::scan(&mut Scan::new(text, last.clone(), is_tool, &mut unmarked));
        if !unmarked.is_empty() {
            let before = std::mem::take(&mut reading.prose).into_iter();
            unmarked.prose = before.filter(|range| range.end <= last.start).collect();
            reading = unmarked;
        }
    }
    for prose in std::mem::take(&mut reading.prose) {
        unread::scan(&mut Scan::new(text, prose, is_tool, &mut reading));
    }
    reading.calls.sort_by_key(|call| call.span.start);
    reading
        .malformed
        .sort_by_key(|malformed| malformed.span.start);
    reading
}

/// Reads the calls of an assistant message: those in its fields or, if there are none, those in its
/// text.
#[must_use]
pub fn read_message(
    message: &Message,
    think_open: bool,
    is_tool: &dyn Fn(&str) -> bool,
) -> Reading {
    let mut reading = message::read(message);
    let text = message.text();
    if reading.is_empty() {
        reading = read(&text, think_open, is_tool);
    } else {
        reading.prose = reasoning::visible(&text, think_open);
    }
    let was_read = !reading.calls.is_empty();
    let unread = message::unread_fields(message, was_read);
    reading.malformed.extend(unread);
    reading
}

/// End-of-turn tokens that some servers leave at the end of a text.
const END_TOKENS: &[&str] = &[
    "</s>",
    "<eos>",
    "<|eot|>",
    "<|eom|>",
    "<|stop|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|assistant_end|>",
    "<start_function_response>",
    "<|tool_response>",
    "<turn|>",
    "[EOS]",
    "<|end|>",
    "<|eot|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|observation|>",
    "<|user|>",
];

/// Removes end-of-turn tokens from the end of a text.
fn without_end_tokens(text: &str) -> &str {
    let mut text = text.trim_end();
    while let Some(rest) = END_TOKENS.iter().find_map(|token| text.strip_suffix(token)) {
        text = rest.trim_end();
    }
    text
}

/// Length of the header with which texts of Llama start; 0 if there is none.
fn header_length(text: &str) -> usize {
    const HEADER: &str = "<|start_header_id|>assistant<|end_header_id|>";
    let trimmed = text.trim_start();
    if trimmed.starts_with(HEADER) {
        text.len() - trimmed.len() + HEADER.len()
    } else {
        0
    }
}

/// The visible parts of a text. Marks of reasoning and of turns in the strings of calls do not
/// count.
fn visible_outside_strings(
    text: &str,
    think_open: bool,
    is_tool: &dyn Fn(&str) -> bool,
) -> Vec<Range<usize>> {
    let parts = visible(text, think_open);
    if matches!(parts.as_slice(), [only] if *only == (0..text.len())) {
        return parts;
    }
    let mut reading = Reading::default();
    marked::scan(&mut Scan::new(text, 0..text.len(), is_tool, &mut reading));
    // The texts of untyped arguments have no syntax, and might contain the end of the reasoning.
    let calls = reading.calls.iter().filter(|call| !call.untyped);
    let has_marks = |span: &&Range<usize>| {
        let inside = &text[(*span).clone()];
        reasoning::visible(inside, false) != std::slice::from_ref(&(0..inside.len()))
    };
    let spans: Vec<_> = calls.map(|call| &call.span).filter(has_marks).collect();
    if spans.is_empty() {
        return parts;
    }
    let mut masked = String::with_capacity(text.len());
    for span in spans {
        if masked.len() <= span.start {
            masked.push_str(&text[masked.len()..span.start]);
            masked.extend(std::iter::repeat_n('x', span.len()));
        }
    }
    masked.push_str(&text[masked.len()..]);
    visible(&masked, think_open)
}

/// The visible parts of a text. In a text with channels (gpt-oss), the channel of each message
/// determines whether it is reasoning.
fn visible(text: &str, think_open: bool) -> Vec<Range<usize>> {
    if !text.contains("<|channel|>") {
        return reasoning::visible(text, think_open);
    }
    let starts = std::iter::once(0).chain(text.match_indices("<|start|>").map(|(at, _)| at));
    let ends = text
        .match_indices("<|start|>")
        .map(|(at, _)| at)
        .chain([text.len()]);
    let is_visible = |message: &Range<usize>| {
        let message = &text[message.clone()];
        let header = message.split("<|message|>").next().unwrap_or_default();
        // A message with a recipient is a call in any channel.
        let is_reasoning = message.contains("<|channel|>analysis") && !header.contains(" to=");
        !is_reasoning && !message.trim().is_empty()
    };
    starts
        .zip(ends)
        .map(|(start, end)| start..end)
        .filter(is_visible)
        .collect()
}
