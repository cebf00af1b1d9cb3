//! Parsing of batches. Invalid values are errors; unknown fields outside tasks are warnings. Both
//! have JSON pointers.
//!
//! A batch is parsed in two passes. The first finds the items without parsing them, so that a batch
//! with too many items is rejected at little cost. The second parses each item, so that an error
//! contains the pointer of the item.

mod shared;
mod tasks;

use std::collections::BTreeMap;

use assay_base::pointer::escaped;
use assay_core::{Completion, ErrorCode, Meta, Task};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::raw_object::RawObject;
use crate::reading::{
    MAX_NAME_BYTES, UnknownFields, body_problem, check_item_count, read_envelope, read_field,
    reject_duplicate_ids, reject_long_name,
};
use crate::unicode::{Step, Treatment, read_replacing};
use crate::{Problem, Selection, Warning};

use shared::Shared;
pub use shared::SharedValues;
pub use tasks::{OwnForm, ReadTask, TemplateTask, Unexpanded};

/// A batch of rollouts to grade.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct GradeRequest {
    /// Name of the training run.
    #[schema(example = "qwen3-0.6b-math", min_length = 1, max_length = 1024)]
    pub run: Option<String>,
    /// Step of the run.
    #[schema(example = 120)]
    pub step: Option<i64>,
    /// The policy that makes rewards from scores: a name or a policy object. With `default`,
    /// `reward == score`.
    #[schema(value_type = Option<Object>, example = "default")]
    pub policy: Option<Value>,
    /// Names of group statistics to compute in addition to the mean.
    #[serde(default)]
    pub statistics: Vec<String>,
    /// Keys that results have; by default all. `groups` and `channels` include these parts of the
    /// reply. Results that are not graded always have `outcome` and `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, example = json!(["reward", "verdict"]))]
    pub fields: Option<Vec<String>>,
    /// Values by name, at most 256. Anywhere in a task or a check, `{"$shared": "name"}` is replaced
    /// by the value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = Object)]
    pub shared: BTreeMap<String, Box<RawValue>>,
    /// The rollouts, at least one.
    #[schema(min_items = 1)]
    pub items: Vec<ItemRequest>,
}

/// One completion with its task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ItemRequest {
    /// Id chosen by the trainer, unique in the batch; returned with the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "p17-3", max_length = 1024)]
    pub id: Option<String>,
    /// Name of the group, shared by the items of one prompt; an item without one is a group of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "p17", max_length = 1024)]
    pub group: Option<String>,
    /// Key of the prompt's history over steps; a hash of the prompt and task by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1024)]
    pub prompt_key: Option<String>,
    /// Policy that replaces the policy of the batch: a name or a policy object. All items of a
    /// group must have the same policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub policy: Option<Value>,
    /// Task family. The grader's name and the family form the channel, such as `math/gsm-like`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "gsm-like", max_length = 1024)]
    pub channel: Option<String>,
    /// The prompt: a string or an array of messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub prompt: Option<Completion>,
    /// The model's output: a string or an array of messages.
    #[schema(value_type = Object)]
    pub completion: Completion,
    /// What the completion should achieve and how to check it: an object whose `type` names the
    /// grader, or a `template` and a `row` from which the service makes one.
    #[schema(value_type = Object)]
    pub task: Box<RawValue>,
    /// Further tasks by name, which are graded too and reported as components. They can name
    /// templates too.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "unique_names"
    )]
    #[schema(value_type = Object)]
    pub checks: BTreeMap<String, Box<RawValue>>,
    /// Id of an interpreter session of the caller, which the completion used. Its log becomes the
    /// check `session`, which runs its calls again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1024)]
    pub session: Option<String>,
    /// Metadata of the item: `tokens`, `truncated`, `think_open` and any other fields.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub meta: Meta,
}

/// One parsed item with its tasks.
#[derive(Debug, Clone)]
pub struct DecodedItem<T = Task> {
    /// The item as sent.
    pub request: ItemRequest,
    /// The task.
    pub task: T,
    /// The checks, by name.
    pub checks: Vec<(String, T)>,
}

/// A parsed batch.
#[derive(Debug, Clone)]
pub struct Decoded<T = Task> {
    /// The request without its items.
    pub head: GradeRequest,
    /// The items, in order.
    pub items: Vec<DecodedItem<T>>,
    /// The parts of the reply that the request chose.
    pub selection: Selection,
    /// Warnings about unknown fields and replaced lone surrogates.
    pub warnings: Vec<Warning>,
    /// Bytes of shared values in the tasks.
    pub shared_bytes: usize,
}

