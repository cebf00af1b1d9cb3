//! Splits prose that contains maths into tokens: numbers, maths, operators, words. Decides which
//! numbers and letters are separate values and which are part of a word. Does not choose an answer.

use crate::characters::{
    is_ideographic, is_letter, is_name_symbol, is_superscript, number_length, subscript_length,
};
use crate::maths_spans::{self, Span};
use crate::slices::head;
use crate::word_roles::{Roles, lower, roles};

/// The kind of a token. The rules above this module read kinds instead of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A number that is a separate value, with its grouping, decimals and exponent. A number that
    /// is part of a word or a label ("COVID-19", "step 3") is a [`TokenKind::Word`].
    Number,
    /// Delimited maths such as `$x = 5$`. `inner` is the text between the delimiters.
    Maths,
    /// A LaTeX command outside maths, with its arguments.
    Command,
    /// A single letter, a Greek letter, a constant or the name of a function. A single letter may
    /// be a variable, a unit or a word ("5 y 6" is Spanish); its neighbours decide.
    Name,
    /// A word of prose, or a number that is part of one.
    Word,
    Operator,
    Relation,
    Open,
    Close,
    /// A comma or semicolon.
    Separator,
    Currency,
    /// Percent, degree, prime, superscript digit or factorial sign: it extends the value before it.
    Suffix,
    /// The end of a sentence or line. No value extends over it.
    Stop,
    /// Anything else. It ends a value.
    Other,
}

/// A token and its byte range in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Byte range without delimiters; equal to `start..end` except for maths.
    pub(super) inner: (usize, usize),
    /// The roles of a word or name; empty for other tokens.
    pub(super) roles: Roles,
}

/// A text and its tokens. White space and emphasis marks produce no token.
pub(super) struct Lexed<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: Vec<Token>,
}

impl<'a> Lexed<'a> {
    /// Splits `text` into tokens. Delimited maths is found first and is opaque to the other rules.
    pub(super) fn read(text: &'a str) -> Self {
        let spans = maths_spans::spans(text);
        let mut reader = Lexer {
            text,
            at: 0,
            tokens: Vec::new(),
            groups_close: true,
        };
        for span in spans {
            reader.lex_to(span.start);
            reader.maths(span);
        }
        reader.lex_to(text.len());
        Self {
            text,
            tokens: reader.tokens,
        }
    }

    /// The source text of a token.
    pub(super) fn str(&self, index: usize) -> &'a str {
        let token = &self.tokens[index];
        &self.text[token.start..token.end]
    }

    /// The roles of a token; empty if there is no such token.
    pub(super) fn roles(&self, index: usize) -> Roles {
        self.tokens
            .get(index)
            .map(|token| token.roles)
            .unwrap_or_default()
    }

    /// Whether a token follows the one before it without white space.
    pub(super) fn is_glued(&self, index: usize) -> bool {
        let token = self.tokens.get(index);
        index > 0 && token.is_some_and(|token| self.tokens[index - 1].end == token.start)
    }

    /// The kind of a token, if there is one.
    pub(super) fn kind(&self, index: usize) -> Option<TokenKind> {
        self.tokens.get(index).map(|token| token.kind)
    }

    /// Whether a token is a word or a name.
    pub(super) fn is_word(&self, index: usize) -> bool {
        matches!(self.kind(index), Some(TokenKind::Word | TokenKind::Name))
    }

    /// Whether a token is a value by itself: a number or maths.
    pub(super) fn is_value(&self, index: usize) -> bool {
        matches!(
            self.kind(index),
            Some(TokenKind::Number | TokenKind::Maths | TokenKind::Command)
        )
    }

    /// Whether a token is one of some words, in any case.
    pub(super) fn is_one_of(&self, index: usize, words: &[&str]) -> bool {
        self.is_word(index) && words.contains(&&*lower(self.str(index)))
    }

    /// The token after the longest of some phrases that starts at a token.
    pub(super) fn phrase_end(&self, at: usize, phrases: &[&str]) -> Option<usize> {
        let end = |phrase: &&str| {
            let mut end = at;
            let matches = phrase.split(' ').all(|part| {
                end += 1;
                self.is_one_of(end - 1, &[part])
            });
            matches.then_some(end)
        };
        phrases.iter().filter_map(end).max()
    }

    /// The text of a token without its delimiters.
    pub(super) fn inner(&self, index: usize) -> &'a str {
        let (start, end) = self.tokens[index].inner;
        &self.text[start..end]
    }
}

