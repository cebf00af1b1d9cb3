//! Renders Jinja templates in bounded memory: a template that would exceed its budget fails before
//! it allocates. The caller decides which values a template can read.
//!
//! The engine counts instructions, which bounds time but not memory: each `{% set a = a ~ a %}`
//! doubles a text. The instructions of a compiled template are therefore rewritten ([`Program`]).
//! The size of each new value is charged to a budget (`budget`), and operators, filters and methods
//! that can multiply their input are checked before they run (`filters`).

mod budget;
mod filters;
mod program;

use std::collections::BTreeSet;

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, Output, State, Value, escape_formatter};

pub use filters::{add_filter, method};
pub use program::Program;

/// Replaces the filters, tests, functions and the formatter of an environment by bounded ones. Its
/// templates must be rendered through [`Program`].
pub fn bound(environment: &mut Environment<'static>) {
    filters::bound(environment);
    environment.set_formatter(emit);
}

/// Writes a value to the output and charges it to the budget.
///
/// # Errors
/// If the template exceeds its budget.
pub fn emit(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    match value.as_str() {
        Some(text) => budget::charge(text.len())?,
        None if matches!(
            value.kind(),
            ValueKind::Seq | ValueKind::Map | ValueKind::Iterable
        ) =>
        {
            budget::charge(budget::size(value)?)?;
        }
        None => budget::charge(32)?,
    }
    escape_formatter(out, state, value)
}

/// Returns the names that a template uses but does not define, including functions.
///
/// # Errors
/// If the template is invalid.
pub fn reads(
    environment: &Environment<'static>,
    name: &str,
    source: &str,
) -> Result<BTreeSet<String>, Error> {
    let template = environment.template_from_named_str(name, source)?;
    Ok(template.undeclared_variables(false).into_iter().collect())
}

#[cfg(test)]
mod tests;

pub use budget::{MAX_BYTES, produced};
