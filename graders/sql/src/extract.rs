//! The statement in a completion: what stands in the last fenced block of SQL or the last tag, whichever ends later, else the
//! whole text. Comments are part of it.

use std::ops::Range;

use assay_core::extraction::fences::{Block, blocks, fences, outdented};

/// Tags that hold an answer.
const TAGS: &[&str] = &["answer", "solution", "sql"];

/// Names of SQL in info strings.
const NAMES: &[&str] = &["sql", "sqlite", "sqlite3", "postgres", "postgresql", "pgsql", "psql"];

/// A text that may be the statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) text: String,
    /// Where it stood in the text that was looked at, in bytes.
    pub(crate) span: Range<usize>,
    /// `fenced`, `tag` or `whole`.
    pub(crate) rule: &'static str,
}

/// The statement of a text; `None` when there is nothing but blanks.
pub(crate) fn extract(text: &str) -> Option<Found> {
    let fenced = fenced(text);
    let found = match last_tag(text) {
        Some(tag) if fenced.as_ref().is_none_or(|fenced| fenced.span.end < tag.end) => inside(text, tag.clone())
            .unwrap_or_else(|| Found { text: text[tag.clone()].to_owned(), span: tag, rule: "tag" }),
        _ => fenced.unwrap_or_else(|| Found { text: text.to_owned(), span: 0..text.len(), rule: "whole" }),
    };
    (!found.text.trim().is_empty()).then_some(found)
}

/// What a block inside a tag holds.
fn inside(text: &str, tag: Range<usize>) -> Option<Found> {
    let mut found = fenced(&text[tag.clone()])?;
    found.span = found.span.start + tag.start..found.span.end + tag.start;
    Some(found)
}

/// The last block that names SQL, else the last that names nothing.
fn fenced(text: &str) -> Option<Found> {
    let fences = fences(text);
    let blocks = blocks(&fences, text.len());
    let names_sql = |block: &&Block<'_>| {
        let word = block.info.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
        word.is_some_and(|word| NAMES.iter().any(|name| word.eq_ignore_ascii_case(name)))
    };
    let unnamed = || blocks.iter().rfind(|block| block.info.is_empty());
    let block = blocks.iter().rfind(names_sql).or_else(unnamed)?;
    let span = block.inside.start..block.inside.end.max(block.inside.start);
    Some(Found { text: outdented(&text[span.clone()], block.indent), span, rule: "fenced" })
}

/// Where the last pair of tags has its inside.
fn last_tag(text: &str) -> Option<Range<usize>> {
    let lower = text.to_ascii_lowercase();
    let pair = |name: &&str| {
        let close = lower.rfind(&format!("</{name}>"))?;
        let open = format!("<{name}>");
        let start = lower[..close].rfind(&open)? + open.len();
        Some(start..close)
    };
    TAGS.iter().filter_map(pair).max_by_key(|range| range.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<(String, &'static str)> {
        extract(text).map(|found| (found.text, found.rule))
    }

    #[test]
    fn what_ends_last_counts() {
        let draft = "```sql\nselect 1\n```\nso <answer>select 2</answer>";
        assert_eq!(found(draft), Some(("select 2".to_owned(), "tag")));
        let later = "<sql>select 1</sql>\n```sql\nselect 2\n```";
        assert_eq!(found(later), Some(("select 2\n".to_owned(), "fenced")));
        let both = "<answer>\n```SQL\nselect 3 -- three\n```\n</answer>";
        assert_eq!(found(both), Some(("select 3 -- three\n".to_owned(), "fenced")));
    }

    #[test]
    fn without_marks_the_whole_text_counts() {
        assert_eq!(found("select '```' "), Some(("select '```' ".to_owned(), "whole")));
        assert_eq!(found(" \n"), None);
        assert_eq!(found("<answer> </answer>"), None);
        assert_eq!(found("```python\nx\n```\n```\nselect 1\n```"), Some(("select 1\n".to_owned(), "fenced")));
    }

    #[test]
    fn spans_point_into_the_text() {
        let text = "<Solution>\n```sqlite\nselect 1\n```\n</Solution>";
        let found = extract(text).unwrap();
        assert_eq!(&text[found.span], "select 1\n");
    }
}
