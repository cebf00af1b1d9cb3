//! Parsing shared by all requests: invalid values are errors with JSON pointers, unknown fields are
//! warnings. Does not depend on the type of a request.

use std::collections::HashMap;

use assay_base::pointer::escaped;
use assay_base::truncate::with_ellipsis;
use assay_base::{TextPosition, json_message, json_pointer, json_reason};
use assay_core::ErrorCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::Problem;
use crate::unicode::pointer_at;
use crate::warning::{MAX_POINTER_BYTES, MAX_WARNINGS, Warning};

/// Maximum length of a name, id or key, in bytes: they are shown in lists and stored in indexes.
pub(crate) const MAX_NAME_BYTES: usize = 1_024;

/// Parses the body as an object, without parsing its items.
pub(crate) fn read_envelope<'de, E: Deserialize<'de>>(
    body: &'de [u8],
    unknown: &mut UnknownFields,
) -> Result<E, Problem> {
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(Problem::invalid(
            "",
            "the body must be an object with `items`, not an array",
        ));
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    serde_ignored::deserialize(&mut reader, |path| unknown.record("", &path))
        .and_then(|envelope| reader.end().map(|()| envelope))
        .map_err(|error| body_problem::<E>(body, &error))
}

/// Rejects an empty batch and a batch with too many items.
pub(crate) fn check_item_count(items: usize, limits: &DecodeLimits) -> Result<(), Problem> {
    if items == 0 {
        return Err(Problem::at(
            ErrorCode::EmptyBatch,
            "/items".into(),
            "the batch has no items; send at least one",
        ));
    }
    if items > limits.items {
        let message = format!(
            "the batch has {items} items, more than {}; split it into several requests",
            limits.items
        );
        return Err(Problem::at(
            ErrorCode::TooManyItems,
            "/items".into(),
            message,
        ));
    }
    Ok(())
}

/// Parses one item. Tracking the path to an error takes time, so a failed item is parsed again to
/// find the path.
pub(crate) fn read_field<T: DeserializeOwned>(
    raw: &RawValue,
    pointer: &str,
    unknown: &mut UnknownFields,
) -> Result<T, Problem> {
    if raw.get().starts_with('[') {
        return Err(Problem::invalid(
            pointer,
            "an item must be an object, not an array",
        ));
    }
    let mut reader = serde_json::Deserializer::from_str(raw.get());
    let read = unknown.read(&mut reader, pointer);
    read.or_else(|_: serde_json::Error| read_object(raw, pointer, ErrorCode::InvalidField))
}

/// Parses an object and locates an error in it.
pub(crate) fn read_object<T: DeserializeOwned>(
    raw: &RawValue,
    pointer: &str,
    code: ErrorCode,
) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_str(raw.get());
    serde_path_to_error::deserialize::<_, T>(&mut reader).map_err(|error| {
        let at = format!("{pointer}{}", json_pointer(error.path()));
        Problem::at(code, at, json_reason(error.inner()))
    })
}

/// Rejects ids that two items share.
pub(crate) fn reject_duplicate_ids<'i>(
    ids: impl ExactSizeIterator<Item = Option<&'i str>>,
) -> Result<(), Problem> {
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(ids.len());
    for (index, id) in ids.enumerate() {
        let Some(id) = id else {
            continue;
        };
        if let Some(first) = seen.insert(id, index) {
            let message =
                format!("`/items/{first}` has the same id `{id}`; ids must be unique in a batch");
            return Err(Problem::at(
                ErrorCode::DuplicateId,
                format!("/items/{index}/id"),
                message,
            ));
        }
    }
    Ok(())
}

pub(crate) fn reject_long_name(
    pointer: &str,
    field: &str,
    name: Option<&str>,
) -> Result<(), Problem> {
    if name.is_none_or(|name| name.len() <= MAX_NAME_BYTES) {
        return Ok(());
    }
    let message = format!("`{field}` is longer than {MAX_NAME_BYTES} bytes; shorten it");
    Err(Problem::invalid(format!("{pointer}/{field}"), message))
}

