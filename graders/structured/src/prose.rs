//! Finds JSON in prose: the last complete outermost object or array that fits the task.
//!
//! Nothing inside a broken document is used. A bracket at which no value begins is skipped with all
//! that it encloses, and a value is broken if text next to it shows that it was part of a larger
//! one: a key or an unmatched bracket before it, or after it, maybe after more members or elements.
//!
//! Each byte is read a bounded number of times: after a syntax error, parsing never restarts before
//! the error.

use std::ops::Range;

use assay_documents::Json;
use assay_documents::json::Reader;

use crate::brackets::Brackets;
use crate::requirements::Wanted;

const LITERALS: &[&str] = &["true", "false", "null"];

/// JSON in prose. A malformed one has no tree.
pub(crate) struct JsonInProse {
    pub(crate) range: Range<usize>,
    pub(crate) document: Option<Json>,
}

/// The last complete outermost object or array in a text that fits the task, else the last complete
/// one, else the last malformed one.
///
/// A malformed document ends with its last bracket, or with the text if that bracket is missing.
pub(crate) fn in_prose(text: &str, wanted: &Wanted) -> Option<JsonInProse> {
    let mut search = Search {
        text,
        wanted,
        brackets: None,
        run: Run::default(),
        fitting: None,
        complete: None,
        malformed: None,
    };
    let mut at = 0;
    while let Some(step) = text[at..].find(['{', '[']) {
        at = text.ceil_char_boundary(search.value_at(at + step));
    }
    search.end_run();
    search.fitting.or(search.complete).or(search.malformed)
}

struct Search<'a> {
    text: &'a str,
    wanted: &'a Wanted,
    /// Computed when they are first needed.
    brackets: Option<Brackets>,
    run: Run,
    fitting: Option<JsonInProse>,
    complete: Option<JsonInProse>,
    malformed: Option<JsonInProse>,
}

/// Values with only scalars, keys and commas between them. One that is broken breaks all.
#[derive(Default)]
struct Run {
    values: Vec<(Range<usize>, Json)>,
    is_broken: bool,
    /// The start of its first value, even of one without a tree.
    start: Option<usize>,
    /// The end of its last value, and of the scalars, keys and commas that follow.
    end: usize,
    more: usize,
}

impl Search<'_> {
    /// Reads the value at an opening bracket. Returns where the search continues.
    fn value_at(&mut self, at: usize) -> usize {
        let (before, rest) = self.text.split_at(at);
        if is_markup(before, rest) {
            return at + 1;
        }
        let mut reader = Reader::new(rest);
        match reader.next_value() {
            Ok(document) => {
                let end = at + reader.at();
                let is_part = ends_with_key(before) || self.follows_unmatched(before);
                self.extend_run(at..end, is_part);
                self.run.values.push((at..end, document));
                self.run.more
            }
            Err(error) => {
                let error = at + error.at;
                let looks_like_a_document =
                    looks_like_a_document(rest) || self.text[error..].trim_start().is_empty();
                let partner = self.brackets().partner(at).filter(|end| *end >= error);
                let end = match partner {
                    Some(end) => end + 1,
                    None if looks_like_a_document => self.text.len(),
                    None => {
                        self.end_run();
                        return error.max(at + 1);
                    }
                };
                if looks_like_a_document {
                    self.extend_run(at..end, true);
                    self.run.more
                } else {
                    self.end_run();
                    end
                }
            }
        }
    }

    fn brackets(&mut self) -> &Brackets {
        let text = self.text;
        self.brackets.get_or_insert_with(|| Brackets::of(text))
    }

    /// Whether a text ends with a bracket that nothing opens.
    fn follows_unmatched(&mut self, before: &str) -> bool {
        let before = before.trim_end();
        before.ends_with(['}', ']']) && self.brackets().partner(before.len() - 1).is_none()
    }

    /// Adds the range of a value to the run that it continues, or to a new one.
    fn extend_run(&mut self, range: Range<usize>, is_broken: bool) {
        let text = self.text;
        let is_apart = text[self.run.end..self.run.more.max(self.run.end)]
            .trim()
            .is_empty();
        if self.run.more != range.start || is_apart {
            self.end_run();
        }
        let rest = &text[range.end..];
        let more = range.end + rest.len() - after_scalars(rest).len();
        let is_cut = matches!(text.as_bytes().get(more), Some(b'}' | b']'))
            && self.brackets().partner(more).is_none();
        let has_key = rest
            .trim_start()
            .strip_prefix(',')
            .is_some_and(|rest| rest.trim_start().starts_with('"'));
        self.run.is_broken |= is_broken || is_cut || has_key;
        self.run.start.get_or_insert(range.start);
        (self.run.end, self.run.more) = (range.end, more);
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        if let (true, Some(start)) = (run.is_broken, run.start) {
            let rest = &self.text[run.end..];
            let more = rest.trim_start_matches(|c: char| c.is_whitespace() || "}],".contains(c));
            let closed = rest[..rest.len() - more.len()].trim_end();
            self.malformed = Some(JsonInProse {
                range: start..run.end + closed.len(),
                document: None,
            });
            return;
        }
        for (range, document) in run.values {
            let fits = self.wanted.fits(&document);
            let found = Some(JsonInProse {
                range,
                document: Some(document),
            });
            if fits {
                self.fitting = found;
            } else {
                self.complete = found;
            }
        }
    }
}

