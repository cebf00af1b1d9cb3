//! Finds the statement in a completion: the content of the last fenced block of SQL or the last
//! tag, whichever ends later, else the whole text. Comments belong to the statement.

use std::ops::Range;

use assay_extraction::fences::{Block, blocks, fences, inline, without_margin};

use crate::statement::first_word;
use crate::task::Dialect;

/// Tags that enclose an answer.
const TAGS: &[&str] = &["answer", "solution", "sql"];

/// Languages of info strings that mean SQL.
const LANGUAGES: &[&str] = &[
    "sql",
    "sqlite",
    "sqlite3",
    "mysql",
    "postgres",
    "postgresql",
    "pgsql",
    "psql",
];

/// The statement of a completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Extracted {
    pub(crate) text: String,
    /// Its span in the searched text, in bytes.
    pub(crate) span: Range<usize>,
    /// `fenced`, `tag` or `whole`.
    pub(crate) rule: &'static str,
}

/// Extracts the statement of a text; `None` if it is blank.
pub(crate) fn extract(text: &str) -> Option<Extracted> {
    let fenced = fenced(text);
    let found = match last_tag(text) {
        Some(tag)
            if fenced
                .as_ref()
                .is_none_or(|fenced| fenced.span.end < tag.end) =>
        {
            in_tag(text, tag)
        }
        _ => fenced.unwrap_or_else(|| Extracted {
            text: text.to_owned(),
            span: 0..text.len(),
            rule: "whole",
        }),
    };
    (!found.text.trim().is_empty()).then_some(found)
}

/// The statement inside a tag: a fenced block, or the whole content.
fn in_tag(text: &str, tag: Range<usize>) -> Extracted {
    let within = |span: Range<usize>| span.start + tag.start..span.end + tag.start;
    match fenced(&text[tag.clone()]) {
        Some(found) => Extracted {
            span: within(found.span.clone()),
            ..found
        },
        None => Extracted {
            text: text[tag.clone()].to_owned(),
            span: tag,
            rule: "tag",
        },
    }
}

/// The last fenced block marked as SQL; else the last unmarked block that begins like a query; else
/// the last unmarked block; else code within a line that is marked as SQL. Empty blocks are
/// ignored.
fn fenced(text: &str) -> Option<Extracted> {
    if !text.contains("```") && !text.contains("~~~") {
        return None;
    }
    let names_sql = |word: &str| LANGUAGES.iter().any(|name| word.eq_ignore_ascii_case(name));
    let blocks = blocks(text, &fences(text));
    let content = |block: &Block<'_>| without_margin(text, block.inside.clone(), block.margin);
    let first = |block: &&Block<'_>| first_word(&content(block), Dialect::Sqlite);
    let is_sql =
        |block: &&Block<'_>| block.language().is_some_and(names_sql) && first(block).is_some();
    let begins = |block: &&Block<'_>| {
        first(block)
            .is_some_and(|first| ["select", "with", "values", "("].contains(&first.as_str()))
    };
    let unnamed = |block: &&Block<'_>| block.info.is_empty() && first(block).is_some();
    let chosen = blocks.iter().rfind(is_sql);
    let chosen = chosen.or_else(|| blocks.iter().rfind(|block| unnamed(block) && begins(block)));
    let Some(block) = chosen.or_else(|| blocks.iter().rfind(unnamed)) else {
        let code = inline(text, names_sql)?;
        return Some(Extracted {
            text: text[code.inside.clone()].to_owned(),
            span: code.inside,
            rule: "fenced",
        });
    };
    Some(Extracted {
        text: content(block),
        span: block.inside.clone(),
        rule: "fenced",
    })
}

/// The span inside the last pair of tags, or inside the innermost of nested pairs.
fn last_tag(text: &str) -> Option<Range<usize>> {
    if !text.contains("</") {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let last = |lower: &str| {
        let pair = |name: &&str| {
            let close = lower.rfind(&format!("</{name}>"))?;
            let open = format!("<{name}>");
            let start = lower[..close].rfind(&open)? + open.len();
            Some(start..close)
        };
        TAGS.iter().filter_map(pair).max_by_key(|range| range.end)
    };
    let mut range = last(&lower)?;
    while let Some(inner) = last(&lower[range.clone()]) {
        range = range.start + inner.start..range.start + inner.end;
    }
    Some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<(String, &'static str)> {
        extract(text).map(|found| (found.text, found.rule))
    }

    #[test]
    fn uses_the_last_candidate() {
        let draft = "```sql\nselect 1\n```\nso <answer>select 2</answer>";
        assert_eq!(found(draft), Some(("select 2".to_owned(), "tag")));
        let later = "<sql>select 1</sql>\n```sql\nselect 2\n```";
        assert_eq!(found(later), Some(("select 2\n".to_owned(), "fenced")));
        let nested = "<answer>\n```SQL\nselect 3 -- three\n```\n</answer>";
        assert_eq!(
            found(nested),
            Some(("select 3 -- three\n".to_owned(), "fenced"))
        );
    }

    #[test]
    fn uses_the_whole_text_without_fences() {
        assert_eq!(
            found("select '```' "),
            Some(("select '```' ".to_owned(), "whole"))
        );
        assert_eq!(found(" \n"), None);
        assert_eq!(found("<answer> </answer>"), None);
        assert_eq!(
            found("```python\nx\n```\n```\nselect 1\n```"),
            Some(("select 1\n".to_owned(), "fenced"))
        );
    }

    #[test]
    fn accepts_fences_in_usual_places() {
        let query = Some("select 1");
        let of = |text: &str| found(text).map(|(text, _)| text.trim().to_owned());
        for text in [
            "1. ```sql\n   select 1\n   ```",
            "> ```sql\n select 1\n> ```",
            "> ```sql\n> select 1\n> ```",
            "So: ```sql\nselect 1\n```",
            "```sql\nselect 2\n```\nor rather ```sql\nselect 1\n```",
            "```sql\nselect 1```",
            "The query is ```sql select 1```.",
            "The query is ~~~sqlite\nselect 1\n~~~",
            "First ```sql\nselect 2\n``` no, wait ```sql\nselect 1\n``` done",
            "<answer><sql>select 1</sql></answer>",
            "<solution><answer>select 1</answer></solution>",
            "```\nselect 1\n```\ngives\n```\n1 | 2\n```",
            "```sql\nselect 1\n```\n```sql\n-- that is all\n```",
            "```sql\nselect 1\n```\n```sql\n```",
        ] {
            assert_eq!(of(text).as_deref(), query, "{text}");
        }
    }

    #[test]
    fn spans_point_into_the_text() {
        let text = "<Solution>\n```sqlite\nselect 1\n```\n</Solution>";
        let found = extract(text).unwrap();
        assert_eq!(&text[found.span], "select 1\n");
    }
}
