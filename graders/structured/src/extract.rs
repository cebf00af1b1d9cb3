//! Finds the document in a completion. `auto` reads the last fenced block with the name of the
//! format, else the last block without a name, or the last pair of tags, whichever ends later; else
//! the whole text. In a tag or the whole text, JSON may be surrounded by prose: the last complete
//! outermost object or array is used.
//!
//! Each byte is read a bounded number of times: after a syntax error, parsing never restarts before
//! the error.

use std::ops::Range;

use assay_documents::Json;
use assay_documents::json::Reader;
use assay_extraction::fences::{Block, blocks, fences};

use crate::formats::Format;
use crate::source::Source;

/// Tags around an answer, in addition to the name of the format.
const TAGS: &[&str] = &["answer", "output"];

/// A text that may be the document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate<'a> {
    pub(crate) source: Source<'a>,
    /// `fenced`, `tag`, `prose` or `whole`.
    pub(crate) rule: &'static str,
    /// The document, if finding it required parsing it.
    pub(crate) document: Option<Json>,
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
pub(crate) fn extract<'a>(format: Format, visible: &'a Source<'_>) -> Vec<Candidate<'a>> {
    let text = visible.text();
    let mut found = Vec::new();
    let fenced = fenced(format, visible, 0..text.len());
    match last_tag(format, text) {
        Some(tag) if fenced.as_ref().is_none_or(|(_, end)| *end < tag.end) => {
            if let Some((fenced, _)) = self::fenced(format, visible, tag.clone()) {
                found.push(fenced);
            } else {
                // An element of this name may be part of the document.
                if format == Format::Xml && begins_with_element(text) {
                    found.push(Candidate::new(visible.trimmed(0..text.len()), "whole"));
                }
                found.push(plain(format, visible, tag, "tag"));
                if format == Format::Xml {
                    found.push(Candidate::new(visible.trimmed(0..text.len()), "whole"));
                }
            }
        }
        _ => found.push(match fenced {
            Some((fenced, _)) => fenced,
            None => plain(format, visible, 0..text.len(), "whole"),
        }),
    }
    found.retain(|found| !found.source.text().trim().is_empty());
    found
}

/// The whole visible text, as the only candidate. Empty if the text is blank.
pub(crate) fn whole<'a>(format: Format, visible: &'a Source<'_>) -> Vec<Candidate<'a>> {
    let found = Candidate::new(part(format, visible, 0..visible.text().len(), 0), "whole");
    if found.source.text().is_empty() {
        Vec::new()
    } else {
        vec![found]
    }
}

/// A part of the text, without surrounding blanks that its format ignores.
fn part<'a>(
    format: Format,
    visible: &'a Source<'_>,
    range: Range<usize>,
    indent: usize,
) -> Source<'a> {
    match format {
        Format::Json | Format::Xml => visible.trimmed(range),
        _ if indent > 0 => visible.without_indent(range, indent),
        Format::Yaml | Format::Toml | Format::Csv => visible.lines(range),
    }
}

/// A text without fences: the whole text, or the JSON in its prose.
fn plain<'a>(
    format: Format,
    visible: &'a Source<'_>,
    range: Range<usize>,
    rule: &'static str,
) -> Candidate<'a> {
    let mut all = Candidate::new(part(format, visible, range.clone(), 0), rule);
    if format != Format::Json {
        return all;
    }
    if let Ok(document) = Json::read(all.source.text()) {
        all.document = Some(document);
        return all;
    }
    let Some(JsonInProse {
        range: inside,
        document,
    }) = in_prose(&visible.text()[range.clone()])
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
        document,
    }
}

/// The content of a fenced block of a part of the text, and where the block ends.
fn fenced<'a>(
    format: Format,
    visible: &'a Source<'_>,
    range: Range<usize>,
) -> Option<(Candidate<'a>, usize)> {
    let text = &visible.text()[range.clone()];
    if !text.contains("```") && !text.contains("~~~") {
        return None;
    }
    let fences = fences(text);
    let blocks = blocks(&fences, text.len());
    let inside = |block: &Block<'_>| {
        let inside = &block.inside;
        range.start + inside.start..range.start + inside.end.max(inside.start)
    };
    let has_content = |block: &&Block<'_>| !visible.text()[inside(block)].trim().is_empty();
    let names_format = |block: &&Block<'_>| {
        let language = block
            .info
            .split(|c: char| !c.is_alphanumeric())
            .find(|word| !word.is_empty());
        language.is_some_and(|language| {
            format
                .names()
                .iter()
                .any(|name| language.eq_ignore_ascii_case(name))
        }) && has_content(block)
    };
    let chosen = blocks.iter().rfind(names_format);
    let block = chosen.or_else(|| {
        blocks
            .iter()
            .rfind(|block| block.info.is_empty() && has_content(block))
    })?;
    let inside = inside(block);
    let source = part(format, visible, inside.clone(), block.indent);
    Some((Candidate::new(source, "fenced"), inside.end))
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

