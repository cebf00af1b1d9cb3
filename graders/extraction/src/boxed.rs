//! Boxes: `\boxed{…}`, `\fbox{…}`, `\boxed 5`. One pass over the text matches every brace, so
//! nesting costs nothing. An empty or unclosed box is not an answer.

use std::borrow::Cow;

use crate::commitment;
use crate::rule::{Rule, RuleMatch};
use crate::series::{self, Member};
use crate::trim::tidy;

/// Names of box commands. `\boxed` is also recognised if a program unescaped the text once too
/// often and turned `\b` into a backspace.
const COMMANDS: &[&str] = &["boxed", "fbox", "framebox"];

/// Placeholders that models put into a box when they describe the format of the answer.
const PLACEHOLDERS: &[&str] = &["\\ldots", "\\dots", "\\cdots", "\\_", "…", ".", "?", "_"];

/// One box command.
struct Frame {
    /// First byte of the command.
    start: usize,
    /// First byte after the command's opening brace.
    inner: usize,
    /// The byte of the closing brace and the first byte after it; `None` if the box is unclosed.
    close: Option<(usize, usize)>,
    /// The command has a doubled backslash: `\\boxed`.
    escaped: bool,
}

/// The boxes of a text.
pub(super) struct Boxes<'a> {
    /// The last box that the text does not deny, or the list of boxes that ends with it.
    pub(super) last: Option<RuleMatch<'a>>,
    /// The value that replaces the box: "No, it is 42".
    pub(super) correction: Option<RuleMatch<'a>>,
    /// The texts that other rules may read, in order. They end before the first unclosed box,
    /// because its content is unfinished, and contain no denied or retracted box.
    pub(super) unboxed: Vec<&'a str>,
    /// A retraction covers whatever precedes `unboxed`.
    pub(super) retracts: bool,
}

/// Maximum number of denied boxes that are skipped. After more the text has no box.
const MAX_DENIED: usize = 16;

/// Reads the boxes of `text`.
pub(super) fn read(text: &str) -> Boxes<'_> {
    let frames = frames(text);
    let open = frames.iter().find(|frame| frame.close.is_none());
    let closed = open.map_or(text, |frame| &text[..frame.start]);
    let outermost = outermost(&frames);
    let mut boxes = Boxes {
        last: None,
        correction: None,
        unboxed: vec![closed],
        retracts: false,
    };
    let Some((_, end)) = outermost.last().copied() else {
        return boxes;
    };
    if let Some(correction) = commitment::correction(&text[end..], true) {
        boxes.correction = Some(correction);
        return boxes;
    }
    if let Some(rest) = commitment::after_box(text, end) {
        boxes.unboxed = vec![closed.get(text.len() - rest.len()..).unwrap_or_default()];
        boxes.retracts = true;
        return boxes;
    }
    // The last box that the text asserts, and the sentences of those after it.
    let mut asserted = outermost.as_slice();
    let mut denied: Option<std::ops::Range<usize>> = None;
    let mut denied_texts: Vec<&str> = Vec::new();
    while let Some(((index, end), earlier)) = asserted.split_last() {
        let skipped = outermost.len() - asserted.len();
        let place = frames[*index].start..*end;
        let own = unwrapped(text, &frames, *index);
        // "We get \boxed{7}. But \boxed{7} is extraneous."
        if !denied_texts.contains(&own) && !commitment::denies_box(text, place.clone()) {
            break;
        }
        let sentence = commitment::sentence(text, place);
        denied_texts.push(own);
        if skipped == MAX_DENIED {
            asserted = &[];
            break;
        }
        let sentences_end = denied.map_or(sentence.end, |later| later.end);
        denied = Some(sentence.start..sentences_end);
        asserted = earlier;
    }
    boxes.last = last(text, &frames, asserted);
    if let Some(denied) = denied {
        let start = denied.start.min(closed.len());
        let after = closed.get(denied.end..).unwrap_or_default();
        boxes.unboxed = vec![&closed[..start], after];
    }
    boxes
}