/// Converts an error of parsing the body as a whole, which is invalid JSON or has the wrong shape.
pub(crate) fn body_problem<'de, E: Deserialize<'de>>(
    body: &'de [u8],
    error: &serde_json::Error,
) -> Problem {
    if error.is_data() {
        let mut reader = serde_json::Deserializer::from_slice(body);
        return match serde_path_to_error::deserialize::<_, E>(&mut reader) {
            Ok(_) => Problem::invalid("", json_reason(error)),
            Err(located) => {
                let mut pointer = json_pointer(located.path());
                let message = json_reason(located.inner());
                if pointer.is_empty() && message.contains("`items`") {
                    pointer.push_str("/items");
                }
                Problem::invalid(pointer, message)
            }
        };
    }
    let start = offset(body, error.line(), error.column());
    let near = &body[start.saturating_sub(1).min(body.len())..];
    let numbers = [&b"NaN"[..], b"-NaN", b"Infinity", b"-Infinity"];
    if numbers.iter().any(|literal| near.starts_with(literal)) {
        let message = format!(
            "JSON does not support NaN and infinity ({}); send null or omit the field",
            TextPosition::of(error, body).in_text(body)
        );
        return Problem::at(
            ErrorCode::MalformedJson,
            pointer_at(body, start.saturating_sub(1)),
            message,
        );
    }
    let message = json_message(error, body);
    Problem::new(ErrorCode::MalformedJson, format!("invalid JSON: {message}"))
}

fn offset(body: &[u8], line: usize, column: usize) -> usize {
    let before = body
        .split_inclusive(|byte| *byte == b'\n')
        .take(line.saturating_sub(1));
    before.map(<[u8]>::len).sum::<usize>() + column
}

/// Code of warnings about fields that were ignored.
const UNKNOWN_FIELD: &str = "unknown_field";

/// Pointers to unknown fields, which are ignored.
#[derive(Default)]
pub(crate) struct UnknownFields {
    pointers: Vec<String>,
    more: usize,
}

impl UnknownFields {
    /// Parses a value, which `pointer` locates, and records its unknown fields.
    pub(crate) fn read<'de, T: Deserialize<'de>>(
        &mut self,
        reader: &mut serde_json::Deserializer<serde_json::de::StrRead<'de>>,
        pointer: &str,
    ) -> serde_json::Result<T> {
        serde_ignored::deserialize(reader, |path| self.record(pointer, &path))
    }

    fn record(&mut self, base: &str, path: &serde_ignored::Path<'_>) {
        if self.pointers.len() == MAX_WARNINGS {
            self.more += 1;
            return;
        }
        let mut pointer = base.to_owned();
        write_path(path, &mut pointer);
        self.pointers
            .push(with_ellipsis(pointer, MAX_POINTER_BYTES));
    }

    pub(crate) fn into_warnings(self) -> Vec<Warning> {
        let warning = |pointer: String, message: String| Warning {
            pointer,
            code: UNKNOWN_FIELD.to_owned(),
            message,
        };
        let mut warnings: Vec<Warning> = self
            .pointers
            .into_iter()
            .map(|pointer| warning(pointer, "unknown field; it was ignored".to_owned()))
            .collect();
        if self.more > 0 {
            let message = format!(
                "{} further `{UNKNOWN_FIELD}` warnings are not listed",
                self.more
            );
            warnings.push(warning(String::new(), message));
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
            pointer.push_str(&escaped(key));
        }
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => {
            write_path(parent, pointer);
        }
    }
}

/// Limits of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeLimits {
    /// Maximum number of items in one batch.
    pub items: usize,
    /// Maximum bytes of shared values in all tasks of one batch.
    pub shared_bytes: usize,
}