/// Abbreviations with dots that do not end a sentence. All have the length of "p.m.", which
/// [`Lexer::word`] relies on.
const ABBREVIATIONS: &[&str] = &["a.m.", "p.m.", "A.M.", "P.M.", "i.e.", "e.g."];

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<Token>,
    /// Set to false once an argument turns out to be unclosed. From then on braces are read one by
    /// one, so that the search for a closing brace stays linear in the length of the text.
    groups_close: bool,
}

impl Lexer<'_> {
    fn push(&mut self, kind: TokenKind, length: usize) {
        let (start, end) = (self.at, self.at + length);
        let roles = match kind {
            TokenKind::Word | TokenKind::Name => roles(&self.text[start..end]),
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

    /// Adds delimited maths as one token. Maths without a letter, digit or symbol of a value, such
    /// as `$=$`, is not a value.
    fn maths(&mut self, span: Span) {
        let blank = self.text[span.inner_start..span.inner_end]
            .chars()
            .all(|c| !c.is_alphanumeric() && c != '∞' && c != '∅');
        self.tokens.push(Token {
            kind: if blank {
                TokenKind::Other
            } else {
                TokenKind::Maths
            },
            start: span.start,
            end: span.end,
            inner: (span.inner_start, span.inner_end),
            roles: Roles::default(),
        });
        self.at = span.end;
    }

    /// Reads tokens up to the byte `end`. A token that starts before `end` may only extend past it
    /// if it is an unclosed delimiter.
    ///
    /// The order of the arms matters where a character fits several of them:
    /// - a line break is white space, but ends a sentence;
    /// - a superscript digit is numeric, but belongs to the value before it ("48 m²");
    /// - a Greek letter is a letter, but is a name on its own and never part of a word.
    fn lex_to(&mut self, end: usize) {
        while self.at < end {
            let rest = &self.text[self.at..end];
            let Some(c) = rest.chars().next() else { return };
            let before = self.text[..self.at].chars().next_back();
            match c {
                '\n' => self.push(TokenKind::Stop, 1),
                _ if c.is_whitespace() => self.at += c.len_utf8(),
                '\\' => self.command(rest),
                _ if is_superscript(c) => self.push(TokenKind::Suffix, c.len_utf8()),
                _ if c.is_numeric() => self.number(rest, before),
                // ".5" is a number, but "v1.7" and "eq.7" are words. Scripts without blanks between
                // words put a number right after a word ("答案是.7").
                '.' if rest[1..].starts_with(|d: char| d.is_ascii_digit())
                    && !before.is_some_and(|c| c.is_alphanumeric() && !is_ideographic(c)) =>
                {
                    self.number(rest, before);
                }
                _ if is_name_symbol(c) => self.push(TokenKind::Name, c.len_utf8()),
                _ if is_letter(c) => self.word(rest),
                _ => self.mark(rest, c, before),
            }
        }
    }

    /// Adds a number as [`TokenKind::Number`], or as [`TokenKind::Word`] if it is part of a word or
    /// labels something. A word is never extracted as a value, so each test below prevents a wrong
    /// answer.
    fn number(&mut self, rest: &str, before: Option<char>) {
        let digits = number_length(rest);
        let length = digits + myriads_length(&rest[digits..]);
        let after = &rest[length..];
        let glued_left = match before {
            // A subscript: "x_2".
            Some('_') => true,
            // "COVID-19", but "10-3" is a subtraction.
            Some('-' | '‐' | '‑') => self.hyphen_joins_word(),
            // "$$$$3" is broken markup. A single dollar is a currency sign.
            Some('$') => self.text[..self.at].ends_with("$$"),
            // "Fig.7" and "v1.7.3".
            Some('.') => self.dot_joins_word(),
            _ => false,
        };
        let letters = after.len()
            - after
                .trim_start_matches(|c: char| c.is_ascii_alphabetic())
                .len();
        // "the 5th", "le 2ème". "D" is for "3D".
        let ordinal = matches!(
            &after[..letters],
            "st" | "nd" | "rd" | "th" | "D" | "er" | "ème" | "º"
        );
        // "a 3-digit number". Two lower-case letters distinguish it from "3-x".
        let compound = after.starts_with('-')
            && after[1..]
                .chars()
                .take(2)
                .filter(char::is_ascii_lowercase)
                .count()
                == 2;
        // "step 3", "Question 7".
        let counted = self
            .tokens
            .last()
            .is_some_and(|token| token.kind == TokenKind::Word && token.roles.numbered());
        if glued_left || ordinal || compound || counted || self.enumerates(after) {
            self.push(TokenKind::Word, length + if ordinal { letters } else { 0 });
        } else {
            self.push(TokenKind::Number, length);
        }
    }

    /// Whether the hyphen before this number connects it to a word: "COVID-19".
    fn hyphen_joins_word(&self) -> bool {
        let mut last = self.tokens.iter().rev();
        let hyphen = last.next();
        let word = last.next();
        hyphen.zip(word).is_some_and(|(hyphen, word)| {
            word.kind == TokenKind::Word && word.end == hyphen.start && hyphen.end == self.at
        })
    }

    /// Whether the dot before this number connects it to a word or a name: "v1.7", "Fig.7".
    fn dot_joins_word(&self) -> bool {
        let mut last = self.tokens.iter().rev();
        let dot = last.next();
        let word = last.next();
        dot.zip(word).is_some_and(|(dot, word)| {
            matches!(word.kind, TokenKind::Word | TokenKind::Name)
                && word.end == dot.start
                && dot.end == self.at
                && !self.text[..word.end].ends_with(is_ideographic)
        })
    }

    /// Whether this number is the label of a list item: "1. Add the terms". A line that consists of
    /// a number and a dot ("5.") is a value.
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

    /// Adds the word at the start of `rest`: letters of one script, apostrophes between letters,
    /// and digits after the first letter ("AZYUK2A", "don't").
    fn word(&mut self, rest: &str) {
        if ABBREVIATIONS
            .iter()
            .any(|abbreviation| rest.starts_with(abbreviation))
        {
            return self.push(TokenKind::Word, "p.m.".len());
        }
        // A word ends where the script changes: "是x" is a word and a variable.
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
        // A single letter or the name of a function is a name. A subscript belongs to it ("x_1"),
        // unless the letter follows a number directly: in "3m_1" the letter may be a unit.
        let single = letters == 1 && word.is_ascii();
        let glued_to_number = single
            && self
                .tokens
                .last()
                .is_some_and(|token| token.end == self.at && token.kind == TokenKind::Number);
        if single || roles(word).function() {
            let subscript = if glued_to_number {
                0
            } else {
                subscript_length(&rest[length..])
            };
            self.push(TokenKind::Name, length + subscript);
        } else {
            self.push(TokenKind::Word, length.max(1));
        }
    }

    /// Reads a LaTeX command outside of maths delimiters, which models often omit.
    fn command(&mut self, rest: &str) {
        let name = rest[1..]
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len() - 1);
        if name == 0 {
            let Some(c) = rest[1..].chars().next() else {
                return self.push(TokenKind::Other, 1);
            };
            let length = 1 + c.len_utf8();
            // An escaped character. `\\` ends a line; other ASCII characters, such as the comma of
            // `\,`, are spacing or delimiters.
            return match c {
                '\\' | '\n' => self.push(TokenKind::Stop, 2),
                '{' => self.push(TokenKind::Open, 2),
                '}' => self.push(TokenKind::Close, 2),
                '$' => self.push(TokenKind::Currency, 2),
                '%' => self.push(TokenKind::Suffix, 2),
                _ if c.is_ascii() => self.at += length,
                _ => self.push(TokenKind::Other, 1),
            };
        }
        let length = 1 + name;
        // Relations, operators and arrows get the kind that the character they print has, so that
        // `3 \times 4 \le x` is read like `3 × 4 ≤ x`. Sizing and spacing commands print nothing
        // and are skipped. An arrow separates the steps of a derivation and therefore ends a value.
        // Any other command is an operand together with its arguments: `\frac{1}{2}`.
        match &rest[1..length] {
            "le" | "leq" | "leqslant" | "ge" | "geq" | "geqslant" | "ne" | "neq" | "lt" | "gt"
            | "approx" | "in" | "equiv" | "sim" => self.push(TokenKind::Relation, length),
            "times" | "cdot" | "div" | "pm" | "mp" | "cup" | "cap" | "setminus" | "bmod"
            | "mod" => {
                self.push(TokenKind::Operator, length);
            }
            "left" | "right" | "big" | "Big" | "bigl" | "bigr" | "quad" | "qquad"
            | "displaystyle" => self.at += length,
            "circ" | "degree" | "prime" => self.push(TokenKind::Suffix, length),
            "Rightarrow" | "implies" | "rightarrow" | "to" | "therefore" | "iff" | "because" => {
                self.push(TokenKind::Other, length);
            }
            _ => {
                let arguments = self.arguments_length(&rest[length..]);
                self.push(TokenKind::Command, length + arguments);
            }
        }
    }

    /// Length of the `[…]` and `{…}` groups that follow a command, or of the digits if there is no
    /// group (`\frac12`).
    fn arguments_length(&mut self, rest: &str) -> usize {
        let bytes = rest.as_bytes();
        let mut at = 0;
        if !self.groups_close {
            return 0;
        }
        loop {
            // `\frac { 5 } { 3 }`
            let blanks = rest[at..].len() - rest[at..].trim_start_matches(' ').len();
            match bytes.get(at + blanks) {
                Some(b'{') => at += blanks,
                Some(b'[') if blanks == 0 => {}
                _ => break,
            }
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

    /// Reads a character that is neither a letter nor a digit.
    ///
    /// The order of the arms matters: longer marks precede their first character (`=>` and `->` are
    /// arrows and end a value, `==` and `<=` are relations), and HTML tags precede `<`.
    fn mark(&mut self, rest: &str, c: char, before: Option<char>) {
        let next = rest[c.len_utf8()..].chars().next();
        let length = c.len_utf8();
        let digits = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        match c {
            '*' => self.star(rest, before, next),
            // A subscript that the name before it did not include, as in "AB_{2}". Other
            // underscores are emphasis and are skipped, like the backtick of inline code.
            '_' if before.is_some_and(char::is_alphanumeric)
                && next.is_some_and(|c| c.is_alphanumeric() || c == '{') =>
            {
                self.push(TokenKind::Operator, 1);
            }
            '_' | '`' => self.at += length,
            '=' if next == Some('>') => self.push(TokenKind::Other, 2),
            '-' if next == Some('>') => self.push(TokenKind::Other, 2),
            // `<b>` is a tag if `</b>` follows, and neither a relation nor a part of the value.
            '<' if opening_tag(rest).is_some() => self.at += opening_tag(rest).unwrap_or(1),
            // `</b>`, `<br>`, `<sub>` and `<sup>` are tags, not relations.
            '<' if next == Some('/') || rest.starts_with("<br") || rest.starts_with("<su") => {
                self.push(TokenKind::Other, 1);
            }
            '<' | '>' | '!' | '=' if next == Some('=') => self.push(TokenKind::Relation, 2),
            '=' | '<' | '>' | '≤' | '≥' | '≠' | '≈' | '≡' | '∈' | '＝' | '⩽' | '⩾' =>
            {
                self.push(TokenKind::Relation, length);
            }
            // "5!" is a factorial only if the expression continues ("5!/3!", "5! + 1"). At the end
            // of a sentence it is an exclamation mark: "The answer is 5!"
            '!' | '！' => {
                let factorial = c == '!'
                    && before.is_some_and(|c| c.is_alphanumeric() || c == ')')
                    && rest[1..]
                        .trim_start_matches(' ')
                        .starts_with(['/', '*', '+', '-', '=', '^', ')', ',']);
                self.push(
                    if factorial {
                        TokenKind::Suffix
                    } else {
                        TokenKind::Stop
                    },
                    length,
                );
            }
            '+' | '-' | '−' | '–' | '/' | '^' | '×' | '÷' | '·' | '∙' | '⋅' | '±' | '∓' | '∪'
            | '∩' | '∖' | '|' => {
                self.push(TokenKind::Operator, length);
            }
            // A ratio or a time: "3:4", "8:34". Other colons introduce something and end a value.
            ':' if digits(before) && digits(next) => self.push(TokenKind::Operator, 1),
            '(' | '[' | '{' => self.push(TokenKind::Open, 1),
            ')' | ']' | '}' => self.push(TokenKind::Close, 1),
            // "5 & 6"
            '&' if before.is_some_and(char::is_whitespace)
                && next.is_some_and(char::is_whitespace) =>
            {
                self.push(TokenKind::Word, 1);
            }
            ',' | '，' | '、' | ';' | '；' => self.push(TokenKind::Separator, length),
            '.' | '。' | '．' | '।' | '?' | '？' => self.push(TokenKind::Stop, length),
            '%' | '％' | '‰' | '°' | '′' | '″' | '℃' | '℉' => {
                self.push(TokenKind::Suffix, length);
            }
            '$' | '€' | '£' | '¥' | '￥' | '₹' | '₽' | '₩' | '¢' => {
                // Two or more dollars are an unmatched display delimiter, not a price.
                let run = rest.len() - rest.trim_start_matches('$').len();
                if run > 1 {
                    self.push(TokenKind::Other, run);
                } else {
                    self.push(TokenKind::Currency, length);
                }
            }
            _ => self.push(TokenKind::Other, length),
        }
    }

    /// Reads stars. `*` is a product between operands (`2*3`) or between blanks (`79 * 2`), but not
    /// at the start of a line, where it is a list item. `**` is a power only between an operand and
    /// a digit, a bracket or a sign (`9**9`). Every other star is emphasis and is skipped.
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
            .is_none_or(|token| token.kind == TokenKind::Stop);
        let multiplies = run == 1 && !opens_line && (spaced || operand(before) && operand(after));
        let raises = run == 2
            && operand(before)
            && after.is_some_and(|c| c.is_ascii_digit() || "(-".contains(c));
        if multiplies || raises {
            self.push(TokenKind::Operator, run);
        } else {
            self.at += run;
        }
    }
}

/// Length of the tag of a formatted text at the start of `rest`, if the text is closed.
fn opening_tag(rest: &str) -> Option<usize> {
    /// The text is at most as long as a long answer.
    const MAX_BYTES: usize = 256;
    let name = ["b", "i", "u", "em", "strong", "span", "mark", "code"]
        .into_iter()
        .find(|name| rest[1..].starts_with(name) && rest[1 + name.len()..].starts_with('>'))?;
    let length = name.len() + 2;
    let close = head(&rest[length..], MAX_BYTES).find("</")? + length + 2;
    rest[close..].starts_with(name).then_some(length)
}

/// Length of the Chinese and Japanese words for powers of ten after digits, which end with ten
/// thousand or a hundred million: "5*千万*". 0 if there are none: "5*千*克" is a weight.
fn myriads_length(after: &str) -> usize {
    after
        .char_indices()
        .take_while(|(_, c)| "百千万萬亿億".contains(*c))
        .filter(|(_, c)| "万萬亿億".contains(*c))
        .last()
        .map_or(0, |(at, c)| at + c.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<&str> {
        let lexed = Lexed::read(text);
        (0..lexed.tokens.len())
            .filter(|index| lexed.tokens[*index].kind == TokenKind::Number)
            .map(|index| lexed.str(index))
            .collect()
    }

    #[test]
    fn keeps_grouping_decimals_and_exponent_of_numbers() {
        for number in [
            "3,870.25", "2,418.36", "6,15", "1.602e19", "0.333...", "12{,}000", "3.5E-7", ".5",
            "½", "１２",
        ] {
            assert_eq!(numbers(&format!("it is {number} now")), [number]);
        }
        assert_eq!(numbers("It is 5. And 6, 7."), ["5", "6", "7"]);
        assert_eq!(numbers("It is 2e or 3euro."), ["2", "3"]);
        assert_eq!(numbers("答案是.7"), [".7"]);
    }

    #[test]
    fn treats_numbers_inside_words_and_labels_as_words() {
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
    fn distinguishes_products_and_powers_from_emphasis() {
        let operators = |text| {
            let lexed = Lexed::read(text);
            lexed
                .tokens
                .iter()
                .filter(|token| token.kind == TokenKind::Operator)
                .count()
        };
        assert_eq!(operators("79 * 2"), 1);
        assert_eq!(operators("9**9"), 1);
        assert_eq!(operators("is **92**."), 0);
        assert_eq!(operators("* item"), 0);
    }

    #[test]
    fn includes_arguments_in_their_command() {
        let lexed = Lexed::read(r"so \frac{1}{\sqrt{2}} and \sqrt[3]{5}");
        let commands: Vec<&str> = (0..lexed.tokens.len())
            .filter(|index| lexed.tokens[*index].kind == TokenKind::Command)
            .map(|index| lexed.str(index))
            .collect();
        assert_eq!(commands, [r"\frac{1}{\sqrt{2}}", r"\sqrt[3]{5}"]);
    }
}
