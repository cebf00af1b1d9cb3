//! Rewrites statements that create tables.

/// Replaces `integer` as a type by `int`, and removes `autoincrement`. SQLite would otherwise store
/// rows in the order of an `integer primary key`, but they must keep the order in which they are
/// inserted. Both types have the same affinity.
pub(crate) fn without_row_order(statement: &str) -> String {
    let mut text = String::with_capacity(statement.len());
    let mut rest = statement;
    // Whether a name follows, which may be `integer` as well.
    let mut names = true;
    while let Some(first) = rest.chars().next() {
        let length = token_length(rest, first);
        let (token, after) = rest.split_at(length);
        let is = |word: &str| token.eq_ignore_ascii_case(word);
        if is("integer") && !names {
            text.push_str("int");
        } else if !is("autoincrement") || names {
            text.push_str(token);
        }
        let is_blank = first.is_whitespace() || token.starts_with("--") || token.starts_with("/*");
        if !is_blank {
            names = matches!(first, '(' | ',');
        }
        rest = after;
    }
    text
}

/// The length of the token at the start of a text, in bytes: a word, a quoted text, a comment, or a
/// character.
fn token_length(text: &str, first: char) -> usize {
    let up_to = |end: &str, skipped: usize| {
        let found = text.get(skipped..).and_then(|rest| rest.find(end));
        found.map_or(text.len(), |at| skipped + at + end.len())
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    match first {
        '\'' | '"' | '`' => up_to(first.encode_utf8(&mut [0; 4]), 1),
        '[' => up_to("]", 1),
        '-' if text.starts_with("--") => up_to("\n", 2),
        '/' if text.starts_with("/*") => up_to("*/", 2),
        _ if is_word(first) => text.find(|c| !is_word(c)).unwrap_or(text.len()),
        _ => first.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_the_type_of_any_row_id_alias() {
        for (statement, expected) in [
            (
                "create table t(id INTEGER PRIMARY KEY AUTOINCREMENT, n integer)",
                "create table t(id int PRIMARY KEY , n int)",
            ),
            (
                "create table t(id integer not null, primary key(id))",
                "create table t(id int not null, primary key(id))",
            ),
            (
                "create table t(integer text, \"integer\" integer, -- integer,\n a integer /*x*/)",
                "create table t(integer text, \"integer\" int, -- integer,\n a int /*x*/)",
            ),
            (
                "create table t(a text default 'an integer''s integer', [x integer] integer)",
                "create table t(a text default 'an integer''s integer', [x integer] int)",
            ),
        ] {
            assert_eq!(without_row_order(statement), expected);
        }
    }

    #[test]
    fn keeps_incomplete_statements() {
        for statement in ["", "'", "[", "--", "/*", "create table t(a 'b", "é -"] {
            assert_eq!(without_row_order(statement), statement);
        }
    }
}
