//! Extracts the constants of golds and derives values near them. Rows on both sides of a constant
//! distinguish queries.

use crate::statement::{Token, TokenKind, tokens};
use crate::task::Dialect;

/// Maximum number of values of each type.
const MAX_CONSTANTS: usize = 64;

/// The constants of statements, and values near them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Constants {
    pub(crate) integers: Vec<i64>,
    pub(crate) reals: Vec<f64>,
    pub(crate) texts: Vec<NearText>,
    /// The largest `LIMIT` or `OFFSET`.
    pub(crate) limit: usize,
}

/// A text derived from a constant. The constant determines the columns in which the text may be
/// used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NearText {
    pub(crate) text: String,
    pub(crate) constant: String,
}

/// Extracts the constants of statements.
pub(crate) fn constants_of<'a>(
    statements: impl IntoIterator<Item = &'a str>,
    dialect: Dialect,
) -> Constants {
    let mut found = Constants::default();
    for statement in statements {
        let all = tokens(statement, dialect);
        let mut open: Vec<usize> = Vec::new();
        for (at, token) in all.iter().enumerate() {
            open.truncate(token.depth);
            let is_argument = open.last().is_some_and(|open| is_call(&all, *open));
            if token.text == "(" {
                open.push(at);
            }
            // An argument of a function is rarely a value of a column: it is a format, for example,
            // or a number of digits.
            if is_argument {
                continue;
            }
            let before = |back: usize| at.checked_sub(back).and_then(|at| all.get(at));
            match token.kind {
                TokenKind::Number => {
                    let negative = before(1).is_some_and(|sign| sign.text == "-")
                        && before(2).is_none_or(|value| {
                            !matches!(
                                value.kind,
                                TokenKind::Word | TokenKind::Number | TokenKind::Quoted
                            )
                        });
                    let text = if negative {
                        format!("-{}", token.text)
                    } else {
                        token.text.to_owned()
                    };
                    if before(1).is_some_and(|word| word.is("limit") || word.is("offset")) {
                        found.limit = found.limit.max(text.parse().unwrap_or_default());
                    } else {
                        found.number(&text);
                    }
                }
                TokenKind::Text => {
                    let pattern = before(1)
                        .is_some_and(|word| word.is("like") || word.is("glob") || word.is("ilike"));
                    found.text(&token.content(), pattern);
                }
                // In SQLite, a string may be in double quotes.
                TokenKind::Quoted if dialect == Dialect::Sqlite && token.text.starts_with('"') => {
                    let inside = token.text.trim_matches('"').replace("\"\"", "\"");
                    let pattern = before(1).is_some_and(|word| word.is("like") || word.is("glob"));
                    found.text(&inside, pattern);
                }
                TokenKind::Word | TokenKind::Quoted | TokenKind::Symbol => {}
            }
        }
    }
    found
}

/// Words before a parenthesis that are not names of functions.
const NOT_FUNCTIONS: &[&str] = &[
    "in",
    "values",
    "and",
    "or",
    "not",
    "where",
    "on",
    "having",
    "when",
    "then",
    "else",
    "select",
    "from",
    "join",
    "as",
    "exists",
    "between",
    "like",
    "case",
    "by",
    "over",
    "union",
    "all",
    "except",
    "intersect",
    "limit",
    "using",
    "is",
    "set",
    "distinct",
];