/// Name of the check that a session becomes.
const SESSION: &str = "session";

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
    #[serde(default)]
    fields: Option<Vec<String>>,
    #[serde(borrow, default)]
    shared: Option<&'a RawValue>,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// Parses a batch, whose tasks `tasks` makes.
///
/// # Errors
/// The first [`Problem`], with a pointer into the body if it is about one field.
pub fn decode<R: ReadTask>(
    body: &[u8],
    limits: &DecodeLimits,
    tasks: &mut R,
) -> Result<Decoded<R::Task>, Problem> {
    let (mut decoded, replaced) = read_replacing(body, "", batch_treatment, |body| {
        read_batch(body, limits, tasks)
    })?;
    decoded.warnings.extend(replaced);
    Ok(decoded)
}

/// How lone surrogates of a batch are treated: replaced in text that is only graded or stored,
/// rejected in fields that affect grading.
fn batch_treatment(path: &[Step]) -> Treatment {
    match path {
        [items, Step::Index(_), item @ ..] if items.is("items") => item_treatment(item),
        [first, ..]
            if ["run", "policy", "statistics", "fields", "shared"]
                .iter()
                .any(|field| first.is(field)) =>
        {
            Treatment::Reject(ErrorCode::InvalidField)
        }
        _ => Treatment::Replace,
    }
}

fn item_treatment(path: &[Step]) -> Treatment {
    let Some(field) = path.first() else {
        return Treatment::Replace;
    };
    if ["task", "checks"].iter().any(|name| field.is(name)) {
        return Treatment::Reject(ErrorCode::InvalidTask);
    }
    let affects_grading = ["id", "group", "prompt_key", "policy", "channel", "session"]
        .iter()
        .any(|name| field.is(name));
    if affects_grading {
        Treatment::Reject(ErrorCode::InvalidField)
    } else {
        Treatment::Replace
    }
}

fn read_batch<R: ReadTask>(
    body: &[u8],
    limits: &DecodeLimits,
    tasks: &mut R,
) -> Result<Decoded<R::Task>, Problem> {
    let mut unknown = UnknownFields::default();
    let envelope = read_head(body, &mut unknown)?;
    let Envelope {
        run,
        step,
        policy,
        statistics,
        fields,
        shared,
        items: raw_items,
    } = envelope;
    let selection = Selection::of_reply(fields.as_deref())?;
    reject_long_name("", "run", run.as_deref())?;
    if run.as_deref() == Some("") {
        let message = "`run` is empty; send a name or omit the field";
        return Err(Problem::invalid("/run", message));
    }
    if run.as_deref().is_some_and(|run| !fits_path(run)) {
        let message = "`run` is `.` or `..`, or contains control characters, so that no URL can \
                       name it; choose another name";
        return Err(Problem::invalid("/run", message));
    }
    check_item_count(raw_items.len(), limits)?;
    let mut shared = Shared::of_request(shared, limits.shared_bytes)?;
    let mut items = Vec::with_capacity(raw_items.len());
    for (index, raw) in raw_items.iter().enumerate() {
        let pointer = format!("/items/{index}");
        let request = read_request(raw, &pointer, &mut unknown)?;
        items.push(decode_tasks(request, &pointer, &mut shared, tasks)?);
    }
    reject_duplicate_ids(items.iter().map(|item| item.request.id.as_deref()))?;
    let shared_bytes = shared.bytes;
    let head = GradeRequest {
        run,
        step,
        policy,
        statistics,
        fields,
        shared: shared.values.by_name,
        items: Vec::new(),
    };
    Ok(Decoded {
        head,
        items,
        selection,
        warnings: unknown.into_warnings(),
        shared_bytes,
    })
}

// The functions that parse JSON are not generic, so that this crate compiles them, which is
// optimised in the profile `dev`, and not those that call it.

fn read_head<'b>(body: &'b [u8], unknown: &mut UnknownFields) -> Result<Envelope<'b>, Problem> {
    read_envelope(body, unknown)
}

