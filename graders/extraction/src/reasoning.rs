//! Determines the visible parts of a completion: reasoning blocks and invented further turns are
//! removed. Does not look for answers.
//!
//! A block takes one of three forms:
//! - opened and closed: the text between is removed;
//! - never closed: everything after the opening mark is removed;
//! - only closed: everything before the closing mark is removed, because the prompt had opened it.
//!
//! Blocks do not nest: a model that mentions `<think>` while it reasons still closes the block
//! once.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr3;

/// Opening and closing marks of reasoning blocks. ASCII letters match in either case.
const BLOCKS: &[(&str, &str)] = &[
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    (
        "<|channel|>analysis<|message|>",
        "<|channel|>final<|message|>",
    ),
];

/// Marks that end a turn. What follows was not meant for the user, or is a turn that the model
/// invented.
const TURN_ENDS: &[&str] = &[
    "<|im_end|>",
    "<|im_start|>",
    "<|eot_id|>",
    "<|endoftext|>",
    "<|return|>",
    "<end_of_turn>",
    "<｜end▁of▁sentence｜>",
];

enum Mark {
    Open(usize),
    Close(usize),
    TurnEnd,
}

/// The byte ranges of `text` outside reasoning, in order, on character boundaries. Blank parts are
/// omitted.
///
/// Set `think_open` if the text starts inside a reasoning block.
#[must_use]
pub fn visible(text: &str, think_open: bool) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    let mut block = think_open.then_some(None);
    let mut at = 0;
    let mut end = text.len();
    while let Some(first) = memchr3(b'<', b'[', "◁".as_bytes()[0], &text.as_bytes()[at..]) {
        at += first;
        let Some((mark, length)) = mark_at(&text.as_bytes()[at..]) else {
            at += 1;
            continue;
        };
        match (mark, block) {
            (Mark::Open(kind), None) => {
                parts.push(start..at);
                block = Some(Some(kind));
            }
            (Mark::Close(kind), Some(open)) if open.is_none_or(|open| open == kind) => {
                block = None;
                start = at + length;
            }
            // The prompt had opened this block, so all text so far is reasoning.
            (Mark::Close(_), None) => {
                parts.clear();
                start = at + length;
            }
            (Mark::TurnEnd, None) if !text[start..at].trim().is_empty() => {
                end = at;
                break;
            }
            // A turn mark at the start of the text precedes the answer: "<|im_start|>5<|im_end|>".
            (Mark::TurnEnd, None) => start = at + length,
            (Mark::Open(_) | Mark::Close(_) | Mark::TurnEnd, Some(_)) => {}
        }
        at += length;
    }
    if block.is_none() {
        parts.push(start..end);
    }
    parts.retain(|part| !text[part.clone()].trim().is_empty());
    parts
}

/// The text outside reasoning as one string; borrowed if it is one part.
#[must_use]
pub fn visible_text(text: &str, think_open: bool) -> Cow<'_, str> {
    let parts = visible(text, think_open);
    match parts.as_slice() {
        [] => Cow::Borrowed(""),
        [part] => Cow::Borrowed(&text[part.clone()]),
        parts => Cow::Owned(
            parts
                .iter()
                .map(|part| &text[part.clone()])
                .collect::<Vec<_>>()
                .concat(),
        ),
    }
}

fn mark_at(rest: &[u8]) -> Option<(Mark, usize)> {
    // The second byte rules out nearly every bracket that does not open a mark.
    let second = rest.get(1)?.to_ascii_lowercase();
    let opens = match rest[0] {
        b'<' => matches!(second, b't' | b'r' | b's' | b'e' | b'/' | b'|') || !second.is_ascii(),
        b'[' => matches!(second, b't' | b'/'),
        _ => true,
    };
    if !opens {
        return None;
    }
    for (kind, (open, close)) in BLOCKS.iter().enumerate() {
        if starts_with(rest, open) {
            return Some((Mark::Open(kind), open.len()));
        }
        if starts_with(rest, close) {
            return Some((Mark::Close(kind), close.len()));
        }
    }
    TURN_ENDS
        .iter()
        .find(|end| rest.starts_with(end.as_bytes()))
        .map(|end| (Mark::TurnEnd, end.len()))
}

fn starts_with(rest: &[u8], mark: &str) -> bool {
    rest.get(..mark.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(mark.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visible_parts(text: &str) -> Vec<&str> {
        visible(text, false)
            .into_iter()
            .map(|part| text[part].trim())
            .collect()
    }

    #[test]
    fn removes_closed_blocks() {
        assert_eq!(
            visible_parts("a <think>x</think> b <THINK>y</THINK> c"),
            ["a", "b", "c"]
        );
        assert_eq!(
            visible_parts("<reasoning>x</reasoning><answer>5</answer>"),
            ["<answer>5</answer>"]
        );
        assert_eq!(
            visible_parts("<|begin_of_thought|>x<|end_of_thought|>5"),
            ["5"]
        );
    }

    #[test]
    fn removes_text_after_unclosed_block() {
        assert_eq!(visible_parts("a <think> 5"), ["a"]);
        assert!(visible_parts("<think> \\boxed{5}").is_empty());
    }

    #[test]
    fn removes_text_before_lone_closing_mark() {
        assert_eq!(visible_parts("x \\boxed{4} </think> 5"), ["5"]);
        assert_eq!(
            visible_parts("<think> a tag is <think> here </think> b </think> c"),
            ["c"]
        );
    }

    #[test]
    fn closes_block_only_with_its_own_mark() {
        assert_eq!(
            visible_parts("<think> <reasoning> </reasoning> 4 </think> 5"),
            ["5"]
        );
    }

    #[test]
    fn starts_inside_reasoning_if_the_prompt_opened_it() {
        assert!(visible("still thinking", true).is_empty());
        assert_eq!(visible("x</think>5", true).first(), Some(&(9..10)));
    }

    #[test]
    fn removes_invented_turns() {
        assert_eq!(
            visible_parts("It is 5.<|im_end|>\n<|im_start|>user 6"),
            ["It is 5."]
        );
        assert_eq!(visible_parts("<|im_start|>5<|im_end|>"), ["5"]);
    }

    #[test]
    fn finds_every_mark_of_the_tables() {
        for mark in BLOCKS
            .iter()
            .flat_map(|(open, close)| [open, close])
            .chain(TURN_ENDS)
        {
            assert_eq!(
                mark_at(mark.as_bytes()).map(|(_, length)| length),
                Some(mark.len()),
                "{mark}"
            );
        }
    }

    #[test]
    fn joins_visible_parts() {
        assert_eq!(visible_text("a<think>x</think>b", false), "ab");
        assert_eq!(visible_text("<think>", false), "");
    }
}
