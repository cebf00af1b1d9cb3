//! The texts of statements in the source files of the record.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules of the databases, whose statements the other need not have.
const SQLITE: &str = "database/sqlite/";
const POSTGRES: &str = "database/postgres/";

/// First words of statements.
const STATEMENTS: [&str; 14] = [
    "alter", "analyze", "attach", "begin", "create", "delete", "drop", "insert", "pragma",
    "replace", "select", "update", "vacuum", "with",
];

/// First words of what is appended to a statement.
const FRAGMENTS: [&str; 15] = [
    "and", "cross", "exists", "from", "group", "having", "join", "left", "limit", "on", "or",
    "order", "set", "union", "where",
];

/// A statement, or a part of one, with gaps for what a macro or `format!` inserts.
pub(super) struct Text {
    /// Where it is, for messages.
    pub(super) place: String,
    /// Whether it starts a statement.
    pub(super) is_start: bool,
    /// Whether it is in the module of a database.
    pub(super) of_database: bool,
    parts: Vec<String>,
}

impl Text {
    /// Whether its first part starts with `start`.
    pub(super) fn starts_with(&self, start: &str) -> bool {
        self.parts
            .first()
            .is_some_and(|part| part.starts_with(start))
    }

    /// Whether it has only the first word of a statement before a gap, so that many statements
    /// contain it.
    pub(super) fn is_vague(&self) -> bool {
        self.is_start && self.parts.first().is_none_or(|part| !part.contains(' '))
    }

    pub(super) fn contains(&self, character: char) -> bool {
        self.parts.iter().any(|part| part.contains(character))
    }

    /// Whether the statement `sql` contains it: starts with it, if it starts a statement.
    pub(super) fn is_in(&self, sql: &str) -> bool {
        let mut rest = sql;
        for (number, part) in self.parts.iter().enumerate() {
            let Some(at) = rest.find(part.as_str()) else {
                return false;
            };
            let starts = at == 0 || sql.starts_with("with ");
            if number == 0 && self.is_start && !starts {
                return false;
            }
            rest = &rest[at + part.len()..];
        }
        true
    }
}

/// The texts outside of tests.
pub(super) fn texts() -> Vec<Text> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    list(&root, &mut files);
    let mut texts = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        if name.starts_with("database/statements/")
            || name.starts_with(POSTGRES)
            || name.ends_with("tests.rs")
        {
            continue;
        }
        let source = fs::read_to_string(&file).unwrap();
        let source = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
        for (line, literal) in literals(source) {
            texts.extend(text(&name, line, &literal));
        }
    }
    texts
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The string literals of a source file with their lines.
fn literals(source: &str) -> Vec<(usize, String)> {
    let mut literals = Vec::new();
    let (mut rest, mut line) = (source, 1);
    while let Some(at) = rest.find(['/', '"', '\'']) {
        line += rest[..at].matches('\n').count();
        rest = &rest[at..];
        let end = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(quoted) = rest.strip_prefix('"') {
            let before = source[..source.len() - rest.len()].trim_end_matches('#');
            let (literal, length) = if before.ends_with('r') {
                let hashes = source.len() - rest.len() - before.len();
                raw(quoted, hashes)
            } else {
                unescape(quoted)
            };
            literals.push((line, literal));
            length + 1
        } else if let Some(character) = rest.strip_prefix('\'') {
            // A character, or the quote of a lifetime.
            let escaped = usize::from(character.starts_with('\\'));
            let closing = character.char_indices().nth(1 + escaped);
            closing
                .filter(|(_, closing)| *closing == '\'')
                .map_or(1, |(at, _)| at + 2)
        } else {
            1
        };
        line += rest[..end].matches('\n').count();
        rest = &rest[end..];
    }
    literals
}

/// The same as [`unescape`] for a raw literal.
fn raw(quoted: &str, hashes: usize) -> (String, usize) {
    let closing = format!("\"{}", "#".repeat(hashes));
    let end = quoted.find(&closing).expect("a raw literal has an end");
    (quoted[..end].to_owned(), end + closing.len())
}

/// The value of a literal after its quote, and its length with the closing quote.
fn unescape(quoted: &str) -> (String, usize) {
    let (mut value, mut escaped, mut continued) = (String::new(), false, false);
    for (at, character) in quoted.char_indices() {
        continued &= character.is_whitespace();
        match character {
            _ if continued => {}
            // The literal continues in the next line, after its white space.
            '\n' if escaped => (escaped, continued) = (false, true),
            _ if escaped => {
                escaped = false;
                value.push(character);
            }
            '\\' => escaped = true,
            '"' => return (value, at + 1),
            _ => value.push(character),
        }
    }
    panic!("a literal has no end: {value}")
}

fn text(file: &str, line: usize, literal: &str) -> Option<Text> {
    let is_word = !literal.contains(char::is_whitespace);
    let literal = literal.split_whitespace().collect::<Vec<_>>().join(" ");
    // What follows a constant, as in `{SELECT} where`, or closes a parenthesis, appends to a
    // statement.
    let start = match literal.split_once("} ") {
        Some((constant, rest)) if constant.starts_with('{') => rest,
        _ => literal.trim_start_matches([')', ' ']),
    };
    let first = start.split(' ').next()?.to_ascii_lowercase();
    let is_start = STATEMENTS.contains(&first.as_str());
    if is_word || !is_start && !FRAGMENTS.contains(&first.as_str()) {
        return None;
    }
    let mut parts = Vec::new();
    let mut rest = literal.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        parts.push(before);
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    parts.push(rest);
    let parts: Vec<String> = parts
        .into_iter()
        .map(|part| part.trim().to_owned())
        .filter(|part| !part.is_empty())
        .collect();
    Some(Text {
        place: format!("{file}:{line}"),
        is_start,
        of_database: file.starts_with(SQLITE),
        parts,
    })
}
