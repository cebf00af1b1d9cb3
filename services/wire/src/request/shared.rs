//! Values that a request contains once, under a name, and that tasks refer to by
//! `{"$shared": "name"}`, such as the initial state of an environment with many tasks. References
//! are replaced by the values when tasks are read, so that a task in the record is complete.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use assay_base::json_message;
use assay_base::similar::did_you_mean;
use assay_core::{ErrorCode, Hash};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::ReadTask;
use crate::Problem;
use crate::raw_object::RawObject;
use crate::reading::{MAX_NAME_BYTES, read_object};
use crate::unicode::{pointer_at, reject_lone_surrogates};

/// The key of a reference, as in JSON.
const KEY: &str = "\"$shared\"";

/// Maximum number of values of one request.
const MAX_VALUES: usize = 256;

/// Values by name, to which tasks refer.
#[derive(Debug, Default)]
pub struct SharedValues {
    pub(super) by_name: BTreeMap<String, Box<RawValue>>,
    origin: Origin,
}

/// Where values come from.
#[derive(Debug, Clone, Copy, Default)]
enum Origin {
    /// An item outside of a request, which has none.
    #[default]
    Nowhere,
    /// The field `shared` of a request.
    Request,
    /// A file.
    File,
}

impl SharedValues {
    /// Reads a file of values by name.
    ///
    /// # Errors
    /// A [`Problem`] with a pointer into the file: it is not an object of values by name, or a
    /// value refers to another one.
    pub fn from_file(text: &str) -> Result<Self, Problem> {
        let json: &RawValue = serde_json::from_str(text).map_err(|error| {
            let message = json_message(&error, text.as_bytes());
            Problem::new(ErrorCode::MalformedJson, format!("invalid JSON: {message}"))
        })?;
        Self::read(json, "", Origin::File)
    }

    fn read(json: &RawValue, base: &str, origin: Origin) -> Result<Self, Problem> {
        let RawObject(by_name) = read_object(json, base, ErrorCode::InvalidField)?;
        let invalid = |pointer: &str, message: String| {
            Err(Problem::at(
                ErrorCode::InvalidField,
                pointer.to_owned(),
                message,
            ))
        };
        if by_name.len() > MAX_VALUES {
            let what = match origin {
                Origin::Request => "request shares",
                Origin::Nowhere | Origin::File => "file has",
            };
            let message = format!(
                "the {what} {} values, more than {MAX_VALUES}; split it into several",
                by_name.len()
            );
            return invalid(base, message);
        }
        for (name, value) in &by_name {
            if name.len() > MAX_NAME_BYTES {
                let message = format!(
                    "the name of a value is longer than {MAX_NAME_BYTES} bytes; shorten it"
                );
                return invalid(base, message);
            }
            let pointer = assay_base::pointer::member(base, name);
            reject_lone_surrogates(value.get().as_bytes(), &pointer, ErrorCode::InvalidField)?;
            if let Some(key) = keys(value.get()).next() {
                let within = pointer_at(value.get().as_bytes(), key.start);
                let message = "a shared value cannot refer to another one; write the value here";
                return invalid(&format!("{pointer}{within}"), message.to_owned());
            }
        }
        Ok(Self { by_name, origin })
    }

