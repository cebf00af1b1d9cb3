//! YAML 1.2 with the core schema, built from the events of `saphyr-parser`. A text has exactly one
//! document. Aliases are expanded up to a limit. `<<` is an ordinary key, because merge keys belong
//! to YAML 1.1.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use assay_base::truncated;
use assay_documents::json::{MAX_DEPTH, is_duplicate};
use assay_documents::{Json, SyntaxError};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};

use super::limits::{MAX_COPIED_BYTES, MAX_QUOTED, MAX_VALUES, byte_of};
use super::{decimal, numbers};

/// Reads one document.
pub(super) fn read(text: &str) -> Result<Json, SyntaxError> {
    let last_line = unterminated(text);
    let terminated = last_line.map_or(Cow::Borrowed(text), |_| Cow::Owned(format!("{text}\n")));
    let characters = last_line.map_or(0, |_| terminated.chars().count());
    let mut builder = Builder::default();
    let mut parser = Parser::new_from_str(&terminated);
    while let Some(event) = parser.next_event() {
        let (mut event, span) = event.map_err(|error: ScanError| {
            SyntaxError::new(
                byte_of(text, error.marker().index()),
                error.info().replace('\'', "`"),
            )
        })?;
        if let (Event::Scalar(value, ScalarStyle::Literal | ScalarStyle::Folded, ..), Some(line)) =
            (&mut event, last_line)
            && span.end.index() == characters
        {
            without_added_break(value, line);
        }
        let is_end = matches!(event, Event::StreamEnd);
        builder
            .handle(event)
            .map_err(|reason| SyntaxError::new(byte_of(text, span.start.index()), reason))?;
        if is_end {
            break;
        }
    }
    builder
        .document
        .ok_or_else(|| SyntaxError::new(text.len(), "the document is missing"))
}

/// The last line of a text that does not end with a line break, if it may be in a block scalar.
fn unterminated(text: &str) -> Option<&str> {
    let start = text.rfind(['\n', '\r'])? + 1;
    (start < text.len() && text.contains(['|', '>'])).then(|| &text[start..])
}

/// Removes the line break that was added to the last line of a text from a block scalar that ends
/// there. A line of content at the end of the text has no break (YAML 1.2.2, rule
/// `b-chomped-last`), and spaces without a break are no line (rule `l-empty`). The YAML test suite
/// adds a break to such spaces (cases JEF9 and L24T).
fn without_added_break(value: &mut Cow<'_, str>, last_line: &str) {
    let Some(rest) = value.strip_suffix('\n') else {
        return;
    };
    let line = &rest[rest.rfind('\n').map_or(0, |at| at + 1)..];
    // Otherwise the added break ended a line without content, which is not part of the value.
    let is_kept = line.trim_matches(' ').is_empty();
    if is_kept || !last_line.trim_matches(' ').is_empty() {
        value.to_mut().pop();
    }
}

/// A finished node.
#[derive(Clone)]
struct Node {
    value: Json,
    /// The text of a scalar, for use as a key.
    text: Option<String>,
}

/// An unfinished collection.
struct OpenCollection {
    anchor: usize,
    content: Content,
}

/// The content of an unfinished collection so far.
enum Content {
    Sequence(Vec<Json>),
    Mapping {
        members: Vec<(String, Json)>,
        seen: HashSet<String>,
        key: Option<String>,
    },
}

/// A node with an anchor.
struct Anchored {
    node: Node,
    depth: usize,
    bytes: usize,
}

/// Builds the tree of a document from events.
#[derive(Default)]
struct Builder {
    open: Vec<OpenCollection>,
    anchors: HashMap<usize, Anchored>,
    copied_bytes: usize,
    values: usize,
    documents: usize,
    document: Option<Json>,
}

