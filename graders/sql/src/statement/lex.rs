//! Splits SQL into tokens. Accepts any text: unknown characters are symbols.

use std::ops::Range;

use crate::task::Dialect;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A keyword or a name without quotes.
    Word,
    /// A quoted name; in SQLite it may be a string.
    Quoted,
    /// A string.
    Text,
    /// A number.
    Number,
    /// Anything else.
    Symbol,
}

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind,
    /// Its source text.
    pub(crate) text: &'a str,
    /// Number of parentheses that enclose it. A parenthesis does not enclose itself.
    pub(crate) depth: usize,
    /// Its span, in bytes.
    pub(crate) span: Range<usize>,
}

impl Token<'_> {
    /// Whether it is this keyword, in any case.
    pub(crate) fn is(&self, keyword: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(keyword)
    }

    /// Its value without quotes; names in lower case.
    pub(crate) fn content(&self) -> String {
        let inner = |close: char| {
            let mut inside = self.text.chars();
            inside.next();
            if inside.clone().next_back() == Some(close) {
                inside.next_back();
            }
            inside
                .as_str()
                .replace(&format!("{close}{close}"), &close.to_string())
        };
        match self.kind {
            TokenKind::Word => self.text.to_lowercase(),
            TokenKind::Quoted if self.text.starts_with('[') => inner(']').to_lowercase(),
            TokenKind::Quoted if self.text.starts_with('`') => inner('`').to_lowercase(),
            TokenKind::Quoted => inner('"').to_lowercase(),
            TokenKind::Text => inner('\''),
            TokenKind::Number | TokenKind::Symbol => self.text.to_owned(),
        }
    }
}

/// The tokens of a text, without comments and white space.
pub(crate) fn tokens(text: &str, dialect: Dialect) -> Vec<Token<'_>> {
    let mut lexer = Lexer {
        text,
        at: 0,
        dialect,
    };
    let mut found = Vec::new();
    let mut depth = 0usize;
    while let Some((kind, span)) = lexer.next() {
        let token = &text[span.clone()];
        if token == ")" {
            depth = depth.saturating_sub(1);
        }
        found.push(Token {
            kind,
            text: token,
            depth,
            span,
        });
        if token == "(" {
            depth += 1;
        }
    }
    found
}

/// The first token of a text in lower case; `None` if there are only comments and white space.
pub(crate) fn first_word(text: &str, dialect: Dialect) -> Option<String> {
    let (_, span) = Lexer {
        text,
        at: 0,
        dialect,
    }
    .next()?;
    Some(text[span].to_lowercase())
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    dialect: Dialect,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Option<(TokenKind, Range<usize>)> {
        self.skip();
        let start = self.at;
        let first = self.rest().chars().next()?;
        let kind = match first {
            '\'' => self.quoted('\'', TokenKind::Text),
            '"' => self.quoted('"', TokenKind::Quoted),
            '`' => self.quoted('`', TokenKind::Quoted),
            '[' if self.dialect == Dialect::Sqlite => self.quoted(']', TokenKind::Quoted),
            '$' if self.dialect == Dialect::Postgres && self.dollars() => TokenKind::Text,
            _ if first.is_ascii_digit() || (first == '.' && self.digit_follows()) => self.number(),
            _ if is_word_start(first) => self.word(),
            _ => self.symbol(first),
        };
        Some((kind, start..self.at))
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips comments and white space.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len()
                - rest
                    .trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
                    .len();
            self.at += blank;
            let rest = self.rest();
            if rest.starts_with("--") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.at += self.comment();
            } else if blank == 0 {
                return;
            }
        }
    }

    /// The length of the comment at the current position. In PostgreSQL, comments nest.
    fn comment(&self) -> usize {
        let bytes = self.rest().as_bytes();
        let nests = self.dialect == Dialect::Postgres;
        let (mut depth, mut at) = (1usize, 2);
        while depth > 0 {
            (depth, at) = match bytes.get(at..at + 2) {
                Some(b"*/") => (depth - 1, at + 2),
                Some(b"/*") if nests => (depth + 1, at + 2),
                Some(_) => (depth, at + 1),
                None => return bytes.len(),
            };
        }
        at
    }

    fn quoted(&mut self, close: char, kind: TokenKind) -> TokenKind {
        self.delimited(close, kind, false)
    }

    /// Skips text up to `close`. If `escapes` is set, a backslash escapes the next character.
    fn delimited(&mut self, close: char, kind: TokenKind, escapes: bool) -> TokenKind {
        let mut characters = self.rest().char_indices().skip(1).peekable();
        while let Some((at, character)) = characters.next() {
            if escapes && character == '\\' {
                characters.next();
                continue;
            }
            if character != close {
                continue;
            }
            // A doubled quote is a literal quote; brackets have no escape.
            if close != ']' && characters.next_if(|(_, next)| *next == close).is_some() {
                continue;
            }
            self.at += at + close.len_utf8();
            return kind;
        }
        self.at = self.text.len();
        kind
    }

    /// Skips a string between `$tag$` and `$tag$`; returns whether there is one.
    fn dollars(&mut self) -> bool {
        let rest = self.rest();
        let Some(tag) = rest[1..].find('$').map(|end| &rest[..end + 2]) else {
            return false;
        };
        if !tag[1..tag.len() - 1]
            .chars()
            .all(|c| c.is_alphanumeric() || c == '_')
        {
            return false;
        }
        self.at += rest[tag.len()..]
            .find(tag)
            .map_or(rest.len(), |end| end + 2 * tag.len());
        true
    }

    fn digit_follows(&self) -> bool {
        self.rest()[1..].starts_with(|c: char| c.is_ascii_digit())
    }

    fn number(&mut self) -> TokenKind {
        let rest = self.rest();
        let mut end = 0;
        let bytes = rest.as_bytes();
        let exponent = |at: usize| {
            let hexadecimal = rest.starts_with("0x") || rest.starts_with("0X");
            !hexadecimal && matches!(bytes.get(at), Some(b'e' | b'E'))
        };
        while let Some(byte) = bytes.get(end) {
            let signed = matches!(byte, b'+' | b'-') && end > 0 && exponent(end - 1);
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || signed) {
                break;
            }
            end += 1;
        }
        self.at += end;
        TokenKind::Number
    }

    fn word(&mut self) -> TokenKind {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(is_word_start(c) || c.is_ascii_digit() || c == '$'))
            .unwrap_or(rest.len());
        self.at += end;
        // In `E'…'` and `X'…'`, the letter belongs to the string.
        let is_prefix = end == 1
            && self.rest().starts_with('\'')
            && rest.starts_with(['x', 'X', 'e', 'E', 'b', 'B']);
        let escapes = self.dialect == Dialect::Postgres && rest.starts_with(['e', 'E']);
        if is_prefix {
            self.delimited('\'', TokenKind::Symbol, escapes)
        } else {
            TokenKind::Word
        }
    }

    fn symbol(&mut self, first: char) -> TokenKind {
        const LONG: &[&str] = &[
            "->>", "||", "<=", ">=", "<>", "!=", "==", "->", "<<", ">>", "::",
        ];
        let length = LONG
            .iter()
            .find(|long| self.rest().starts_with(**long))
            .map_or(first.len_utf8(), |long| long.len());
        self.at += length;
        TokenKind::Symbol
    }
}

