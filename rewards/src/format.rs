//! Numbers in messages.

/// Formats a number for messages, in exponent notation if it is very large or small, to avoid
/// hundreds of zeros.
pub(crate) fn format_number(value: f64) -> String {
    let size = value.abs();
    if size >= 1e9 || (size > 0.0 && size < 1e-9) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}
