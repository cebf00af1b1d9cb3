//! Splits a program into tokens, by the lexical grammar of its language.

use super::languages::Lexicon;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Number,
    Quote,
    Operator,
    /// An opening bracket.
    Open,
    /// A closing bracket.
    Close,
    /// The end of a line outside brackets.
    LineEnd,
}

/// A token. Comments and white space are not tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// Offset of its first byte in the program.
    pub(super) start: usize,
    /// Number of open brackets around it. An opening bracket is inside itself, a closing one not.
    pub(super) depth: usize,
    /// Line number, from 1.
    pub(super) line: usize,
}

impl Token<'_> {
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The tokens of a program.
pub(super) fn tokens<'a>(source: &'a str, lexicon: &Lexicon) -> Vec<Token<'a>> {
    let (mut tokens, mut at, mut depth, mut line) = (Vec::new(), 0, 0usize, 1);
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let (kind, length) = if first == '\n' {
            (Some(Kind::LineEnd), 1)
        } else if first.is_whitespace() || rest.starts_with("\\\n") {
            (None, first.len_utf8())
        } else if rest.starts_with(lexicon.comment) {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if lexicon.block_comments && rest.starts_with("/*") {
            (None, rest.find("*/").map_or(rest.len(), |end| end + 2))
        } else if let Some(length) = quote(rest, lexicon) {
            (Some(Kind::Quote), length)
        } else if first.is_ascii_digit() {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
            (Some(Kind::Number), span(rest, is_part))
        } else if first.is_alphabetic() || first == '_' {
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            (Some(Kind::Word), span(rest, is_part))
        } else if matches!(first, '(' | '[' | '{') {
            (Some(Kind::Open), 1)
        } else if matches!(first, ')' | ']' | '}') {
            (Some(Kind::Close), 1)
        } else {
            let known = lexicon
                .operators
                .iter()
                .find(|operator| rest.starts_with(**operator));
            (
                Some(Kind::Operator),
                known.map_or(first.len_utf8(), |operator| operator.len()),
            )
        };
        // Braces are blocks in other languages than Python, where lines in them end.
        let counts = |text: &str| lexicon.braces_nest || !matches!(text, "{" | "}");
        let text = &rest[..length];
        if kind == Some(Kind::Close) && counts(text) {
            depth = depth.saturating_sub(1);
        }
        if kind == Some(Kind::Open) && counts(text) {
            depth += 1;
        }
        if let Some(kind) = kind.filter(|kind| *kind != Kind::LineEnd || depth == 0) {
            tokens.push(Token {
                kind,
                text,
                start: at,
                depth,
                line,
            });
        }
        line += text.matches('\n').count();
        at += length;
    }
    tokens
}

fn span(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// The length of the quoted text at the start of `rest`, with a prefix such as `rb`.
fn quote(rest: &str, lexicon: &Lexicon) -> Option<usize> {
    let prefix = if lexicon.triple_quotes {
        rest.find(|c: char| !"rbfuRBFU".contains(c))
            .filter(|length| *length <= 2)?
    } else {
        0
    };
    let quoted = &rest[prefix..];
    let mark = quoted
        .chars()
        .next()
        .filter(|c| lexicon.quotes.contains(*c))?;
    let triple: String = [mark; 3].iter().collect();
    if lexicon.triple_quotes && quoted.starts_with(&triple) {
        let end = quoted[3..]
            .find(&triple)
            .map_or(quoted.len(), |end| end + 6);
        return Some(prefix + end);
    }
    let mut escaped = false;
    for (at, c) in quoted.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == mark => return Some(prefix + at + 1),
            // An open quote ends with its line, so that the rest of the program is still read.
            '\n' if mark != '`' => return Some(prefix + at),
            _ => {}
        }
    }
    Some(rest.len())
}
