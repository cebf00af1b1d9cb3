//! Formats the fields of text log lines, with values escaped so that they cannot break the line or
//! control a terminal.

use std::fmt::{self, Write};

use assay_base::visible::Visible;
use tracing::field::Field;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{self, Writer};

/// Formats the message, then the fields as `name=value`, with escaped values.
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