impl Builder {
    fn handle(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err("unexpected second document".to_owned());
                }
                Ok(())
            }
            Event::SequenceStart(anchor, tag) => {
                collection(tag.as_deref(), "seq")?;
                self.begin(anchor, Content::Sequence(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                collection(tag.as_deref(), "map")?;
                self.begin(
                    anchor,
                    Content::Mapping {
                        members: Vec::new(),
                        seen: HashSet::new(),
                        key: None,
                    },
                )
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(&text, style, tag.as_deref())?;
                self.finish(
                    anchor,
                    Node {
                        value,
                        text: Some(text.into_owned()),
                    },
                )
            }
            Event::Alias(anchor) => {
                let anchored = self
                    .anchors
                    .get(&anchor)
                    .ok_or("an alias refers to a collection that contains it")?;
                if self.open.len() + anchored.depth > MAX_DEPTH {
                    return Err(too_deep());
                }
                let bytes = anchored.bytes;
                self.charge(bytes)?;
                let node = self
                    .anchors
                    .get(&anchor)
                    .map(|anchored| anchored.node.clone());
                node.map_or(Ok(()), |node| self.put(node))
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, content: Content) -> Result<(), String> {
        if let Some(OpenCollection {
            content: Content::Mapping { key: None, .. },
            ..
        }) = self.open.last()
        {
            return Err("a key must be a scalar".to_owned());
        }
        if self.open.len() == MAX_DEPTH {
            return Err(too_deep());
        }
        self.open.push(OpenCollection { anchor, content });
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let Some(OpenCollection { anchor, content }) = self.open.pop() else {
            return Ok(());
        };
        let value = match content {
            Content::Sequence(elements) => Json::Array(elements),
            Content::Mapping { members, .. } => Json::Object(members),
        };
        self.finish(anchor, Node { value, text: None })
    }

    /// Adds a node to its collection, and stores it if it has an anchor.
    fn finish(&mut self, anchor: usize, node: Node) -> Result<(), String> {
        if anchor > 0 {
            let bytes = node.value.bytes();
            self.charge(bytes)?;
            self.anchors.insert(
                anchor,
                Anchored {
                    depth: depth(&node.value),
                    bytes,
                    node: node.clone(),
                },
            );
        }
        self.put(node)
    }

    /// Adds a node to its collection, or as the document.
    fn put(&mut self, node: Node) -> Result<(), String> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err("the document has more than four million values".to_owned());
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.document = Some(node.value),
            Some(Content::Sequence(elements)) => elements.push(node.value),
            Some(Content::Mapping { members, seen, key }) => match key.take() {
                Some(key) => members.push((key, node.value)),
                None => {
                    let name = node.text.ok_or("a key must be a scalar")?;
                    if is_duplicate(&name, members, seen) {
                        return Err(format!("duplicate key `{}`", truncated(&name, MAX_QUOTED)));
                    }
                    *key = Some(name);
                }
            },
        }
        Ok(())
    }

    /// Counts copied bytes against the limit.
    fn charge(&mut self, bytes: usize) -> Result<(), String> {
        self.copied_bytes = self.copied_bytes.saturating_add(bytes);
        let is_within_limit = self.copied_bytes <= MAX_COPIED_BYTES;
        is_within_limit
            .then_some(())
            .ok_or_else(|| format!("aliases expand to more than {} MiB", MAX_COPIED_BYTES >> 20))
    }
}

fn too_deep() -> String {
    format!("the document nests deeper than {MAX_DEPTH} levels")
}

fn depth(tree: &Json) -> usize {
    let inside = tree
        .elements()
        .iter()
        .chain(tree.members().iter().map(|(_, value)| value))
        .map(depth)
        .max();
    let is_collection = matches!(tree, Json::Array(_) | Json::Object(_));
    usize::from(is_collection) + inside.unwrap_or(0)
}

/// Rejects a tag that does not match the kind of the collection.
fn collection(tag: Option<&Tag>, kind: &str) -> Result<(), String> {
    match tag {
        None => Ok(()),
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == kind => Ok(()),
        Some(tag) => Err(unknown(tag)),
    }
}

