//! Calculations in solutions: equations of numbers, such as `3 * 4 = 12` or `<<3*4=12>>`.
//!
//! An equation is only read if nothing around it could belong to it: no variable, no unit, no
//! operator. Its value may be rounded to the last digit that is written.

/// Maximum number of characters on the left of an equation.
const MAX_LEFT: usize = 120;

/// An equation whose sides differ.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slip {
    /// The equation, as written.
    pub(crate) equation: String,
    /// The value of its left side.
    pub(crate) value: f64,
}

/// The calculations of a text.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Calculations {
    /// The right side of the last equation.
    pub(crate) last: Option<f64>,
    /// The first equation whose sides differ.
    pub(crate) slip: Option<Slip>,
}

/// Reads the equations of a text.
pub(crate) fn calculations(text: &str) -> Calculations {
    let mut found = Calculations::default();
    if !text.contains('=') {
        return found;
    }
    let text = plain_operators(text);
    for (at, _) in text.match_indices('=') {
        let Some((left, value)) = left_side(&text[..at]) else {
            continue;
        };
        let Some((right, decimals)) = right_side(&text[at + 1..]) else {
            continue;
        };
        found.last = Some(right);
        let unit = 10f64.powi(-decimals);
        let is_equal = (value - right).abs() <= unit * (1.0 + 1e-9)
            && (decimals > 0 || !is_whole(value))
            || (value - right).abs() <= 1e-9 * value.abs().max(1.0);
        if !is_equal && found.slip.is_none() {
            let end = at
                + 1
                + text[at + 1..]
                    .find(|c: char| {
                        !matches!(c, ' ' | '-' | '.' | ',' | '$') && !c.is_ascii_digit()
                    })
                    .unwrap_or(text.len() - at - 1);
            let right = text[at + 1..end].trim_matches(['.', ',', ' ', '$']);
            let equation = format!("{left} = {right}");
            found.slip = Some(Slip { equation, value });
        }
    }
    found
}

fn is_whole(value: f64) -> bool {
    value.fract().abs() < 1e-9
}

/// The text with one character for each operator, and without currency signs.
fn plain_operators(text: &str) -> String {
    let mut plain = text.to_owned();
    if text.is_ascii() && !text.contains(['\\', '$']) {
        return plain;
    }
    for (from, to) in [
        ("\\times", "*"),
        ("\\cdot", "*"),
        ("\\div", "/"),
        ("×", "*"),
        ("÷", "/"),
        ("−", "-"),
        ("\\$", ""),
        ("$", ""),
        ("£", ""),
        ("€", ""),
    ] {
        if plain.contains(from) {
            plain = plain.replace(from, to);
        }
    }
    plain
}

/// The expression that ends at the end of `text`, and its value.
fn left_side(text: &str) -> Option<(&str, f64)> {
    if text.ends_with(['=', '<', '>', '!', '≈', '≠', '≤', '≥', ':']) {
        return None;
    }
    let is_part = |c: char| {
        c.is_ascii_digit() || matches!(c, '+' | '-' | '*' | '/' | '(' | ')' | '.' | ',' | ' ' | '%')
    };
    let mut start = text.len();
    for (at, c) in text.char_indices().rev().take(MAX_LEFT) {
        if !is_part(c) {
            break;
        }
        start = at;
    }
    let before = text[..start].trim_end();
    let expression = text[start..].trim();
    // A word before an expression with an operator at its start, and anything that may be a part of
    // the expression, makes it another one.
    let touches = before.ends_with(|c: char| {
        matches!(
            c,
            '^' | '_'
                | '\\'
                | '}'
                | '{'
                | ']'
                | '['
                | '|'
                | '!'
                | '√'
                | '°'
                | '&'
                | '·'
                | '∙'
                | '\''
        )
    });
    let is_apart = [" ", ", ", ". "]
        .iter()
        .any(|gap| text[start..].starts_with(gap));
    let is_list = expression.starts_with(", ");
    let joined = !is_apart && before.ends_with(|c: char| c.is_alphanumeric())
        || !is_list
            && before.ends_with(|c: char| c.is_alphanumeric())
            && expression.starts_with(['+', '-', '*', '/', '(', ')', '%', ',']);
    // The end of a sentence or a list may precede the expression.
    let expression = expression
        .rsplit([','])
        .next()
        .filter(|part| part.starts_with(' '))
        .unwrap_or(expression);
    let expression = expression.rsplit(". ").next().unwrap_or(expression).trim();
    if touches || joined || expression.len() == text.len() && text.len() >= MAX_LEFT {
        return None;
    }
    let has_operator = expression
        .trim_start_matches('-')
        .contains(['+', '-', '*', '/']);
    let mut parser = Parser { rest: expression };
    let value = parser.sum()?;
    (has_operator && parser.rest.trim().is_empty() && value.is_finite())
        .then_some((expression, value))
}

