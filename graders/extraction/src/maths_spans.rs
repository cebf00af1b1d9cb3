//! Finds maths in prose: `$…$`, `$$…$$`, `\(…\)`, `\[…\]` and environments. Distinguishes dollars
//! that delimit maths from prices. Does not read the maths.
//!
//! Delimiters are collected in one pass and matched in a second. Each knows the next delimiter of
//! every kind, so an unclosed one costs nothing.

use crate::word_roles::roles;

/// One piece of delimited maths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// First byte of the opening delimiter.
    pub(super) start: usize,
    /// First byte after the closing delimiter.
    pub(super) end: usize,
    /// First byte inside.
    pub(super) inner_start: usize,
    /// First byte of the closing delimiter.
    pub(super) inner_end: usize,
    /// Display maths, as opposed to inline maths.
    pub(super) display: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DelimiterKind {
    Dollar,
    Dollars,
    ParenOpen,
    ParenClose,
    BracketOpen,
    BracketClose,
    /// `\begin{…}` of an environment: index of the delimiter that closes it, and whether it is a
    /// display environment.
    Begin(usize, bool),
    End,
    Blank,
}

#[derive(Debug, Clone, Copy)]
struct Delimiter {
    kind: DelimiterKind,
    start: usize,
    end: usize,
}

/// Environments that only display their content. Others, such as a matrix, are part of the maths.
const DISPLAYS: &[&str] = &[
    "align",
    "align*",
    "aligned",
    "equation",
    "equation*",
    "gather",
    "gather*",
    "multline",
    "multline*",
    "eqnarray",
    "eqnarray*",
    "displaymath",
    "math",
    "split",
];

/// No delimiter of this kind follows.
const NONE: usize = usize::MAX;

/// All maths of `text`, in order. Spans do not overlap.
pub(super) fn spans(text: &str) -> Vec<Span> {
    if !text.contains(['$', '\\']) {
        return Vec::new();
    }
    let marks = delimiters(text);
    let next = next_of_each(&marks);
    let mut spans = Vec::new();
    let mut at = 0;
    while at < marks.len() {
        let mark = marks[at];
        let after = &next[at];
        let (close, display) = match mark.kind {
            DelimiterKind::Dollars => (after.dollars, true),
            DelimiterKind::BracketOpen => (after.bracket, true),
            // Inline maths ends with its paragraph; display maths may contain blank lines.
            DelimiterKind::ParenOpen if after.paren < after.blank => (after.paren, false),
            DelimiterKind::Dollar if after.dollar < after.blank => {
                let close = marks[after.dollar];
                let inner = &text[mark.end..close.start];
                let maths = !is_money(inner, &text[close.end..]);
                (if maths { after.dollar } else { NONE }, false)
            }
            DelimiterKind::Begin(close, display) => (close, display),
            _ => (NONE, false),
        };
        if close == NONE {
            at += 1;
            continue;
        }
        let whole_environment = matches!(mark.kind, DelimiterKind::Begin(_, false));
        let closing = marks[close];
        spans.push(Span {
            start: mark.start,
            end: closing.end,
            inner_start: if whole_environment {
                mark.start
            } else {
                mark.end
            },
            inner_end: if whole_environment {
                closing.end
            } else {
                closing.start
            },
            display,
        });
        at = close + 1;
    }
    spans
}

/// All delimiters of `text`, with each `\begin` matched to its `\end`.
fn delimiters(text: &str) -> Vec<Delimiter> {
    let bytes = text.as_bytes();
    let mut marks: Vec<Delimiter> = Vec::new();
    let mut begins: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (kind, length) = match bytes[at] {
            b'$' => {
                let run = bytes[at..].iter().take_while(|b| **b == b'$').count();
                match run {
                    1 => (Some(DelimiterKind::Dollar), 1),
                    2 => (Some(DelimiterKind::Dollars), 2),
                    // `$$$$` is an empty display; longer runs are not delimiters either.
                    _ => (None, run),
                }
            }
            b'\\' => match bytes.get(at + 1) {
                Some(b'(') => (Some(DelimiterKind::ParenOpen), 2),
                Some(b')') => (Some(DelimiterKind::ParenClose), 2),
                Some(b'[') => (Some(DelimiterKind::BracketOpen), 2),
                Some(b']') => (Some(DelimiterKind::BracketClose), 2),
                Some(b'b') => match environment(text, at, "\\begin{") {
                    Some((name, length)) => {
                        begins.push((marks.len(), name));
                        let is_display = DISPLAYS.contains(&name);
                        (Some(DelimiterKind::Begin(NONE, is_display)), length)
                    }
                    None => (None, 1),
                },
                Some(b'e') => match environment(text, at, "\\end{") {
                    Some((name, length)) => {
                        let close = marks.len();
                        // Only the innermost open environment can be closed; a stray `\end` closes
                        // nothing.
                        if begins.last().is_some_and(|(_, open)| *open == name)
                            && let Some((open, _)) = begins.pop()
                            && let DelimiterKind::Begin(_, is_display) = marks[open].kind
                        {
                            marks[open].kind = DelimiterKind::Begin(close, is_display);
                        }
                        (Some(DelimiterKind::End), length)
                    }
                    None => (None, 1),
                },
                Some(byte) if byte.is_ascii() => (None, 2),
                _ => (None, 1),
            },
            b'\n' => {
                let line = &bytes[at + 1..];
                let blank = line
                    .iter()
                    .take_while(|b| matches!(b, b' ' | b'\t' | b'\r'))
                    .count();
                if line.get(blank) == Some(&b'\n') {
                    (Some(DelimiterKind::Blank), blank + 1)
                } else {
                    (None, blank + 1)
                }
            }
            _ => (None, 1),
        };
        if let Some(kind) = kind {
            marks.push(Delimiter {
                kind,
                start: at,
                end: at + length,
            });
        }
        at += length;
    }
    marks
}

