//! Number tokens: points, groups of three, powers of ten, the one-digit arguments of `\frac`.

use super::super::token::Kind;
use super::super::{call, names};
use super::{Commas, Lexer};

impl Lexer<'_> {
    pub(super) fn point(&mut self) {
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

    /// Whether the number is the power of a function's command. As in LaTeX, it is one digit:
    /// `\sin^22x` is sin²(2x).
    fn raises_command(&self) -> bool {
        let [.., function, caret] = self.tokens.as_slice() else {
            return false;
        };
        let (Kind::Command(name) | Kind::Word(name)) = function.kind else {
            return false;
        };
        caret.kind == Kind::Caret
            && self.text[function.start..].starts_with('\\')
            && names::function(name).is_some()
    }

    pub(super) fn number(&mut self) {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        if (self.argument_started() || self.raises_command()) && bytes.first() != Some(&b'.') {
            let text = rest.get(..1).unwrap_or_default();
            self.push(Kind::Number { text, point: None }, 1);
            return;
        }
        if self.names_with_digits() {
            // `x1` is x with an index.
            self.push(Kind::Underscore, 0);
        }
        if let Some(len) = based(bytes) {
            return self.push(
                Kind::Number {
                    text: rest.get(..len).unwrap_or_default(),
                    point: None,
                },
                len,
            );
        }
        let digits = |from: usize| {
            bytes
                .get(from..)
                .unwrap_or_default()
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .count()
        };
        let mut len = digits(0);
        if (1..=3).contains(&len) && bytes.first() != Some(&b'0') {
            len = self.grouped(rest, len);
        }
        if let Some((whole, all)) = continental(bytes) {
            let point = (whole < all).then_some(whole);
            return self.push(
                Kind::Number {
                    text: rest.get(..all).unwrap_or_default(),
                    point,
                },
                all,
            );
        }
        let mut point = None;
        let is_point = bytes.get(len) == Some(&b'.')
            || bytes.get(len) == Some(&b',') && self.commas == Commas::Decimal;
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
        // `1./2` and `\frac{1.}{3}`
        if point.is_none()
            && bytes.get(len) == Some(&b'.')
            && bytes.get(len + 1).is_some_and(ends_number)
        {
            self.at += 1;
        }
    }

    /// Whether the digits follow a letter without a blank, and the letter does not follow a number:
    /// `x1`, `C2H4`, `log2`, but not `3x10`.
    fn names_with_digits(&self) -> bool {
        let kind = |back: usize| {
            self.tokens
                .len()
                .checked_sub(back)
                .and_then(|at| self.tokens.get(at))
                .map(|token| token.kind)
        };
        let glued = self.tokens.last().is_some_and(|token| token.end == self.at) && !self.spaced;
        let Some(Kind::Word(word)) = kind(1).filter(|_| glued) else {
            return false;
        };
        let named = word == "log"
            || call::is_run(word)
            || word.len() == 1 && !matches!(word, "e" | "i" | "d");
        let counted =
            matches!(kind(2), Some(Kind::Number { .. })) && kind(3) != Some(Kind::Underscore);
        // `n2^n` is n times a power of two.
        let whole = !self
            .rest()
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .starts_with(['.', '^']);
        named && !counted && whole && !matches!(kind(2), Some(Kind::Caret | Kind::Underscore))
    }

    /// Length of the number that starts with `len` digits, including its groups of three.
    fn grouped(&mut self, rest: &str, len: usize) -> usize {
        const SEPARATORS: &[&str] = &[
            "{,}",
            "{, }",
            " {, }",
            " {,} ",
            ",\\!",
            "\\!,\\!",
            "\\!,",
            "{,\\!}",
            "{\\,}",
            "\\text{,}",
            "\\mathord{,}",
            "\\,",
            "\\;",
            "\\ ",
            "~",
            "'",
            "’",
            "\u{a0}",
            "\u{202f}",
            "\u{2009}",
            ",",
            " ",
        ];
        let next = rest.as_bytes().get(len);
        if !next.is_some_and(|next| {
            matches!(next, b'{' | b',' | b'\\' | b' ' | b'~' | b'\'') || !next.is_ascii()
        }) {
            return len;
        }
        for separator in SEPARATORS
            .iter()
            .filter(|separator| separator.as_bytes().first() == next)
        {
            let plain = *separator == ",";
            // `005` is not written for 5: such digits are the thousands of a number.
            let zeros = rest.get(len..).is_some_and(|tail| {
                tail.starts_with(",0")
                    && tail
                        .bytes()
                        .skip(1)
                        .take(4)
                        .take_while(u8::is_ascii_digit)
                        .count()
                        == 3
            });
            if plain
                && (self.commas == Commas::Decimal
                    || (self.commas == Commas::Separate || self.bracket_depth > 0) && !zeros)
            {
                continue;
            }
            if separator.contains(',') && len < 3 {
                let end = lakhs(rest, separator);
                if end > 0 {
                    self.joined_by_comma |= plain;
                    return end;
                }
            }
            let mut end = len;
            loop {
                let group = rest.get(end..).unwrap_or_default();
                let Some(mut after) = group.strip_prefix(separator) else {
                    break;
                };
                let mut width = separator.len();
                // `11,\! 111`: white space after the command is ignored.
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
}

/// Whether a point before this byte ends a number without decimals.
fn ends_number(byte: &u8) -> bool {
    matches!(
        byte,
        b'/' | b'*' | b'+' | b'-' | b'^' | b')' | b'}' | b',' | b';'
    )
}

/// Length of the number at the start of a text with one group of three digits at its end and groups
/// of two before it, as in India: `12,34,567`. 0 if it has fewer than two separators.
fn lakhs(rest: &str, separator: &str) -> usize {
    let digits = |at: usize| {
        rest.get(at..)
            .unwrap_or_default()
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count()
    };
    let mut end = digits(0);
    let mut groups = 0;
    while (1..=2).contains(&end) || groups > 0 {
        let tail = rest.get(end..).unwrap_or_default();
        if !tail.starts_with(separator) {
            return 0;
        }
        let from = end + separator.len();
        end = from + digits(from);
        groups += 1;
        match digits(from) {
            2 => {}
            3 if groups > 1 => {
                let more = rest.get(end..).unwrap_or_default();
                return if more.starts_with(separator) { 0 } else { end };
            }
            _ => return 0,
        }
    }
    0
}

/// Length of a numeral with a base prefix, as in programs: `0xFF`, `0b1010`, `0o17`.
fn based(bytes: &[u8]) -> Option<usize> {
    let (b'0', letter) = (*bytes.first()?, *bytes.get(1)?) else {
        return None;
    };
    let base = match letter {
        b'x' | b'X' => 16,
        b'o' | b'O' => 8,
        b'b' | b'B' => 2,
        _ => return None,
    };
    let digits = bytes
        .iter()
        .skip(2)
        .take_while(|byte| char::from(**byte).is_digit(base))
        .count();
    let ends = !bytes
        .get(2 + digits)
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'.');
    (digits > 0 && ends).then_some(2 + digits)
}

/// The text without the points in numbers such as `1.250`, where they may separate thousands;
/// `None` if there are none.
pub(crate) fn with_points_between_thousands(text: &str) -> Option<String> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut out = String::with_capacity(text.len());
    let mut found = false;
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        let whole = digits(number);
        let tail = number.get(whole..).unwrap_or_default();
        let fraction = tail.strip_prefix('.').map_or(0, digits);
        let end = tail.get(1 + fraction..).unwrap_or_default();
        let groups = (1..=3).contains(&whole) && !number.starts_with('0') && fraction == 3;
        let width = if fraction > 0 {
            whole + 1 + fraction
        } else {
            whole
        };
        let (literal, after) = number.split_at(width);
        let goes_on = end.starts_with(['.', ',']) && digits(end.get(1..).unwrap_or_default()) > 0;
        let alone = !goes_on && !before.ends_with(['.', ',']);
        out.push_str(before);
        if groups && alone {
            found = true;
            out.extend(literal.chars().filter(|c| *c != '.'));
        } else {
            out.push_str(literal);
        }
        rest = after;
    }
    out.push_str(rest);
    found.then_some(out)
}

/// Lengths of the integer part and of the whole of a number with points between thousands, as in
/// `1.234.567` or `12.345,67`.
fn continental(bytes: &[u8]) -> Option<(usize, usize)> {
    let digits = |from: usize| {
        bytes
            .get(from..)
            .unwrap_or_default()
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let mut whole = digits(0);
    if !(1..=3).contains(&whole) || bytes.first() == Some(&b'0') {
        return None;
    }
    let mut groups = 0;
    while bytes.get(whole) == Some(&b'.') && digits(whole + 1) == 3 {
        whole += 4;
        groups += 1;
    }
    let places = if bytes.get(whole) == Some(&b',') {
        digits(whole + 1)
    } else {
        0
    };
    let all = if places > 0 && places != 3 {
        whole + 1 + places
    } else {
        whole
    };
    let ends = !matches!(bytes.get(all), Some(b'.' | b',') if bytes.get(all + 1).is_some_and(u8::is_ascii_digit));
    (ends && (groups > 1 || groups == 1 && all > whole)).then_some((whole, all))
}
