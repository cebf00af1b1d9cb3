//! Reading a batch: strict about values, tolerant about unknown fields outside tasks, precise about where.
//!
//! A batch is read in two passes. The first finds the items without reading them, so that a batch of too many items is
//! refused before its items cost anything; the second reads each item, so that an error names the item by its pointer.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use assay_core::{Completion, ErrorCode, Meta, Task, json_pointer};
use serde::de::{self, DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::Problem;

/// What a batch may not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeLimits {
    /// Items in one batch.
    pub items: usize,
}

/// A batch of rollouts to grade.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct GradeRequest {
    /// Name of the training run.
    #[schema(example = "qwen3-0.6b-math")]
    pub run: Option<String>,
    /// Step of the run.
    #[schema(example = 120)]
    pub step: Option<i64>,
    /// The policy that makes rewards from scores: a name, or the policy itself; `default` leaves `reward == score`.
    #[schema(value_type = Option<Object>, example = "default")]
    pub policy: Option<Value>,
    /// Group statistics to compute beside the mean, by name.
    #[serde(default)]
    pub statistics: Vec<String>,
    /// The rollouts, at least one.
    pub items: Vec<ItemRequest>,
}

/// One completion with its task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ItemRequest {
    /// The trainer's own id, unique in the batch; echoed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "p17-3")]
    pub id: Option<String>,
    /// Items of one prompt share a group; an item without one is a group of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "p17")]
    pub group: Option<String>,
    /// Name under which the prompt's history is kept over steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_key: Option<String>,
    /// Its own policy instead of the batch's: a name, or the policy itself; the same for all items of a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub policy: Option<Value>,
    /// Task family: with the grader's name it makes the channel, as in `math/gsm-like`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "gsm-like")]
    pub channel: Option<String>,
    /// What the model was asked: a string or an array of messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub prompt: Option<Completion>,
    /// What the model wrote: a string or an array of messages.
    #[schema(value_type = Object)]
    pub completion: Completion,
    /// What the completion should achieve and how to check it: an object whose `type` names the grader.
    #[schema(value_type = Object)]
    pub task: Box<RawValue>,
    /// Further tasks by name, graded beside the task and reported as components.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "named_once")]
    #[schema(value_type = Object)]
    pub checks: BTreeMap<String, Box<RawValue>>,
    /// Facts the trainer sends along: `tokens`, `truncated`, `think_open` and any other.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub meta: Meta,
}

/// Something about a request that did not stop it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Warning {
    /// JSON pointer to the field.
    #[schema(example = "/items/0/foo")]
    pub pointer: String,
    /// Stable code: `unknown_field`.
    #[schema(example = "unknown_field")]
    pub code: String,
    /// What the service did about it.
    pub message: String,
}

/// One item read, its tasks found.
#[derive(Debug, Clone)]
pub struct DecodedItem {
    /// The item as sent.
    pub request: ItemRequest,
    /// Its task.
    pub task: Task,
    /// Its checks.
    pub checks: Vec<(String, Task)>,
}

/// A batch read.
#[derive(Debug, Clone)]
pub struct Decoded {
    /// Everything but the items.
    pub head: GradeRequest,
    /// The items, in order.
    pub items: Vec<DecodedItem>,
    /// Unknown fields.
    pub warnings: Vec<Warning>,
}

/// At most this many warnings are listed one by one; a thousand items with one stray field say the same a thousand times.
const MAX_WARNINGS: usize = 20;

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default)]
    run: Option<String>,
    #[serde(default)]
    step: Option<i64>,
    #[serde(default)]
    policy: Option<Value>,
    #[serde(default)]
    statistics: Vec<String>,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// Reads a batch.