/// Name of the environment and length of `\begin{name}` or `\end{name}` at `at`.
fn environment<'a>(text: &'a str, at: usize, head: &str) -> Option<(&'a str, usize)> {
    const MAX_NAME_BYTES: usize = 16;
    let name = text[at..].strip_prefix(head)?;
    let length = name
        .bytes()
        .take(MAX_NAME_BYTES)
        .position(|byte| byte == b'}')?;
    Some((&name[..length], head.len() + length + 1))
}

/// Index of the next delimiter of each closing kind, or [`NONE`].
#[derive(Clone, Copy)]
struct NextDelimiters {
    dollar: usize,
    dollars: usize,
    paren: usize,
    bracket: usize,
    blank: usize,
}

/// For each delimiter, the next delimiters after it.
fn next_of_each(marks: &[Delimiter]) -> Vec<NextDelimiters> {
    let mut next = NextDelimiters {
        dollar: NONE,
        dollars: NONE,
        paren: NONE,
        bracket: NONE,
        blank: NONE,
    };
    let mut all = vec![next; marks.len()];
    for (index, mark) in marks.iter().enumerate().rev() {
        all[index] = next;
        match mark.kind {
            DelimiterKind::Dollar => next.dollar = index,
            DelimiterKind::Dollars => next.dollars = index,
            DelimiterKind::ParenClose => next.paren = index,
            DelimiterKind::BracketClose => next.bracket = index,
            DelimiterKind::Blank => next.blank = index,
            DelimiterKind::ParenOpen
            | DelimiterKind::BracketOpen
            | DelimiterKind::Begin(..)
            | DelimiterKind::End => {}
        }
    }
    all
}

/// Whether `inner`, the text between two `$`, is prose. Then the first `$` is a currency sign or a
/// stray one.
fn is_money(inner: &str, after: &str) -> bool {
    if inner.trim().is_empty() {
        return true;
    }
    let amount = inner.starts_with(|c: char| c.is_ascii_digit());
    let next_amount = after.starts_with(|c: char| c.is_ascii_digit());
    // "$5 and $6": the text between the dollars is an amount and ends with a blank.
    if amount && inner.ends_with(char::is_whitespace) && (next_amount || has_word(inner)) {
        return true;
    }
    prose_words(inner) >= 2
}

/// Whether the text contains two adjacent lower-case letters and no command.
fn has_word(inner: &str) -> bool {
    !inner.contains('\\')
        && inner
            .as_bytes()
            .windows(2)
            .any(|pair| pair.iter().all(u8::is_ascii_lowercase))
}

/// Number of prose words in `maths`: words of at least three letters, lower-case after the first,
/// that are not a command, a function or text inside a command.
fn prose_words(maths: &str) -> usize {
    let bytes = maths.as_bytes();
    let mut words = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => {
                let name = bytes[at + 1..]
                    .iter()
                    .take_while(|b| b.is_ascii_alphabetic())
                    .count();
                let after = at + 1 + name.max(1);
                let is_text = matches!(
                    &bytes[at + 1..at + 1 + name],
                    b"text"
                        | b"mbox"
                        | b"textbf"
                        | b"mathrm"
                        | b"textrm"
                        | b"operatorname"
                        | b"begin"
                        | b"end"
                );
                at = after;
                if is_text && bytes.get(at) == Some(&b'{') {
                    at += bytes[at..]
                        .iter()
                        .position(|b| *b == b'}')
                        .unwrap_or(bytes.len() - at);
                }
            }
            byte if byte.is_ascii_alphabetic() => {
                let length = bytes[at..]
                    .iter()
                    .take_while(|b| b.is_ascii_alphabetic())
                    .count();
                let word = &maths[at..at + length];
                let lower = word.bytes().skip(1).all(|b| b.is_ascii_lowercase());
                if length >= 3 && lower && !roles(word).function() {
                    words += 1;
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inner(text: &str) -> Vec<&str> {
        spans(text)
            .iter()
            .map(|span| text[span.inner_start..span.inner_end].trim())
            .collect()
    }

    #[test]
    fn finds_every_delimiter() {
        let text = r"a $1$ b $$2$$ c \(3\) d \[4\] e \begin{align*}5\end{align*}";
        assert_eq!(inner(text), ["1", "2", "3", "4", "5"]);
    }

    #[test]
    fn ignores_dollar_amounts() {
        assert!(inner("He pays $31,400 + $628 = $32,028. So the answer is").is_empty());
        assert_eq!(inner("It costs $5 and $6, so $x = 11$."), ["x = 11"]);
        assert!(inner("which price in $? very close to 6$").is_empty());
        assert!(inner(r"\$5 and \$6").is_empty());
    }

    #[test]
    fn ends_inline_maths_but_not_display_maths_at_a_blank_line() {
        assert!(inner("a $x\n\ny$").is_empty());
        assert_eq!(inner("$$\n9\n\n$$"), ["9"]);
    }

    #[test]
    fn keeps_environments_except_display_environments() {
        let matrix = r"\begin{pmatrix}1\\2\end{pmatrix}";
        assert_eq!(inner(matrix), [matrix]);
        assert_eq!(
            inner(r"\begin{align}\begin{matrix}1\end{matrix}\end{align}"),
            [r"\begin{matrix}1\end{matrix}"]
        );
    }
}
