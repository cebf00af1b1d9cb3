//! From text to tokens. Knows spelling (LaTeX, ASCII, Unicode, what damaged escapes look like); refuses to know grammar.
//!
//! One pass, no look behind further than the token before: 200,000 characters take about two milliseconds.

use std::borrow::Cow;

use super::names::{self, Meaning};
use super::token::{Kind, Shape, Token};
use crate::tree::{End, Relation};

/// Longest argument read ahead as a whole, in bytes; longer ones are groups like any other. Keeps nested arguments linear.
const LONGEST_ARGUMENT: usize = 400;

/// Longest name looked up as a command, in bytes.
const LONGEST_NAME: usize = 32;

/// How a comma between digits is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commas {
    /// `1,234` is one number, `1,23` are two.
    Thousands,
    /// A comma always separates values.
    Separate,
    /// A comma is the decimal point.
    Decimal,
}

/// What the lexer found besides the tokens.
#[derive(Debug)]
pub(crate) struct Lexed<'a> {
    pub(crate) tokens: Vec<Token<'a>>,
    /// A plain comma joined digits to one number.
    pub(crate) joined_by_comma: bool,
}

/// Undoes damage and spelling that would need characters of their own in the lexer: full-width forms, HTML, escapes that a JSON
/// or Python reader took away, doubled backslashes.
pub(crate) fn cleaned(text: &str) -> Cow<'_, str> {
    let wide = |c: char| ('\u{ff01}'..='\u{ff5e}').contains(&c) || c == '\u{3000}' || c == '。';
    let damaged = |c: char| matches!(c, '\u{8}' | '\u{b}' | '\u{c}' | '\u{7}' | '\t' | '\r');
    let doubled = text.contains("\\\\begin");
    if !text.contains(|c: char| wide(c) || damaged(c)) && !doubled && !text.contains('<') {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut after = text;
    while let Some(c) = rest.next() {
        after = after.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '\u{3000}' => clean.push(' '),
            '。' => clean.push('.'),
            _ if wide(c) => {
                let plain = u32::from(c) - 0xff01 + 0x21;
                clean.push(char::from_u32(plain).unwrap_or(c));
            }
            _ if damaged(c) => {
                let letter = match c {
                    '\u{8}' => 'b',
                    '\u{b}' => 'v',
                    '\u{c}' => 'f',
                    '\u{7}' => 'a',
                    '\t' => 't',
                    _ => 'r',
                };
                let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
                let mut name = String::from(letter);
                name.push_str(after.get(..end).unwrap_or_default());
                if end > 0 && names::command(&name).is_some() {
                    clean.push('\\');
                    clean.push(letter);
                } else {
                    clean.push(' ');
                }
            }
            '\\' if doubled && rest.peek() == Some(&'\\') => {
                rest.next();
                after = after.get(1..).unwrap_or_default();
                clean.push('\\');
            }
            _ => clean.push(c),
        }
    }
    if clean.contains("<sup>") || clean.contains("<sub>") {
        clean = clean.replace("<sup>", "^{").replace("<sub>", "_{").replace("</sup>", "}").replace("</sub>", "}");
    }
    Cow::Owned(clean)
}

