//! Classifies statements by their start: a query, or something that is rejected before it runs.

use assay_worker::query::End;

/// The kind of a statement by its first keyword.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Opening {
    /// Without a keyword.
    Nothing,
    /// Possibly a query; the server decides.
    Query,
    /// No query: how it ends if it parses.
    Other(End),
}

/// Reads the first word.
pub(super) fn opening(sql: &str) -> Opening {
    let rest = skipped(sql);
    if rest.is_empty() {
        return Opening::Nothing;
    }
    let end = rest
        .find(|letter: char| !letter.is_ascii_alphabetic())
        .unwrap_or(rest.len());
    let denied = |what: &str| Opening::Other(End::Denied(what.to_owned()));
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
        | "close" => Opening::Other(End::NotAQuery),
        _ => Opening::Query,
    }
}

/// The text from its first word on: without white space, comments, parentheses and semicolons
/// before it.
fn skipped(sql: &str) -> &str {
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

/// What follows a comment; comments nest.
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
    // Not closed: the server reports that.
    "?"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifies_statements_by_the_first_keyword() {
        let denied = |what: &str| Opening::Other(End::Denied(what.to_owned()));
        assert_eq!(
            opening(" -- nothing\n/* a /* b */ c */ ;"),
            Opening::Nothing
        );
        assert_eq!(opening("/* é */ ((SELECT 1))"), Opening::Query);
        assert_eq!(opening("/* open"), Opening::Query);
        assert_eq!(opening("--\rInsert into t"), denied("writing"));
        assert_eq!(opening("copy(select 1) to stdout"), denied("`copy`"));
        assert_eq!(opening("EXPLAIN select 1"), Opening::Other(End::NotAQuery));
        assert_eq!(opening("selec 1"), Opening::Query);
    }
}
