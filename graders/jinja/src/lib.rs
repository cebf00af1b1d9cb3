//! Owns the rendering of Jinja templates in bounded memory: whatever a template does, it fails before it holds more than its
//! allowance. Says nothing of what templates are handed.
//!
//! The engine counts instructions, which bounds time and not memory: `{% set a = a ~ a %}` doubles a text with each. So the
//! instructions of a compiled template are rewritten ([`Program`]): where a value is made, its size is charged to an allowance
//! ([`budget`]), and operators, filters and methods that multiply are checked before they run ([`filters`]).

mod budget;
mod filters;
mod program;

use std::collections::BTreeSet;

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, Output, State, Value, escape_formatter};

pub use filters::{add_filter, method};
pub use program::Program;

/// Bytes that one rendering may make, its texts in between included.
pub const MOST_BYTES: usize = 128 << 20;

/// Prepares an environment: its templates are rendered through [`Program`] only.
pub fn bound(environment: &mut Environment<'static>) {
    filters::bound(environment);
    environment.set_formatter(emit);
}

/// Writes a value into the text, charged to the allowance.
///
/// # Errors
/// When the template makes too much.
pub fn emit(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    match value.as_str() {
        Some(text) => budget::charge(text.len())?,
        None if matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::Iterable) => {
            budget::charge(budget::size(value)?)?;
        }
        None => budget::charge(32)?,
    }
    escape_formatter(out, state, value)
}

/// Names that a template reads and does not define, those of functions included.
///
/// # Errors
/// What is wrong with the template.
pub fn reads(environment: &Environment<'static>, name: &str, source: &str) -> Result<BTreeSet<String>, Error> {
    let template = environment.template_from_named_str(name, source)?;
    Ok(template.undeclared_variables(false).into_iter().collect())
}

#[cfg(test)]
mod tests;