/// The text after scalars, keys, commas and white space at its start.
fn after_scalars(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',' || c == ':');
        if !text.starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit())
            && !LITERALS.iter().any(|literal| text.starts_with(literal))
        {
            return text;
        }
        let mut reader = Reader::new(text);
        if reader.next_value().is_err() {
            return text;
        }
        text = &text[reader.at()..];
    }
}

/// Whether a bracket belongs to markup around a document: `\boxed{`, `\[`.
fn is_markup(before: &str, rest: &str) -> bool {
    if rest.starts_with('[') {
        return before.ends_with('\\');
    }
    let command = before.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    command.len() < before.len() && command.ends_with('\\')
}

/// Whether a text ends with a quoted key and a colon.
fn ends_with_key(text: &str) -> bool {
    let key = text.trim_end().strip_suffix(':');
    key.is_some_and(|key| key.trim_end().ends_with('"'))
}

/// Whether brackets look like JSON rather than prose: like an object that starts with a key, in
/// quotes or not, or is truncated, or an array that starts with a string, a number or a collection.
fn looks_like_a_document(rest: &str) -> bool {
    let inside = rest[1..].trim_start();
    if inside.starts_with(['"', '\'', '{']) {
        return true;
    }
    if rest.starts_with('[') {
        return inside.starts_with(|c: char| c == '[' || c == '-' || c.is_ascii_digit())
            || LITERALS.iter().any(|literal| inside.starts_with(literal));
    }
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let after_name = inside.trim_start_matches(is_of_name);
    let is_name = after_name.len() < inside.len();
    inside.is_empty() || is_name && after_name.trim_start().starts_with([':', '='])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn found<'t>(text: &'t str, wanted: &Wanted) -> Option<(&'t str, bool)> {
        let found = in_prose(text, wanted)?;
        Some((&text[found.range], found.document.is_some()))
    }

    fn complete(text: &str) -> &str {
        match found(text, &Wanted::default()) {
            Some((document, true)) => document,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn finds_the_last_complete_value() {
        assert_eq!(
            complete("The set {x} and [1]: here it is: {\"a\": [2]}. Done."),
            r#"{"a": [2]}"#
        );
        for text in [
            "on [0,1) it is {\"a\":1}",
            "on (0, 1] it is {\"a\":1}",
            "not {\"a\":2}, but {\"a\":1}!",
            "[0,1) or (2,3] gives {\"a\":1}.",
            "a :( sad [x :( y] but {\"a\":1}",
            "- [ ] todo\n- [x] done\n{\"a\":1}",
            "5\" or [6] {\"a\":1}",
            "so \\boxed{{\"a\":1}}",
            "so \\[ {\"a\":1} \\]",
            "[A] {\"a\":1} [/A]",
            "{\"b\":1} then\n{\"a\":1}",
            "{\"a\":1} but {\"a\":",
            "{\"a\":1} but {\"a\": 1}}",
            "{\"a\": oops} so {\"a\":1}",
        ] {
            assert_eq!(complete(text), r#"{"a":1}"#, "{text}");
        }
    }

    #[test]
    fn the_inside_of_a_broken_document_is_not_a_document() {
        for text in [
            "It is {result: {\"a\": 1}}.",
            "It is {{\"a\": 1}}.",
            "It is {'result': {\"a\": 1}}.",
            "It is { result = {\"a\": 1}",
            "It is {result: {\"a\": 1}",
            "It is {\"a\": 1}}.",
            "It is \"result\": {\"a\": 1}}.",
            "It is \"result\": {\"a\": 1}.",
            "It is {\"a\": {\"b\": 1}}, \"c\": {\"d\": 1}}",
            "It is {\"a\": {\"b\": 1}}, \"c\": 1}",
            "It is {\"a\": 1}, {\"a\": 2}]",
            "It is [{\"a\": 1}, {\"a\": 2}",
            "It is [1, {\"a\": 1}",
            "It is [1, x, {\"a\": 1}]",
            "It is {// note\n \"x\": {\"a\": 1}}",
            "It is {\"a\": 1}, 5]",
            "It is ]{\"a\": 1}",
            "It is {\"a\": \"b\": 1}, {\"a\": 1}]",
            "It is [true, {\"a\": 1} {\"a\": 2}",
            "It is {\"x\": {\"a\": 1},}",
            "It is {\"x\": NaN, \"y\": {\"a\": 1}}",
            "It is {\"x\": 1, \"x\": {\"a\": 1}}",
        ] {
            let found = found(text, &Wanted::default());
            assert!(!matches!(found, Some((_, true))), "{text}: {found:?}");
        }
    }

    #[test]
    fn malformed_documents_end_with_their_last_bracket() {
        for (text, document) in [
            (
                "x {\"a\": oops, \"b\": {\"c\": 1}} y",
                r#"{"a": oops, "b": {"c": 1}}"#,
            ),
            (
                "x {\"a\": [{\"b\":1},{\"b\":2},{\"b\":",
                "{\"a\": [{\"b\":1},{\"b\":2},{\"b\":",
            ),
            ("{\"a\": [{\"b\":1}] tail", "{\"a\": [{\"b\":1}] tail"),
            ("x {\"a\": 1}} y", r#"{"a": 1}}"#),
        ] {
            let found = found(text, &Wanted::default());
            assert_eq!(found, Some((document, false)), "{text}");
        }
    }

    #[test]
    fn prefers_what_the_task_requires() {
        let text = "{\"a\": 1}, {\"b\": 2} and {} by [1], see [[2]]";
        let by =
            |schema: Value| found(text, &Wanted::new(Some(&schema), None)).map(|(text, _)| text);
        assert_eq!(by(json!({"type": "object"})), Some("{}"));
        assert_eq!(
            by(json!({"required": ["a"], "type": "object"})),
            Some(r#"{"a": 1}"#)
        );
        assert_eq!(
            by(
                json!({"$ref": "#/$defs/b", "$defs": {"b": {"properties": {},
            "type": "object", "required": ["b"]}}})
            ),
            Some(r#"{"b": 2}"#)
        );
        assert_eq!(by(json!({"type": "array"})), Some("[[2]]"));
        // Nothing fits, so the last one is used, and violates the schema.
        assert_eq!(
            by(json!({"type": "object", "required": ["c"]})),
            Some("[[2]]")
        );
        let expected = Json::Object(Vec::new());
        assert_eq!(
            found(text, &Wanted::new(None, Some(&expected))),
            Some(("{}", true))
        );
    }

    #[test]
    fn reads_many_brackets_in_linear_time() {
        for mark in [
            "[", "{", "{\"", "[\"", "{\"a\":", "[0,", "[1,{", "]", "[\"\\", "{x} ", "[0,1) ",
            "{} ", "{},", "{}}", "[x", "(", "(]", "\\boxed{", "\\[", "{}:", "\":{}", "{},\"",
        ] {
            let text = format!("so {}{}", mark.repeat(200_000), " ".repeat(200_000));
            let found = in_prose(&text, &Wanted::default());
            assert!(
                found.is_none_or(|found| found.range.end <= text.len()),
                "{mark}"
            );
        }
    }
}
