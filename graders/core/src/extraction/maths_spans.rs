//! Where maths stands in prose: `$…$`, `$$…$$`, `\(…\)`, `\[…\]`, environments; and which `$` are
//! money. Reads no maths.
//!
//! Delimiters are collected in one pass and matched in a second, each knowing the next of every
//! kind, so unclosed ones cost nothing.

use super::words::roles;

/// One stretch of maths.
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
    /// Set apart from the line, not part of it.
    pub(super) display: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Dollar,
    Dollars,
    ParenOpen,
    ParenClose,
    BracketOpen,
    BracketClose,
    /// `\begin{…}` of an environment that closes at the delimiter of this index; whether it stands
    /// apart from the line.
    Begin(usize, bool),
    End,
    Blank,
}

#[derive(Debug, Clone, Copy)]
struct Delimiter {
    kind: Kind,
    start: usize,
    end: usize,
}

/// Environments that set maths apart from the line.
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

const NONE: usize = usize::MAX;

/// All maths of `text`, in order, none inside another.
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
            Kind::Dollars => (after.dollars, true),
            Kind::BracketOpen => (after.bracket, true),
            Kind::ParenOpen if after.paren < after.blank => (after.paren, false),
            Kind::Dollar if after.dollar < after.blank => {
                let close = marks[after.dollar];
                let inner = &text[mark.end..close.start];
                let maths = !is_money(inner, &text[close.end..]);
                (if maths { after.dollar } else { NONE }, false)
            }
            Kind::Begin(close, display) => (close, display),
            _ => (NONE, false),
        };
        if close == NONE {
            at += 1;
            continue;
        }
        let whole_environment = matches!(mark.kind, Kind::Begin(_, false));
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
                    1 => (Some(Kind::Dollar), 1),
                    2 => (Some(Kind::Dollars), 2),
                    // `$$$$` is an empty display; longer runs delimit nothing.
                    _ => (None, run),
                }
            }
            b'\\' => match bytes.get(at + 1) {
                Some(b'(') => (Some(Kind::ParenOpen), 2),
                Some(b')') => (Some(Kind::ParenClose), 2),
                Some(b'[') => (Some(Kind::BracketOpen), 2),
                Some(b']') => (Some(Kind::BracketClose), 2),
                Some(b'b') => match environment(text, at, "\\begin{") {
                    Some((name, length)) => {
                        begins.push((marks.len(), name));
                        let apart = DISPLAYS.contains(&name);
                        (Some(Kind::Begin(NONE, apart)), length)
                    }
                    None => (None, 1),
                },
                Some(b'e') => match environment(text, at, "\\end{") {
                    Some((name, length)) => {
                        let close = marks.len();
                        // Only the innermost open environment can close; a stray end closes
                        // nothing.
                        if begins.last().is_some_and(|(_, open)| *open == name)
                            && let Some((open, _)) = begins.pop()
                            && let Kind::Begin(_, apart) = marks[open].kind
                        {
                            marks[open].kind = Kind::Begin(close, apart);
                        }
                        (Some(Kind::End), length)
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
                    (Some(Kind::Blank), blank + 1)
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

/// Name and length of `\begin{name}` or `\end{name}` at `at`.
fn environment<'a>(text: &'a str, at: usize, head: &str) -> Option<(&'a str, usize)> {
    const LONGEST_NAME: usize = 16;
    let name = text[at..].strip_prefix(head)?;
    let length = name
        .bytes()
        .take(LONGEST_NAME)
        .position(|byte| byte == b'}')?;
    Some((&name[..length], head.len() + length + 1))
}

/// Index of the next delimiter of each closing kind.
#[derive(Clone, Copy)]
struct Next {
    dollar: usize,
    dollars: usize,
    paren: usize,
    bracket: usize,
    blank: usize,
}

fn next_of_each(marks: &[Delimiter]) -> Vec<Next> {
    let mut next = Next {
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
            Kind::Dollar => next.dollar = index,
            Kind::Dollars => next.dollars = index,
            Kind::ParenClose => next.paren = index,
            Kind::BracketClose => next.bracket = index,
            Kind::Blank => next.blank = index,
            Kind::ParenOpen | Kind::BracketOpen | Kind::Begin(..) | Kind::End => {}
        }
    }
    all
}

/// Whether `inner`, between two `$`, is prose: then the first `$` is money, or stands alone.
fn is_money(inner: &str, after: &str) -> bool {
    if inner.trim().is_empty() {
        return true;
    }
    let amount = inner.starts_with(|c: char| c.is_ascii_digit());
    let next_amount = after.starts_with(|c: char| c.is_ascii_digit());
    // "$5 and $6": an amount, then the blank before the next one.
    if amount && inner.ends_with(char::is_whitespace) && (next_amount || has_word(inner)) {
        return true;
    }
    prose_words(inner) >= 2
}

fn has_word(inner: &str) -> bool {
    !inner.contains('\\')
        && inner
            .as_bytes()
            .windows(2)
            .any(|pair| pair.iter().all(u8::is_ascii_lowercase))
}

/// Words of prose in `maths`: lower-case words that are no command, no function and no text inside
/// a command.
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
    fn every_delimiter_is_known() {
        let text = r"a $1$ b $$2$$ c \(3\) d \[4\] e \begin{align*}5\end{align*}";
        assert_eq!(inner(text), ["1", "2", "3", "4", "5"]);
    }

    #[test]
    fn money_is_no_maths() {
        assert!(inner("She has $10,200 + $255 = $10,455. So the answer is").is_empty());
        assert_eq!(inner("It costs $5 and $6, so $x = 11$."), ["x = 11"]);
        assert!(inner("how many $? just about 1$").is_empty());
        assert!(inner(r"\$5 and \$6").is_empty());
    }

    #[test]
    fn inline_maths_ends_with_its_paragraph_and_display_does_not() {
        assert!(inner("a $x\n\ny$").is_empty());
        assert_eq!(inner("$$\n9\n\n$$"), ["9"]);
    }

    #[test]
    fn an_environment_keeps_its_name_unless_it_only_displays() {
        let matrix = r"\begin{pmatrix}1\\2\end{pmatrix}";
        assert_eq!(inner(matrix), [matrix]);
        assert_eq!(
            inner(r"\begin{align}\begin{matrix}1\end{matrix}\end{align}"),
            [r"\begin{matrix}1\end{matrix}"]
        );
    }
}