/// Whether this opening parenthesis belongs to a function call.
fn is_call(all: &[Token<'_>], open: usize) -> bool {
    let before = open.checked_sub(1).map(|before| &all[before]);
    before.is_some_and(|name| {
        name.kind == TokenKind::Word && !NOT_FUNCTIONS.iter().any(|word| name.is(word))
    })
}

impl Constants {
    fn number(&mut self, text: &str) {
        if let Ok(integer) = text.parse::<i64>() {
            for near in [
                integer,
                integer.saturating_sub(1),
                integer.saturating_add(1),
            ] {
                add(&mut self.integers, near);
            }
        }
        if let Ok(real) = text
            .parse::<f64>()
            .map_err(drop)
            .and_then(|real| if real.is_finite() { Ok(real) } else { Err(()) })
        {
            // Offsets: one unit of the last written digit, a fraction of it, and 10 %.
            let decimals = text
                .split_once('.')
                .map_or(0, |(_, fraction)| fraction.len().min(9));
            // At most nine.
            let unit = 10f64.powi(-(decimals as i32));
            for near in [
                real,
                real - unit,
                real + unit,
                real + unit / 1_000.0,
                real - unit / 2.0,
                real * 1.1,
                real * 0.9,
            ] {
                let rounded = (near * 1e6).round() / 1e6;
                // Rounding overflows for large numbers, which have no decimals at that scale.
                let near = if rounded.is_finite() { rounded } else { near };
                if near.is_finite() {
                    add(&mut self.reals, near);
                }
            }
        }
    }

    fn text(&mut self, text: &str, pattern: bool) {
        let (upper, lower) = (text.to_uppercase(), text.to_lowercase());
        let near = if pattern {
            // Patterns with character sets are skipped: deriving a match is not worth the effort.
            if text.contains('[') {
                return;
            }
            // Texts that match the pattern, with wildcards replaced by nothing and by characters,
            // and texts that may not match it.
            let literal =
                |any: &str, one: &str| text.replace(['%', '*'], any).replace(['_', '?'], one);
            let shortest = literal("", "a");
            let swapped = if shortest == shortest.to_lowercase() {
                shortest.to_uppercase()
            } else {
                shortest.to_lowercase()
            };
            vec![
                shortest,
                literal("b", "c"),
                format!("d{}", literal("", "a")),
                format!("{}e", literal("", "a")),
                swapped,
            ]
        } else {
            let swapped = if text == lower { upper } else { lower };
            vec![
                text.to_owned(),
                text.to_owned(),
                swapped,
                format!("{text}s"),
            ]
        };
        for text_near in near {
            add(
                &mut self.texts,
                NearText {
                    text: text_near,
                    constant: text.to_owned(),
                },
            );
        }
    }
}

fn add<T: PartialEq>(to: &mut Vec<T>, value: T) {
    if to.len() < MAX_CONSTANTS && !to.contains(&value) {
        to.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignores_arguments_of_functions() {
        let found = constants_of(
            ["select strftime('%Y', a), round(b, 2) from t where a in ('x') and (b > 7)"],
            Dialect::Sqlite,
        );
        let texts: Vec<&str> = found.texts.iter().map(|near| near.text.as_str()).collect();
        assert_eq!(
            (texts, found.integers),
            (vec!["x", "X", "xs"], vec![7, 6, 8])
        );
    }

    #[test]
    fn parentheses_end_function_arguments() {
        let found = constants_of(
            ["select f(g(1), 2, (3)) + 4 from t where (a) > 5) and f(6"],
            Dialect::Sqlite,
        );
        assert_eq!(found.integers, [3, 2, 4, 5, 6]);
    }

    #[test]
    fn large_constants_stay_finite() {
        let found = constants_of(
            ["select a from t where a > 1.7e308 and a < 1e400"],
            Dialect::Sqlite,
        );
        assert!(found.reals.contains(&1.7e308) && found.reals.iter().all(|real| real.is_finite()));
    }

    #[test]
    fn derives_values_near_constants() {
        let sql =
            "select a-1 from t where a > 30 and b = -2.5 and c like '%x_' and d = 'Ann' limit 7";
        let found = constants_of([sql], Dialect::Sqlite);
        assert_eq!(found.integers, [1, 0, 2, 30, 29, 31]);
        assert!(
            found.reals.contains(&-2.5)
                && found.reals.contains(&-2.6)
                && found.reals.contains(&30.001)
        );
        let texts: Vec<&str> = found.texts.iter().map(|near| near.text.as_str()).collect();
        assert_eq!(
            texts,
            ["xa", "bxc", "dxa", "xae", "XA", "Ann", "ann", "Anns"]
        );
        assert_eq!(found.limit, 7);
    }
}
