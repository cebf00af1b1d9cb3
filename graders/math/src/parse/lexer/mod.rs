//! Splits text into tokens. Knows notation (LaTeX, ASCII, Unicode, damaged escapes), but no
//! grammar.
//!
//! One pass that looks back at most a few tokens: 200,000 characters take about 2 ms.

mod cleaning;
mod commands;
mod numbers;

pub(crate) use cleaning::cleaned;
pub(crate) use numbers::with_points_between_thousands;

use super::token::{Kind, Shape, Token};
use super::{call, names};
use crate::tree::{End, Relation};

/// Longest argument that is read ahead as a whole, in bytes; longer ones are ordinary groups. Keeps
/// nested arguments linear.
const LONGEST_ARGUMENT: usize = 400;

/// Longest name that is looked up as a command, in bytes.
const LONGEST_NAME: usize = 32;

/// Most tokens of one text, including redundant brackets, of which 20,000 nested ones are read.
/// 65,536 tokens take 12 ms.
pub(crate) const MAX_TOKENS: usize = 1 << 16;

/// Most look-ups of prefixes of unknown commands in one text, as in `\\quadx`.
const MAX_PREFIX_LOOKUPS: usize = 2_000;

/// The meaning of commas between digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commas {
    /// `1,234` is one number, `1,23` are two.
    Thousands,
    /// A comma always separates values.
    Separate,
    /// A comma is the decimal point.
    Decimal,
}

/// The result of the lexer.
#[derive(Debug)]
pub(crate) struct Lexed<'a> {
    pub(crate) tokens: Vec<Token<'a>>,
    /// Whether a plain comma joined digits to one number.
    pub(crate) joined_by_comma: bool,
}

/// Splits `text` into tokens.
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
        alignments: 0,
        arguments: Vec::new(),
        joined_by_comma: false,
        sized: None,
        prefix_lookups: MAX_PREFIX_LOOKUPS,
    };
    lexer.run(text.len());
    Lexed {
        tokens: lexer.tokens,
        joined_by_comma: lexer.joined_by_comma,
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    commas: Commas,
    tokens: Vec<Token<'a>>,
    spaced: bool,
    /// Number of open `{`.
    depth: usize,
    /// Number of other open brackets, in which a comma separates values.
    bracket_depth: usize,
    environments: usize,
    /// Number of open environments with one statement per line.
    alignments: usize,
    /// Commands with missing one-token arguments: the depth of braces, and the number of missing
    /// arguments.
    arguments: Vec<(usize, u8)>,
    joined_by_comma: bool,
    /// Set after `\left` or `\right`: whether the next bracket opens, and whether it closes.
    sized: Option<(bool, bool)>,
    /// Remaining look-ups of prefixes of unknown commands.
    prefix_lookups: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn push(&mut self, kind: Kind<'a>, len: usize) {
        let start = self.at;
        self.at += len;
        self.tokens.push(Token {
            kind,
            start,
            end: self.at,
            spaced: std::mem::take(&mut self.spaced),
        });
        self.sized = None;
    }

    fn skip(&mut self, len: usize) {
        self.at += len;
        self.spaced = true;
    }

    fn run(&mut self, end: usize) {
        while self.at < end && self.tokens.len() <= MAX_TOKENS {
            let Some(c) = self.rest().chars().next() else {
                return;
            };
            match c {
                _ if c.is_whitespace() => self.skip(c.len_utf8()),
                '$' | '~' | '`' | '\u{200b}' | '\u{feff}' => self.skip(c.len_utf8()),
                '\\' => self.backslash(),
                '0'..='9' => self.number(),
                '.' => self.point(),
                'a'..='z' | 'A'..='Z' => self.letters(),
                _ if c.is_ascii() => self.punctuation(c),
                _ => self.unicode(c),
            }
        }
    }

    /// Records the start of a possible one-token argument of `\frac`; whether it is one.
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

    /// A run of letters. As a one-token argument, in `\frac ab` and `x^nn`, a run of factors is
    /// only its first letter.
    fn letters(&mut self) {
        let argument = self.argument_started();
        let raised = matches!(
            self.tokens.last().map(|token| token.kind),
            Some(Kind::Caret | Kind::Underscore)
        );
        let rest = self.rest();
        let len = rest
            .bytes()
            .position(|byte| !byte.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let word = rest.get(..len).unwrap_or_default();
        // The backslash was lost.
        if word == "frac" && rest.get(len..).is_some_and(|tail| tail.starts_with('{')) {
            self.push(Kind::Command("frac"), len);
            self.arguments.push((self.depth, 2));
            return;
        }
        if word == "mod" {
            return self.push(Kind::Command("mod"), len);
        }
        let after_bracket = matches!(
            self.tokens.last().map(|token| token.kind),
            Some(Kind::Close(Shape::End(_)))
        );
        if word == "U"
            && after_bracket
            && rest
                .get(1..)
                .is_some_and(|tail| tail.trim_start().starts_with(['(', '[']))
        {
            return self.push(Kind::Command("cup"), len);
        }
        let factors =
            call::is_run(word) && !matches!(word, "th" | "st" | "nd" | "rd" | "max" | "min");
        let len = if (argument || raised) && factors {
            1
        } else {
            len
        };
        self.push(Kind::Word(rest.get(..len).unwrap_or_default()), len);
    }

    fn punctuation(&mut self, c: char) {
        let rest = self.rest();
        let starts = |prefix: &str| rest.starts_with(prefix);
        let (kind, len) = match c {
            '+' if starts("+-") || starts("+/-") => {
                let len = if starts("+-") { 2 } else { 3 };
                if starts("+/-") {
                    (Kind::PlusMinus, len)
                } else {
                    (Kind::Plus, 1)
                }
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
            '&' if self.alignments > 0 && self.environments == 0 => return self.skip(1),
            '&' => (Kind::Ampersand, 1),
            '=' if starts("=>") => (Kind::Relation(Relation::Implies), 2),
            '=' if starts("=<") => (Kind::Relation(Relation::LessEqual), 2),
            '=' if starts("==") => (Kind::Relation(Relation::Equal), 2),
            '=' => (Kind::Relation(Relation::Equal), 1),
            '<' if starts("<=>") => (Kind::Relation(Relation::Equivalent), 3),
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
            // `\left{`
            '{' if self.sized == Some((true, false)) => (Kind::Open(Shape::Set), 1),
            '}' if self.sized == Some((false, true)) => (Kind::Close(Shape::Set), 1),
            '{' => (Kind::Open(Shape::Group), 1),
            '}' => (Kind::Close(Shape::Group), 1),
            other => (Kind::Stray(other), 1),
        };
        self.bracket(kind, len);
    }

    /// Pushes a token and counts open brackets.
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
}
