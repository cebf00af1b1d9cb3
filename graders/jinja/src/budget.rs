//! The budget of a rendering: the bytes that it may produce and the values that may be visited to
//! count them.

use std::cell::Cell;

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

/// Maximum number of values that are visited to compute sizes, which bounds time.
const MAX_VALUES: usize = 20_000_000;

/// Maximum nesting of a value that a template creates: values are displayed, compared and dropped
/// recursively.
const MAX_DEPTH: usize = 128;

/// Bytes of a value in a list or a map, without its text.
pub(crate) const VALUE_BYTES: usize = 32;

/// Maximum number of bytes of text that filters and methods read. One instruction can read a text
/// of any length, so the number of instructions does not bound time.
const MAX_READ: usize = 4 << 30;

thread_local! {
    // A rendering stays on its thread, and renderings do not nest.
    static BYTES: Cell<usize> = const { Cell::new(MAX_BYTES) };
    static VALUES: Cell<usize> = const { Cell::new(MAX_VALUES) };
    static READ: Cell<usize> = const { Cell::new(MAX_READ) };
    static PRODUCED: Cell<u64> = const { Cell::new(0) };
}

/// Bytes that all renderings on this thread have produced, including intermediate texts. A caller
/// that renders several templates limits the difference.
#[must_use]
pub fn produced() -> u64 {
    PRODUCED.get()
}

/// Resets the budget at the start of a rendering on this thread.
pub(crate) fn reset() {
    BYTES.set(MAX_BYTES);
    VALUES.set(MAX_VALUES);
    READ.set(MAX_READ);
}

/// The error for an exceeded budget.
fn budget_exceeded() -> Error {
    let message = format!(
        "the template produces more than {} MiB of text",
        MAX_BYTES >> 20
    );
    Error::new(ErrorKind::InvalidOperation, message)
}

/// Takes bytes from the budget.
///
/// # Errors
/// If fewer bytes are left.
pub(crate) fn charge(bytes: usize) -> Result<(), Error> {
    PRODUCED.set(PRODUCED.get().saturating_add(bytes as u64));
    BYTES.set(BYTES.get().checked_sub(bytes).ok_or_else(budget_exceeded)?);
    Ok(())
}

/// Counts the texts that a filter or method reads.
///
/// # Errors
/// If the rendering has read more than `MAX_READ`.
pub(crate) fn read(arguments: &[Value]) -> Result<(), Error> {
    for text in arguments.iter().filter_map(Value::as_str) {
        let left = READ.get().checked_sub(text.len());
        READ.set(left.ok_or_else(|| {
            let message = format!(
                "the template reads more than {} GiB of text",
                MAX_READ >> 30
            );
            Error::new(ErrorKind::InvalidOperation, message)
        })?);
    }
    Ok(())
}

/// Checks that this many bytes are left, without taking them.
///
/// # Errors
/// If fewer bytes are left.
pub(crate) fn expect(bytes: usize) -> Result<(), Error> {
    if bytes > BYTES.get() {
        Err(budget_exceeded())
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

/// Adds the bytes of a value to `total`.
fn add(value: &Value, depth: usize, total: &mut usize) -> Result<(), Error> {
    VALUES.set(VALUES.get().checked_sub(1).ok_or_else(budget_exceeded)?);
    *total += VALUE_BYTES + value.as_str().map_or(0, str::len);
    expect(*total)?;
    if depth > MAX_DEPTH {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("a value nests deeper than {MAX_DEPTH} levels"),
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

/// Whether a value was created by `namespace()`. Only these values are mutable.
fn is_namespace(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|object| object.type_name().ends_with("::Namespace"))
}

/// Charges a new value: a text by its length, a list or a map by its number of entries.
///
/// # Errors
/// If too little of the budget is left, or [`size`] fails.
pub(crate) fn charge_value(value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map if !is_namespace(value) => {
            size(value)?;
            charge((value.len().unwrap_or(0) + 2) * VALUE_BYTES)
        }
        _ => charge(VALUE_BYTES + value.as_str().map_or(0, str::len)),
    }
}

/// Maximum number of bytes that one rendering may produce, including intermediate texts.
pub const MAX_BYTES: usize = 128 << 20;