/// Reads `text` into tokens.
pub(crate) fn lex(text: &str, commas: Commas) -> Lexed<'_> {
    let mut lexer = Lexer {
        text,
        at: 0,
        commas,
        tokens: Vec::with_capacity(text.len() / 2 + 4),
        spaced: false,
        depth: 0,
        bracket_depth: 0,
        environments: 0,
        arguments: Vec::new(),
        joined_by_comma: false,
        sized: None,
    };
    lexer.run(text.len());
    Lexed { tokens: lexer.tokens, joined_by_comma: lexer.joined_by_comma }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    commas: Commas,
    tokens: Vec<Token<'a>>,
    spaced: bool,
    /// Open `{`.
    depth: usize,
    /// Open brackets other than `{`, inside which a comma separates.
    bracket_depth: usize,
    environments: usize,
    /// Commands that still wait for arguments of one token: depth of braces they stand at, how many are missing.
    arguments: Vec<(usize, u8)>,
    joined_by_comma: bool,
    /// A `\left` or `\right` stands before: opens, closes.
    sized: Option<(bool, bool)>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn push(&mut self, kind: Kind<'a>, len: usize) {
        let start = self.at;
        self.at += len;
        self.tokens.push(Token { kind, start, end: self.at, spaced: std::mem::take(&mut self.spaced) });
        self.sized = None;
    }

    fn skip(&mut self, len: usize) {
        self.at += len;
        self.spaced = true;
    }

    fn run(&mut self, end: usize) {
        while self.at < end {
            let Some(c) = self.rest().chars().next() else {
                return;
            };
            match c {
                _ if c.is_whitespace() => self.skip(c.len_utf8()),
                '$' | '~' | '`' | '\u{200b}' | '\u{feff}' => self.skip(c.len_utf8()),
                '\\' => self.backslash(),
                '0'..='9' => self.number(),
                '.' => self.point(),
                'a'..='z' | 'A'..='Z' => {
                    self.argument_started();
                    let rest = self.rest();
                    let len = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
                    self.push(Kind::Word(rest.get(..len).unwrap_or_default()), len);
                }
                _ if c.is_ascii() => self.punctuation(c),
                _ => self.unicode(c),
            }
        }
    }

    /// Something that could be the one-token argument of `\frac` starts here.
    fn argument_started(&mut self) -> bool {
        match self.arguments.last_mut() {
            Some((depth, missing)) if *depth == self.depth => {
                *missing -= 1;
                if *missing == 0 {
                    self.arguments.pop();
                }
                true
            }
            _ => false,
        }
    }

    fn point(&mut self) {
        let rest = self.rest();
        if rest.starts_with("...") {
            let len = rest.find(|c: char| c != '.').unwrap_or(rest.len());
            self.push(Kind::Ellipsis, len);
        } else if rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) {
            self.number();
        } else if self.sized.is_some() {
            // `\left.` is an invisible bracket.
            self.skip(1);
            self.sized = None;
        } else {
            self.push(Kind::Stray('.'), 1);
        }
    }

    fn number(&mut self) {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        if self.argument_started() && bytes.first() != Some(&b'.') {
            let text = rest.get(..1).unwrap_or_default();
            self.push(Kind::Number { text, point: None }, 1);
            return;
        }
        let digits =
            |from: usize| bytes.get(from..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).count();
        let mut len = digits(0);
        if (1..=3).contains(&len) && bytes.first() != Some(&b'0') {
            len = self.grouped(rest, len);
        }
        let mut point = None;
        let is_point = bytes.get(len) == Some(&b'.') || bytes.get(len) == Some(&b',') && self.commas == Commas::Decimal;
        let fraction = digits(len + 1);
        if is_point && fraction > 0 {
            point = Some(len);
            len += 1 + fraction;
        }
        // `3e8`, `1.5E-7`.
        if matches!(bytes.get(len), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-')));
            let exponent = digits(len + 1 + sign);
            let after = bytes.get(len + 1 + sign + exponent);
            if exponent > 0 && !after.is_some_and(u8::is_ascii_alphabetic) {
                len += 1 + sign + exponent;
            }
        }
        let text = rest.get(..len).unwrap_or_default();
        self.push(Kind::Number { text, point }, len);
    }

    /// Length of the number that starts with `len` digits, its groups of three included.
    fn grouped(&mut self, rest: &str, len: usize) -> usize {
        const SEPARATORS: &[&str] = &[
            "{,}", "{, }", " {, }", " {,} ", ",\\!", "\\!,", "{,\\!}", "\\,", "\\;", "\\ ", "\u{a0}", "\u{202f}",
            "\u{2009}", ",", " ",
        ];
        let next = rest.as_bytes().get(len);
        if !next.is_some_and(|next| matches!(next, b'{' | b',' | b'\\' | b' ') || !next.is_ascii()) {
            return len;
        }
        for separator in SEPARATORS {
            let plain = *separator == ",";
            if plain && (self.commas != Commas::Thousands || self.bracket_depth > 0) {
                continue;
            }
            let mut end = len;
            loop {
                let group = rest.get(end..).unwrap_or_default();
                let Some(mut after) = group.strip_prefix(separator) else {
                    break;
                };
                let mut width = separator.len();
                // `11,\! 111`: white space after the command says nothing.
                if separator.len() > 1 {
                    let trimmed = after.trim_start_matches(' ');
                    width += after.len() - trimmed.len();
                    after = trimmed;
                }
                let three = after.bytes().take_while(u8::is_ascii_digit).take(4).count();
                if three != 3 {
                    break;
                }
                end += width + 3;
            }
            if end > len {
                self.joined_by_comma |= plain;
                return end;
            }
        }
        len
    }

    fn punctuation(&mut self, c: char) {
        let rest = self.rest();
        let starts = |prefix: &str| rest.starts_with(prefix);
        let (kind, len) = match c {
            '+' if starts("+-") || starts("+/-") => {
                let len = if starts("+-") { 2 } else { 3 };
                if starts("+/-") { (Kind::PlusMinus, len) } else { (Kind::Plus, 1) }
            }
            '+' => (Kind::Plus, 1),
            '-' if starts("->") => (Kind::Relation(Relation::Maps), 2),
            '-' => (Kind::Minus, 1),
            '*' if starts("**") => {
                let edge = self.tokens.is_empty() || rest.trim_end().len() == 2;
                if edge {
                    return self.skip(2);
                }
                (Kind::Caret, 2)
            }
            '*' => (Kind::Times, 1),
            '/' => (Kind::Slash, 1),
            '^' => (Kind::Caret, 1),
            '_' => (Kind::Underscore, 1),
            ',' => (Kind::Comma, 1),
            ';' => (Kind::Semicolon, 1),
            ':' if starts(":=") => (Kind::Relation(Relation::Equal), 2),
            ':' => (Kind::Colon, 1),
            '!' if starts("!=") => (Kind::Relation(Relation::NotEqual), 2),
            '!' => (Kind::Bang, 1),
            '\'' => (Kind::Prime, 1),
            '%' => (Kind::Percent, 1),
            '&' => (Kind::Ampersand, 1),
            '=' if starts("=>") => (Kind::Relation(Relation::Implies), 2),
            '=' if starts("=<") => (Kind::Relation(Relation::LessEqual), 2),
            '=' if starts("==") => (Kind::Relation(Relation::Equal), 2),
            '=' => (Kind::Relation(Relation::Equal), 1),
            '<' if starts("<=>") => (Kind::Relation(Relation::Implies), 3),
            '<' if starts("<=") => (Kind::Relation(Relation::LessEqual), 2),
            '<' if starts("<>") => (Kind::Relation(Relation::NotEqual), 2),
            '<' => (Kind::Relation(Relation::Less), 1),
            '>' if starts(">=") => (Kind::Relation(Relation::GreaterEqual), 2),
            '>' => (Kind::Relation(Relation::Greater), 1),
            '|' => match self.sized {
                Some((true, false)) => (Kind::Open(Shape::Bar), 1),
                Some((false, true)) => (Kind::Close(Shape::Bar), 1),
                _ => (Kind::Bar, 1),
            },
            '(' => (Kind::Open(Shape::End(End::Round)), 1),
            ')' => (Kind::Close(Shape::End(End::Round)), 1),
            '[' => (Kind::Open(Shape::End(End::Square)), 1),
            ']' => (Kind::Close(Shape::End(End::Square)), 1),
            '{' => (Kind::Open(Shape::Group), 1),
            '}' => (Kind::Close(Shape::Group), 1),
            other => (Kind::Stray(other), 1),
        };
        self.bracket(kind, len);
    }

    /// Pushes a token that may be a bracket, keeping count of depths.
    fn bracket(&mut self, kind: Kind<'a>, len: usize) {
        match kind {
            Kind::Open(Shape::Group) => {
                self.argument_started();
                self.depth += 1;
            }
            Kind::Close(Shape::Group) => {
                self.depth = self.depth.saturating_sub(1);
                let depth = self.depth;
                while self.arguments.last().is_some_and(|(at, _)| *at > depth) {
                    self.arguments.pop();
                }
            }
            Kind::Open(_) => self.bracket_depth += 1,
            Kind::Close(_) => self.bracket_depth = self.bracket_depth.saturating_sub(1),
            _ => {}
        }
        self.push(kind, len);
    }

    fn unicode(&mut self, c: char) {
        if let Some((_, superscript)) = names::script(c) {
            return self.scripts(superscript);
        }
        if let Some(kind) = names::character(c) {
            self.argument_started();
            return self.bracket(kind, c.len_utf8());
        }
        if c.is_alphabetic() {
            let rest = self.rest();
            let len = rest
                .find(|c: char| c.is_ascii() || !c.is_alphabetic() || names::character(c).is_some())
                .unwrap_or(rest.len());
            return self.push(Kind::Word(rest.get(..len).unwrap_or_default()), len);
        }
        self.push(Kind::Stray(c), c.len_utf8());
    }

    /// `x²³` as `x^{23}`.
    fn scripts(&mut self, superscript: bool) {
        const DIGITS: &str = "0123456789";
        self.push(if superscript { Kind::Caret } else { Kind::Underscore }, 0);
        self.push(Kind::Open(Shape::Group), 0);
        while let Some(c) = self.rest().chars().next() {
            let Some((plain, is_super)) = names::script(c) else {
                break;
            };
            if is_super != superscript {
                break;
            }
            let kind = match plain {
                '+' => Kind::Plus,
                '-' => Kind::Minus,
                '(' => Kind::Open(Shape::End(End::Round)),
                ')' => Kind::Close(Shape::End(End::Round)),
                'n' => Kind::Word("n"),
                'i' => Kind::Word("i"),
                'x' => Kind::Word("x"),
                'k' => Kind::Word("k"),
                'm' => Kind::Word("m"),
                digit => {
                    let at = DIGITS.find(digit).unwrap_or(0);
                    Kind::Number { text: DIGITS.get(at..=at).unwrap_or_default(), point: None }
                }
            };
            self.push(kind, c.len_utf8());
        }
        self.push(Kind::Close(Shape::Group), 0);
    }

    fn backslash(&mut self) {
        let rest = self.rest();
        let Some(next) = rest.get(1..).and_then(|after| after.chars().next()) else {
            return self.skip(1);
        };
        if next.is_ascii_alphabetic() {
            let after = rest.get(1..).unwrap_or_default();
            let len = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
            return self.command(after.get(..len).unwrap_or_default());
        }
        match next {
            '\\' => {
                let after = rest.get(2..).unwrap_or_default();
                let len = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
                let name = after.get(..len).unwrap_or_default();
                if self.environments == 0 && len > 1 && names::command(name).is_some() {
                    // A doubled backslash before a command.
                    self.at += 1;
                } else if self.environments > 0 {
                    self.push(Kind::Row, 2);
                    // `\\[2pt]`
                    let rest = self.rest();
                    if rest.starts_with('[')
                        && let Some(end) = rest.find(']')
                        && rest
                            .get(1..end)
                            .is_some_and(|size| size.ends_with("pt") || size.ends_with("em") || size.ends_with("ex"))
                    {
                        self.skip(end + 1);
                    }
                } else {
                    self.push(Kind::Newline, 2);
                }
            }
            '{' => self.bracket(Kind::Open(Shape::Set), 2),
            '}' => self.bracket(Kind::Close(Shape::Set), 2),
            '%' => self.push(Kind::Percent, 2),
            '$' => self.push(Kind::Currency('$'), 2),
            '|' => self.push(Kind::Bar, 2),
            '&' | '#' | '_' => self.push(Kind::Stray(next), 2),
            '(' | ')' | '[' | ']' | ',' | ';' | ':' | '!' | ' ' | '\n' | '>' | '/' | '-' => {
                self.skip(2);
            }
            other => self.skip(1 + other.len_utf8()),
        }
    }

    fn command(&mut self, name: &'a str) {
        let mut known = name.get(..LONGEST_NAME).unwrap_or(name);
        let meaning = loop {
            match names::command(known) {
                Some(meaning) => break Some(meaning),
                // `\quadx`: the longest beginning that is a command.
                None if known.len() > 2 => known = known.get(..known.len() - 1).unwrap_or_default(),
                None => break None,
            }
        };
        let Some(meaning) = meaning else {
            self.argument_started();
            return self.push(Kind::Command(name), 1 + name.len());
        };
        let len = 1 + known.len();
        match meaning {
            Meaning::Is(Kind::Command(name @ ("frac" | "binom"))) => {
                self.argument_started();
                self.push(Kind::Command(name), len);
                self.arguments.push((self.depth, 2));
            }
            Meaning::Is(kind) => {
                self.argument_started();
                self.bracket(kind, len);
            }
            Meaning::Layout => self.skip(len),
            Meaning::LayoutWithArgument => {
                self.skip(len);
                if let Some((_, to)) = self.braced() {
                    self.at = to + 1;
                }
            }
            Meaning::Sizes { opens, closes } => {
                self.at += len;
                self.sized = Some((opens, closes));
            }
            Meaning::Words => self.words(len),
            Meaning::Style => {
                self.at += len;
                // A styled single letter prints without its braces.
                if let Some((from, to)) = self.braced()
                    && self.single_letter(from, to)
                {
                    self.argument_started();
                    self.at = from;
                    let letter = self.text.get(from..to).unwrap_or_default().trim();
                    self.push(Kind::Styled(letter), to - from);
                    self.at = to + 1;
                }
            }
            Meaning::Blackboard => self.blackboard(len),
            Meaning::Environment { begins } => self.environment(len, begins),
        }
    }

    /// The range inside the braces that start here, white space before them skipped; `at` is moved to the brace.
    fn braced(&mut self) -> Option<(usize, usize)> {
        let rest = self.rest();
        let trimmed = rest.trim_start();
        let from = self.at + (rest.len() - trimmed.len());
        if !trimmed.starts_with('{') {
            return None;
        }
        let mut depth = 0usize;
        let mut escaped = false;
        for (offset, byte) in trimmed.bytes().enumerate().take(LONGEST_ARGUMENT) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'{' => depth += 1,
                b'}' => {
                    depth -= 1;
                    if depth == 0 {
                        return Some((from + 1, from + offset));
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn single_letter(&self, from: usize, to: usize) -> bool {
        let inner = self.text.get(from..to).unwrap_or_default().trim();
        inner.len() == 1 && inner.bytes().all(|b| b.is_ascii_alphabetic())
    }

    fn words(&mut self, len: usize) {
        let start = self.at;
        self.at += len;
        let Some((mut from, mut to)) = self.braced() else {
            return;
        };
        let after = to + 1;
        let text = self.text;
        let inside = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
        while inside(from, to).trim().starts_with('{') && inside(from, to).trim().ends_with('}') {
            let lead = inside(from, to).len() - inside(from, to).trim_start().len();
            let trail = inside(from, to).len() - inside(from, to).trim_end().len();
            (from, to) = (from + lead + 1, to - trail - 1);
            if to < from {
                to = from;
            }
        }
        let inner = inside(from, to).trim_matches(|c: char| c.is_whitespace() || c == '~');
        if inner.is_empty() {
            self.at = after;
            self.spaced = true;
            return;
        }
        let kind = if inner.len() == 1 && inner.bytes().all(|b| b.is_ascii_alphabetic()) {
            Some(Kind::Styled(inner))
        } else if let Some(name) = names::function_name(inner) {
            Some(Kind::Command(name))
        } else if inner.contains(['\\', '$'])
            || !inner.contains(char::is_alphabetic)
            || inner.starts_with(|c: char| c.is_ascii_digit()) && !inner.contains(' ')
            || inner.len() == 3 && inner.starts_with('(') && inner.ends_with(')')
        {
            None
        } else {
            Some(Kind::Text(inner))
        };
        match kind {
            Some(kind) => {
                self.argument_started();
                self.at = start;
                self.push(kind, after - start);
            }
            // Mathematics in words' clothing, as in `\text{13}`: the braces stay and group it.
            None => self.at = start + len,
        }
    }

    fn blackboard(&mut self, len: usize) {
        self.at += len;
        let letter = match self.braced() {
            Some((from, to)) => {
                let letter = self.text.get(from..to).unwrap_or_default().trim();
                self.at = to + 1;
                letter
            }
            None => {
                let rest = self.rest().trim_start();
                self.at = self.text.len() - rest.len();
                let letter = rest.get(..1).unwrap_or_default();
                self.at += letter.len();
                letter
            }
        };
        let name = match letter {
            "R" => "Reals",
            "Z" => "Integers",
            "N" => "Naturals",
            "Q" => "Rationals",
            "C" => "Complexes",
            _ => return self.push(Kind::Styled(letter), 0),
        };
        self.push(Kind::Command(name), 0);
    }

    fn environment(&mut self, len: usize, begins: bool) {
        self.at += len;
        let Some((from, to)) = self.braced() else {
            return;
        };
        let name = self.text.get(from..to).unwrap_or_default();
        self.at = to + 1;
        if matches!(
            name,
            "align" | "align*" | "aligned" | "gathered" | "equation" | "equation*" | "gather" | "gather*" | "split"
        ) && !begins
        {
            self.environments = self.environments.saturating_sub(1);
            return;
        }
        if begins {
            self.environments += 1;
            // `\begin{array}{c|c}`
            if let Some((from, to)) = self.braced() {
                let columns = self.text.get(from..to).unwrap_or_default();
                let is_spec = name.starts_with("array") || name.starts_with("tabular");
                if is_spec
                    && columns.bytes().all(|b| matches!(b, b'l' | b'c' | b'r' | b'|' | b' ' | b'@' | b'{' | b'}'))
                {
                    self.at = to + 1;
                }
            }
            if matches!(
                name,
                "align" | "align*" | "aligned" | "gathered" | "equation" | "equation*" | "gather" | "gather*" | "split"
            ) {
                return;
            }
            self.bracket_depth += 1;
            self.push(Kind::Command("begin"), 0);
        } else {
            self.environments = self.environments.saturating_sub(1);
            self.bracket_depth = self.bracket_depth.saturating_sub(1);
            self.push(Kind::Command("end"), 0);
        }
        self.push(Kind::Text(name), 0);
    }
}
