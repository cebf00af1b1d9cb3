//! The modules that a Python program imports, found without running or compiling it.
//!
//! The text is split into tokens, so that names in strings and comments do not count. `import` is a
//! keyword and can only start an import statement, wherever it occurs: in functions, in `try`
//! blocks, after a semicolon.

/// Deepest nesting of f-strings. Deeper ones end the search.
const MAX_NESTING: usize = 32;

/// Calls that import the module that their first argument names.
const CALLS: &[&str] = &["__import__", "import_module"];

/// Top-level names of the modules that the statements of `text` import, in order. A relative import
/// has none. Calls of `__import__` and `import_module` with a literal count as well.
pub(crate) fn imports(text: &str) -> Vec<&str> {
    let tokens: Vec<Token<'_>> = Lexer::of(text).collect();
    let mut found = Vec::new();
    let mut rest = tokens.as_slice();
    while let [token, after @ ..] = rest {
        rest = after;
        match token {
            Token::Name("import") => found.extend(modules(after)),
            Token::Name("from") => {
                if let Some((module, after)) = source(after) {
                    found.extend(module);
                    rest = after;
                }
            }
            Token::Name(name) if CALLS.contains(name) => {
                if let [Token::Sign(b'('), Token::Text(module), ..] = after {
                    found.push(top(module));
                }
            }
            _ => {}
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

/// The modules after `import`: dotted names, each with an optional `as`, separated by commas.
fn modules<'a>(tokens: &[Token<'a>]) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut rest = tokens;
    while let [Token::Name(name), after @ ..] = rest {
        found.push(*name);
        rest = without_path(after);
        if let [Token::Name("as"), Token::Name(_), after @ ..] = rest {
            rest = after;
        }
        let [Token::Sign(b','), after @ ..] = rest else {
            break;
        };
        rest = after;
    }
    found
}

/// The module between `from` and `import`, and the tokens after them; no module if the import is
/// relative. `None` for the `from` of `yield from` and `raise … from`.
fn source<'a, 't>(tokens: &'t [Token<'a>]) -> Option<(Option<&'a str>, &'t [Token<'a>])> {
    let (module, rest) = match tokens {
        [Token::Sign(b'.'), ..] => {
            let dots = tokens
                .iter()
                .take_while(|token| **token == Token::Sign(b'.'))
                .count();
            match &tokens[dots..] {
                [Token::Name("import"), ..] => (None, &tokens[dots..]),
                [Token::Name(_), rest @ ..] => (None, without_path(rest)),
                _ => return None,
            }
        }
        [Token::Name(name), rest @ ..] => (Some(*name), without_path(rest)),
        _ => return None,
    };
    match rest {
        [Token::Name("import"), rest @ ..] => Some((module, rest)),
        _ => None,
    }
}

/// The tokens after the further names of a dotted name.
fn without_path<'a, 't>(tokens: &'t [Token<'a>]) -> &'t [Token<'a>] {
    let mut rest = tokens;
    while let [Token::Sign(b'.'), Token::Name(_), after @ ..] = rest {
        rest = after;
    }
    rest
}

fn top(module: &str) -> &str {
    module.split('.').next().unwrap_or_default().trim()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    /// A name or a keyword.
    Name(&'a str),
    /// The content of a string; empty for an f-string.
    Text(&'a str),
    /// Any other character. A number is one sign.
    Sign(u8),
    /// The end of a line that is not continued.
    Line,
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// Open brackets.
    brackets: usize,
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let byte = self.peek()?;
            match byte {
                b'#' => self.skip_line(),
                b'\'' | b'"' => return Some(self.string("", 0)),
                _ if is_name(byte) && !byte.is_ascii_digit() => {
                    let name = self.name();
                    return Some(if self.starts_string(name) {
                        self.string(name, 0)
                    } else {
                        Token::Name(name)
                    });
                }
                _ if byte.is_ascii_digit() => {
                    self.name();
                    return Some(Token::Sign(b'0'));
                }
                b'\n' if self.brackets == 0 => {
                    self.at += 1;
                    return Some(Token::Line);
                }
                // The next line continues this one.
                b'\\' => {
                    self.at += 1;
                    self.at += usize::from(self.peek() == Some(b'\r'));
                    self.at += usize::from(self.peek() == Some(b'\n'));
                }
                _ if byte.is_ascii_whitespace() => self.at += 1,
                _ => {
                    self.at += 1;
                    match byte {
                        b'(' | b'[' | b'{' => self.brackets += 1,
                        b')' | b']' | b'}' => self.brackets = self.brackets.saturating_sub(1),
                        _ => {}
                    }
                    return Some(Token::Sign(byte));
                }
            }
        }
    }
}

impl<'a> Lexer<'a> {
    fn of(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            brackets: 0,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn starts_with(&self, pattern: &[u8]) -> bool {
        self.text.as_bytes()[self.at.min(self.text.len())..].starts_with(pattern)
    }

    /// Whether a string begins here, after its prefix.
    fn starts_string(&self, prefix: &str) -> bool {
        matches!(self.peek(), Some(b'\'' | b'"'))
            && prefix.len() <= 2
            && prefix.bytes().all(|byte| b"rRbBuUfFtT".contains(&byte))
    }

    fn name(&mut self) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(is_name) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// Reads a string that begins here. One that does not end stops at the end of its line, or at
    /// the end of the text if it has three quotes.
    fn string(&mut self, prefix: &str, depth: usize) -> Token<'a> {
        let Some(quote) = self.peek() else {
            return Token::Text("");
        };
        let triple = self.starts_with(&[quote; 3]);
        let quotes: &[u8] = if triple { &[quote; 3] } else { &[quote] };
        self.at += quotes.len();
        let is_formatted = prefix.bytes().any(|byte| b"fFtT".contains(&byte));
        let start = self.at;
        while let Some(byte) = self.peek() {
            if self.starts_with(quotes) {
                let content = &self.text[start..self.at];
                self.at += quotes.len();
                return Token::Text(if is_formatted { "" } else { content });
            }
            match byte {
                b'\n' if !triple => break,
                b'\\' => self.skip_character(),
                b'{' if is_formatted && self.starts_with(b"{{") => self.at += 1,
                b'{' if is_formatted => {
                    self.at += 1;
                    self.expression(quotes, depth + 1);
                    continue;
                }
                _ => {}
            }
            self.skip_character();
        }
        Token::Text("")
    }