    /// An item, as JSON, with values in place of the references in its task and its checks. An item
    /// that cannot be read is returned as it is.
    ///
    /// # Errors
    /// A [`Problem`] with a pointer into the item: a reference is malformed or names no value.
    pub fn insert<'i>(&self, item: &'i str) -> Result<Cow<'i, str>, Problem> {
        #[derive(Deserialize)]
        struct Tasks<'a> {
            #[serde(borrow)]
            task: Option<&'a RawValue>,
            #[serde(borrow)]
            checks: Option<&'a RawValue>,
        }
        if keys(item).next().is_none() {
            return Ok(Cow::Borrowed(item));
        }
        let Ok(Tasks { task, checks }) = serde_json::from_str(item) else {
            return Ok(Cow::Borrowed(item));
        };
        let parts = [("/task", task), ("/checks", checks)];
        let parts = parts.into_iter().filter_map(|(pointer, part)| {
            let text = part?.get();
            let start = text.as_ptr().addr() - item.as_ptr().addr();
            Some((start, pointer, text))
        });
        let mut parts: Vec<_> = parts.collect();
        parts.sort_unstable();
        let (mut whole, mut copied) = (String::with_capacity(item.len()), 0);
        for (start, pointer, text) in parts {
            whole.push_str(&item[copied..start]);
            whole.push_str(&self.replaced(text, pointer, |_| Ok(()))?);
            copied = start + text.len();
        }
        whole.push_str(&item[copied..]);
        Ok(Cow::Owned(whole))
    }

    /// A text with values in place of references. `count` is called with the bytes of each, and
    /// returns why they are too many.
    fn replaced(
        &self,
        text: &str,
        pointer: &str,
        mut count: impl FnMut(usize) -> Result<(), String>,
    ) -> Result<String, Problem> {
        let invalid = |key: &Range<usize>, message: String| {
            let within = pointer_at(text.as_bytes(), key.start);
            Problem::at(
                ErrorCode::InvalidTask,
                format!("{pointer}{within}"),
                message,
            )
        };
        let (mut whole, mut copied) = (String::new(), 0);
        for key in keys(text) {
            let Some((name, reference)) = reference(text, &key) else {
                let message = format!(
                    "a reference is an object with the only member `$shared`, which is the name of \
                     a value in {}",
                    self.place()
                );
                return Err(invalid(&key, message));
            };
            let Some(value) = self.by_name.get(&name) else {
                return Err(invalid(&key, self.unknown(&name)));
            };
            count(value.get().len()).map_err(|message| invalid(&key, message))?;
            whole.push_str(&text[copied..reference.start]);
            whole.push_str(value.get());
            copied = reference.end;
        }
        whole.push_str(&text[copied..]);
        Ok(whole)
    }

    fn place(&self) -> &'static str {
        match self.origin {
            Origin::Request => "`shared` of the request",
            Origin::Nowhere | Origin::File => "the file of shared values",
        }
    }

    fn unknown(&self, name: &str) -> String {
        let shown = assay_base::truncated(name, 60);
        match self.origin {
            Origin::Request if self.by_name.is_empty() => format!(
                "no value is named `{shown}`; add `shared` to the request, an object of values by \
                 name"
            ),
            Origin::Nowhere => format!(
                "no value is named `{shown}`; the command line inserts the values of a file with \
                 `--shared`"
            ),
            Origin::Request | Origin::File => {
                let names = self.by_name.keys().map(String::as_str);
                let suggestion = did_you_mean(name, names);
                format!(
                    "no value in {} is named `{shown}`{suggestion}",
                    self.place()
                )
            }
        }
    }
}

/// The shared values of a request, and the tasks that refer to them.
pub(super) struct Shared<T> {
    pub(super) values: SharedValues,
    /// Tasks by their text, so that equal ones use memory once.
    kept: HashMap<Hash, T>,
    /// Bytes of the values in all tasks that were read.
    pub(super) bytes: usize,
    max_bytes: usize,
}

impl<T: Clone> Shared<T> {
    /// Values of a request, whose tasks may contain `max_bytes` of them in total.
    ///
    /// # Errors
    /// A [`Problem`] at `/shared` or below: it is not an object of values by name, or a value
    /// refers to another one.
    pub(super) fn of_request(json: Option<&RawValue>, max_bytes: usize) -> Result<Self, Problem> {
        let values = match json.filter(|json| json.get() != "null") {
            None => SharedValues {
                origin: Origin::Request,
                ..SharedValues::default()
            },
            Some(json) => SharedValues::read(json, "/shared", Origin::Request)?,
        };
        Ok(Self {
            values,
            max_bytes,
            ..Self::of_item()
        })
    }

    /// No values, for an item outside of a request.
    pub(super) fn of_item() -> Self {
        Self {
            values: SharedValues::default(),
            kept: HashMap::new(),
            bytes: 0,
            max_bytes: 0,
        }
    }

