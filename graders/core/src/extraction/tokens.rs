//! Prose with maths in it as tokens: numbers, maths, operators, words. Decides what stands alone;
//! decides no answer.

use super::characters::{
    is_ideographic, is_letter, is_name_symbol, is_superscript, number_length, subscript_length,
};
use super::maths_spans::{self, Span};
use super::words::{Roles, roles};

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number that stands alone, with its grouping, decimals and exponent.
    Number,
    /// A stretch of delimited maths; `inner` is what it delimits.
    Maths,
    /// A LaTeX command outside maths, with its arguments.
    Command,
    /// A variable, a Greek letter, a constant or a function's name.
    Name,
    /// A word of prose, or a number that belongs to one.
    Word,
    Operator,
    Relation,
    Open,
    Close,
    /// A comma or semicolon.
    Separator,
    Currency,
    /// Percent, degree, prime or a raised digit.
    Suffix,
    /// End of a sentence or line.
    Stop,
    Other,
}

/// A token and its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Bytes without delimiters; the same as `start..end` except for maths.
    pub(super) inner: (usize, usize),
    /// What a word or name may mean; nothing for other tokens.
    pub(super) roles: Roles,
}

/// A text and its tokens.
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: Vec<Token>,
}

impl<'a> Line<'a> {
    /// Reads `text`.
    pub(super) fn read(text: &'a str) -> Self {
        let spans = maths_spans::spans(text);
        let mut reader = Reader {
            text,
            at: 0,
            tokens: Vec::new(),
            groups_close: true,
        };
        for span in spans {
            reader.read_to(span.start);
            reader.maths(span);
        }
        reader.read_to(text.len());
        Self {
            text,
            tokens: reader.tokens,
        }
    }

    /// The characters of a token.
    pub(super) fn str(&self, index: usize) -> &'a str {
        let token = &self.tokens[index];
        &self.text[token.start..token.end]
    }

    /// What a token's word may mean.
    pub(super) fn roles(&self, index: usize) -> Roles {
        self.tokens
            .get(index)
            .map(|token| token.roles)
            .unwrap_or_default()
    }

    /// Whether nothing stands between a token and the one before it.
    pub(super) fn is_glued(&self, index: usize) -> bool {
        let token = self.tokens.get(index);
        index > 0 && token.is_some_and(|token| self.tokens[index - 1].end == token.start)
    }

    /// Kind of a token, if there is one.
    pub(super) fn kind(&self, index: usize) -> Option<Kind> {
        self.tokens.get(index).map(|token| token.kind)
    }

    /// The maths inside a token's delimiters.
    pub(super) fn inner(&self, index: usize) -> &'a str {
        let (start, end) = self.tokens[index].inner;
        &self.text[start..end]
    }
}

/// Words whose dots end no sentence, all of one length.
const ABBREVIATIONS: &[&str] = &["a.m.", "p.m.", "A.M.", "P.M.", "i.e.", "e.g."];

struct Reader<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<Token>,
    /// Cleared once an argument turns out never to be closed: from then on braces are read one by
    /// one, so that no brace is searched for twice.
    groups_close: bool,
}

