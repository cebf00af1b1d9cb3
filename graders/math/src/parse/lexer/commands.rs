//! Tokens that begin with a backslash: escapes, commands with their arguments, environments.

use super::super::names::{self, Meaning};
use super::super::token::{Kind, Shape};
use super::{LONGEST_ARGUMENT, LONGEST_NAME, Lexer};

impl<'a> Lexer<'a> {
    pub(super) fn backslash(&mut self) {
        let rest = self.rest();
        let Some(next) = rest.get(1..).and_then(|after| after.chars().next()) else {
            return self.skip(1);
        };
        if next.is_ascii_alphabetic() {
            let after = rest.get(1..).unwrap_or_default();
            let len = after
                .find(|c: char| !c.is_ascii_alphabetic())
                .unwrap_or(after.len());
            return self.command(after.get(..len).unwrap_or_default());
        }
        match next {
            '\\' => {
                let after = rest.get(2..).unwrap_or_default();
                let len = after
                    .find(|c: char| !c.is_ascii_alphabetic())
                    .unwrap_or(after.len());
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
                        && rest.get(1..end).is_some_and(|size| {
                            size.ends_with("pt") || size.ends_with("em") || size.ends_with("ex")
                        })
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
                // `\quadx`: use the longest prefix that is a command.
                None if known.len() > 2 && self.prefix_lookups > 0 => {
                    self.prefix_lookups -= 1;
                    known = known.get(..known.len() - 1).unwrap_or_default();
                }
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
                // A styled single letter loses its braces.
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

    /// The range inside the braces that start here, white space before them skipped; `at` is moved
    /// to the brace.
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
        if inner.is_empty() || inner == "." {
            self.at = after;
            self.spaced = true;
            return;
        }
        let kind = if let Some(text) = ordinal(inner) {
            Some(Kind::Number { text, point: None })
        } else if inner == "mod" {
            Some(Kind::Command("mod"))
        } else if inner.len() == 1 && inner.bytes().all(|b| b.is_ascii_alphabetic()) {
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
            // Mathematics in a text command, as in `\text{13}`: keep the braces as a group.
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
        // Each line of these environments is a statement.
        if matches!(
            name.trim_end_matches('*'),
            "align"
                | "aligned"
                | "alignat"
                | "gathered"
                | "equation"
                | "gather"
                | "split"
                | "multline"
                | "eqnarray"
        ) {
            self.alignments = if begins {
                self.alignments + 1
            } else {
                self.alignments.saturating_sub(1)
            };
            return;
        }
        if begins {
            self.environments += 1;
            // `\begin{array}{c|c}`
            if let Some((from, to)) = self.braced() {
                let columns = self.text.get(from..to).unwrap_or_default();
                let is_spec = name.starts_with("array") || name.starts_with("tabular");
                if is_spec
                    && columns
                        .bytes()
                        .all(|b| matches!(b, b'l' | b'c' | b'r' | b'|' | b' ' | b'@' | b'{' | b'}'))
                {
                    self.at = to + 1;
                }
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

/// The digits of an ordinal such as `21st`.
fn ordinal(text: &str) -> Option<&str> {
    let digits = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|suffix| text.strip_suffix(suffix))?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}
