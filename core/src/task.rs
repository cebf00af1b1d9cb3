//! Tasks: what a completion should achieve and how to check it. This crate does not interpret them;
//! each grader parses the body in its own `task.rs`.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use memchr::memchr2;
use serde::de::value::MapDeserializer;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{ErrorCode, Hash, TaskError};
use assay_base::json_error::{json_message, json_reason};
use assay_base::pointer::{json_pointer, member};
use assay_base::similar::did_you_mean_in;

/// Maximum nesting of arrays and objects in a task. It bounds recursion in the graders.
pub const MAX_DEPTH: usize = 100;

/// The name of a grader, as in the `type` of a task.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskKind(Arc<str>);

impl TaskKind {
    /// Wraps a name. Whether the grader exists is checked by [`GraderTable`](crate::GraderTable).
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// JSON text without insignificant white space. Numbers keep their digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Arc<str>);

impl RawJson {
    /// Removes insignificant white space and checks the depth of nesting.
    ///
    /// The result identifies a task: the same text has the same hash. Keys are not sorted, so
    /// `{"a":1,"b":2}` and `{"b":2,"a":1}` are prepared separately. That costs time but is never
    /// wrong.
    ///
    /// # Errors
    /// [`TaskError`] with [`ErrorCode::TooDeep`] beyond [`MAX_DEPTH`].
    pub fn compact(raw: &RawValue) -> Result<Self, TaskError> {
        Self::scan(raw).map(|(json, _)| json)
    }

    /// The compact text, and the `type` of a task if it is found without parsing: the only one, and
    /// without escapes in it and in other keys.
    fn scan(raw: &RawValue) -> Result<(Self, Option<&str>), TaskError> {
        let text = raw.get();
        let bytes = text.as_bytes();
        // A text without white space, as many clients send it, is copied once as it is.
        let mut compact = String::new();
        let (mut at, mut copy_from, mut depth) = (0, 0, 0usize);
        let mut kinds = [None; 2];
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    let end = end_of_string(bytes, at);
                    if depth == 1
                        && let Some(value) = value_of_type(text, at + 1..end)
                    {
                        kinds = [Some(value), kinds[0]];
                    }
                    at = end;
                }
                b'{' | b'[' => {
                    depth += 1;
                    if depth > MAX_DEPTH {
                        return Err(TaskError::new(
                            ErrorCode::TooDeep,
                            "",
                            format!("the task nests deeper than {MAX_DEPTH} levels; flatten it"),
                        ));
                    }
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                b' ' | b'\t' | b'\n' | b'\r' => {
                    if compact.is_empty() {
                        compact.reserve(text.len());
                    }
                    compact.push_str(&text[copy_from..at]);
                    copy_from = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        let kind = match kinds {
            [Some(value), None] => value,
            _ => None,
        };
        if copy_from == 0 {
            return Ok((Self(text.into()), kind));
        }
        compact.push_str(&text[copy_from..]);
        Ok((Self(compact.into()), kind))
    }

    /// JSON from the record, which this service wrote; `None` if it is not valid JSON.
    #[must_use]
    pub fn stored(text: &str) -> Option<Self> {
        let raw: &RawValue = serde_json::from_str(text).ok()?;
        Some(Self(raw.get().into()))
    }

    /// The JSON text.
    #[must_use]
    pub fn get(&self) -> &str {
        &self.0
    }

    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.get() == "null"
    }
}

impl From<Value> for RawJson {
    fn from(value: Value) -> Self {
        Self(value.to_string().into())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.get()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// Rejects text that cannot be parsed as a value, because the text is stored unparsed and is parsed
/// later by other code.
impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let too_deep = |_| {
            de::Error::custom(format_args!(
                "the value nests deeper than {MAX_DEPTH} levels; flatten it"
            ))
        };
        let compact = Self::compact(&raw).map_err(too_deep)?;
        let _: Discarded = serde_json::from_str(compact.get())
            .map_err(|error| de::Error::custom(json_reason(&error)))?;
        Ok(compact)
    }
}

/// The index of the quotation mark that ends the string that starts at `start` of valid JSON.
fn end_of_string(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = json.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if json[at] == b'"' {
            return at;
        }
        at += 2;
    }
    json.len()
}

