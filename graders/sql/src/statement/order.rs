//! The order of a statement: its `ORDER BY` outside all parentheses, and variants of the statement
//! that show which rows tie.

use super::lex::{MAX_STATEMENT_BYTES, Token, TokenKind, tokens};
use crate::task::Dialect;

/// The order of the rows of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ordering {
    /// Variants of the statement with a rank as an additional last column: equal for tied rows,
    /// increasing from one tie to the next. The first variant with the same rows is used.
    pub(crate) ranked: Vec<String>,
    /// The same variants without the limit on rows; empty if the statement has no limit.
    pub(crate) unlimited: Vec<String>,
    /// The tokens of each term, without its direction.
    terms: Vec<Vec<String>>,
    /// The columns; `None` if their number is unknown because one is a star.
    columns: Option<Vec<SelectColumn>>,
}

/// A column of a `SELECT`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SelectColumn {
    /// The tokens of its expression.
    expression: Vec<String>,
    /// The source of its expression.
    text: String,
    /// Its alias.
    name: Option<String>,
}

/// Keywords that end the terms of an `ORDER BY`.
const AFTER_TERMS: &[&str] = &["limit", "offset", "fetch", "for"];

/// Keywords that end the columns of a `SELECT`.
const AFTER_COLUMNS: &[&str] = &[
    "from",
    "where",
    "group",
    "having",
    "window",
    "order",
    "limit",
    "union",
    "intersect",
    "except",
    "offset",
    "fetch",
];

/// The order of the rows of a statement; `None` if it does not order them.
pub(crate) fn ordering(sql: &str, dialect: Dialect) -> Option<Ordering> {
    let all = tokens(sql, dialect);
    let outer: Vec<&Token<'_>> = all.iter().filter(|token| token.depth == 0).collect();
    let order = outer
        .windows(2)
        .rposition(|pair| pair[0].is("order") && pair[1].is("by"))?;
    let ends =
        |token: &&&Token<'_>| token.text == ";" || AFTER_TERMS.iter().any(|word| token.is(word));
    let from = outer[order + 1].span.end;
    let to = outer[order + 2..]
        .iter()
        .find(ends)
        .map_or(sql.len(), |token| token.span.start);
    let terms = split(&all, from, to);
    let term_tokens = terms
        .iter()
        .map(|term| contents(strip_direction(term)))
        .collect();
    let simple = !outer.iter().any(|token| {
        ["union", "intersect", "except", "values"]
            .iter()
            .any(|word| token.is(word))
    });
    // In text that is not a valid statement, the first `select` may follow the `ORDER BY`.
    let select = outer[..order]
        .iter()
        .position(|token| token.is("select"))
        .filter(|_| simple);
    let Some(select) = select else {
        return Some(Ordering {
            ranked: Vec::new(),
            unlimited: Vec::new(),
            terms: term_tokens,
            columns: None,
        });
    };
    let distinct = outer
        .get(select + 1)
        .is_some_and(|token| token.is("distinct"));
    let skipped =
        usize::from(distinct || outer.get(select + 1).is_some_and(|token| token.is("all")));
    let begin = outer[select + skipped].span.end;
    let after = |token: &&&Token<'_>| AFTER_COLUMNS.iter().any(|word| token.is(word));
    let end = outer[select + 1..]
        .iter()
        .find(after)
        .map_or(sql.len(), |token| token.span.start);
    let columns = columns(sql, &split(&all, begin, end));
    let (mut ranked, mut unlimited) = (Vec::new(), Vec::new());
    // A rank column would change which rows are distinct.
    if !distinct {
        for inside in [false, true] {
            if let Some(over) = resolved_terms(sql, &terms, columns.as_deref(), inside) {
                let statement = format!(
                    "{}, dense_rank() over (order by {over}) {}",
                    &sql[..end].trim_end(),
                    &sql[end..]
                );
                let rows_are_limited =
                    to < sql.len() && !sql[to..].trim().trim_start_matches(';').is_empty();
                if rows_are_limited {
                    let without_limit = &statement[..statement.len() - (sql.len() - to)];
                    unlimited.push(without_limit.to_owned());
                }
                if !ranked.contains(&statement) {
                    ranked.push(statement);
                }
            }
        }
    }
    Some(Ordering {
        ranked,
        unlimited,
        terms: term_tokens,
        columns,
    })
}

