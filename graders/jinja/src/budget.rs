//! Responsible for the allowance of a rendering: bytes that it may make and values that may be looked at to count them.

use std::cell::Cell;

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

use crate::MOST_BYTES;

/// Most values looked at to know the sizes of others: it bounds time.
const MOST_VALUES: usize = 20_000_000;

/// Deepest nesting of a value that a template makes: values are shown, compared and dropped by recursion.
const DEPTH: usize = 128;

/// Bytes of a value in a list or a map, beside its text.
pub(crate) const VALUE_BYTES: usize = 32;

thread_local! {
    // A rendering stays on its thread, and none begins inside another.
    static BYTES: Cell<usize> = const { Cell::new(MOST_BYTES) };
    static VALUES: Cell<usize> = const { Cell::new(MOST_VALUES) };
}

/// A rendering begins on this thread.
pub(crate) fn begin() {
    BYTES.set(MOST_BYTES);
    VALUES.set(MOST_VALUES);
}

fn too_much() -> Error {
    let message = format!("the template makes more than {} MiB of text", MOST_BYTES >> 20);
    Error::new(ErrorKind::InvalidOperation, message)
}

/// Takes bytes from the allowance.
///
/// # Errors
/// When there are not so many left.
pub(crate) fn charge(bytes: usize) -> Result<(), Error> {
    BYTES.set(BYTES.get().checked_sub(bytes).ok_or_else(too_much)?);
    Ok(())
}

/// Refuses what would make more than is left.
///
/// # Errors
/// When it would.
pub(crate) fn expect(bytes: usize) -> Result<(), Error> {
    if bytes > BYTES.get() { Err(too_much()) } else { Ok(()) }
}

/// Bytes that a value would take if nothing of it were shared: roughly those of its text.
///
/// # Errors
/// When they are more than is left, or the value nests too deep or holds a namespace, which could hold the value in turn.
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
        return Err(Error::new(ErrorKind::InvalidOperation, format!("a value nests deeper than {DEPTH}")));
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

/// Whether a value is what `namespace()` makes, the only kind that changes.
fn is_namespace(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.type_name().ends_with("::Namespace"))
}

/// Charges a value that was made: a text by its length, a list or a map by its places.
///
/// # Errors
/// When there is not so much left, or [`size`] refuses it.
pub(crate) fn made(value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map if !is_namespace(value) => {
            size(value)?;
            charge((value.len().unwrap_or(0) + 2) * VALUE_BYTES)
        }
        _ => charge(VALUE_BYTES + value.as_str().map_or(0, str::len)),
    }
}