/// The value of the key `type`, `None` if it is no plain string, for the string in a range of valid
/// JSON; `None` if the string is another key or not a key. A key with escapes may be `type`.
fn value_of_type(json: &str, string: Range<usize>) -> Option<Option<&str>> {
    let value = json.get(string.end + 1..)?.trim_ascii_start();
    let value = value.strip_prefix(':')?.trim_ascii_start();
    let key = &json[string];
    if key.contains('\\') {
        return Some(None);
    }
    (key == "type").then(|| {
        let (plain, _) = value.strip_prefix('"')?.split_once('"')?;
        (!plain.contains('\\')).then_some(plain)
    })
}

/// A value that is parsed and discarded.
struct Discarded;

impl<'de> Deserialize<'de> for Discarded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Discarded;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E>(self) -> Result<Discarded, E> {
                Ok(Discarded)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Discarded, E> {
                Ok(Discarded)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Discarded, E> {
                Ok(Discarded)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Discarded, E> {
                Ok(Discarded)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Discarded, E> {
                Ok(Discarded)
            }

            fn visit_str<E>(self, _: &str) -> Result<Discarded, E> {
                Ok(Discarded)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Discarded, A::Error> {
                while values.next_element::<Discarded>()?.is_some() {}
                Ok(Discarded)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Discarded, A::Error> {
                while members.next_entry::<Discarded, Discarded>()?.is_some() {}
                Ok(Discarded)
            }
        }

        deserializer.deserialize_any(Any)
    }
}

/// A task: the name of a grader and the JSON object of the task, including `type`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Name of the grader.
    pub kind: TaskKind,
    /// The whole task object.
    pub body: RawJson,
    hash: Hash,
}

impl Task {
    /// Reads a task object. Only `type` is parsed.
    ///
    /// # Errors
    /// [`TaskError`] if the value is not an object, has no string `type`, or nests too deeply.
    pub fn from_raw(raw: &RawValue) -> Result<Self, TaskError> {
        let (body, kind) = RawJson::scan(raw)?;
        // Without this test, serde would read `["math"]` as an object with `type` as its first
        // field.
        if !body.get().starts_with('{') {
            let reason = "a task must be an object with a `type`, the name of its grader";
            return Err(TaskError::new(
                ErrorCode::InvalidTask,
                "",
                reason.to_owned(),
            ));
        }
        let kind = match kind {
            Some(kind) => TaskKind::new(kind),
            None => parsed_kind(&body)?,
        };
        let hash = Hash::of(body.get().as_bytes());
        Ok(Self { kind, body, hash })
    }

    /// Reads a task from JSON text; see [`Task::from_raw`].
    ///
    /// # Errors
    /// As [`Task::from_raw`], and for text that is not JSON.
    pub fn from_json(text: &str) -> Result<Self, TaskError> {
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| {
            TaskError::new(
                ErrorCode::InvalidTask,
                "",
                format!(
                    "the task is not JSON: {}",
                    json_message(&error, text.as_bytes())
                ),
            )
        })?;
        Self::from_raw(raw)
    }

    /// Returns the task with some fields set to these JSON values. The other fields keep their
    /// text.
    ///
    /// # Errors
    /// [`TaskError`] for `type`, which cannot be set, and as [`Task::from_raw`].
    pub fn with_fields(&self, set: &BTreeMap<String, Box<RawValue>>) -> Result<Self, TaskError> {
        if set.contains_key("type") {
            let message =
                "`type` selects the grader of a stored task and cannot be changed".to_owned();
            return Err(TaskError::new(ErrorCode::InvalidTask, "/type", message));
        }
        let UniqueKeys(fields) = serde_json::from_str(self.body.get())
            .map_err(|error| TaskError::new(ErrorCode::InvalidTask, "", json_reason(&error)))?;
        let unchanged = fields
            .into_iter()
            .filter(|(key, _)| !set.contains_key(&**key));
        let set = set.iter();
        let set = set.map(|(key, value)| (Cow::Borrowed(key.as_str()), &**value));
        let all = unchanged.chain(set);
        let mut json = Vec::new();
        let written = serde_json::Serializer::new(&mut json).collect_map(all);
        let body = written.and_then(|()| serde_json::from_slice(&json));
        Self::from_raw(
            body.map_err(|error| TaskError::new(ErrorCode::InvalidTask, "", error.to_string()))?,
        )
    }

    /// Hash of the task: equal hashes mean equal tasks.
    #[must_use]
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Parses the body, without `type`, into the type of the grader, which may borrow from it.
    ///
    /// The types use `#[serde(deny_unknown_fields)]`: a typo in a task would change grades, so it
    /// is rejected.
    ///
    /// # Errors
    /// [`TaskError`] with a JSON pointer to the field, relative to the task.
    pub fn parse<'t, T: Deserialize<'t>>(&'t self) -> Result<T, TaskError> {
        let invalid = |error: &serde_json::Error, pointer: String| {
            let mut message = json_reason(error);
            message.push_str(&did_you_mean_in(&message));
            TaskError::new(ErrorCode::InvalidTask, &pointer, message)
        };
        let UniqueKeys(fields) = serde_json::from_str(self.body.get())
            .map_err(|error| invalid(&error, String::new()))?;
        // Each field is parsed from its text, so that numbers keep their digits for graders that
        // read them as text.
        let fields = fields.into_iter().filter(|(key, _)| key != "type");
        serde_path_to_error::deserialize(MapDeserializer::new(fields)).map_err(|error| {
            let mut pointer = json_pointer(error.path());
            let error: serde_json::Error = error.into_inner();
            // The path of an unknown field does not include the field.
            let message = error.to_string();
            let unknown = message
                .strip_prefix("unknown field `")
                .and_then(|rest| rest.split('`').next());
            let step = unknown.map(|unknown| member("", unknown));
            if let Some(step) = step.filter(|step| !pointer.ends_with(step)) {
                pointer.push_str(&step);
            }
            invalid(&error, pointer)
        })
    }
}

/// The `type` of an object.
fn parsed_kind(task: &RawJson) -> Result<TaskKind, TaskError> {
    #[derive(Deserialize)]
    struct Head {
        r#type: String,
    }
    let head = serde_json::from_str(task.get());
    let head: Head = head.map_err(|error: serde_json::Error| {
        let reason = if error.to_string().starts_with("missing field") {
            "a task must be an object with a `type`, the name of its grader"
        } else {
            "the `type` of a task must be a string, the name of its grader"
        };
        TaskError::new(ErrorCode::InvalidTask, "/type", reason.to_owned())
    })?;
    Ok(TaskKind::new(&head.r#type))
}

/// An object without duplicate keys. Of two values for one key, either could be meant.
struct UniqueKeys<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

/// A key, borrowed if it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// Number of keys up to which each is compared with all before it.
const MAX_COMPARED_KEYS: usize = 16;

impl<'de> Deserialize<'de> for UniqueKeys<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = UniqueKeys<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut object: A,
            ) -> Result<UniqueKeys<'de>, A::Error> {
                let (mut fields, mut keys) = (Vec::<(Cow<'de, str>, _)>::new(), HashSet::new());
                while let Some((Key(key), value)) = object.next_entry::<_, &'de RawValue>()? {
                    if fields.len() == MAX_COMPARED_KEYS {
                        keys = fields.iter().map(|(key, _)| key.clone()).collect();
                    }
                    let is_new = if fields.len() < MAX_COMPARED_KEYS {
                        fields.iter().all(|(before, _)| *before != key)
                    } else {
                        keys.insert(key.clone())
                    };
                    if !is_new {
                        return Err(de::Error::custom(format_args!("duplicate field `{key}`")));
                    }
                    fields.push((key, value));
                }
                Ok(UniqueKeys(fields))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Shape {
        answer: String,
    }

    #[test]
    fn ignores_white_space_in_the_hash() {
        let spaced = Task::from_json("{ \"type\" : \"math\",\n\t\"answer\": \"a b\" }").unwrap();
        let tight = Task::from_json("{\"type\":\"math\",\"answer\":\"a b\"}").unwrap();
        assert_eq!(spaced.hash(), tight.hash());
        assert_eq!(tight.parse::<Shape>().unwrap().answer, "a b");
    }

    #[test]
    fn rejects_tasks_that_are_not_objects() {
        for (json, pointer) in [
            (r#"["math"]"#, ""),
            ("5", ""),
            (r#""math""#, ""),
            (r#"{"type":5}"#, "/type"),
            ("{}", "/type"),
        ] {
            let error = Task::from_json(json).unwrap_err();
            assert_eq!(
                (error.code, error.pointer.as_str()),
                (ErrorCode::InvalidTask, pointer),
                "{json}"
            );
        }
    }

    #[test]
    fn finds_the_type_among_other_members() {
        for (json, kind) in [
            (
                r#"{"answer":{"type":"a"},"x":["type"],"type" : "math"}"#,
                "math",
            ),
            (r#"{"answer":"type","type":"math"}"#, "math"),
            (r#"{"answer":"\\\"","type":"math"}"#, "math"),
            (r#"{"ans\u0077er":"1","type":"math"}"#, "math"),
            (r#"{"\u0074ype":"math"}"#, "math"),
            (r#"{"type":"m\u0061th"}"#, "math"),
        ] {
            assert_eq!(Task::from_json(json).unwrap().kind.as_str(), kind, "{json}");
        }
        for twice in [
            r#"{"type":"a","type":"b"}"#,
            r#"{"type":"a","\u0074ype":"b"}"#,
        ] {
            assert_eq!(Task::from_json(twice).unwrap_err().pointer, "/type");
        }
    }

    #[test]
    fn handles_escaped_quotes() {
        let task = Task::from_json(r#"{"type":"math","answer":"a \" { [ b"}"#).unwrap();
        assert_eq!(task.parse::<Shape>().unwrap().answer, "a \" { [ b");
    }

    #[test]
    fn names_unknown_keys_in_errors() {
        let task = Task::from_json(r#"{"type":"math","answer":"1","tolerence":1}"#).unwrap();
        let error = task.parse::<Shape>().unwrap_err();
        assert_eq!(error.pointer, "/tolerence");
        assert!(
            error.message.contains("unknown field `tolerence`"),
            "{error}"
        );
        let task = Task::from_json(r#"{"type":"math","answer":"1","a/b~":1}"#).unwrap();
        assert_eq!(task.parse::<Shape>().unwrap_err().pointer, "/a~1b~0");
    }

    #[test]
    fn sets_fields_and_keeps_digits_of_others() {
        let task = Task::from_json(r#"{"type":"math","answer":"1","rel_tol":1e-3,"abs_tol":0.10}"#)
            .unwrap();
        let set = |name: &str, value: &str| {
            BTreeMap::from([(
                name.to_owned(),
                RawValue::from_string(value.to_owned()).unwrap(),
            )])
        };
        let changed = task.with_fields(&set("rel_tol", "0.5")).unwrap();
        assert_eq!(
            changed.body.get(),
            r#"{"type":"math","answer":"1","abs_tol":0.10,"rel_tol":0.5}"#
        );
        assert_eq!(task.with_fields(&BTreeMap::new()).unwrap(), task);
        assert_eq!(
            task.with_fields(&set("type", "\"code\""))
                .unwrap_err()
                .pointer,
            "/type"
        );
    }

    #[test]
    fn rejects_duplicate_keys() {
        let task = Task::from_json(r#"{"type":"math","answer":"1","answer":"2"}"#).unwrap();
        assert_eq!(
            task.parse::<Shape>().unwrap_err().message,
            "duplicate field `answer`"
        );
        for twice in [0, 15, 16, 39] {
            let members: Vec<String> = (0..40).map(|key| format!(r#""k{key}":1"#)).collect();
            let json = format!(r#"{{"type":"math",{},"k{twice}":2}}"#, members.join(","));
            let error = Task::from_json(&json)
                .unwrap()
                .parse::<Shape>()
                .unwrap_err();
            assert_eq!(error.message, format!("duplicate field `k{twice}`"));
        }
    }

    #[test]
    fn rejects_deep_nesting() {
        let deep = format!(
            "{{\"type\":\"math\",\"answer\":{}1{}}}",
            "[".repeat(5000),
            "]".repeat(5000)
        );
        assert_eq!(Task::from_json(&deep).unwrap_err().code, ErrorCode::TooDeep);
    }
}