fn unknown(tag: &Tag) -> String {
    format!(
        "the core schema does not allow the tag `{}` here",
        truncated(&tag.to_string(), MAX_QUOTED)
    )
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Json, String> {
    let Some(tag) = tag else {
        return if style == ScalarStyle::Plain {
            resolved(text)
        } else {
            Ok(Json::Text(text.to_owned()))
        };
    };
    let is_unspecific =
        tag.handle == "!" && tag.suffix.is_empty() || tag.handle.is_empty() && tag.suffix == "!";
    if is_unspecific {
        return Ok(Json::Text(text.to_owned()));
    }
    if !tag.is_yaml_core_schema() {
        return Err(unknown(tag));
    }
    let value = if tag.suffix == "str" {
        Json::Text(text.to_owned())
    } else {
        resolved(text)?
    };
    let fits = match (&value, tag.suffix.as_str()) {
        (Json::Text(_), "str")
        | (Json::Null, "null")
        | (Json::Bool(_), "bool")
        | (Json::Number(_), "float") => true,
        (Json::Number(number), "int") => !number.contains(['.', 'e']),
        _ => false,
    };
    fits.then_some(value).ok_or_else(|| {
        format!(
            "`{}` is not a value of its tag `!!{}`",
            truncated(text, MAX_QUOTED),
            truncated(&tag.suffix, MAX_QUOTED)
        )
    })
}

/// A plain scalar by the core schema (YAML 1.2.2, section 10.3.2).
fn resolved(text: &str) -> Result<Json, String> {
    let value = match text {
        "" | "~" | "null" | "Null" | "NULL" => Json::Null,
        "true" | "True" | "TRUE" => Json::Bool(true),
        "false" | "False" | "FALSE" => Json::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Err("JSON has no NaN".to_owned()),
        _ => {
            if let Some(digits) = text.strip_prefix("0x").filter(|digits| are_all(digits, 16)) {
                Json::Number(numbers::in_base_ten(digits, 16)?)
            } else if let Some(digits) = text.strip_prefix("0o").filter(|digits| are_all(digits, 8))
            {
                Json::Number(numbers::in_base_ten(digits, 8)?)
            } else if matches!(
                text.strip_prefix(['+', '-']).unwrap_or(text),
                ".inf" | ".Inf" | ".INF"
            ) {
                return Err("JSON has no infinite number".to_owned());
            } else {
                decimal(text).map_or_else(|| Json::Text(text.to_owned()), Json::Number)
            }
        }
    };
    Ok(value)
}

fn are_all(digits: &str, radix: u32) -> bool {
    !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        read(text)
            .unwrap_or_else(|error| panic!("{error}: {text}"))
            .to_string()
    }

    fn read_error(text: &str) -> (usize, String) {
        let error = read(text).unwrap_err();
        (error.at, error.reason)
    }

    #[test]
    fn scalars_are_resolved_by_the_core_schema() {
        assert_eq!(
            parsed(
                "[null, ~, true, False, no, on, 012, 0o14, 0xFF, -7, +1.5, .5, 1e3, 1:30, \
                 2024-01-31, '1', \"x\"]"
            ),
            r#"[null,null,true,false,"no","on",12,12,255,-7,1.5,0.5,1e3,"1:30","2024-01-31","1","x"]"#
        );
        assert_eq!(
            parsed("n: 123456789012345678901234567890"),
            r#"{"n":123456789012345678901234567890}"#
        );
        assert_eq!(parsed("[0x, 0xfg, 0o, 0o8]"), r#"["0x","0xfg","0o","0o8"]"#);
        assert_eq!(
            parsed("a: !!str 5\nb: !!float 5\nc: ! 5"),
            r#"{"a":"5","b":5,"c":"5"}"#
        );
    }

    #[test]
    fn reads_block_and_flow_style() {
        let text = "name: Ada\ntags:\n- a\n- b: |\n    two\n    lines\n- {c: [1, 2]}\n1: one\n";
        assert_eq!(
            parsed(text),
            r#"{"name":"Ada","tags":["a",{"b":"two\nlines\n"},{"c":[1,2]}],"1":"one"}"#
        );
    }

    #[test]
    fn block_scalars_end_with_the_line_breaks_of_the_text() {
        for (text, value) in [
            ("t: |\n  a\n  b", "a\nb"),
            ("t: |\n  a\n  b\n", "a\nb\n"),
            ("t: |\n  a\n  b\n\n\n", "a\nb\n"),
            ("t: |-\n  a\n  b", "a\nb"),
            ("t: |-\n  a\n\n", "a"),
            ("t: |+\n  a", "a"),
            ("t: |+\n  a\n", "a\n"),
            ("t: |+\n  a\n\n", "a\n\n"),
            ("t: >\n  a\n  b", "a b"),
            ("t: >\n  a\n  b\n", "a b\n"),
            ("t: >-\n  a\n  b\n", "a b"),
            ("t: >+\n  a\n\n  b\n\n", "a\nb\n\n"),
            ("t: |\n  é\n  ", "é\n"),
            ("t: |+\n  a\n\n  ", "a\n\n"),
            ("t: |\n  a\n    ", "a\n  "),
            ("t: |\n  a\n# end", "a\n"),
            ("t: |\n  a\n...", "a\n"),
            ("t: |2\n   a", " a"),
            ("t: |", ""),
            ("t: |\r\n  a\r\n  b", "a\nb"),
        ] {
            let document = read(text).unwrap_or_else(|error| panic!("{error}: {text:?}"));
            let got = document.get("t").and_then(Json::text);
            assert_eq!(got, Some(value), "{text:?}");
        }
        assert_eq!(parsed("x:\n  t: |\n    a"), r#"{"x":{"t":"a"}}"#);
        assert_eq!(parsed("- |+\n   "), r#"[""]"#);
        assert_eq!(parsed("t: |\n  a\nu: b"), r#"{"t":"a\n","u":"b"}"#);
    }

    #[test]
    fn resolves_aliases() {
        assert_eq!(
            parsed("a: &x {k: 1}\nb: *x\n<<: *x"),
            r#"{"a":{"k":1},"b":{"k":1},"<<":{"k":1}}"#
        );
        assert_eq!(parsed("&k a: 1\nb: *k"), r#"{"a":1,"b":"a"}"#);
        assert!(
            read_error("a: &x [*x]")
                .1
                .contains("a collection that contains it")
        );
    }

    #[test]
    fn limits_expansion_of_aliases() {
        let mut text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
        for level in 1..12 {
            let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        assert!(read_error(&text).1.contains("MiB"));
        let mut chain = "a0: &a0 [x]\n".to_owned();
        for level in 1..300 {
            chain.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
        }
        assert!(read_error(&chain).1.contains("deeper"));
    }

    #[test]
    fn rejects_values_without_a_tree_form() {
        for (text, reason) in [
            ("a: .inf", "JSON has no infinite number"),
            ("a: -.INF", "JSON has no infinite number"),
            ("a: .nan", "JSON has no NaN"),
            ("a: 1\nb: 2\na: 3", "duplicate key `a`"),
            ("1: a\n'1': b", "duplicate key `1`"),
            ("? [a]\n: b", "a key must be a scalar"),
            ("a: 1\n---\nb: 2", "unexpected second document"),
            (
                "a: !ruby/object {}",
                "the core schema does not allow the tag `!ruby/object` here",
            ),
            ("a: !!int x", "`x` is not a value of its tag `!!int`"),
            ("# nothing\n", "the document is missing"),
        ] {
            assert_eq!(read_error(text).1, reason, "{text}");
        }
    }

    #[test]
    fn reports_errors_by_byte_offset() {
        assert_eq!(read_error("é: 1\né: 2").0, "é: 1\n".len());
        assert_eq!(read_error("a: é\r\nb: .nan").0, "a: é\r\nb: ".len());
        assert_eq!(read_error("a: [1, 2\nb: 3").0, "a: [1, 2\nb".len());
    }

    #[test]
    fn limits_depth() {
        let flow = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(read(&flow(255)).is_ok());
        assert!(read(&flow(257)).is_err());
        let blocks: String = (0..300)
            .map(|level| format!("{}a:\n", " ".repeat(level)))
            .collect();
        assert!(read_error(&blocks).1.contains("deeper"));
        for mark in ["[", "{", "{a: ", "- ", "? ", "[a, "] {
            assert!(read(&mark.repeat(100_000)).is_err(), "{mark}");
        }
    }
}