    /// Reads a task, with the values that it refers to.
    pub(super) fn task<R: ReadTask<Task = T>>(
        &mut self,
        json: &RawValue,
        pointer: &str,
        tasks: &mut R,
    ) -> Result<T, Problem> {
        let text = json.get();
        reject_lone_surrogates(text.as_bytes(), pointer, ErrorCode::InvalidTask)?;
        if keys(text).next().is_none() {
            return tasks.read(json, pointer);
        }
        let hash = Hash::of(text.as_bytes());
        if let Some(task) = self.kept.get(&hash) {
            return Ok(task.clone());
        }
        let (bytes, max_bytes) = (&mut self.bytes, self.max_bytes);
        let count = |more: usize| {
            *bytes = bytes.saturating_add(more);
            if *bytes <= max_bytes {
                return Ok(());
            }
            Err(format!(
                "the tasks of the request contain more than {max_bytes} bytes of shared values; \
                 split it into several"
            ))
        };
        let whole = self.values.replaced(text, pointer, count)?;
        let whole = RawValue::from_string(whole).map_err(|error| {
            Problem::at(
                ErrorCode::InvalidTask,
                pointer.to_owned(),
                error.to_string(),
            )
        })?;
        let task = tasks.read(&whole, pointer)?;
        self.kept.insert(hash, task.clone());
        Ok(task)
    }
}

/// The byte ranges of the keys `$shared` in valid JSON.
fn keys(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    // Most tasks do not contain the word, so their strings are not looked for.
    let mut found = memchr::memmem::find_iter(text.as_bytes(), KEY.as_bytes());
    let (mut at, mut in_string, mut escaped) = (0, false, false);
    std::iter::from_fn(move || {
        for start in found.by_ref() {
            for byte in &text.as_bytes()[at..start] {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' if in_string => escaped = true,
                    b'"' => in_string = !in_string,
                    _ => {}
                }
            }
            at = start;
            let end = start + KEY.len();
            let is_key = !in_string && text[end..].trim_ascii_start().starts_with(':');
            if is_key {
                return Some(start..end);
            }
        }
        None
    })
}

/// The name that a reference with its key at `key` contains, and its byte range.
fn reference(text: &str, key: &Range<usize>) -> Option<(String, Range<usize>)> {
    let start = text[..key.start].trim_ascii_end().strip_suffix('{')?.len();
    let value = text[key.end..].trim_ascii_start().strip_prefix(':')?;
    let mut values = serde_json::Deserializer::from_str(value).into_iter::<String>();
    let name = values.next()?.ok()?;
    let rest = value[values.byte_offset()..]
        .trim_ascii_start()
        .strip_prefix('}')?;
    Some((name, start..text.len() - rest.len()))
}

#[cfg(test)]
mod tests {
    use assay_core::Task;

    use super::*;
    use crate::OwnForm;

    fn shared(values: &str, max_bytes: usize) -> Result<Shared<Task>, Problem> {
        Shared::of_request(Some(serde_json::from_str(values).unwrap()), max_bytes)
    }

    fn read(shared: &mut Shared<Task>, task: &str) -> Result<Task, Problem> {
        shared.task(
            serde_json::from_str(task).unwrap(),
            "/items/0/task",
            &mut OwnForm,
        )
    }

