//! Values that a request contains once, under a name, and that tasks refer to by
//! `{"$shared": "name"}`, such as the initial state of an environment with many tasks. References
//! are replaced by the values when tasks are read, so that a task in the record is complete.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use assay_base::similar::did_you_mean;
use assay_core::{ErrorCode, Hash};
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

/// The shared values of a request, and the tasks that refer to them.
pub(super) struct Shared<T> {
    pub(super) values: BTreeMap<String, Box<RawValue>>,
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
    pub(super) fn read(json: Option<&RawValue>, max_bytes: usize) -> Result<Self, Problem> {
        let RawObject(values) = match json.filter(|json| json.get() != "null") {
            None => RawObject::default(),
            Some(json) => read_object(json, "/shared", ErrorCode::InvalidField)?,
        };
        let invalid = |pointer: &str, message: String| {
            Err(Problem::at(
                ErrorCode::InvalidField,
                pointer.to_owned(),
                message,
            ))
        };
        if values.len() > MAX_VALUES {
            let message = format!(
                "the request shares {} values, more than {MAX_VALUES}; split it into several",
                values.len()
            );
            return invalid("/shared", message);
        }
        for (name, value) in &values {
            if name.len() > MAX_NAME_BYTES {
                let message = format!(
                    "the name of a value is longer than {MAX_NAME_BYTES} bytes; shorten it"
                );
                return invalid("/shared", message);
            }
            let pointer = assay_base::pointer::member("/shared", name);
            reject_lone_surrogates(value.get().as_bytes(), &pointer, ErrorCode::InvalidField)?;
            if let Some(key) = keys(value.get()).next() {
                let within = pointer_at(value.get().as_bytes(), key.start);
                let message = "a shared value cannot refer to another one; write the value here";
                return invalid(&format!("{pointer}{within}"), message.to_owned());
            }
        }
        Ok(Self {
            values,
            kept: HashMap::new(),
            bytes: 0,
            max_bytes,
        })
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
        let whole = self.replaced(text, pointer)?;
        let whole = RawValue::from_string(whole)
            .map_err(|error| invalid_reference(pointer.to_owned(), error.to_string()))?;
        let task = tasks.read(&whole, pointer)?;
        self.kept.insert(hash, task.clone());
        Ok(task)
    }

    /// The text of a task with values in place of references.
    fn replaced(&mut self, text: &str, pointer: &str) -> Result<String, Problem> {
        let at = |key: &Range<usize>| {
            let within = pointer_at(text.as_bytes(), key.start);
            format!("{pointer}{within}")
        };
        let (mut whole, mut copied) = (String::new(), 0);
        for key in keys(text) {
            let Some((name, reference)) = reference(text, &key) else {
                let message = "a reference is an object with the only member `$shared`, which is \
                               the name of a value in `shared` of the request";
                return Err(invalid_reference(at(&key), message.to_owned()));
            };
            let Some(value) = self.values.get(&name) else {
                return Err(invalid_reference(at(&key), self.unknown(&name)));
            };
            self.bytes = self.bytes.saturating_add(value.get().len());
            if self.bytes > self.max_bytes {
                let message = format!(
                    "the tasks of the request contain more than {} bytes of shared values; split \
                     it into several",
                    self.max_bytes
                );
                return Err(invalid_reference(at(&key), message));
            }
            whole.push_str(&text[copied..reference.start]);
            whole.push_str(value.get());
            copied = reference.end;
        }
        whole.push_str(&text[copied..]);
        Ok(whole)
    }

    fn unknown(&self, name: &str) -> String {
        let shown = assay_base::truncated(name, 60);
        if self.values.is_empty() {
            return format!(
                "no value is named `{shown}`; add `shared` to the request, an object of values by \
                 name"
            );
        }
        let names = self.values.keys().map(String::as_str);
        let suggestion = did_you_mean(name, names);
        format!("no value in `shared` of the request is named `{shown}`{suggestion}")
    }
}

fn invalid_reference(pointer: String, message: String) -> Problem {
    Problem::at(ErrorCode::InvalidTask, pointer, message)
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
        Shared::read(Some(serde_json::from_str(values).unwrap()), max_bytes)
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
}
