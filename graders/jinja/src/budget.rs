//! The budget of a rendering: the bytes that it may produce and the values that may be visited to
//! count them.

use std::cell::Cell;

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

use crate::MOST_BYTES;

/// Most values that are visited to compute sizes, which bounds time.
const MOST_VALUES: usize = 20_000_000;

/// Deepest nesting of a value that a template creates: values are displayed, compared and dropped
/// recursively.
const DEPTH: usize = 128;

/// Bytes of a value in a list or a map, without its text.
pub(crate) const VALUE_BYTES: usize = 32;

thread_local! {
    // A rendering stays on its thread, and renderings do not nest.
    static BYTES: Cell<usize> = const { Cell::new(MOST_BYTES) };
    static VALUES: Cell<usize> = const { Cell::new(MOST_VALUES) };
}

/// Resets the budget at the start of a rendering on this thread.
pub(crate) fn begin() {
    BYTES.set(MOST_BYTES);
    VALUES.set(MOST_VALUES);
}

fn too_much() -> Error {
    let message = format!(
        "the template makes more than {} MiB of text",
        MOST_BYTES >> 20
    );
    Error::new(ErrorKind::InvalidOperation, message)
}

/// Takes bytes from the budget.
///
/// # Errors
/// If fewer bytes are left.
pub(crate) fn charge(bytes: usize) -> Result<(), Error> {
    BYTES.set(BYTES.get().checked_sub(bytes).ok_or_else(too_much)?);
    Ok(())
}

/// Checks that so many bytes are left, without taking them.
///
/// # Errors
/// If fewer bytes are left.
pub(crate) fn expect(bytes: usize) -> Result<(), Error> {
    if bytes > BYTES.get() {
        Err(too_much())
    } else {
        Ok(())
    }
}

/// The bytes of a value if none of it were shared: roughly those of its text.
///
/// # Errors
/// If they exceed the budget, the value nests too deep, or it contains a namespace, which could in
/// turn contain the value.
pub(crate) fn size(value: &Value) -> Result<usize, Error> {
    let mut total = 0;
    add(value, 0, &mut total)?;
    Ok(total)
}

fn add(value: &Value, depth: usize, total: &mut usize) -> Result<(), Error> {
    VALUES.set(VALUES.get().checked_sub(1).ok_or_else(too_much)?);
    *total += VALUE_BYTES + value.as_str().map_or(0, str::len);
    expect(*total)?;
    if depth > DEPTH {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("a value nests deeper than {DEPTH}"),
        ));
    }
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            for item in value.try_iter()? {
                add(&item, depth + 1, total)?;
            }
        }
        ValueKind::Map => {
            if is_namespace(value) {
                let message = "a namespace cannot be put into another value";
                return Err(Error::new(ErrorKind::InvalidOperation, message));
            }
            for key in value.try_iter()? {
                add(&key, depth + 1, total)?;
                add(&value.get_item(&key)?, depth + 1, total)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether a value was created by `namespace()`, the only kind that is mutable.
fn is_namespace(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|object| object.type_name().ends_with("::Namespace"))
}

/// Charges a new value: a text by its length, a list or a map by its number of entries.
///
/// # Errors
/// If too little of the budget is left, or [`size`] fails.
pub(crate) fn made(value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map if !is_namespace(value) => {
            size(value)?;
            charge((value.len().unwrap_or(0) + 2) * VALUE_BYTES)
        }
        _ => charge(VALUE_BYTES + value.as_str().map_or(0, str::len)),
    }
}