///
/// # Errors
/// The first [`Problem`] found, with a pointer into the body where it is one field's.
pub fn decode(body: &[u8], limits: &DecodeLimits) -> Result<Decoded, Problem> {
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(Problem::at(
            ErrorCode::InvalidField,
            String::new(),
            "the body is an object with `items`, not an array",
        ));
    }
    let mut unknown = Unknown::default();
    let mut reader = serde_json::Deserializer::from_slice(body);
    let envelope: Envelope<'_> = serde_ignored::deserialize(&mut reader, |path| unknown.note("", &path))
        .and_then(|envelope| reader.end().map(|()| envelope))
        .map_err(|error| body_problem(body, &error))?;
    let Envelope { run, step, policy, statistics, items: raw_items } = envelope;
    refuse_long_name("", "run", run.as_deref())?;
    if raw_items.is_empty() {
        return Err(Problem::at(ErrorCode::EmptyBatch, "/items".into(), "the batch has no item; send at least one"));
    }
    if raw_items.len() > limits.items {
        let message =
            format!("the batch has {} items, more than {}; send it in several requests", raw_items.len(), limits.items);
        return Err(Problem::at(ErrorCode::TooManyItems, "/items".into(), message));
    }
    let mut items = Vec::with_capacity(raw_items.len());
    for (index, raw) in raw_items.iter().enumerate() {
        let pointer = format!("/items/{index}");
        let request: ItemRequest = read_field(raw, &pointer, &mut unknown)?;
        items.push(decode_tasks(request, &pointer)?);
    }
    refuse_duplicate_ids(&items)?;
    let head = GradeRequest { run, step, policy, statistics, items: Vec::new() };
    Ok(Decoded { head, items, warnings: unknown.into_warnings() })
}

/// Reads one item outside a batch, as a line of a JSONL file; `pointer` stands for it in errors and warnings.
///
/// # Errors
/// As [`decode`].
pub fn decode_item(text: &str, pointer: &str) -> Result<(DecodedItem, Vec<Warning>), Problem> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| body_problem(text.as_bytes(), &error))?;
    let mut unknown = Unknown::default();
    let request: ItemRequest = read_field(raw, pointer, &mut unknown)?;
    Ok((decode_tasks(request, pointer)?, unknown.into_warnings()))
}

/// Longest name, id or key, in bytes: they are shown in lists and kept in indexes.
const MAX_NAME_BYTES: usize = 1_024;

/// Whether a name can be shown in a list: of a bearable length, without control characters.
#[must_use]
pub fn is_showable(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES && !name.chars().any(char::is_control)
}

fn refuse_long_name(pointer: &str, field: &str, name: Option<&str>) -> Result<(), Problem> {
    if name.is_none_or(|name| name.len() <= MAX_NAME_BYTES) {
        return Ok(());
    }
    let message = format!("`{field}` is longer than {MAX_NAME_BYTES} bytes; shorten it");
    Err(Problem::at(ErrorCode::InvalidField, format!("{pointer}/{field}"), message))
}

/// Reads checks by name, each name once: of two tasks under one name, either could be meant.
fn named_once<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Box<RawValue>>, D::Error> {
    struct Checks;

    impl<'de> Visitor<'de> for Checks {
        type Value = BTreeMap<String, Box<RawValue>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of tasks by name")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
            let mut checks = BTreeMap::new();
            while let Some((name, task)) = object.next_entry::<String, Box<RawValue>>()? {
                if checks.contains_key(&name) {
                    return Err(de::Error::custom(format_args!("duplicate field `{name}`")));
                }
                checks.insert(name, task);
            }
            Ok(checks)
        }
    }

    deserializer.deserialize_map(Checks)
}

fn decode_tasks(request: ItemRequest, pointer: &str) -> Result<DecodedItem, Problem> {
    let names = [
        ("id", &request.id),
        ("group", &request.group),
        ("prompt_key", &request.prompt_key),
        ("channel", &request.channel),
    ];
    for (field, name) in names {
        refuse_long_name(pointer, field, name.as_deref())?;
    }
    if request.channel.as_deref().is_some_and(|channel| !is_showable(channel)) {
        let message = "`channel` has control characters; name a task family in letters";
        return Err(Problem::at(ErrorCode::InvalidField, format!("{pointer}/channel"), message));
    }
    if !request.completion.has_answer() {
        let message = "the messages hold none of the role `assistant`, so there is nothing to grade";
        return Err(Problem::at(ErrorCode::InvalidField, format!("{pointer}/completion"), message));
    }
    let task = Task::from_raw(&request.task).map_err(|error| Problem::of_task(&format!("{pointer}/task"), error))?;
    let mut checks = Vec::with_capacity(request.checks.len());
    for (name, raw) in &request.checks {
        let check = Task::from_raw(raw)
            .map_err(|error| Problem::of_task(&format!("{pointer}/checks/{}", escape(name)), error))?;
        checks.push((name.clone(), check));
    }
    Ok(DecodedItem { request, task, checks })
}