/// The boxes that are not inside of another one, as their index and end.
fn outermost(frames: &[Frame]) -> Vec<(usize, usize)> {
    let mut outermost = Vec::new();
    let mut covered = 0;
    for (index, frame) in frames.iter().enumerate() {
        if let Some((_, end)) = frame.close
            && frame.start >= covered
        {
            covered = end;
            outermost.push((index, end));
        }
    }
    outermost
}

/// The last of some boxes, or the list of boxes that ends with it.
fn last<'a>(
    text: &'a str,
    frames: &[Frame],
    outermost: &[(usize, usize)],
) -> Option<RuleMatch<'a>> {
    let mut members = Vec::new();
    let mut sources = Vec::new();
    for (index, end) in outermost.iter().rev().copied() {
        let source = unwrapped(text, frames, index);
        let answer = content(text, source, &frames[index + 1..], frames[index].escaped);
        if !is_placeholder(&answer) {
            sources.push(source);
            members.push(Member {
                start: frames[index].start,
                end,
                text: answer,
            });
        }
        if members.len() == series::MAX_MEMBERS {
            break;
        }
    }
    members.reverse();
    sources.reverse();
    let series = series::last(text, &members)?;
    let single = series.distinct == 1;
    let last = members.len() - 1;
    Some(RuleMatch {
        source: if single {
            sources[last]
        } else {
            &text[members[series.first].start..members[last].end]
        },
        text: series.text,
        rule: if single { Rule::Boxed } else { Rule::BoxedList },
    })
}

/// All box commands of `text` in order, each with the brace that closes it.
fn frames(text: &str) -> Vec<Frame> {
    /// Marks a brace that does not belong to a box.
    const PLAIN: usize = usize::MAX;
    let bytes = text.as_bytes();
    let mut frames: Vec<Frame> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut at = first_command(text);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' | 0x08 => {
                let slashes = bytes[at..].iter().take_while(|b| **b == b'\\').count();
                let head = at + slashes;
                if let Some(after) = command_end(bytes, at, head) {
                    let escaped = slashes > 0 && slashes % 2 == 0;
                    let start = head - if escaped { 2 } else { slashes.min(1) };
                    at = push_frame(text, start, after, escaped, &mut frames, &mut open);
                } else if slashes == 0 {
                    at += 1;
                } else {
                    // An odd number of backslashes escapes the brace after them, which then groups
                    // nothing.
                    let escapes = slashes % 2 == 1 && matches!(bytes.get(head), Some(b'{' | b'}'));
                    at = head + usize::from(escapes);
                }
            }
            b'{' => {
                open.push(PLAIN);
                at += 1;
            }
            b'}' => {
                if let Some(frame) = open.pop().and_then(|index| frames.get_mut(index)) {
                    frame.close = Some((at, at + 1));
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
    frames
}

/// Start of the first box command. Braces before it cannot close a box, so reading starts there.
fn first_command(text: &str) -> usize {
    COMMANDS
        .iter()
        .chain(&["oxed"])
        .filter_map(|name| text.find(name))
        .min()
        .map_or(text.len(), |at| {
            let head = text[..at].trim_end_matches(['\\', '\u{8}', 'b']);
            head.len()
        })
}

/// First byte after the name of a box command with backslashes at `at..head`; `None` if there is no
/// such command or its name continues (`\boxedtext`).
fn command_end(bytes: &[u8], at: usize, head: usize) -> Option<usize> {
    let name_end = if bytes[at] == 0x08 {
        bytes[at + 1..]
            .starts_with(b"oxed")
            .then_some(at + 1 + "oxed".len())
    } else {
        COMMANDS
            .iter()
            .find(|name| bytes[head..].starts_with(name.as_bytes()))
            .map(|name| head + name.len())
    }?;
    let letter = bytes.get(name_end).is_some_and(u8::is_ascii_alphabetic);
    (!letter).then_some(name_end)
}

/// Adds a box and returns the byte at which reading continues.
fn push_frame(
    text: &str,
    start: usize,
    after: usize,
    escaped: bool,
    frames: &mut Vec<Frame>,
    open: &mut Vec<usize>,
) -> usize {
    let rest = &text[after..];
    let blank = rest.len() - rest.trim_start_matches([' ', '\n']).len();
    let inner = after + blank;
    if text[inner..].starts_with('{') {
        open.push(frames.len());
        frames.push(Frame {
            start,
            inner: inner + 1,
            close: None,
            escaped,
        });
        return inner + 1;
    }
    let Some(length) = bare_length(&text[inner..]) else {
        return inner;
    };
    let end = inner + length;
    frames.push(Frame {
        start,
        inner,
        close: Some((end, end)),
        escaped,
    });
    end
}

/// Length of the answer of a box without braces (`\boxed 5`); `None` if the command is only
/// mentioned ("put it in a \boxed environment").
///
/// Reading stops at the next box command, so no byte is read for two commands.
fn bare_length(rest: &str) -> Option<usize> {
    if !rest.starts_with(|c: char| c.is_alphanumeric() || "\\-+(".contains(c)) {
        return None;
    }
    let mut depth = 0usize;
    let mut end = rest.len();
    for (at, byte) in rest.bytes().enumerate() {
        // Outside braces a blank ends the answer, as an argument of a command does in TeX. A
        // dollar, a line break and the brace of a surrounding group end it everywhere.
        let ends = match byte {
            b'{' => {
                depth += 1;
                false
            }
            b'}' if depth == 0 => true,
            b'}' => {
                depth -= 1;
                false
            }
            b'$' | b'\n' | b'\r' | b'\t' => true,
            b' ' => depth == 0,
            b'\\' | 0x08 => {
                command_end(rest.as_bytes(), at, at + usize::from(byte == b'\\')).is_some()
            }
            _ => false,
        };
        if ends {
            end = at;
            break;
        }
    }
    let answer =
        rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '`', '*', '\\']);
    // Several letters are a word of the sentence that mentions the command.
    let mention = answer.len() > 1 && answer.bytes().all(|byte| byte.is_ascii_alphabetic());
    (!answer.is_empty() && depth == 0 && !mention).then_some(answer.len())
}

