//! XML, parsed by `roxmltree`. The document is the content of the root element: attributes as
//! `@name`, child elements by their qualified names, repeated ones as arrays, text next to either
//! as `#text`. An element with neither is a string. White space at the ends of a text is ignored.
//! Document type declarations are rejected, so that only the five entities of XML exist.

use std::collections::HashMap;

use assay_documents::json::MAX_DEPTH;
use assay_documents::{Json, SyntaxError};
use roxmltree::{Document, Error, Node};

use super::limits::byte_of;

/// Maximum number of attributes of an element, and of namespaces of a document. It is low because
/// the parser compares each with all others.
const MAX_NAMES: usize = 256;

/// Reads one document.
pub(super) fn read(text: &str) -> Result<Json, SyntaxError> {
    check_limits(text)?;
    let document = Document::parse(text).map_err(|error| syntax_error(text, &error))?;
    Ok(element(document.root_element(), text))
}

fn syntax_error(text: &str, error: &Error) -> SyntaxError {
    let position = error.pos();
    let has_position = !matches!(
        error,
        Error::NoRootNode | Error::UnclosedRootNode | Error::UnexpectedEndOfStream
    );
    let at = if has_position {
        let row = usize::try_from(position.row).unwrap_or(1).saturating_sub(1);
        let start: usize = text.split_inclusive('\n').take(row).map(str::len).sum();
        start
            + byte_of(
                &text[start..],
                usize::try_from(position.col).unwrap_or(1).saturating_sub(1),
            )
    } else {
        text.len()
    };
    SyntaxError::new(
        at,
        error
            .to_string()
            .replace(&format!(" at {position}"), "")
            .replace('\'', "`"),
    )
}

/// Checks all tags in one pass before parsing, and rejects texts for which the parser would need
/// more than linear time.
fn check_limits(text: &str) -> Result<(), SyntaxError> {
    let (mut at, mut depth, mut namespaces) = (0, 0usize, 0);
    while let Some(step) = text[at..].find('<') {
        at += step;
        let rest = &text[at..];
        let skip = |end: &str| rest.find(end).map(|found| found + end.len());
        let length = if rest.starts_with("<!--") {
            skip("-->")
        } else if rest.starts_with("<![CDATA[") {
            skip("]]>")
        } else if rest.starts_with("<?") {
            skip("?>")
        } else if rest.starts_with("<!") {
            return Err(SyntaxError::new(
                at,
                "document type declarations are not allowed",
            ));
        } else if rest.starts_with("</") {
            depth = depth.saturating_sub(1);
            skip(">")
        } else {
            let tag = tag(rest);
            namespaces += tag.namespaces;
            depth += usize::from(!tag.is_empty);
            if depth > MAX_DEPTH {
                return Err(SyntaxError::new(
                    at,
                    format!("the document nests deeper than {MAX_DEPTH} levels"),
                ));
            }
            if tag.attributes > MAX_NAMES {
                return Err(SyntaxError::new(
                    at,
                    format!("an element has more than {MAX_NAMES} attributes"),
                ));
            }
            if namespaces > MAX_NAMES {
                return Err(SyntaxError::new(
                    at,
                    format!("the document declares more than {MAX_NAMES} namespaces"),
                ));
            }
            Some(tag.length)
        };
        let Some(length) = length else { return Ok(()) };
        at += length;
    }
    Ok(())
}

struct Tag {
    length: usize,
    is_empty: bool,
    attributes: usize,
    namespaces: usize,
}

fn tag(rest: &str) -> Tag {
    let bytes = rest.as_bytes();
    let (mut quote, mut attributes, mut end) = (None, 0, bytes.len());
    for (at, byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'=') => attributes += 1,
            (None, b'>') => {
                end = at + 1;
                break;
            }
            (None, _) => {}
        }
    }
    let text = &rest[..end];
    Tag {
        length: end,
        is_empty: text.ends_with("/>"),
        attributes,
        namespaces: text.matches("xmlns").count(),
    }
}