impl Reader<'_> {
    fn push(&mut self, kind: Kind, length: usize) {
        let (start, end) = (self.at, self.at + length);
        let roles = match kind {
            Kind::Word | Kind::Name => roles(&self.text[start..end]),
            _ => Roles::default(),
        };
        self.tokens.push(Token {
            kind,
            start,
            end,
            inner: (start, end),
            roles,
        });
        self.at = end;
    }

    fn maths(&mut self, span: Span) {
        let blank = self.text[span.inner_start..span.inner_end]
            .chars()
            .all(|c| !c.is_alphanumeric() && c != '∞' && c != '∅');
        self.tokens.push(Token {
            kind: if blank { Kind::Other } else { Kind::Maths },
            start: span.start,
            end: span.end,
            inner: (span.inner_start, span.inner_end),
            roles: Roles::default(),
        });
        self.at = span.end;
    }

    /// Reads tokens up to the byte `end`. What begins before it may end after it only by an
    /// unclosed delimiter.
    fn read_to(&mut self, end: usize) {
        while self.at < end {
            let rest = &self.text[self.at..end];
            let Some(c) = rest.chars().next() else { return };
            let before = self.text[..self.at].chars().next_back();
            match c {
                '\n' => self.push(Kind::Stop, 1),
                _ if c.is_whitespace() => self.at += c.len_utf8(),
                '\\' => self.command(rest),
                _ if is_superscript(c) => self.push(Kind::Suffix, c.len_utf8()),
                _ if c.is_numeric() => self.number(rest, before),
                '.' if rest[1..].starts_with(|d: char| d.is_ascii_digit())
                    && !before.is_some_and(|c| c.is_alphanumeric() && !is_ideographic(c)) =>
                {
                    self.number(rest, before);
                }
                _ if is_name_symbol(c) => self.push(Kind::Name, c.len_utf8()),
                _ if is_letter(c) => self.word(rest),
                _ => self.mark(rest, c, before),
            }
        }
    }

    fn number(&mut self, rest: &str, before: Option<char>) {
        let length = number_length(rest);
        let after = &rest[length..];
        let glued_left = match before {
            Some('_') => true,
            Some('-' | '‐' | '‑') => self.hyphen_joins_word(),
            Some('$') => self.text[..self.at].ends_with("$$"),
            Some('.') => self.dot_joins_word(),
            _ => false,
        };
        let letters = after.len()
            - after
                .trim_start_matches(|c: char| c.is_ascii_alphabetic())
                .len();
        let ordinal = matches!(
            &after[..letters],
            "st" | "nd" | "rd" | "th" | "D" | "er" | "ème" | "º"
        );
        let compound = after.starts_with('-')
            && after[1..]
                .chars()
                .take(2)
                .filter(char::is_ascii_lowercase)
                .count()
                == 2;
        let counted = self
            .tokens
            .last()
            .is_some_and(|token| token.kind == Kind::Word && token.roles.numbered());
        if glued_left || ordinal || compound || counted || self.enumerates(after) {
            self.push(Kind::Word, length + if ordinal { letters } else { 0 });
        } else {
            self.push(Kind::Number, length);
        }
    }

    /// Whether the hyphen before this number hangs on a word: "COVID-19".
    fn hyphen_joins_word(&self) -> bool {
        let mut last = self.tokens.iter().rev();
        let hyphen = last.next();
        let word = last.next();
        hyphen.zip(word).is_some_and(|(hyphen, word)| {
            word.kind == Kind::Word && word.end == hyphen.start && hyphen.end == self.at
        })
    }

    /// Whether the dot before this number hangs on a word or a name: "v1.7", "Fig.7".
    fn dot_joins_word(&self) -> bool {
        let mut last = self.tokens.iter().rev();
        let dot = last.next();
        let word = last.next();
        dot.zip(word).is_some_and(|(dot, word)| {
            matches!(word.kind, Kind::Word | Kind::Name)
                && word.end == dot.start
                && dot.end == self.at
                && !self.text[..word.end].ends_with(is_ideographic)
        })
    }

    /// Whether this number numbers a line: "1. Add the terms".
    fn enumerates(&self, after: &str) -> bool {
        let opens_line = self
            .tokens
            .last()
            .is_none_or(|token| &self.text[token.start..token.end] == "\n");
        opens_line
            && after.strip_prefix(['.', ')']).is_some_and(|rest| {
                let line = rest.lines().next().unwrap_or_default();
                line.starts_with(' ') && !line.trim().is_empty()
            })
    }

    fn word(&mut self, rest: &str) {
        if ABBREVIATIONS
            .iter()
            .any(|abbreviation| rest.starts_with(abbreviation))
        {
            return self.push(Kind::Word, "p.m.".len());
        }
        let ideographic = rest.starts_with(is_ideographic);
        let mut length = 0;
        let mut letters = 0;
        let mut chars = rest.chars().peekable();
        while let Some(c) = chars.next() {
            let joins = match c {
                '\'' | '’' => letters > 0 && chars.peek().is_some_and(|next| is_letter(*next)),
                _ => {
                    (is_letter(c) && is_ideographic(c) == ideographic)
                        || (!ideographic && letters > 0 && c.is_ascii_digit())
                }
            };
            if !joins {
                break;
            }
            length += c.len_utf8();
            letters += 1;
        }
        let word = &rest[..length];
        let single = letters == 1 && word.is_ascii();
        let glued_to_number = single
            && self
                .tokens
                .last()
                .is_some_and(|token| token.end == self.at && token.kind == Kind::Number);
        if single || roles(word).function() {
            let subscript = if glued_to_number {
                0
            } else {
                subscript_length(&rest[length..])
            };
            self.push(Kind::Name, length + subscript);
        } else {
            self.push(Kind::Word, length.max(1));
        }
    }

    fn command(&mut self, rest: &str) {
        let name = rest[1..]
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len() - 1);
        if name == 0 {
            let Some(c) = rest[1..].chars().next() else {
                return self.push(Kind::Other, 1);
            };
            let length = 1 + c.len_utf8();
            return match c {
                '\\' | '\n' => self.push(Kind::Stop, 2),
                '{' => self.push(Kind::Open, 2),
                '}' => self.push(Kind::Close, 2),
                '$' => self.push(Kind::Currency, 2),
                '%' => self.push(Kind::Suffix, 2),
                _ if c.is_ascii() => self.at += length,
                _ => self.push(Kind::Other, 1),
            };
        }
        let length = 1 + name;
        match &rest[1..length] {
            "le" | "leq" | "leqslant" | "ge" | "geq" | "geqslant" | "ne" | "neq" | "lt" | "gt"
            | "approx" | "in" | "equiv" | "sim" => self.push(Kind::Relation, length),
            "times" | "cdot" | "div" | "pm" | "mp" | "cup" | "cap" | "setminus" | "bmod"
            | "mod" => {
                self.push(Kind::Operator, length);
            }
            "left" | "right" | "big" | "Big" | "bigl" | "bigr" | "quad" | "qquad"
            | "displaystyle" => self.at += length,
            "circ" | "degree" | "prime" => self.push(Kind::Suffix, length),
            "Rightarrow" | "implies" | "rightarrow" | "to" | "therefore" | "iff" | "because" => {
                self.push(Kind::Other, length);
            }
            _ => {
                let arguments = self.arguments_length(&rest[length..]);
                self.push(Kind::Command, length + arguments);
            }
        }
    }

    /// Length of the `[…]` and `{…}` that follow a command, and of one digit where none do
    /// (`\frac12`).
    fn arguments_length(&mut self, rest: &str) -> usize {
        let bytes = rest.as_bytes();
        let mut at = 0;
        if !self.groups_close {
            return 0;
        }
        while let Some(b'{' | b'[') = bytes.get(at) {
            let mut depth = 0usize;
            let mut end = at;
            loop {
                match bytes.get(end) {
                    Some(b'{' | b'[') => depth += 1,
                    Some(b'}' | b']') => depth -= 1,
                    Some(b'\\') => end += 1,
                    Some(_) => {}
                    None => {
                        self.groups_close = false;
                        return at;
                    }
                }
                end += 1;
                if depth == 0 {
                    break;
                }
            }
            if end > bytes.len() {
                self.groups_close = false;
                return at;
            }
            at = end;
        }
        if at == 0 {
            at = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
        }
        at
    }

    fn mark(&mut self, rest: &str, c: char, before: Option<char>) {
        let next = rest[c.len_utf8()..].chars().next();
        let length = c.len_utf8();
        let digits = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        match c {
            '*' => self.star(rest, before, next),
            '_' if before.is_some_and(char::is_alphanumeric)
                && next.is_some_and(|c| c.is_alphanumeric() || c == '{') =>
            {
                self.push(Kind::Operator, 1);
            }
            '_' | '`' => self.at += length,
            '=' if next == Some('>') => self.push(Kind::Other, 2),
            '-' if next == Some('>') => self.push(Kind::Other, 2),
            '<' if next == Some('/') || rest.starts_with("<br") || rest.starts_with("<su") => {
                self.push(Kind::Other, 1)
            }
            '<' | '>' | '!' | '=' if next == Some('=') => self.push(Kind::Relation, 2),
            '=' | '<' | '>' | '≤' | '≥' | '≠' | '≈' | '≡' | '∈' | '＝' | '⩽' | '⩾' =>
            {
                self.push(Kind::Relation, length);
            }
            '!' | '！' => {
                let factorial = c == '!'
                    && before.is_some_and(|c| c.is_alphanumeric() || c == ')')
                    && rest[1..]
                        .trim_start_matches(' ')
                        .starts_with(['/', '*', '+', '-', '=', '^', ')', ',']);
                self.push(if factorial { Kind::Suffix } else { Kind::Stop }, length);
            }
            '+' | '-' | '−' | '–' | '/' | '^' | '×' | '÷' | '·' | '∙' | '⋅' | '±' | '∓' | '∪'
            | '∩' | '∖' | '|' => {
                self.push(Kind::Operator, length);
            }
            ':' if digits(before) && digits(next) => self.push(Kind::Operator, 1),
            '(' | '[' | '{' => self.push(Kind::Open, 1),
            ')' | ']' | '}' => self.push(Kind::Close, 1),
            ',' | '，' | '、' | ';' | '；' => self.push(Kind::Separator, length),
            '.' | '。' | '．' | '?' | '？' => self.push(Kind::Stop, length),
            '%' | '％' | '‰' | '°' | '′' | '″' | '℃' | '℉' => {
                self.push(Kind::Suffix, length)
            }
            '$' | '€' | '£' | '¥' | '￥' | '₹' | '₽' | '₩' | '¢' => {
                let run = rest.len() - rest.trim_start_matches('$').len();
                if run > 1 {
                    self.push(Kind::Other, run);
                } else {
                    self.push(Kind::Currency, length);
                }
            }
            _ => self.push(Kind::Other, length),
        }
    }

    /// A star multiplies, raises, or marks emphasis, which is skipped.
    fn star(&mut self, rest: &str, before: Option<char>, next: Option<char>) {
        let run = rest.bytes().take_while(|byte| *byte == b'*').count();
        let after = rest[run..].chars().next();
        let operand =
            |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || "()\\.".contains(c));
        let spaced =
            before.is_some_and(char::is_whitespace) && next.is_some_and(char::is_whitespace);
        let opens_line = self
            .tokens
            .last()
            .is_none_or(|token| token.kind == Kind::Stop);
        let multiplies = run == 1 && !opens_line && (spaced || operand(before) && operand(after));
        let raises = run == 2
            && operand(before)
            && after.is_some_and(|c| c.is_ascii_digit() || "(-".contains(c));
        if multiplies || raises {
            self.push(Kind::Operator, run);
        } else {
            self.at += run;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<&str> {
        let line = Line::read(text);
        (0..line.tokens.len())
            .filter(|index| line.tokens[*index].kind == Kind::Number)
            .map(|index| line.str(index))
            .collect()
    }

    #[test]
    fn a_number_keeps_its_grouping_decimals_and_exponent() {
        for number in [
            "1,234.56", "1,000.99", "2,74", "6.022e23", "0.333...", "12{,}000", "3.5E-7", ".5",
            "½", "１２",
        ] {
            assert_eq!(numbers(&format!("it is {number} now")), [number]);
        }
        assert_eq!(numbers("It is 5. And 6, 7."), ["5", "6", "7"]);
        assert_eq!(numbers("答案是.7"), [".7"]);
    }

    #[test]
    fn a_number_inside_a_word_does_not_stand_alone() {
        for text in [
            "AZYUK2A",
            "COVID-19",
            "the 5th",
            "a 3-digit one",
            "Step 3",
            "x_2",
            "$$$$3",
            "1. Add",
            "v1.7",
            "x1.7",
            "eq.7",
            "Fig.7",
            "v1.7.3",
        ] {
            assert!(numbers(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn stars_multiply_or_mark_emphasis() {
        let operators = |text| {
            let line = Line::read(text);
            line.tokens
                .iter()
                .filter(|token| token.kind == Kind::Operator)
                .count()
        };
        assert_eq!(operators("79 * 2"), 1);
        assert_eq!(operators("9**9"), 1);
        assert_eq!(operators("is **92**."), 0);
        assert_eq!(operators("* item"), 0);
    }

    #[test]
    fn arguments_belong_to_their_command() {
        let line = Line::read(r"so \frac{1}{\sqrt{2}} and \sqrt[3]{5}");
        let commands: Vec<&str> = (0..line.tokens.len())
            .filter(|index| line.tokens[*index].kind == Kind::Command)
            .map(|index| line.str(index))
            .collect();
        assert_eq!(commands, [r"\frac{1}{\sqrt{2}}", r"\sqrt[3]{5}"]);
    }
}
