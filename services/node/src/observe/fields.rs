//! Responsible for the fields of a log line in text: values that callers chose stay in their line and move no cursor.

use std::fmt::{self, Write};

use assay_core::visible::Visible;
use tracing::field::Field;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{self, Writer};

/// Fields with values that are safe on a terminal: the message first, then `name=value`.
pub(super) fn visible() -> impl for<'w> FormatFields<'w> + Send + Sync + 'static {
    format::debug_fn(field).delimited(" ")
}

fn field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    let name = field.name();
    if name != "message" {
        write!(writer, "{name}=")?;
    }
    let mut text = String::new();
    write!(text, "{value:?}")?;
    write!(writer, "{}", Visible::line(&text))
}
