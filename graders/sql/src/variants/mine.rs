//! What a gold compares with: rows that matter are those on either side of its constants.

use crate::statement::{Kind, Token, tokens};
use crate::task::Dialect;

/// Most constants of one kind that are kept.
const MOST: usize = 64;

/// The constants of some statements, and what stands close to them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Constants {
    pub(crate) integers: Vec<i64>,
    pub(crate) reals: Vec<f64>,
    pub(crate) texts: Vec<String>,
    /// The most rows that a `LIMIT` or `OFFSET` speaks of.
    pub(crate) limit: usize,
}

/// Mines statements for constants.
pub(crate) fn mine<'a>(statements: impl IntoIterator<Item = &'a str>, dialect: Dialect) -> Constants {
    let mut found = Constants::default();
    for statement in statements {
        let all = tokens(statement, dialect);
        for (at, token) in all.iter().enumerate() {
            // What is handed to a function is no value of a row: a format, a number of places.
            if is_argument(&all, at) {
                continue;
            }
            let before = |back: usize| at.checked_sub(back).and_then(|at| all.get(at));
            match token.kind {
                Kind::Number => {
                    let negative = before(1).is_some_and(|sign| sign.text == "-")
                        && before(2)
                            .is_none_or(|value| !matches!(value.kind, Kind::Word | Kind::Number | Kind::Quoted));
                    let text = if negative { format!("-{}", token.text) } else { token.text.to_owned() };
                    if before(1).is_some_and(|word| word.is("limit") || word.is("offset")) {
                        found.limit = found.limit.max(text.parse().unwrap_or_default());
                    } else {
                        found.number(&text);
                    }
                }
                Kind::Text => {
                    let pattern = before(1).is_some_and(|word| word.is("like") || word.is("glob") || word.is("ilike"));
                    found.text(&token.content(), pattern);
                }
                // In SQLite a text may stand in the quotes of a name.
                Kind::Quoted if dialect == Dialect::Sqlite && token.text.starts_with('"') => {
                    let inside = token.text.trim_matches('"').replace("\"\"", "\"");
                    let pattern = before(1).is_some_and(|word| word.is("like") || word.is("glob"));
                    found.text(&inside, pattern);
                }
                Kind::Word | Kind::Quoted | Kind::Symbol => {}
            }
        }
    }
    found.integers.truncate(MOST);
    found.reals.truncate(MOST);
    found.texts.truncate(MOST);
    found
}

/// Words before a parenthesis that are no function's name.
const NO_FUNCTIONS: &[&str] = &[
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

/// Whether a token stands in the parentheses of a function.
fn is_argument(all: &[Token<'_>], at: usize) -> bool {
    let depth = all[at].depth;
    let open = all[..at].iter().rposition(|token| token.text == "(" && token.depth + 1 == depth);
    let before = open.and_then(|open| open.checked_sub(1)).map(|before| &all[before]);
    before.is_some_and(|name| name.kind == Kind::Word && !NO_FUNCTIONS.iter().any(|word| name.is(word)))
}

impl Constants {
    fn number(&mut self, text: &str) {
        if let Ok(integer) = text.parse::<i64>() {
            for near in [integer, integer.saturating_sub(1), integer.saturating_add(1)] {
                add(&mut self.integers, near);
            }
        }
        if let Ok(real) =
            text.parse::<f64>().map_err(drop).and_then(|real| if real.is_finite() { Ok(real) } else { Err(()) })
        {
            for near in [real, real - 0.5, real + 0.5] {
                add(&mut self.reals, near);
            }
        }
    }

    fn text(&mut self, text: &str, pattern: bool) {
        if !pattern {
            add(&mut self.texts, text.to_owned());
            let (upper, lower) = (text.to_uppercase(), text.to_lowercase());
            add(&mut self.texts, if text == lower { upper } else { lower });
            return;
        }
        // What fits the pattern, at its barest and with something in every gap, and what does not.
        let literal = |any: &str, one: &str| text.replace(['%', '*'], any).replace(['_', '?'], one);
        for fits in
            [literal("", "a"), literal("b", "c"), format!("d{}", literal("", "a")), format!("{}e", literal("", "a"))]
        {
            add(&mut self.texts, fits);
        }
    }
}

fn add<T: PartialEq>(to: &mut Vec<T>, value: T) {
    if !to.contains(&value) {
        to.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_no_constants() {
        let found =
            mine(["select strftime('%Y', a), round(b, 2) from t where a in ('x') and (b > 7)"], Dialect::Sqlite);
        assert_eq!((found.texts, found.integers), (vec!["x".to_owned(), "X".to_owned()], vec![7, 6, 8]));
    }

    #[test]
    fn constants_come_with_their_neighbours() {
        let sql = "select a-1 from t where a > 30 and b = -2.5 and c like '%x_' and d = 'Ann' limit 7";
        let found = mine([sql], Dialect::Sqlite);
        assert_eq!(found.integers, [1, 0, 2, 30, 29, 31]);
        assert!(found.reals.contains(&-2.5) && found.reals.contains(&-3.0));
        assert_eq!(found.texts, ["xa", "bxc", "dxa", "xae", "Ann", "ann"]);
        assert_eq!(found.limit, 7);
    }
}