/// The number at the start of `text`, and how many decimals it has. `None` if more follows it that
/// belongs to the value.
fn right_side(text: &str) -> Option<(f64, i32)> {
    let text = text.trim_start_matches(' ');
    let length = text
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || matches!(c, '.' | ',') || *at == 0 && *c == '-'))
        .map_or(text.len(), |(at, _)| at);
    let number = text[..length].trim_end_matches(['.', ',']);
    let after = &text[number.len()..];
    let value: f64 = number.replace(',', "").parse().ok()?;
    let next = after.trim_start_matches(' ');
    let continues = after.starts_with(|c: char| {
        c.is_alphanumeric() || matches!(c, '_' | '^' | '\\' | '%' | '!' | '{' | '(' | ':' | '…')
    }) || after.starts_with("..")
        || next.starts_with(['+', '-', '*', '/', '%', '^', '×', '(', '\\'])
        || next.to_ascii_lowercase().starts_with("mod")
        || next.to_ascii_lowercase().starts_with("remainder")
        || next.starts_with("R ");
    let decimals = number
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    (!continues).then_some((value, i32::try_from(decimals).ok()?))
}

/// Parses sums of products of numbers.
struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn next(&mut self, operators: &[char]) -> Option<char> {
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next().filter(|c| operators.contains(c))?;
        self.rest = &self.rest[1..];
        Some(first)
    }

    fn sum(&mut self) -> Option<f64> {
        let mut value = self.product()?;
        while let Some(operator) = self.next(&['+', '-']) {
            let other = self.product()?;
            value = if operator == '+' {
                value + other
            } else {
                value - other
            };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<f64> {
        let mut value = self.factor()?;
        while let Some(operator) = self.next(&['*', '/']) {
            let other = self.factor()?;
            if operator == '/' && other == 0.0 {
                return None;
            }
            value = if operator == '*' {
                value * other
            } else {
                value / other
            };
        }
        Some(value)
    }

    fn factor(&mut self) -> Option<f64> {
        if self.next(&['-']).is_some() {
            return Some(-self.number()?);
        }
        if self.next(&['(']).is_some() {
            let value = self.sum()?;
            return self.next(&[')']).map(|_| value);
        }
        self.number()
    }

    fn number(&mut self) -> Option<f64> {
        self.rest = self.rest.trim_start();
        let length = self
            .rest
            .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','))
            .unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(length);
        let value: f64 = number.replace(',', "").parse().ok()?;
        let (value, rest) = rest
            .strip_prefix('%')
            .map_or((value, rest), |rest| (value / 100.0, rest));
        self.rest = rest;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::calculations;

    #[test]
    fn finds_equations_that_are_wrong() {
        for (text, value) in [
            ("So 3 * 4 = 13 apples", 12.0),
            ("<<3*4=13>>13", 12.0),
            ("He has $5 + $7 = $13.", 12.0),
            ("2 \\times (3 + 4) = 15", 14.0),
            ("First, 20 - 5 = 14. Then more", 15.0),
            ("20% * 50 = 11", 10.0),
        ] {
            let slip = calculations(text).slip;
            assert_eq!(slip.map(|slip| slip.value), Some(value), "{text}");
        }
    }

    #[test]
    fn accepts_right_and_rounded_equations() {
        for text in [
            "3 * 4 = 12",
            "10 / 3 = 3.33",
            "10/3 = 3",
            "7 / 2 = 3.5",
            "1,200 + 34 = 1,234",
            "2 + 2 = 4.",
            "In 2019, 3 + 4 = 7",
            "5 - 8 = -3",
            "20% * 50 = 10",
        ] {
            let found = calculations(text);
            assert_eq!(found.slip, None, "{text}");
            assert!(found.last.is_some(), "{text}");
        }
    }

    #[test]
    fn leaves_what_is_not_an_equation_of_numbers() {
        for text in [
            "x + 3 = 5",
            "3x + 3 = 9",
            "f(2) = 5",
            "2^3 = 8",
            "17 + 1 = 3 (mod 5)",
            "3 + 4 = 5x",
            "5! / 3 = 41",
            "2 + 3 == 6",
            "1 1/2 + 1 = 3",
            "2 + 3 = 4 + 1",
            "12_8 + 1 = 3",
            "a = 5",
            "√4 + 1 = 4",
            "x = y - 3 + 1 = 9",
            "10 / 3 = 3 remainder 1",
            "6 cm * 4 = 25 cm",
            "(2 + 3 = 6",
            "\\frac{1}{2} + 1 = 3",
        ] {
            assert_eq!(calculations(text).slip, None, "{text}");
        }
    }
}