    #[test]
    fn inserts_values_and_keeps_other_text() {
        let mut shared = shared(r#"{"a":{"n":1.50},"b":[ 2 ]}"#, 100).unwrap();
        let task = concat!(
            r#"{"type":"x","q":"\\\"$shared","s":{ "$shared" : "a" },"#,
            r#""t":[{"$shared":"b"},"\"$shared\":","$shared"]}"#
        );
        let task = read(&mut shared, task).unwrap();
        assert_eq!(
            task.body.get(),
            concat!(
                r#"{"type":"x","q":"\\\"$shared","s":{"n":1.50},"#,
                r#""t":[[2],"\"$shared\":","$shared"]}"#
            )
        );
    }

    #[test]
    fn equal_tasks_use_memory_once() {
        let mut shared = shared(r#"{"a":[1]}"#, 3).unwrap();
        let task = r#"{"type":"x","s":{"$shared":"a"}}"#;
        let first = read(&mut shared, task).unwrap();
        let second = read(&mut shared, task).unwrap();
        assert!(std::ptr::eq(first.body.get(), second.body.get()));
        let problem = read(&mut shared, r#"{"type":"y","s":{"$shared":"a"}}"#).unwrap_err();
        assert!(problem.message.contains("more than 3 bytes"), "{problem:?}");
    }

    #[test]
    fn rejects_references_with_pointers() {
        let mut shared = shared(r#"{"airline":1}"#, 100).unwrap();
        for (task, pointer, message) in [
            (
                r#"{"type":"x","s":{"i":{"$shared":"airlin"}}}"#,
                "/items/0/task/s/i",
                "no value in `shared` of the request is named `airlin`",
            ),
            (
                r#"{"type":"x","s":[{"$shared":5}]}"#,
                "/items/0/task/s/0",
                "only member",
            ),
            (
                r#"{"type":"x","s":{"a":1,"$shared":"airline"}}"#,
                "/items/0/task/s",
                "only member",
            ),
        ] {
            let problem = read(&mut shared, task).unwrap_err();
            assert_eq!(problem.code, ErrorCode::InvalidTask);
            assert_eq!(problem.pointer.as_deref(), Some(pointer), "{task}");
            assert!(problem.message.contains(message), "{problem:?}");
        }
    }

    #[test]
    fn rejects_values_that_refer_to_others() {
        let problem = shared(r#"{"a":{"b":{"$shared":"c"}},"c":1}"#, 100)
            .err()
            .unwrap();
        assert_eq!(problem.pointer.as_deref(), Some("/shared/a/b"));
        let problem = shared("[1]", 100).err().unwrap();
        assert_eq!(problem.pointer.as_deref(), Some("/shared"));
    }

    #[test]
    fn inserts_values_of_a_file_into_tasks_and_checks_only() {
        let values = SharedValues::from_file(r#"{"a": {"n": 1.50}, "b": [2]}"#).unwrap();
        let item = concat!(
            r#"{"checks": {"x": {"type": "x", "s": {"$shared": "b"}}}, "completion": "c", "#,
            r#""meta": {"m": {"$shared": "a"}}, "task": { "s": {"$shared": "a"} }, "id": "1"}"#
        );
        assert_eq!(
            values.insert(item).unwrap(),
            concat!(
                r#"{"checks": {"x": {"type": "x", "s": [2]}}, "completion": "c", "#,
                r#""meta": {"m": {"$shared": "a"}}, "task": { "s": {"n": 1.50} }, "id": "1"}"#
            )
        );
        for whole in [r#"{"task": {"s": "$shared"}}"#, r#"{"task": {"$shared":"#] {
            assert!(matches!(values.insert(whole).unwrap(), Cow::Borrowed(same) if same == whole));
        }
    }

    #[test]
    fn locates_unknown_values_of_a_file() {
        let values = SharedValues::from_file(r#"{"airline": 1}"#).unwrap();
        let item = r#"{"checks": {"x": {"s": [{"$shared": "airlin"}]}}}"#;
        let problem = values.insert(item).unwrap_err();
        assert_eq!(problem.pointer.as_deref(), Some("/checks/x/s/0"));
        assert_eq!(
            problem.message,
            "no value in the file of shared values is named `airlin`; did you mean `airline`?"
        );
        for (file, pointer) in [
            ("[1]", Some("")),
            (r#"{"a": 1, "a": 2}"#, Some("")),
            (r#"{"a": {"$shared": "b"}, "b": 1}"#, Some("/a")),
            ("{", None),
        ] {
            let problem = SharedValues::from_file(file).unwrap_err();
            assert_eq!(problem.pointer.as_deref(), pointer, "{file}: {problem:?}");
        }
    }
}
