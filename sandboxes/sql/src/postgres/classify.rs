//! Classifies statements by their first keyword: queries, and statements that are rejected before
//! they run.

use assay_worker::query::End;

/// The kind of a statement by its first keyword.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StatementKind {
    /// The text contains no statement.
    Nothing,
    /// Possibly a query; the server decides.
    Query,
    /// Not a query: how it ends if it parses.
    Other(End),
}

/// Classifies a statement.
pub(super) fn classify(sql: &str) -> StatementKind {
    let rest = from_first_keyword(sql);
    if rest.is_empty() {
        return StatementKind::Nothing;
    }
    let end = rest
        .find(|letter: char| !letter.is_ascii_alphabetic())
        .unwrap_or(rest.len());
    let denied = |what: &str| StatementKind::Other(End::Denied(what.to_owned()));
    match rest[..end].to_ascii_lowercase().as_str() {
        "insert" | "update" | "delete" | "merge" | "truncate" => denied("writing"),
        "create" | "drop" | "alter" | "comment" | "grant" | "revoke" | "reassign" | "refresh"
        | "security" | "import" => denied("changing the schema"),
        "set" | "reset" | "discard" | "load" => denied("changing settings"),
        "begin" | "start" | "commit" | "end" | "rollback" | "abort" | "savepoint" | "release" => {
            denied("a transaction")
        }
        word @ ("copy" | "do" | "call" | "lock" | "listen" | "unlisten" | "notify") => {
            denied(&format!("`{word}`"))
        }
        "explain" | "show" | "vacuum" | "analyze" | "analyse" | "reindex" | "cluster"
        | "checkpoint" | "prepare" | "execute" | "deallocate" | "declare" | "fetch" | "move"
        | "close" => StatementKind::Other(End::NotAQuery),
        _ => StatementKind::Query,
    }
}

/// The text from its first keyword on, without preceding white space, comments, parentheses and
/// semicolons.
fn from_first_keyword(sql: &str) -> &str {
    let mut rest = sql;
    loop {
        rest = rest.trim_start_matches(|letter: char| {
            letter.is_whitespace() || letter == '(' || letter == ';'
        });
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.find(['\n', '\r']).map_or("", |end| &comment[end..]);
        } else if rest.starts_with("/*") {
            rest = after_comment(rest);
        } else {
            return rest;
        }
    }
}

/// The text after a comment; comments nest.
fn after_comment(sql: &str) -> &str {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(pair) = sql.as_bytes().get(at..at + 2) {
        match pair {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return &sql[at..];
        }
    }
    // The comment is not closed. This text is classified as a query, and the server reports the
    // error.
    "?"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifies_statements_by_the_first_keyword() {
        let denied = |what: &str| StatementKind::Other(End::Denied(what.to_owned()));
        assert_eq!(
            classify(" -- nothing\n/* a /* b */ c */ ;"),
            StatementKind::Nothing
        );
        assert_eq!(classify("/* é */ ((SELECT 1))"), StatementKind::Query);
        assert_eq!(classify("/* open"), StatementKind::Query);
        assert_eq!(classify("--\rInsert into t"), denied("writing"));
        assert_eq!(classify("copy(select 1) to stdout"), denied("`copy`"));
        assert_eq!(
            classify("EXPLAIN select 1"),
            StatementKind::Other(End::NotAQuery)
        );
        assert_eq!(classify("selec 1"), StatementKind::Query);
    }
}