fn raw_item(text: &[u8]) -> Result<&RawValue, Problem> {
    serde_json::from_slice(text).map_err(|error| body_problem::<Envelope<'_>>(text, &error))
}

/// Parses an item in one pass; `None` if it is invalid, which [`read_request`] reports.
fn read_at_once(text: &[u8], pointer: &str, unknown: &mut UnknownFields) -> Option<ItemRequest> {
    let text = std::str::from_utf8(text).ok()?;
    if !text.trim_ascii_start().starts_with('{') {
        // An array of values in the order of the fields would be accepted.
        return None;
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let request = unknown.read(&mut reader, pointer).ok()?;
    reader.end().ok()?;
    Some(request)
}

fn read_request(
    raw: &RawValue,
    pointer: &str,
    unknown: &mut UnknownFields,
) -> Result<ItemRequest, Problem> {
    read_field(raw, pointer, unknown)
}

/// Parses one item outside a batch, such as a line of a JSONL file. `pointer` locates the item in
/// errors and warnings.
///
/// # Errors
/// As [`decode`].
pub fn decode_item<R: ReadTask>(
    text: &str,
    pointer: &str,
    tasks: &mut R,
) -> Result<(DecodedItem<R::Task>, Vec<Warning>), Problem> {
    let ((item, mut warnings), replaced) =
        read_replacing(text.as_bytes(), pointer, item_treatment, |text| {
            read_item(text, pointer, tasks)
        })?;
    warnings.extend(replaced);
    Ok((item, warnings))
}

fn read_item<R: ReadTask>(
    text: &[u8],
    pointer: &str,
    tasks: &mut R,
) -> Result<(DecodedItem<R::Task>, Vec<Warning>), Problem> {
    let mut unknown = UnknownFields::default();
    let request = match read_at_once(text, pointer, &mut unknown) {
        Some(request) => request,
        None => {
            unknown = UnknownFields::default();
            read_request(raw_item(text)?, pointer, &mut unknown)?
        }
    };
    let mut shared = Shared::of_item();
    Ok((
        decode_tasks(request, pointer, &mut shared, tasks)?,
        unknown.into_warnings(),
    ))
}

/// Whether a name can be shown in a list: at most 1,024 bytes without control
/// characters.
#[must_use]
pub fn is_showable(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES && !name.chars().any(char::is_control)
}

/// Whether a name can be a segment of the path of a URL. `.` and `..` mean folders, even when
/// escaped, and URLs lose control characters.
#[must_use]
pub fn fits_path(name: &str) -> bool {
    ![".", ".."].contains(&name) && !name.chars().any(char::is_control)
}

/// Parses checks by name and rejects duplicate names, which would be ambiguous.
fn unique_names<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Box<RawValue>>, D::Error> {
    RawObject::deserialize(deserializer).map(|RawObject(checks)| checks)
}

fn decode_tasks<R: ReadTask>(
    request: ItemRequest,
    pointer: &str,
    shared: &mut Shared<R::Task>,
    tasks: &mut R,
) -> Result<DecodedItem<R::Task>, Problem> {
    let names = [
        ("id", &request.id),
        ("group", &request.group),
        ("prompt_key", &request.prompt_key),
        ("channel", &request.channel),
    ];
    for (field, name) in names {
        reject_long_name(pointer, field, name.as_deref())?;
    }
    if request
        .channel
        .as_deref()
        .is_some_and(|channel| !is_showable(channel))
    {
        let message = "`channel` contains control characters; remove them";
        return Err(Problem::invalid(format!("{pointer}/channel"), message));
    }
    if !request.completion.has_answer() {
        let message = "no message has the role `assistant`, so there is nothing to grade";
        return Err(Problem::invalid(format!("{pointer}/completion"), message));
    }
    let mut read = |json: &RawValue, pointer: &str| shared.task(json, pointer, tasks);
    let task = read(&request.task, &format!("{pointer}/task"))?;
    let mut checks = Vec::with_capacity(request.checks.len());
    for (name, json) in &request.checks {
        let pointer = format!("{pointer}/checks/{}", escaped(name));
        checks.push((name.clone(), read(json, &pointer)?));
    }
    if let Some(id) = &request.session {
        let pointer = format!("{pointer}/session");
        if request.checks.contains_key(SESSION) {
            let message = format!("the item has a check `{SESSION}` too; remove one of them");
            return Err(Problem::invalid(pointer, message));
        }
        checks.push((SESSION.to_owned(), tasks.session(id, &pointer)?));
        checks.sort_by(|(a, _), (b, _)| a.cmp(b));
    }
    Ok(DecodedItem {
        request,
        task,
        checks,
    })
}

#[cfg(test)]
mod tests;

use crate::reading::DecodeLimits;
