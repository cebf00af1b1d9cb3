//! Reduces display maths to an answer. A derivation over several lines is reduced to its last right
//! side. Does not search for display maths.

use std::borrow::Cow;

use crate::maths_spans;
use crate::trim::tidy;

/// Display maths as one answer and its source. Of several lines it is the right side of the last
/// (`a &= 2 \\ &= 5` is `5`), or all lines as a list if each is an equation (`x &= 1 \\ y &= 2`).
/// `None` without a letter, digit or symbol of a value.
pub(super) fn answer(inner: &str) -> Option<(Cow<'_, str>, &str)> {
    let inner = only_environment(tidy(inner));
    if !inner
        .chars()
        .any(|c| c.is_alphanumeric() || c == '∞' || c == '∅')
    {
        return None;
    }
    // Line breaks and `&` inside a nested environment, such as a matrix, belong to it.
    if inner.contains("\\begin") || !(inner.contains("\\\\") || inner.contains('&')) {
        return Some((Cow::Borrowed(inner), inner));
    }
    let rows: Vec<&str> = inner
        .split("\\\\")
        .map(tidy)
        .filter(|row| !row.is_empty())
        .collect();
    let last = rows.last()?;
    let bare = last.trim_start_matches(['&', ' ']);
    // A line that starts with `=` continues the line before it: only its right side is the answer.
    if let Some(right) = bare.strip_prefix('=') {
        let right = tidy(right.trim_start_matches(['&', ' ']));
        return Some((without_ampersands(right), right));
    }
    let equations = rows
        .iter()
        .all(|row| row.contains('=') && !row.trim_start_matches(['&', ' ']).starts_with('='));
    if rows.len() == 1 || !equations {
        return Some((without_ampersands(last), last));
    }
    let list = rows
        .iter()
        .map(|row| without_ampersands(row))
        .collect::<Vec<_>>()
        .join(", ");
    Some((Cow::Owned(list), inner))
}

/// The content of a display environment (`align` and the like); other maths is returned unchanged.
fn only_environment(inner: &str) -> &str {
    match maths_spans::spans(inner).as_slice() {
        [span] if span.display && span.start == 0 && span.end == inner.len() => {
            tidy(&inner[span.inner_start..span.inner_end])
        }
        _ => inner,
    }
}

fn without_ampersands(row: &str) -> Cow<'_, str> {
    if row.contains('&') {
        Cow::Owned(row.replace("\\&", "&").replace('&', ""))
    } else {
        Cow::Borrowed(row)
    }
}
