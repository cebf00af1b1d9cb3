//! Finds the document in a completion. `auto` reads the last fenced block with the name of the
//! format, else the last block without a name, or the last pair of tags, whichever ends later; else
//! the whole text. In a tag or the whole text, JSON may be surrounded by [prose](crate::prose). A
//! block or tag that is not closed is malformed.

use std::ops::Range;

use assay_documents::{Json, SyntaxError};
use assay_extraction::fences::{Block, Margin, blocks, fences, inline};

use crate::formats::Format;
use crate::prose::{JsonInProse, in_prose};
use crate::requirements::Wanted;
use crate::source::Source;

/// Tags around an answer, in addition to the name of the format.
const TAGS: &[&str] = &["answer", "output"];

/// A text that may be the document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate<'a> {
    pub(crate) source: Source<'a>,
    /// `fenced`, `tag`, `prose` or `whole`.
    pub(crate) rule: &'static str,
    /// The document or its error, if finding it required parsing it.
    pub(crate) document: Option<Result<Json, SyntaxError>>,
}

impl<'a> Candidate<'a> {
    fn new(source: Source<'a>, rule: &'static str) -> Self {
        Self {
            source,
            rule,
            document: None,
        }
    }
}

/// The texts that may be the document, in order of preference. The first well-formed one is the
/// document. Empty if the text is blank.
pub(crate) fn extract<'a>(
    format: Format,
    visible: &'a Source<'_>,
    wanted: &Wanted,
) -> Vec<Candidate<'a>> {
    let text = visible.text();
    let blocks = blocks_of(text);
    let closed = blocks.iter().filter(|block| block.is_closed);
    let fenced = fenced(format, visible, 0..text.len(), closed);
    let mut found = Vec::new();
    match last_tag(format, text) {
        Some(tag) if fenced.as_ref().is_none_or(|(_, end)| *end < tag.end) => {
            // The end of the tag also ends a block in it.
            let blocks = blocks_of(&text[tag.clone()]);
            if let Some((fenced, _)) = self::fenced(format, visible, tag.clone(), blocks.iter()) {
                found.push(fenced);
            } else {
                // An element of this name may be part of the document.
                if format == Format::Xml && begins_with_element(text) {
                    found.push(Candidate::new(visible.trimmed(0..text.len()), "whole"));
                }
                found.push(plain(format, visible, wanted, tag, "tag"));
                if format == Format::Xml {
                    found.push(Candidate::new(visible.trimmed(0..text.len()), "whole"));
                }
            }
        }
        _ => found.push(match fenced {
            Some((fenced, _)) => fenced,
            None => match unclosed(format, text, &blocks) {
                Some(unclosed) => truncated(format, visible, wanted, &unclosed),
                None => plain(format, visible, wanted, 0..text.len(), "whole"),
            },
        }),
    }
    found.retain(|found| !found.source.text().trim().is_empty());
    found
}

/// The whole visible text, as the only candidate. Empty if the text is blank.
pub(crate) fn whole<'a>(format: Format, visible: &'a Source<'_>) -> Vec<Candidate<'a>> {
    let found = Candidate::new(
        part(format, visible, 0..visible.text().len(), Margin::default()),
        "whole",
    );
    if found.source.text().is_empty() {
        Vec::new()
    } else {
        vec![found]
    }
}

/// A part of the text, without surrounding blanks that its format ignores. In YAML, line breaks at
/// the end may belong to a block scalar.
fn part<'a>(
    format: Format,
    visible: &'a Source<'_>,
    range: Range<usize>,
    margin: Margin,
) -> Source<'a> {
    match format {
        _ if margin.has_quotes() => visible.without_margin(range, margin),
        Format::Json | Format::Xml => visible.trimmed(range),
        _ if margin != Margin::default() => visible.without_margin(range, margin),
        Format::Yaml => visible.whole_lines(range),
        Format::Toml | Format::Csv => visible.lines(range),
    }
}

