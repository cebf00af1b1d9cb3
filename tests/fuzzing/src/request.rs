//! Request bodies: every decoder of `assay-wire` reads the same bytes.
//!
//! Properties: the result is within the limits and unchanged by a round trip; an error has a
//! pointer to a field of the body, or to a missing field of an object in the body.

use std::collections::BTreeSet;

use assay_core::ErrorCode;
use assay_wire::channels::{AdjudicateRequest, CalibrationBody};
use assay_wire::checks::CheckReport;
use assay_wire::comments::CommentRequest;
use assay_wire::pairs::PairsRequest;
use assay_wire::request::decode_item;
use assay_wire::scoring::{decode_input, decode_score};
use assay_wire::{DecodeLimits, Decoded, OwnForm, Problem, Warning, decode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const LIMITS: DecodeLimits = DecodeLimits {
    items: 16,
    shared_bytes: 1 << 16,
};

/// Longest name, id or key that is accepted, in bytes.
const MAX_NAME: usize = 1_024;

/// Most warnings of one request, including the one that counts the rest.
const MAX_WARNINGS: usize = 21;

/// Reads a body.
pub fn run(body: &[u8]) {
    let value = serde_json::from_slice(body).ok();
    match decode(body, &LIMITS, &mut OwnForm) {
        Ok(decoded) => {
            check_batch(&decoded);
            if let Some(items) = value
                .as_ref()
                .and_then(|value: &Value| value["items"].as_array())
            {
                check_objects(&decoded, items);
            }
            check_warnings(&decoded.warnings, value.as_ref());
        }
        Err(problem) => check_problem(&problem, value.as_ref()),
    }
    match decode_score(body, &LIMITS) {
        Ok(decoded) => {
            assert!(
                (1..=LIMITS.items).contains(&decoded.inputs.len()),
                "{} inputs",
                decoded.inputs.len()
            );
            check_ids(decoded.inputs.iter().map(|input| input.id.as_deref()));
            check_warnings(&decoded.warnings, value.as_ref());
        }
        Err(problem) => check_problem(&problem, value.as_ref()),
    }
    if let Ok(text) = std::str::from_utf8(body) {
        check_line(
            decode_item(text, "", &mut OwnForm).map(|(_, warnings)| warnings),
            value.as_ref(),
        );
        check_line(
            decode_input(text, "").map(|(_, warnings)| warnings),
            value.as_ref(),
        );
    }
    if let Some(pairs) = round_trip::<PairsRequest>(body) {
        for pair in &pairs.pairs {
            if let Err((field, _)) = pair.check() {
                assert!(["accepted", "rejected"].contains(&field), "{field}");
            }
        }
    }
    if let Some(Err((pointer, _))) = round_trip::<CheckReport>(body).map(|report| report.check()) {
        // If there is no value, the body has invalid UTF-8 in an ignored field.
        assert!(
            value
                .as_ref()
                .is_none_or(|value| is_located(value, &pointer)),
            "`{pointer}` is not in the report"
        );
    }
    if let Some(Ok(calibration)) = round_trip::<CalibrationBody>(body).map(CalibrationBody::check) {
        assert!(
            calibration.right_rejected <= calibration.right
                && calibration.wrong_passed <= calibration.wrong
        );
    }
    round_trip::<AdjudicateRequest>(body);
    round_trip::<CommentRequest>(body);
}

/// Checks sizes and names, and that the batch is unchanged by a round trip.
fn check_batch(batch: &Decoded) {
    assert!(
        (1..=LIMITS.items).contains(&batch.items.len()),
        "{} items",
        batch.items.len()
    );
    check_ids(batch.items.iter().map(|item| item.request.id.as_deref()));
    for item in &batch.items {
        let request = &item.request;
        for name in [&request.group, &request.prompt_key, &request.channel]
            .into_iter()
            .flatten()
        {
            assert!(name.len() <= MAX_NAME, "a name of {} bytes", name.len());
        }
        assert!(request.completion.has_answer());
        assert_eq!(item.checks.len(), request.checks.len());
    }
    let written = write(batch);
    let again =
        decode(&written, &LIMITS, &mut OwnForm).expect("a batch that was read is read again");
    assert_eq!(
        String::from_utf8_lossy(&write(&again)),
        String::from_utf8_lossy(&written),
        "round trip"
    );
    for (item, same) in batch.items.iter().zip(&again.items) {
        assert_eq!(
            (&item.task, &item.checks),
            (&same.task, &same.checks),
            "round trip of tasks"
        );
    }
}

/// Asserts that no array of the body was read as an object by the order of its fields.
fn check_objects(batch: &Decoded, items: &[Value]) {
    for (item, written) in batch.items.iter().zip(items) {
        let read = serde_json::to_value(&item.request).expect("an item is JSON");
        assert!(
            !is_positional(written, &read),
            "a list was read as an object: {written}"
        );
    }
}

fn is_positional(written: &Value, read: &Value) -> bool {
    match (written, read) {
        (Value::Array(_), Value::Object(_)) => true,
        (Value::Array(written), Value::Array(read)) => written
            .iter()
            .zip(read)
            .any(|(written, read)| is_positional(written, read)),
        (Value::Object(written), Value::Object(read)) => written
            .iter()
            .any(|(key, value)| read.get(key).is_some_and(|read| is_positional(value, read))),
        _ => false,
    }
}

fn write(batch: &Decoded) -> Vec<u8> {
    let mut head = serde_json::to_value(&batch.head).expect("a head is JSON");
    head.as_object_mut()
        .expect("a head is an object")
        .remove("items");
    let head = head.to_string();
    // Items are inserted as text, so that the numbers in their tasks keep their digits.
    let items: Vec<_> = batch
        .items
        .iter()
        .map(|item| serde_json::to_string(&item.request).expect("an item is JSON"))
        .collect();
    format!(
        r#"{{"items":[{}],{}"#,
        items.join(","),
        head.trim_start_matches('{')
    )
    .into_bytes()
}

fn check_line(read: Result<Vec<Warning>, Problem>, value: Option<&Value>) {
    match read {
        Ok(warnings) => check_warnings(&warnings, value),
        Err(problem) => check_problem(&problem, value),
    }
}

fn check_ids<'i>(ids: impl Iterator<Item = Option<&'i str>>) {
    let mut seen = BTreeSet::new();
    for id in ids.flatten() {
        assert!(id.len() <= MAX_NAME, "an id of {} bytes", id.len());
        assert!(seen.insert(id), "duplicate id `{id}`");
    }
}

