//! Finds nondeterminism in a statement: random functions, and ties that a limit or a window
//! function may split.

use super::lex::{Token, tokens};
use crate::task::Dialect;

/// Window functions that distinguish tied rows.
const NUMBERING_FUNCTIONS: &[&str] = &[
    "row_number",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
];

/// Functions with random values.
const RANDOM_FUNCTIONS: &[&str] = &[
    "random",
    "randomblob",
    "gen_random_uuid",
    "uuid_generate_v4",
];

/// Whether a statement calls a random function.
pub(crate) fn is_random(sql: &str, dialect: Dialect) -> bool {
    let all = tokens(sql, dialect);
    all.windows(2).any(|pair| {
        pair[1].text == "(" && RANDOM_FUNCTIONS.iter().any(|function| pair[0].is(function))
    })
}

/// The statement with its ties in another order, and in the reverse of that order; `None` if its
/// result cannot depend on the order of ties.
///
/// Scanning tables backwards does not detect such ties, because SQLite scans forwards for a
/// statement that sorts.
pub(crate) fn shuffled(sql: &str, dialect: Dialect) -> Option<[String; 2]> {
    let all = tokens(sql, dialect);
    let mut positions: Vec<usize> = (0..all.len())
        .filter_map(|at| end_of_terms(&all, at))
        .collect();
    if positions.is_empty() {
        return None;
    }
    // A subquery among the terms ends before the terms do.
    positions.sort_unstable();
    positions.dedup();
    let with = |term: &str| {
        let mut text = String::with_capacity(sql.len() + positions.len() * (term.len() + 2));
        let mut from = 0;
        for position in &positions {
            text.push_str(&sql[from..*position]);
            text.push_str(", ");
            text.push_str(term);
            from = *position;
        }
        text.push_str(&sql[from..]);
        text
    };
    Some([with("random()"), with("-random()")])
}

/// The end of the terms of the `ORDER BY` at this token, if a random number may reorder tied rows.
fn end_of_terms(all: &[Token<'_>], at: usize) -> Option<usize> {
    let order = all.get(at).filter(|token| token.is("order"))?;
    all.get(at + 1).filter(|token| token.is("by"))?;
    let depth = order.depth;
    let inside = || {
        all[at + 2..].iter().take_while(|token| {
            token.depth >= depth && !(token.depth == depth && token.text == ";")
        })
    };
    let same = |token: &&Token<'_>| token.depth == depth;
    let cuts = inside()
        .filter(same)
        .find(|token| token.is("limit") || token.is("fetch") || token.is("offset"));
    let ends = |token: &&Token<'_>| {
        ["limit", "fetch", "offset", "rows", "range", "groups"]
            .iter()
            .any(|word| token.is(word))
    };
    let last = inside()
        .take_while(|token| !(same(token) && ends(token)))
        .last()?;
    let counts_rows = inside().filter(same).any(|token| token.is("rows"));
    (cuts.is_some() || counts_rows || is_numbering_window(all, at, depth)).then_some(last.span.end)
}

/// Whether the parentheses around this token are the window of a function that distinguishes tied
/// rows.
fn is_numbering_window(all: &[Token<'_>], at: usize, depth: usize) -> bool {
    let Some(open) = all[..at]
        .iter()
        .rposition(|token| token.text == "(" && token.depth + 1 == depth)
    else {
        return false;
    };
    // A named window: any of the functions may use it.
    if open
        .checked_sub(1)
        .is_some_and(|before| all[before].is("as"))
        && all.iter().any(|token| token.is("window"))
    {
        return all.iter().any(|token| {
            NUMBERING_FUNCTIONS
                .iter()
                .any(|function| token.is(function))
        });
    }
    let over = open.checked_sub(1).filter(|over| all[*over].is("over"));
    let Some(close) = over.and_then(|over| over.checked_sub(1)) else {
        return false;
    };
    let arguments = all[..close]
        .iter()
        .rposition(|token| token.text == "(" && token.depth + 1 == depth);
    let name = arguments
        .and_then(|open| open.checked_sub(1))
        .and_then(|name| all.get(name));
    name.is_some_and(|name| NUMBERING_FUNCTIONS.iter().any(|function| name.is(function)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> Option<String> {
        shuffled(sql, Dialect::Sqlite).map(|[first, _]| first)
    }

    #[test]
    fn shuffles_ties_under_limits_and_numbering_functions() {
        assert_eq!(
            of("select a from t order by b, c limit 3").unwrap(),
            "select a from t order by b, c, random() limit 3"
        );
        assert_eq!(
            of("select a from t where a = (select a from t order by b desc limit 1);").unwrap(),
            "select a from t where a = (select a from t order by b desc, random() limit 1);"
        );
        assert_eq!(
            of("select row_number() over (partition by a order by b) from t").unwrap(),
            "select row_number() over (partition by a order by b, random()) from t"
        );
        assert_eq!(
            of("select sum(a) over (order by b rows unbounded preceding) from t").unwrap(),
            "select sum(a) over (order by b, random() rows unbounded preceding) from t"
        );
        assert_eq!(
            of("select lag(a) over w from t window w as (order by b)").unwrap(),
            "select lag(a) over w from t window w as (order by b, random())"
        );
    }

    #[test]
    fn shuffles_subqueries_among_the_terms() {
        assert_eq!(
            of("select a from t order by (select b from u order by c limit 1), d limit 3").unwrap(),
            "select a from t order by (select b from u order by c, random() limit 1), d, random() \
             limit 3"
        );
    }

    #[test]
    fn detects_random_functions() {
        assert!(is_random(
            "select a from t order by RANDOM ()",
            Dialect::Sqlite
        ));
        assert!(!is_random(
            "select random, 'random()' from t -- random()",
            Dialect::Sqlite
        ));
    }

    #[test]
    fn does_not_shuffle_ties_that_cannot_be_split() {
        assert_eq!(of("select a from t order by b"), None);
        assert_eq!(of("select rank() over (order by b) from t"), None);
        assert_eq!(of("select a from (select a from t limit 3)"), None);
        assert_eq!(of("select sum(a) over (order by b) from t"), None);
    }
}