/// The content of the innermost box of directly nested boxes: `\boxed{\boxed{5}}`.
fn unwrapped<'a>(text: &'a str, frames: &[Frame], index: usize) -> &'a str {
    let mut outer = index;
    loop {
        let Some((close, _)) = frames[outer].close else {
            return "";
        };
        let inner = frames[outer].inner;
        let only = frames.get(outer + 1).and_then(|next| {
            let (_, end) = next.close?;
            let alone = next.start >= inner
                && end <= close
                && text[inner..next.start].trim().is_empty()
                && text[end..close].trim().is_empty();
            alone.then_some(outer + 1)
        });
        match only {
            Some(next) => outer = next,
            None => return &text[inner..close],
        }
    }
}

/// The content of a box as an answer. Removes the commands of nested boxes, maths delimiters and
/// doubled backslashes.
fn content<'a>(text: &'a str, source: &'a str, inside: &[Frame], escaped: bool) -> Cow<'a, str> {
    let range = super::slices::byte_range(text, source);
    let mut answer = Cow::Borrowed(source);
    let nested: Vec<&Frame> = inside
        .iter()
        .skip_while(|frame| frame.start < range.start)
        .take_while(|frame| frame.start < range.end)
        .collect();
    if !nested.is_empty() {
        let mut cleaned = String::with_capacity(source.len());
        let mut from = range.start;
        for frame in nested {
            let brace = text.as_bytes().get(frame.inner.wrapping_sub(1)) == Some(&b'{');
            cleaned.push_str(&text[from..frame.start]);
            from = frame.inner - usize::from(brace);
        }
        cleaned.push_str(&text[from..range.end]);
        answer = Cow::Owned(cleaned);
    }
    if escaped && doubled(&answer) {
        answer = Cow::Owned(answer.replace("\\\\", "\\"));
    }
    if unescaped_dollars(&answer).is_some_and(|count| count > 0 && count % 2 == 0) {
        answer = Cow::Owned(without_dollars(&answer));
    }
    match answer {
        Cow::Borrowed(answer) => Cow::Borrowed(tidy(answer)),
        Cow::Owned(answer) => Cow::Owned(tidy(&answer).to_owned()),
    }
}