fn check_warnings(warnings: &[Warning], value: Option<&Value>) {
    assert!(
        warnings.len() <= MAX_WARNINGS,
        "{} warnings",
        warnings.len()
    );
    let Some(value) = value else { return };
    for Warning { pointer, .. } in warnings {
        assert!(
            value.pointer(pointer).is_some(),
            "`{pointer}` is not in the body"
        );
    }
}

fn check_problem(problem: &Problem, value: Option<&Value>) {
    assert!(!problem.message.is_empty());
    if problem.code == ErrorCode::MalformedJson {
        assert!(value.is_none(), "it is JSON: {problem}");
    }
    if let (Some(value), Some(pointer)) = (value, &problem.pointer) {
        assert!(
            is_located(value, pointer),
            "`{pointer}` is not in the body: {problem}"
        );
    }
}

/// Whether `pointer` is a place in `value`, or would be a field of an object there.
fn is_located(value: &Value, pointer: &str) -> bool {
    let parent = || {
        pointer
            .rsplit_once('/')
            .and_then(|(parent, _)| value.pointer(parent))
    };
    value.pointer(pointer).is_some() || parent().is_some_and(Value::is_object)
}

/// Reads a body without further limits, and asserts that it is unchanged by a round trip.
fn round_trip<T: DeserializeOwned + Serialize>(body: &[u8]) -> Option<T> {
    let read: T = serde_json::from_slice(body).ok()?;
    let written = serde_json::to_string(&read).expect("what was read is JSON");
    let again: T = serde_json::from_str(&written).expect("what was written is read");
    assert_eq!(
        serde_json::to_string(&again).expect("what was read is JSON"),
        written,
        "round trip"
    );
    Some(read)
}
