//! What of a completion counts: reasoning blocks and made-up further turns are cut. Reads no
//! answer.
//!
//! A block is closed, or never closed (then nothing after its opening counts), or only closed (then
//! nothing before the closing counts, because the prompt had opened it). Blocks do not nest: a
//! model that mentions `<think>` while it thinks closes it once.

use std::borrow::Cow;
use std::ops::Range;

/// Opening and closing mark of one way to write reasoning. ASCII letters match in either case.
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

/// Marks that end a turn: what follows was written by nobody, or by a model that speaks for the
/// user.
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

/// The parts of `text` outside reasoning, in order, blank ones left out.
///
/// `think_open` says that the text starts inside a reasoning block. Ranges are byte ranges on
/// character boundaries.
#[must_use]
pub fn visible(text: &str, think_open: bool) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    let mut block = think_open.then_some(None);
    let mut at = 0;
    let mut end = text.len();
    while let Some(byte) = text.as_bytes().get(at) {
        let opens = matches!(byte, b'<' | b'[') || *byte == "◁".as_bytes()[0];
        let Some((mark, length)) = opens.then(|| mark_at(&text.as_bytes()[at..])).flatten() else {
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
            (Mark::Close(_), None) => {
                parts.clear();
                start = at + length;
            }
            (Mark::TurnEnd, None) if !text[start..at].trim().is_empty() => {
                end = at;
                break;
            }
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

/// The text outside reasoning as one string; borrowed where it is one part.
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
    // The second byte tells nearly every bracket that opens no mark.
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

    fn seen(text: &str) -> Vec<&str> {
        visible(text, false)
            .into_iter()
            .map(|part| text[part].trim())
            .collect()
    }

    #[test]
    fn a_closed_block_is_cut_wherever_it_stands() {
        assert_eq!(
            seen("a <think>x</think> b <THINK>y</THINK> c"),
            ["a", "b", "c"]
        );
        assert_eq!(
            seen("<reasoning>x</reasoning><answer>5</answer>"),
            ["<answer>5</answer>"]
        );
        assert_eq!(seen("<|begin_of_thought|>x<|end_of_thought|>5"), ["5"]);
    }

    #[test]
    fn a_block_that_is_never_closed_hides_the_rest() {
        assert_eq!(seen("a <think> 5"), ["a"]);
        assert!(seen("<think> \\boxed{5}").is_empty());
    }

    #[test]
    fn a_lone_closing_mark_hides_what_stands_before_it() {
        assert_eq!(seen("x \\boxed{4} </think> 5"), ["5"]);
        assert_eq!(
            seen("<think> a tag is <think> here </think> b </think> c"),
            ["c"]
        );
    }

    #[test]
    fn a_block_is_closed_by_its_own_mark() {
        assert_eq!(seen("<think> <reasoning> </reasoning> 4 </think> 5"), ["5"]);
    }

    #[test]
    fn an_opened_prompt_starts_inside_reasoning() {
        assert!(visible("still thinking", true).is_empty());
        assert_eq!(visible("x</think>5", true).first(), Some(&(9..10)));
    }

    #[test]
    fn made_up_turns_are_cut() {
        assert_eq!(seen("It is 5.<|im_end|>\n<|im_start|>user 6"), ["It is 5."]);
        assert_eq!(seen("<|im_start|>5<|im_end|>"), ["5"]);
    }

    #[test]
    fn every_mark_of_the_tables_is_found() {
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
    fn the_parts_are_joined_for_graders_of_text() {
        assert_eq!(visible_text("a<think>x</think>b", false), "ab");
        assert_eq!(visible_text("<think>", false), "");
    }
}