    /// Reads an expression of an f-string, with its format, to the brace that closes it.
    fn expression(&mut self, outer: &[u8], depth: usize) {
        if depth > MAX_NESTING {
            self.at = self.text.len();
            return;
        }
        let mut brackets = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'\'' | b'"' => {
                    self.string("", depth);
                    continue;
                }
                b'#' => {
                    self.skip_line();
                    continue;
                }
                b'(' | b'[' | b'{' => brackets += 1,
                b'}' if brackets == 0 => {
                    self.at += 1;
                    return;
                }
                b')' | b']' | b'}' => brackets = brackets.saturating_sub(1),
                b':' if brackets == 0 => {
                    self.at += 1;
                    return self.format(outer, depth);
                }
                _ if is_name(byte) => {
                    let name = self.name();
                    if self.starts_string(name) {
                        self.string(name, depth);
                    }
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Reads the format of an expression. Quotes in it are ordinary characters, except those that
    /// end the f-string.
    fn format(&mut self, outer: &[u8], depth: usize) {
        while let Some(byte) = self.peek() {
            if self.starts_with(outer) {
                return;
            }
            self.at += 1;
            match byte {
                b'}' => return,
                b'{' => self.expression(outer, depth + 1),
                _ => {}
            }
        }
    }

    /// Moves past the current character, but not past the end.
    fn skip_character(&mut self) {
        let end = self.text.len();
        self.at = end.min(self.at + 1);
        while self.at < end && !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
    }
}

/// Whether a byte belongs to a name or number. Bytes of characters outside ASCII do.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> String {
        imports(text).join(" ")
    }

    #[test]
    fn finds_statements_anywhere() {
        assert_eq!(found("import numpy"), "numpy");
        assert_eq!(
            found("import os.path as p, numpy as np,\\\n  sympy\nx = 1"),
            "os numpy sympy"
        );
        assert_eq!(
            found("from numpy.linalg import (inv,\n  det as d)"),
            "numpy"
        );
        assert_eq!(found("def f():\n    import a; from b import c"), "a b");
        assert_eq!(found("try: import a\nexcept ImportError: import b"), "a b");
        assert_eq!(
            found("if x:\n\tfrom . import y\nfrom .a.b import c\nfrom ... import d"),
            ""
        );
        assert_eq!(found("yield from x\nimport numpy"), "numpy");
        assert_eq!(found("from a import numpy"), "a");
        assert_eq!(
            found("m = __import__('numpy.fft'); importlib.import_module(\"sympy\")"),
            "numpy sympy"
        );
    }

    #[test]
    fn ignores_strings_comments_and_other_uses_of_from() {
        for text in [
            "# import numpy",
            "x = 'import numpy'",
            "'''\nimport numpy\n'''",
            "\"\"\"a \\\"\"\" import numpy\"\"\"",
            "x = r'\\\\' + '; import numpy'",
            "x = rb\"import numpy\"",
            "x = f'{a} import numpy'",
            "x = f\"{d[\"import\"]} import numpy\"",
            "x = f'{x:{\"import\"}>{w}} import numpy'",
            "x = f'{x:\">10} import numpy'",
            "x = f'{{ import numpy }}'",
            "f'''{\n x # }\n}\nimport numpy'''",
            "def g():\n    yield from numpy",
            "raise A from numpy",
            "important = numpy",
            "__import__(name)",
        ] {
            assert_eq!(found(text), "", "{text}");
        }
    }

    #[test]
    fn continues_after_a_string() {
        for text in [
            "x = 'a'\nimport numpy",
            "x = ''\nimport numpy",
            "x = \"\"\"a\"\"\"; import numpy",
            "x = f'{y!r:>{w}}'\nimport numpy",
            "x = f'{lambda_(1)[2:3]}'\nimport numpy",
            "x = 'unterminated\nimport numpy",
            "x = f'{\"a\" if b else 'c'}'\nimport numpy",
        ] {
            assert_eq!(found(text), "numpy", "{text}");
        }
    }

    #[test]
    fn ends_with_the_text_inside_a_string() {
        for string in ["'\\", "f'\\", "'''\\", "f'{'\\", "f'{x:\\", "f'{{", "f'{"] {
            let text = format!("import numpy\n{string}");
            assert_eq!(found(&text), "numpy", "{text}");
        }
    }

    #[test]
    fn reads_parts_of_any_text() {
        let text = "import é, a\\\n.b\nf'{x!r:>{w}}' f\"{{'\"}} r'\\' f\"\"\"{'\\'#\n}\"\"\" from . import";
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        for start in &ends {
            for end in ends.iter().filter(|end| *end >= start) {
                imports(&text[*start..*end]);
            }
        }
        imports(&"f'{".repeat(10_000));
    }
}