/// Reads one value. The path of an error costs time to track, so it is looked for only once there is an error.
fn read_field<T: DeserializeOwned>(raw: &RawValue, pointer: &str, unknown: &mut Unknown) -> Result<T, Problem> {
    if raw.get().starts_with('[') {
        return Err(Problem::at(ErrorCode::InvalidField, pointer.to_owned(), "an item is an object, not an array"));
    }
    let mut reader = serde_json::Deserializer::from_str(raw.get());
    let read = serde_ignored::deserialize(&mut reader, |path| unknown.note(pointer, &path));
    read.map_err(|_: serde_json::Error| {
        let mut reader = serde_json::Deserializer::from_str(raw.get());
        match serde_path_to_error::deserialize::<_, T>(&mut reader) {
            Ok(_) => Problem::at(ErrorCode::InvalidField, pointer.to_owned(), "the item cannot be read"),
            Err(error) => {
                let at = format!("{pointer}{}", json_pointer(error.path()));
                Problem::at(ErrorCode::InvalidField, at, reason(error.inner()))
            }
        }
    })
}

fn refuse_duplicate_ids(items: &[DecodedItem]) -> Result<(), Problem> {
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let Some(id) = item.request.id.as_deref() else {
            continue;
        };
        if let Some(first) = seen.insert(id, index) {
            let message = format!("the id `{id}` is that of `/items/{first}` too; ids are unique in a batch");
            return Err(Problem::at(ErrorCode::DuplicateId, format!("/items/{index}/id"), message));
        }
    }
    Ok(())
}

/// A problem of the body as a whole: no JSON, or JSON of another shape.
fn body_problem(body: &[u8], error: &serde_json::Error) -> Problem {
    if error.is_data() {
        let mut reader = serde_json::Deserializer::from_slice(body);
        return match serde_path_to_error::deserialize::<_, Envelope<'_>>(&mut reader) {
            Ok(_) => Problem::at(ErrorCode::InvalidField, String::new(), reason(error)),
            Err(located) => {
                let mut pointer = json_pointer(located.path());
                let message = reason(located.inner());
                if pointer.is_empty() && message.contains("`items`") {
                    pointer.push_str("/items");
                }
                Problem::at(ErrorCode::InvalidField, pointer, message)
            }
        };
    }
    let start = offset(body, error.line(), error.column());
    let near = &body[start.saturating_sub(1).min(body.len())..];
    let numbers = [&b"NaN"[..], b"-NaN", b"Infinity", b"-Infinity"];
    let message = if numbers.iter().any(|word| near.starts_with(word)) {
        format!(
            "JSON has no NaN and no infinity (line {}, column {}); send null or leave the field out",
            error.line(),
            error.column()
        )
    } else {
        format!("the body is not JSON: {error}")
    };
    Problem::new(ErrorCode::MalformedJson, message)
}

fn offset(body: &[u8], line: usize, column: usize) -> usize {
    let before = body.split_inclusive(|byte| *byte == b'\n').take(line.saturating_sub(1));
    before.map(<[u8]>::len).sum::<usize>() + column
}

/// serde_json's message without its position, which would count inside one item.
fn reason(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.split(" at line ").next().unwrap_or(&message).to_owned()
}

/// A key as a segment of a JSON pointer (RFC 6901, section 3).
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[derive(Default)]
struct Unknown {
    pointers: Vec<String>,
    more: usize,
}

impl Unknown {
    fn note(&mut self, base: &str, path: &serde_ignored::Path<'_>) {
        if self.pointers.len() == MAX_WARNINGS {
            self.more += 1;
            return;
        }
        let mut pointer = base.to_owned();
        write_path(path, &mut pointer);
        self.pointers.push(pointer);
    }

    fn into_warnings(self) -> Vec<Warning> {
        let warning = |pointer: String, message: String| Warning { pointer, code: "unknown_field".to_owned(), message };
        let mut warnings: Vec<Warning> = self
            .pointers
            .into_iter()
            .map(|pointer| warning(pointer, "the field is not known and was left unread".to_owned()))
            .collect();
        if self.more > 0 {
            warnings.push(warning(String::new(), format!("{} further unknown fields were left unread", self.more)));
        }
        warnings
    }
}

fn write_path(path: &serde_ignored::Path<'_>, pointer: &mut String) {
    use serde_ignored::Path;
    match path {
        Path::Root => {}
        Path::Seq { parent, index } => {
            write_path(parent, pointer);
            pointer.push_str(&format!("/{index}"));
        }
        Path::Map { parent, key } => {
            write_path(parent, pointer);
            pointer.push('/');
            pointer.push_str(&escape(key));
        }
        Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => {
            write_path(parent, pointer);
        }
    }
}

#[cfg(test)]
mod tests;