fn is_word_start(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_' || !character.is_ascii()
}

/// Maximum length of a statement, in bytes.
pub(crate) const MAX_STATEMENT_BYTES: usize = 100 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sql: &str) -> Vec<&str> {
        tokens(sql, Dialect::Sqlite)
            .into_iter()
            .map(|token| token.text)
            .collect()
    }

    #[test]
    fn ignores_keywords_in_quotes_and_comments() {
        assert_eq!(
            texts("select 'it''s -- (', \"a\"\"b\" -- x\n/* ( */ from [t t]"),
            ["select", "'it''s -- ('", ",", "\"a\"\"b\"", "from", "[t t]"]
        );
        assert_eq!(tokens("'it''s'", Dialect::Sqlite)[0].content(), "it's");
        assert_eq!(texts("'open"), ["'open"]);
        assert_eq!(tokens("/* /* */ x */ y", Dialect::Postgres)[0].text, "y");
        assert_eq!(tokens("$a$ select $a$ y", Dialect::Postgres)[1].text, "y");
        let escaped = |dialect| tokens(r"e'\' order by' y", dialect)[0].text;
        assert_eq!(escaped(Dialect::Postgres), r"e'\' order by'");
        assert_eq!(escaped(Dialect::Sqlite), r"e'\'");
    }

    #[test]
    fn reads_nested_comments_in_linear_time() {
        let (open, close) = ("/*".repeat(300_000), "*/".repeat(300_000));
        let first = |text: &str| first_word(text, Dialect::Postgres);
        assert_eq!(first(&format!("{open}*/ x")), None);
        assert_eq!(first(&format!("{open}{close} x")).as_deref(), Some("x"));
        assert_eq!(first("/*/ x"), None);
    }

    #[test]
    fn lexes_numbers_and_symbols() {
        assert_eq!(
            texts("1.5e-3+.5>=x->>'a'"),
            ["1.5e-3", "+", ".5", ">=", "x", "->>", "'a'"]
        );
        assert_eq!(texts("é_1 x'00'"), ["é_1", "x'00'"]);
    }

    #[test]
    fn depth_counts_enclosing_parentheses() {
        let depths: Vec<_> = tokens("a(b(c))d)", Dialect::Sqlite)
            .into_iter()
            .map(|token| token.depth)
            .collect();
        assert_eq!(depths, [0, 0, 1, 1, 2, 1, 0, 0, 0]);
    }
}