/// A text without fences: the whole text, or the JSON in its prose.
fn plain<'a>(
    format: Format,
    visible: &'a Source<'_>,
    wanted: &Wanted,
    range: Range<usize>,
    rule: &'static str,
) -> Candidate<'a> {
    let mut all = Candidate::new(
        part(format, visible, range.clone(), Margin::default()),
        rule,
    );
    if format != Format::Json {
        return all;
    }
    if let Ok(document) = Json::read(all.source.text()) {
        all.document = Some(Ok(document));
        return all;
    }
    let Some(JsonInProse {
        range: inside,
        document,
    }) = in_prose(&visible.text()[range.clone()], wanted)
    else {
        return all;
    };
    let source = visible.slice(range.start + inside.start..range.start + inside.end);
    // A malformed value at the start of the text is the document, not a part of it.
    if document.is_none() && source.span().start == all.source.span().start {
        return all;
    }
    Candidate {
        source,
        rule: "prose",
        document: document.map(Ok),
    }
}

/// The fenced blocks of a text.
fn blocks_of(text: &str) -> Vec<Block<'_>> {
    if !text.contains("```") && !text.contains("~~~") {
        return Vec::new();
    }
    blocks(text, &fences(text))
}

fn is_named(format: Format, word: &str) -> bool {
    let mut names = format.names().iter();
    names.any(|name| word.eq_ignore_ascii_case(name))
}

/// The content of one of the `blocks` of a part of the text, and where the block ends: of the last
/// one with the name of the format, else of the last one without a name, else of code within a line
/// with the name of the format.
fn fenced<'a, 'b>(
    format: Format,
    visible: &'a Source<'_>,
    range: Range<usize>,
    blocks: impl Iterator<Item = &'b Block<'b>>,
) -> Option<(Candidate<'a>, usize)> {
    let text = &visible.text()[range.clone()];
    let names_format = |word: &str| is_named(format, word);
    let blocks: Vec<_> = blocks
        .filter(|block| !text[block.inside.clone()].trim().is_empty())
        .collect();
    let named = blocks
        .iter()
        .rfind(|block| block.language().is_some_and(names_format));
    let block = named.or_else(|| blocks.iter().rfind(|block| block.info.is_empty()));
    let (inside, margin) = match block {
        Some(block) => (block.inside.clone(), block.margin),
        None => {
            let code = inline(text, names_format).filter(|code| code.is_closed)?;
            let has_content = !text[code.inside.clone()].trim().is_empty();
            (has_content.then_some(code.inside)?, Margin::default())
        }
    };
    let inside = range.start + inside.start..range.start + inside.end;
    let source = part(format, visible, inside.clone(), margin);
    Some((Candidate::new(source, "fenced"), inside.end))
}

/// A block or tag that is not closed.
struct Unclosed {
    start: usize,
    inside: Range<usize>,
    rule: &'static str,
    reason: String,
}

/// The block or tag that the end of the text truncates. An XML element may have the name of a tag.
fn unclosed(format: Format, text: &str, blocks: &[Block<'_>]) -> Option<Unclosed> {
    let has_content = |inside: &Range<usize>| !text[inside.clone()].trim().is_empty();
    let fenced = |(start, inside): (usize, Range<usize>)| Unclosed {
        start,
        inside,
        rule: "fenced",
        reason: "the fence is not closed".to_owned(),
    };
    let block = blocks.iter().find(|block| !block.is_closed);
    let block = block.map(|block| (block.start, block.inside.clone()));
    let starts_line = |at: usize| {
        let before = text[..at].trim_end_matches(['`', ' ', '\t']);
        before.is_empty() || before.ends_with('\n')
    };
    let after_text = inline(text, |word| is_named(format, word))
        .filter(|code| {
            let name = text[..code.inside.start].trim_end_matches(|c: char| c.is_alphanumeric());
            let inside = text[code.inside.clone()].trim_start_matches([' ', '\t', '\r']);
            let is_open = inside.starts_with(['\n', '{', '[', '<']) || starts_line(name.len());
            !code.is_closed && is_open
        })
        .map(|code| (code.inside.start, code.inside));
    let may_have_tags = format != Format::Xml && text.contains('<');
    let lower = if may_have_tags {
        text.to_ascii_lowercase()
    } else {
        String::new()
    };
    let tag = |name: &str| {
        let open = format!("<{name}>");
        let start = lower.rfind(&open)?;
        let inside = start + open.len()..text.len();
        // Elsewhere in a line, a tag may be mentioned in prose.
        let begins_document = text[inside.clone()]
            .trim_start()
            .starts_with(['{', '[', '<']);
        let is_open = (starts_line(start) || begins_document)
            && !lower[start..].contains(&format!("</{name}>"));
        is_open.then(|| Unclosed {
            start,
            inside,
            rule: "tag",
            reason: format!("`{open}` is not closed"),
        })
    };
    let names = TAGS.iter().copied().chain([format.name()]);
    let tags = names.filter(|_| may_have_tags).filter_map(tag);
    let fences = block.into_iter().chain(after_text).map(fenced);
    tags.chain(fences)
        .filter(|unclosed| has_content(&unclosed.inside))
        .min_by_key(|unclosed| unclosed.start)
}

/// A truncated document, or the complete JSON document before it.
fn truncated<'a>(
    format: Format,
    visible: &'a Source<'_>,
    wanted: &Wanted,
    unclosed: &Unclosed,
) -> Candidate<'a> {
    if format == Format::Json {
        let before = plain(format, visible, wanted, 0..unclosed.start, "whole");
        if before.document.is_some() {
            return before;
        }
    }
    let source = part(format, visible, unclosed.inside.clone(), Margin::default());
    let error = SyntaxError::new(source.text().len(), unclosed.reason.clone());
    Candidate {
        source,
        rule: unclosed.rule,
        document: Some(Err(error)),
    }
}

