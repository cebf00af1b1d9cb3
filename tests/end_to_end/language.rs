//! The vocabulary of the project: replaced terms do not return, names on the wire are reviewed, and
//! lines have at most 100 columns.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::end_to_end::documents::document;

/// Terms that were replaced, with the term to use instead. They are matched as whole words,
/// regardless of case.
const REPLACED: &[(&str, &str)] = &[
    ("advantage rule", "advantage estimator"),
    ("are told", "are reported"),
    ("as it stands", "unchanged"),
    ("by lot", "at random"),
    ("coefficient_rule", "advantage_estimator"),
    ("is told", "is reported"),
    ("its turn", "a permit"),
    ("on wish", "on request"),
    ("patience", "timeout"),
    ("surroundings", "context"),
    ("the doors", "admission"),
    ("the house", "the project"),
    ("the shelf", "storage"),
    ("told apart", "distinguished"),
    ("told by", "reported by"),
    ("what is told", "the report"),
];

/// Files in which a replaced term has another meaning, or is quoted.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("tests/end_to_end/language.rs", "the list itself"),
    ("tests/peers/sentences.py", "example sentences"),
];

/// Longest line, in columns.
const COLUMNS: usize = 100;

/// Extensions of files with text of our own.
const TEXTS: &[&str] = &[
    "rs", "py", "md", "toml", "sql", "html", "css", "js", "c", "h", "sh",
];

/// The repository's own text files, by their path from the root.
pub(crate) fn texts() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![PathBuf::new()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder)).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            let path = folder.join(&name);
            let kind = entry.file_type().unwrap();
            if kind.is_dir() && !name.starts_with('.') && name != "target" && name != "seeds" {
                folders.push(path);
            } else if kind.is_file()
                && path
                    .extension()
                    .is_some_and(|extension| TEXTS.iter().any(|text| extension == *text))
            {
                let text = std::fs::read_to_string(root.join(&path)).unwrap();
                found.push((path.to_str().unwrap().to_owned(), text));
            }
        }
    }
    assert!(found.len() > 500, "{} text files", found.len());
    found
}

/// Whether a line contains a term as whole words.
fn contains(line: &str, term: &str) -> bool {
    let is_part = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    line.match_indices(term).any(|(start, _)| {
        !is_part(line[..start].chars().next_back())
            && !is_part(line[start + term.len()..].chars().next())
    })
}

#[test]
fn finds_whole_words_only() {
    assert!(contains("drawn by lot.", "by lot"));
    assert!(!contains("nearby lots", "by lot"));
}

#[test]
fn replaced_terms_do_not_return() {
    let mut found = Vec::new();
    for (path, text) in texts() {
        if EXCEPTIONS.iter().any(|(file, _)| *file == path) {
            continue;
        }
        for (index, line) in text.lines().enumerate() {
            let lower = line.to_lowercase();
            for (term, instead) in REPLACED {
                if contains(&lower, term) {
                    found.push(format!("{path}:{}: `{term}`; use `{instead}`", index + 1));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Whether a line may be longer: rustfmt decides about Rust code, and tables, links, literals
/// and test texts cannot be broken.
fn may_be_long(path: &str, line: &str) -> bool {
    let line = line.trim_start();
    path.ends_with(".rs") && !line.starts_with("//")
        || path.ends_with(".md")
            && (line.starts_with('|') || line.starts_with('[') || line.contains("]("))
        || line.contains("://")
        || path.contains("/cases/")
        || path.ends_with("/reference/texts.py")
        || line.contains('"')
}

#[test]
fn lines_have_at_most_100_columns() {
    let mut found = Vec::new();
    for (path, text) in texts() {
        let mut is_code = false;
        for (index, line) in text.lines().enumerate() {
            is_code ^= path.ends_with(".md") && line.trim_start().starts_with("```");
            if line.chars().count() > COLUMNS && !is_code && !may_be_long(&path, line) {
                found.push(format!("{path}:{}", index + 1));
            }
        }
    }
    assert!(
        found.is_empty(),
        "{} lines:\n{}",
        found.len(),
        found.join("\n")
    );
}

/// Names of the fields of all schemas of the OpenAPI document.
fn collect_fields(value: &serde_json::Value, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(object) => {
            if let Some(serde_json::Value::Object(fields)) = object.get("properties") {
                found.extend(fields.keys().cloned());
            }
            object
                .values()
                .for_each(|value| collect_fields(value, found));
        }
        serde_json::Value::Array(values) => {
            values.iter().for_each(|value| collect_fields(value, found));
        }
        _ => {}
    }
}

#[test]
fn names_of_fields_are_reviewed() {
    let mut fields = BTreeSet::new();
    collect_fields(
        &assay_api::document(&crate::end_to_end::graders()),
        &mut fields,
    );
    let settings: Vec<_> = assay_node::Config::default()
        .to_toml()
        .lines()
        .filter_map(|line| line.split(" = ").next().map(str::to_owned))
        .filter(|line| !line.is_empty())
        .collect();
    insta::assert_json_snapshot!(serde_json::json!({ "fields": fields, "settings": settings }));
}

#[test]
fn terms_of_the_glossary_are_in_use() {
    let glossary = document("docs/GLOSSARY.md");
    let terms: Vec<&str> = glossary
        .lines()
        .filter_map(|line| line.strip_prefix("| **")?.split("**").next())
        .collect();
    assert!(terms.len() > 20, "{} terms", terms.len());
    let texts = texts();
    for term in terms {
        let is_used = |(path, text): &&(String, String)| {
            path != "docs/GLOSSARY.md" && contains(&text.to_lowercase(), &term.to_lowercase())
        };
        assert!(
            texts.iter().any(|text| is_used(&text)),
            "`{term}` is not used anywhere"
        );
    }
}
