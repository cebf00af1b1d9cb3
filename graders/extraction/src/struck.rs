//! Struck-out text: `~~42~~` in Markdown, `<del>42</del>` in HTML. It is not part of what a text
//! says.

use crate::maths_spans;

/// Elements whose content is struck out.
const ELEMENTS: &[(&str, &str)] = &[
    ("<del>", "</del>"),
    ("<s>", "</s>"),
    ("<strike>", "</strike>"),
];

/// The Markdown mark around struck-out text.
const MARK: &str = "~~";

/// The text with blanks for what is struck out, of the same length; `None` if nothing is.
pub(super) fn blanked(text: &str) -> Option<String> {
    // Most texts have none. One pass finds the first bytes of all marks.
    let bytes = text.as_bytes();
    let has_element =
        |at: usize| (ELEMENTS.iter()).any(|(open, _)| bytes[at..].starts_with(open.as_bytes()));
    let mut starts = memchr::memchr2_iter(b'~', b'<', bytes);
    if !starts.any(|at| bytes[at..].starts_with(MARK.as_bytes()) || has_element(at)) {
        return None;
    }
    let has_marks = text.contains(MARK);
    let mut blanked: Vec<u8> = text.bytes().collect();
    let mut changed = false;
    let mut blank = |start: usize, end: usize| {
        blanked[start..end].fill(b' ');
        changed = true;
    };
    for (open, close) in ELEMENTS {
        let mut at = 0;
        while let Some(start) = text[at..].find(open).map(|step| at + step)
            && let Some(length) = text[start..].find(close)
        {
            at = start + length + close.len();
            blank(start, at);
        }
    }
    let maths = if has_marks {
        maths_spans::spans(text)
    } else {
        Vec::new()
    };
    let mut offset = 0;
    for line in text.split_inclusive('\n').take_while(|_| has_marks) {
        for (start, end) in marked(line) {
            let after = maths.partition_point(|span| span.end <= offset + start);
            let is_maths = maths
                .get(after)
                .is_some_and(|span| span.start < offset + start);
            if !is_maths {
                blank(offset + start, offset + end);
            }
        }
        offset += line.len();
    }
    changed.then(|| String::from_utf8(blanked).ok()).flatten()
}

/// The pairs of marks in a line that surround text. In LaTeX, `~~` is a blank: between digits or in
/// braces it is not a mark.
fn marked(line: &str) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut open_braces = 0_usize;
    let mut at = 0;
    while let Some(start) = line[at..].find(MARK).map(|step| at + step) {
        for c in line[at..start].chars() {
            match c {
                '{' => open_braces += 1,
                '}' => open_braces = open_braces.saturating_sub(1),
                _ => {}
            }
        }
        let inner = start + MARK.len();
        let before = line[..start].chars().next_back();
        let opens = open_braces == 0
            && before.is_none_or(|c| c.is_whitespace() || "(*_>:".contains(c))
            && !line[inner..].starts_with(|c: char| c.is_whitespace() || c == '~');
        let Some(close) = line[inner..].find(MARK).map(|length| inner + length) else {
            break;
        };
        at = inner;
        if opens && !line[..close].ends_with(char::is_whitespace) {
            at = close + MARK.len();
            pairs.push((start, at));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_struck_out_text() {
        for (text, expected) in [
            ("~~42~~ 36", "       36"),
            ("is ~~4 or 5~~ **6**", "is            **6**"),
            ("<del>42</del> 36", "              36"),
            ("<s>42</s>\n36", "         \n36"),
        ] {
            assert_eq!(blanked(text).as_deref(), Some(expected));
        }
    }

    #[test]
    fn keeps_blanks_of_latex_and_lone_marks() {
        for text in [
            "$5~~\\text{or}~~6$",
            "$x ~~y~~ z$",
            "\\boxed{5 ~~\\text{m}~~ }",
            "about ~~42",
            "42</s>36",
            "a ~~ b ~~ c",
        ] {
            assert_eq!(blanked(text), None, "{text}");
        }
    }
}