/// The byte range inside the last pair of tags. Of nested pairs, the innermost.
fn last_tag(format: Format, text: &str) -> Option<Range<usize>> {
    if !text.contains("</") {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let last = |lower: &str| {
        let pair = |name: &str| {
            let close = lower.rfind(&format!("</{name}>"))?;
            let open = format!("<{name}>");
            let start = lower[..close].rfind(&open)? + open.len();
            Some(start..close)
        };
        TAGS.iter()
            .copied()
            .chain([format.name()])
            .filter_map(pair)
            .max_by_key(|range| range.end)
    };
    let mut range = last(&lower)?;
    // Only a few tags can be nested before the document begins.
    for _ in 0..8 {
        let Some(inner) = last(&lower[range.clone()]) else {
            break;
        };
        range = range.start + inner.start..range.start + inner.end;
    }
    Some(range)
}

/// Whether the text starts with an XML element or prolog other than one of the answer tags.
fn begins_with_element(text: &str) -> bool {
    let text = text.trim_start();
    let is_tag = |name: &&str| {
        let rest = text.get(1..).and_then(|rest| {
            rest.get(..name.len())
                .map(|head| (head, &rest[name.len()..]))
        });
        rest.is_some_and(|(head, rest)| head.eq_ignore_ascii_case(name) && rest.starts_with('>'))
    };
    text.starts_with('<') && !TAGS.iter().chain(&["xml"]).any(is_tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(format: Format, text: &str) -> Option<(String, &'static str)> {
        let visible = Source::visible(text, false);
        let found = extract(format, &visible, &Wanted::default())
            .into_iter()
            .next()?;
        Some((found.source.text().to_owned(), found.rule))
    }

    fn json(text: &str) -> String {
        found(Format::Json, text)
            .map(|(text, _)| text)
            .unwrap_or_default()
    }

    #[test]
    fn uses_the_last_candidate() {
        assert_eq!(
            json("```json\n{\"a\":1}\n```\nso <answer>{\"a\":2}</answer>"),
            r#"{"a":2}"#
        );
        assert_eq!(
            json("<answer>{\"a\":1}</answer>\n```\n{\"a\":2}\n```"),
            r#"{"a":2}"#
        );
        assert_eq!(
            json("<answer>\n```json\n{\"a\":3}\n```\n</answer>"),
            r#"{"a":3}"#
        );
        assert_eq!(json("<output><JSON>[1]</JSON></output>"), "[1]");
        assert_eq!(json("```json\n1\n```\n```\n2\n```\n```python\n3\n```"), "1");
        assert_eq!(json("```yaml\na: 1\n```\n```\n{}\n```"), "{}");
    }

    #[test]
    fn a_document_in_an_unclosed_block_or_tag_is_malformed() {
        let read = |format: Format, text: &str| {
            let visible = Source::visible(text, false);
            let mut found = extract(format, &visible, &Wanted::default());
            let Candidate {
                source,
                rule,
                document,
            } = found.remove(0);
            let reason = document.map(|document| document.map_err(|error| error.reason));
            (source.text().to_owned(), rule, reason.and_then(Result::err))
        };
        for (format, text, inside) in [
            (Format::Json, "```json\n{\"a\":1}", r#"{"a":1}"#),
            (Format::Json, "So: {\"a\":\n```\n{\"a\":1}", r#"{"a":1}"#),
            (Format::Yaml, "It is\n```yaml\na: 1\n", "a: 1\n"),
            (Format::Toml, "~~~toml\na = 1\n~~", "a = 1\n~~"),
            (Format::Csv, "```csv\na,b\n1,", "a,b\n1,"),
            (Format::Xml, "```\n<a>1</a>\n", "<a>1</a>"),
            (Format::Json, "So: ```json\n{\"a\":1}", r#"{"a":1}"#),
            (
                Format::Json,
                "```python\nx = 1\ny = {\"a\":1}",
                "x = 1\ny = {\"a\":1}",
            ),
            (Format::Json, "So ```json {\"a\":1}", r#"{"a":1}"#),
            (Format::Yaml, "```yaml a: 1", " a: 1"),
        ] {
            let reason = Some("the fence is not closed".to_owned());
            assert_eq!(
                read(format, text),
                (inside.to_owned(), "fenced", reason),
                "{text}"
            );
        }
        for (format, text) in [
            (Format::Json, "So\n<answer> [1]"),
            (Format::Json, "It is <answer> [1]"),
            (Format::Yaml, "<YAML>\n[1]\n"),
        ] {
            let (inside, rule, reason) = read(format, text);
            assert_eq!((inside.trim(), rule), ("[1]", "tag"), "{text}");
            assert!(
                reason.is_some_and(|reason| reason.ends_with("is not closed")),
                "{text}"
            );
        }
        // A complete document that precedes it is used; the end tag also ends a block inside it.
        assert_eq!(json("```json\n[1]\n```\nor\n```json\n[2]"), "[1]");
        assert_eq!(json("It is [1], or\n```json\n[2]"), "[1]");
        assert_eq!(json("<answer>[1]</answer>\n```json\n[2]"), "[1]");
        assert_eq!(json("<answer>\n```json\n[1]\n</answer>"), "[1]");
        // A mention of a tag is prose.
        assert_eq!(json("Within <answer> it is [1]."), "[1]");
    }

    #[test]
    fn finds_blocks_after_text_in_quotations_and_within_lines() {
        assert_eq!(json("So: ```json\n[1]\n```"), "[1]");
        assert_eq!(json("```json\n[1]```"), "[1]");
        for (text, document) in [
            ("So: ```yaml\na: 1\n```", "a: 1\n"),
            ("> ```yaml\n> a:\n>   b: 1\n> ```", "a:\n  b: 1\n"),
            ("1. ```yaml\n   a:\n     b: 1\n   ```", "a:\n  b: 1\n"),
            ("It is ```yaml a: 1```.", " a: 1"),
        ] {
            let expected = Some((document.to_owned(), "fenced"));
            assert_eq!(found(Format::Yaml, text), expected, "{text}");
        }
    }

    #[test]
    fn finds_other_formats_in_fences_tags_and_whole_texts() {
        assert_eq!(
            found(Format::Yaml, "- x\n  ```yml\n  a: 1\n  ```"),
            Some(("a: 1\n".to_owned(), "fenced"))
        );
        assert_eq!(
            found(Format::Csv, "<csv>\na,b\n1,2\n</csv>"),
            Some(("a,b\n1,2".to_owned(), "tag"))
        );
        assert_eq!(
            found(Format::Toml, " a = 1\n"),
            Some((" a = 1".to_owned(), "whole"))
        );
        assert_eq!(
            found(Format::Yaml, "<answer>\n  a: 1\n  b: 2\n</answer>"),
            Some(("  a: 1\n  b: 2\n".to_owned(), "tag"))
        );
        assert_eq!(found(Format::Yaml, " \n "), None);
        assert_eq!(
            found(Format::Json, "```json\n```"),
            Some(("```json\n```".to_owned(), "whole"))
        );
    }

    #[test]
    fn elements_may_have_the_names_of_answer_tags() {
        let candidates = |text: &str| -> Vec<String> {
            let visible = Source::visible(text, false);
            extract(Format::Xml, &visible, &Wanted::default())
                .iter()
                .map(|found| found.source.text().to_owned())
                .collect()
        };
        assert_eq!(
            candidates("<answer><a>1</a></answer>"),
            ["<a>1</a>", "<answer><a>1</a></answer>"]
        );
        assert_eq!(
            candidates("<doc><output><a/></output></doc>")[0],
            "<doc><output><a/></output></doc>"
        );
    }
}