fn element(node: Node<'_, '_>, text: &str) -> Json {
    let mut members: Vec<(String, Json)> = node
        .attributes()
        .map(|attribute| {
            (
                format!("@{}", &text[attribute.range_qname()]),
                Json::Text(attribute.value().to_owned()),
            )
        })
        .collect();
    let mut indices: HashMap<&str, usize> = HashMap::new();
    let mut own_text = String::new();
    for child in node.children() {
        if child.is_text() {
            own_text.push_str(child.text().unwrap_or_default());
        } else if child.is_element() {
            let (name, value) = (name(child, text), element(child, text));
            let index = *indices.entry(name).or_insert(members.len());
            match members.get_mut(index).map(|(_, value)| value) {
                None => members.push((name.to_owned(), value)),
                // A single element is never an array.
                Some(Json::Array(elements)) => elements.push(value),
                Some(first) => {
                    *first = Json::Array(vec![std::mem::replace(first, Json::Null), value]);
                }
            }
        }
    }
    let own_text = own_text.trim();
    if members.is_empty() {
        return Json::Text(own_text.to_owned());
    }
    if !own_text.is_empty() {
        members.push(("#text".to_owned(), Json::Text(own_text.to_owned())));
    }
    Json::Object(members)
}

/// The name of an element with its prefix, as written.
fn name<'t>(node: Node<'_, '_>, text: &'t str) -> &'t str {
    let tag = &text[node.range().start + 1..];
    let end = tag.find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>');
    &tag[..end.unwrap_or(tag.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        read(text)
            .unwrap_or_else(|error| panic!("{error}: {text}"))
            .to_string()
    }

    #[test]
    fn the_document_is_the_content_of_the_root() {
        let text = r#"<?xml version="1.0"?>
            <order id="7"><!-- two --><item>tea</item><item sku="x">jam</item><n:note xmlns:n="u"> a &amp; <![CDATA[<b>]]> </n:note><gone/></order>"#;
        assert_eq!(
            parsed(text),
            r##"{"@id":"7","item":["tea",{"@sku":"x","#text":"jam"}],"n:note":"a & <b>","gone":""}"##
        );
        assert_eq!(parsed("<a>5</a>"), "\"5\"");
        assert_eq!(
            parsed("<a>x <b>1</b> y</a>"),
            r##"{"b":"1","#text":"x  y"}"##
        );
    }

    #[test]
    fn reports_the_byte_of_errors() {
        let at = |text: &str| read(text).unwrap_err().at;
        assert_eq!(at("<a>\n  é<b></c></a>"), "<a>\n  é<b>".len());
        assert_eq!(at("<a><b></b>"), "<a><b></b>".len());
        assert_eq!(at("<a x='1' x='2'/>"), "<a x='1' ".len());
        assert_eq!(at("<a/> tail"), "<a/> ".len());
        assert_eq!(at("<a>&lol;</a>"), "<a>".len());
    }

    #[test]
    fn limits_attributes_and_namespaces() {
        let attributes = |count: usize| -> String {
            let each = (0..count).map(|n| format!(" a{n}='1'"));
            format!("<a{}/>", each.collect::<String>())
        };
        assert!(read(&attributes(256)).is_ok());
        assert_eq!(
            read(&attributes(257)).unwrap_err().reason,
            "an element has more than 256 attributes"
        );
        let namespaces = |count: usize| -> String {
            let each = (0..count).map(|n| format!("<b xmlns:n{n}='u{n}'/>"));
            format!("<a>{}</a>", each.collect::<String>())
        };
        assert!(read(&namespaces(256)).is_ok());
        assert_eq!(
            read(&namespaces(257)).unwrap_err().reason,
            "the document declares more than 256 namespaces"
        );
        let declared = read("<!DOCTYPE a><a/>").unwrap_err();
        assert_eq!(
            (declared.at, declared.reason.as_str()),
            (0, "document type declarations are not allowed")
        );
    }

    #[test]
    fn rejects_inputs_that_need_superlinear_time() {
        let reason = |text: &str| read(text).unwrap_err().reason;
        assert!(reason("<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>").contains("not allowed"));
        assert!(reason(&"<a>".repeat(500_000)).contains("deeper"));
        let nested = |levels: usize| format!("{}1{}", "<a>".repeat(levels), "</a>".repeat(levels));
        assert!(read(&nested(256)).is_ok() && read(&nested(257)).is_err());
        let many: String = (0..100_000).map(|n| format!(" a{n}='1'")).collect();
        assert!(reason(&format!("<a{many}/>")).contains("attributes"));
        let many: String = (0..1_000)
            .map(|n| format!("<b xmlns:n{n}='u{n}'/>"))
            .collect();
        assert!(reason(&format!("<a>{many}</a>")).contains("namespaces"));
        assert!(
            read(&format!(
                "<a>{}</a>",
                "<b>it's</b><!-- \" -->".repeat(10_000)
            ))
            .is_ok()
        );
    }
}