impl Ordering {
    /// The columns of the result that are the keys of the order, by index; `None` if a key is not a
    /// column.
    pub(crate) fn key_columns(&self, names: &[String]) -> Option<Vec<usize>> {
        let column_of = |term: &Vec<String>| {
            if let [number] = term.as_slice()
                && let Ok(position) = number.parse::<usize>()
            {
                return position.checked_sub(1).filter(|index| *index < names.len());
            }
            if let [name] = term.as_slice()
                && let Some(index) = names
                    .iter()
                    .position(|column| column.eq_ignore_ascii_case(name))
            {
                return Some(index);
            }
            self.columns
                .as_ref()?
                .iter()
                .position(|column| column.expression == *term)
        };
        self.terms.iter().map(column_of).collect()
    }
}

/// The tokens between two positions, split at commas outside parentheses.
fn split<'a, 'b>(all: &'b [Token<'a>], from: usize, to: usize) -> Vec<Vec<&'b Token<'a>>> {
    let mut parts: Vec<Vec<&Token<'_>>> = vec![Vec::new()];
    for token in all
        .iter()
        .filter(|token| token.span.start >= from && token.span.end <= to)
    {
        if token.depth == 0 && token.text == "," {
            parts.push(Vec::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(token);
        }
    }
    parts
}

/// A term without `ASC`, `DESC`, `NULLS FIRST`, `NULLS LAST`.
fn strip_direction<'a, 'b>(mut term: &'b [&'b Token<'a>]) -> &'b [&'b Token<'a>] {
    while let Some((last, rest)) = term.split_last() {
        if last.depth > 0
            || !["asc", "desc", "nulls", "first", "last"]
                .iter()
                .any(|word| last.is(word))
            || rest.is_empty()
        {
            break;
        }
        term = rest;
    }
    term
}

/// The contents of tokens; strings with their quotes, to distinguish them from names.
fn contents(term: &[&Token<'_>]) -> Vec<String> {
    term.iter()
        .map(|token| {
            if token.kind == TokenKind::Text {
                token.text.to_owned()
            } else {
                token.content()
            }
        })
        .collect()
}

/// The columns of a `SELECT`; `None` if one of them is a star.
fn columns(sql: &str, parts: &[Vec<&Token<'_>>]) -> Option<Vec<SelectColumn>> {
    let column = |part: &Vec<&Token<'_>>| {
        let [.., last] = part.as_slice() else {
            return None;
        };
        if last.text == "*" {
            return None;
        }
        let may_be_alias =
            matches!(last.kind, TokenKind::Word | TokenKind::Quoted) && last.depth == 0;
        let (body, name) = match part.as_slice() {
            [body @ .., keyword, name]
                if may_be_alias && keyword.is("as") && keyword.depth == 0 =>
            {
                (body, Some(name.content()))
            }
            [body @ .., before, name] if may_be_alias && ends_value(before) => {
                (&part[..=body.len()], Some(name.content()))
            }
            whole => (whole, None),
        };
        let text = &sql[body.first()?.span.start..body.last()?.span.end];
        Some(SelectColumn {
            expression: contents(body),
            text: text.to_owned(),
            name,
        })
    };
    parts.iter().map(column).collect()
}

/// Whether an expression may end with this token, so that a name after it is an alias.
fn ends_value(token: &Token<'_>) -> bool {
    match token.kind {
        TokenKind::Word => token.is("end") || token.is("null") || !is_operator(token),
        TokenKind::Quoted | TokenKind::Text | TokenKind::Number => true,
        TokenKind::Symbol => token.text == ")",
    }
}

fn is_operator(token: &Token<'_>) -> bool {
    [
        "and", "or", "not", "is", "in", "like", "glob", "between", "collate", "escape", "regexp",
        "from", "isnull", "notnull",
    ]
    .iter()
    .any(|word| token.is(word))
}

/// The source of all terms with names of result columns replaced by their expressions; `None` if a
/// term cannot be resolved, or if the result is too long for a statement.
fn resolved_terms(
    sql: &str,
    terms: &[Vec<&Token<'_>>],
    columns: Option<&[SelectColumn]>,
    inside: bool,
) -> Option<String> {
    let mut written = String::new();
    for term in terms {
        if !written.is_empty() {
            written.push_str(", ");
        }
        written.push_str(&resolved(sql, term, columns, inside)?);
        if written.len() > MAX_STATEMENT_BYTES {
            return None;
        }
    }
    Some(written)
}

/// The source of a term without names or numbers of result columns, which a window cannot refer to.
/// `inside` also replaces names within an expression.
fn resolved(
    sql: &str,
    term: &[&Token<'_>],
    columns: Option<&[SelectColumn]>,
    inside: bool,
) -> Option<String> {
    let body = strip_direction(term);
    let (first, last) = (body.first()?, body.last()?);
    let direction = &sql[last.span.end..term.last()?.span.end];
    let named = |token: &Token<'_>| {
        let name =
            matches!(token.kind, TokenKind::Word | TokenKind::Quoted).then(|| token.content())?;
        columns?
            .iter()
            .find(|column| column.name.as_deref() == Some(&name))
    };
    let text = match body {
        [number] if number.kind == TokenKind::Number => {
            let index = number.text.parse::<usize>().ok()?.checked_sub(1)?;
            columns?.get(index)?.text.clone()
        }
        [name] if named(name).is_some() => named(name)?.text.clone(),
        _ if inside => {
            let mut text = String::new();
            let mut at = first.span.start;
            for (index, token) in body.iter().enumerate() {
                let qualified = index > 0 && body[index - 1].text == ".";
                let followed = body
                    .get(index + 1)
                    .is_some_and(|next| next.text == "." || next.text == "(");
                if let Some(column) = named(token).filter(|_| !qualified && !followed) {
                    text.push_str(&sql[at..token.span.start]);
                    text.push_str(&format!("({})", column.text));
                    at = token.span.end;
                }
                if text.len() > MAX_STATEMENT_BYTES {
                    return None;
                }
            }
            text.push_str(&sql[at..last.span.end]);
            text
        }
        _ => sql[first.span.start..last.span.end].to_owned(),
    };
    Some(format!("{text}{direction}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> Option<Ordering> {
        ordering(sql, Dialect::Sqlite)
    }

    #[test]
    fn reads_only_the_outermost_order_by() {
        assert_eq!(of("select a from (select a from t order by a)"), None);
        assert_eq!(of("select rank() over (order by a) from t"), None);
        assert_eq!(
            of("select 'order by' as \"order by\" from t -- order by a"),
            None
        );
        assert!(of("with c as (select 1) select * from c order by 1").is_some());
    }

    #[test]
    fn inserts_a_rank_before_from() {
        let ranked =
            of("select a, count(*) n from t group by a order by n desc, 1, b nulls last limit 3;")
                .unwrap()
                .ranked;
        assert_eq!(
            ranked[0],
            "select a, count(*) n, dense_rank() over (order by count(*) desc, a, b nulls last) \
             from t group by a order by n desc, 1, b nulls last limit 3;"
        );
        let unlimited = of("select a from t order by b limit 3").unwrap().unlimited;
        assert_eq!(
            unlimited[0],
            "select a, dense_rank() over (order by b) from t order by b "
        );
        assert!(
            of("select a from t order by b;")
                .unwrap()
                .unlimited
                .is_empty()
        );
        assert_eq!(
            of("select distinct a from t order by b").unwrap().ranked,
            Vec::<String>::new()
        );
        assert_eq!(
            of("select a from t union select b from u order by 1")
                .unwrap()
                .ranked,
            Vec::<String>::new()
        );
    }

    #[test]
    fn ignores_a_select_after_order_by() {
        let found = of("order by a limit 3 select b é").unwrap();
        assert!(found.ranked.is_empty() && found.unlimited.is_empty());
        assert_eq!(found.terms, [["a"]]);
    }

    #[test]
    fn replaces_aliases_without_as_by_quoted_names() {
        assert_eq!(
            of("select \"First Name\" name from t order by name desc")
                .unwrap()
                .ranked,
            [
                "select \"First Name\" name, dense_rank() over (order by \"First Name\" desc) from \
              t order by name desc"
            ]
        );
    }

    #[test]
    fn replaces_names_inside_expressions_in_the_second_variant() {
        let ranked = of("select a+b as s from t order by s*2").unwrap().ranked;
        assert!(
            ranked[0].contains("order by s*2)") && ranked[1].contains("order by (a+b)*2)"),
            "{ranked:?}"
        );
    }

    #[test]
    fn does_not_expand_names_beyond_the_maximum_length() {
        let column = vec!["b"; 5_000].join("+");
        let term = vec!["s"; 5_000].join("+");
        let ranked = of(&format!("select {column} as s from t order by {term}"))
            .unwrap()
            .ranked;
        assert_eq!(ranked.len(), 1, "names inside the term are not replaced");
    }

    #[test]
    fn finds_keys_among_the_columns() {
        let names = ["city".to_owned(), "n".to_owned()];
        let keys = |sql: &str| of(sql).unwrap().key_columns(&names);
        assert_eq!(
            keys("select city, n from t union select city, n from u order by 2 desc, city"),
            Some(vec![1, 0])
        );
        assert_eq!(
            keys("select distinct City, n from t order by lower(city)"),
            None
        );
        assert_eq!(
            keys("select distinct lower(City), n from t order by lower(city)"),
            Some(vec![0])
        );
    }
}