/// Whether every run of backslashes has an even length, which means that the text was escaped once
/// too often. A matrix with `\begin` and `\\` has runs of both lengths and stays.
fn doubled(text: &str) -> bool {
    let mut run = 0usize;
    for byte in text.bytes() {
        if byte == b'\\' {
            run += 1;
        } else {
            if run % 2 == 1 {
                return false;
            }
            run = 0;
        }
    }
    run.is_multiple_of(2)
}

/// Number of unescaped `$`; `None` if the text contains no `$`.
fn unescaped_dollars(text: &str) -> Option<usize> {
    text.contains('$').then(|| {
        let bytes = text.as_bytes();
        (0..bytes.len())
            .filter(|at| bytes[*at] == b'$' && (*at == 0 || bytes[*at - 1] != b'\\'))
            .count()
    })
}

/// Removes unescaped `$`.
fn without_dollars(text: &str) -> String {
    let mut before = ' ';
    text.chars()
        .filter(|c| {
            let unescaped = *c == '$' && before != '\\';
            before = *c;
            !unescaped
        })
        .collect()
}

fn is_placeholder(answer: &str) -> bool {
    let mut rest = answer.trim();
    while !rest.is_empty() {
        let Some(shorter) = PLACEHOLDERS.iter().find_map(|p| rest.strip_prefix(p)) else {
            return false;
        };
        rest = shorter.trim_start();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Option<(String, Rule)> {
        read(text)
            .last
            .map(|found| (found.text.into_owned(), found.rule))
    }

    fn single(text: &str) -> String {
        let (answer, rule) = answer(text).unwrap();
        assert_eq!(rule, Rule::Boxed, "{text}");
        answer
    }

    fn list(text: &str) -> String {
        let (answer, rule) = answer(text).unwrap();
        assert_eq!(rule, Rule::BoxedList, "{text}");
        answer
    }

    #[test]
    fn uses_the_last_closed_box() {
        assert_eq!(
            single(r"This leaves \boxed{23}. Hold on, it must be \boxed{26}."),
            "26"
        );
        assert_eq!(single(r"\boxed{3} and then \boxed{4"), "3");
    }

    #[test]
    fn matches_nested_braces_and_skips_escaped_ones() {
        assert_eq!(
            single(r"$\boxed{\frac{1}{\sqrt{2}}}$"),
            r"\frac{1}{\sqrt{2}}"
        );
        assert_eq!(single(r"\boxed{\{1,2\}}"), r"\{1,2\}");
        assert_eq!(single(r"{{ \boxed{5} }"), "5");
    }

    #[test]
    fn reads_boxes_without_braces_and_other_commands() {
        assert_eq!(single(r"so \boxed 5."), "5");
        assert_eq!(single(r"$\boxed \frac{1}{2}$"), r"\frac{1}{2}");
        assert_eq!(single(r"\fbox{$12$}"), "12");
        assert_eq!(single("\u{8}oxed{12}"), "12");
        assert_eq!(answer(r"put it in a \boxed environment"), None);
    }

    #[test]
    fn ignores_unclosed_empty_and_placeholder_boxes() {
        for text in [
            r"\boxed{3",
            r"\boxed{}",
            r"\boxed{ }",
            r"\boxed{...}",
            r"\boxed{\ldots}",
            r"\boxed",
        ] {
            assert_eq!(answer(text), None, "{text}");
        }
        assert_eq!(single(r"\boxed{5} as asked: \boxed{}"), "5");
    }

    #[test]
    fn unwraps_nested_boxes_at_any_depth() {
        let deep = format!("{}3{}", r"\boxed{".repeat(20_000), "}".repeat(20_000));
        assert_eq!(single(&deep), "3");
        assert_eq!(single(r"\boxed{x = \boxed{3}}"), "x = {3}");
    }

    #[test]
    fn undoes_doubled_backslashes_only_if_all_are_doubled() {
        assert_eq!(single(r"\\boxed{\\frac{1}{2}}"), r"\frac{1}{2}");
        assert_eq!(
            single(r"\\boxed{\begin{pmatrix} 1 \\ 2 \end{pmatrix}}"),
            r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"
        );
    }

    #[test]
    fn joins_adjacent_boxes_with_their_conjunction() {
        assert_eq!(
            list(r"\boxed{14} or \boxed{30} or \boxed{21}"),
            "14 or 30 or 21"
        );
        assert_eq!(
            list(r"$\boxed{1}$, $\boxed{2}$, and $\boxed{3}$."),
            "1, 2 and 3"
        );
        assert_eq!(
            list(r"\boxed{1} \quad \text{and} \quad \boxed{2}"),
            "1 and 2"
        );
        for joiner in ["或", "ou", "oder", "o", "或者"] {
            assert_eq!(
                list(&format!(r"\boxed{{1}} {joiner} \boxed{{2}}")),
                "1 or 2"
            );
        }
        for joiner in ["和", "et", "und", "y"] {
            assert_eq!(
                list(&format!(r"\boxed{{1}} {joiner} \boxed{{2}}")),
                "1 and 2"
            );
        }
    }

    #[test]
    fn hedges_follow_a_joiner_and_join_nothing_themselves() {
        assert_eq!(list(r"\boxed{7} or maybe \boxed{8}"), "7 or 8");
        assert_eq!(list(r"\boxed{7}, maybe \boxed{8}"), "7, 8");
        assert_eq!(single(r"\boxed{7} could be \boxed{8}"), "8");
    }

    #[test]
    fn lists_adjacent_boxes_and_merges_repeated_ones() {
        assert_eq!(list(r"\boxed{7} \boxed{8}"), "7, 8");
        assert_eq!(list(r"\boxed{7}. \boxed{8}"), "7, 8");
        assert_eq!(single(r"\boxed{3}\boxed{3} \boxed{ 3 }"), "3");
    }

    #[test]
    fn keeps_labels_of_joined_boxes() {
        assert_eq!(
            list(r"so $p = \boxed{2}$ and $q = \boxed{3}$"),
            "p = 2 and q = 3"
        );
        assert_eq!(
            single(r"so p is \boxed{2} and the length is \boxed{3}"),
            "3"
        );
    }

    #[test]
    fn ends_box_without_braces_at_the_next_box() {
        assert_eq!(list(r"\boxed1\boxed2"), "1, 2");
        assert_eq!(single(r"\boxed\boxed 5"), "5");
        assert_eq!(answer(r"\boxed\boxed"), None);
    }

    /// Work that reads the rest of the text once for each command would take minutes here.
    #[test]
    fn reads_many_commands_without_braces_in_linear_time() {
        for unit in [
            r"\boxed",
            r"\boxed ",
            r"\fbox",
            r"\fbox ",
            r"\framebox",
            r"\\boxed",
            "\u{8}oxed",
            "\u{8}oxed ",
            r"\boxed!",
            r"\boxed1{",
            r"\boxed(",
            r"\boxed\x",
            r"\boxed-\{",
            r"\boxed a",
            r"\boxed1",
            r"\boxed}",
            "\\boxed\n",
            "\\boxed\\\\",
        ] {
            let many = unit.repeat(200_000);
            for text in [
                many.clone(),
                format!(r"\boxed{{{many}}}"),
                format!(r"{many}\boxed{{3}}"),
            ] {
                let boxes = read(&text);
                assert!(
                    boxes
                        .last
                        .is_none_or(|found| found.source.len() <= text.len()),
                    "{unit}"
                );
                assert!(boxes.unboxed.iter().map(|part| part.len()).sum::<usize>() <= text.len());
            }
        }
    }

    #[test]
    fn removes_maths_delimiters_inside_a_box() {
        assert_eq!(single(r"\boxed{25 $ and $31}"), "25  and 31");
        assert_eq!(single(r"\boxed{\$5}"), r"\$5");
    }
}