/// JSON in prose. A malformed one has no tree.
struct JsonInProse {
    range: Range<usize>,
    document: Option<Json>,
}

/// The last complete outermost object or array in prose, else the last malformed one.
///
/// The content of a malformed document is ignored up to its last bracket, or to the end of the text
/// if that bracket is missing. A complete document before it is used instead.
fn in_prose(text: &str) -> Option<JsonInProse> {
    let (mut complete, mut malformed, mut at) = (None, None, 0);
    while let Some(step) = text[at..].find(['{', '[']) {
        at += step;
        let rest = &text[at..];
        let mut reader = Reader::new(rest);
        match reader.next_value() {
            Ok(document) => {
                complete = Some(JsonInProse {
                    range: at..at + reader.at(),
                    document: Some(document),
                });
                at += reader.at();
            }
            Err(error) if looks_like_a_document(rest) => {
                let end = closing(rest, error.at).map_or(text.len(), |end| at + end);
                malformed = Some(JsonInProse {
                    range: at..end,
                    document: None,
                });
                at = end;
            }
            Err(error) => at += error.at.max(1),
        }
        at = text.ceil_char_boundary(at);
    }
    complete.or(malformed)
}

/// Whether brackets look like JSON rather than prose: like an object that starts with a key or is
/// truncated, or an array that starts with a string or a collection.
fn looks_like_a_document(rest: &str) -> bool {
    let inside = rest[1..].trim_start();
    match rest.as_bytes()[0] {
        b'{' => inside.starts_with('"') || inside.is_empty(),
        _ => inside.starts_with(['"', '{', '[']),
    }
}

/// The end of a value with a syntax error at byte `at`, determined by its brackets.
fn closing(rest: &str, at: usize) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (index, byte) in rest.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && index >= at {
                    return Some(index + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(format: Format, text: &str) -> Option<(String, &'static str)> {
        let visible = Source::visible(text, false);
        let found = extract(format, &visible).into_iter().next()?;
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
    fn finds_json_in_prose() {
        assert_eq!(
            json("The set {x} and [1]: here it is: {\"a\": [2]}. Done."),
            r#"{"a": [2]}"#
        );
        assert_eq!(json("on [0,1) it is {\"a\":1}"), r#"{"a":1}"#);
        assert_eq!(json("It is {{\"a\": 1}}."), r#"{"a": 1}"#);
        assert_eq!(json("first {\"a\":1} then {\"a\":2}!"), r#"{"a":2}"#);
        assert_eq!(json("42"), "42");
        assert_eq!(
            json("<answer>It is {\"a\":1}, surely</answer>"),
            r#"{"a":1}"#
        );
        assert_eq!(json("no document"), "no document");
    }

    #[test]
    fn ignores_the_content_of_malformed_documents() {
        assert_eq!(
            json("x {\"a\": oops, \"b\": {\"c\": 1}} y"),
            r#"{"a": oops, "b": {"c": 1}}"#
        );
        assert_eq!(
            json("x {\"a\": [{\"b\":1},{\"b\":2},{\"b\":"),
            "{\"a\": [{\"b\":1},{\"b\":2},{\"b\":"
        );
        assert_eq!(json("{\"a\": [{\"b\":1}] tail"), "{\"a\": [{\"b\":1}] tail");
        assert_eq!(json("{\"a\":1} but {\"a\":"), r#"{"a":1}"#);
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
            Some(("  a: 1\n  b: 2".to_owned(), "tag"))
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
            extract(Format::Xml, &visible)
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

    #[test]
    fn scans_brackets_in_linear_time() {
        for mark in [
            "[", "{", "{\"", "[\"", "{\"a\":", "[0,", "[1,{", "]", "[\"\\",
        ] {
            let text = format!("so {}", mark.repeat(300_000));
            let visible = Source::visible(&text, false);
            assert_eq!(extract(Format::Json, &visible).len(), 1, "{mark}");
        }
    }
}
