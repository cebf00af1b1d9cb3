//! Display maths as an answer: of several lines the one that counts. Looks for none.

use std::borrow::Cow;

use super::maths_spans;
use super::trim::tidy;

/// Display maths as one answer: of several lines the right side of the last, or all of them where
/// each is an equation.
pub(super) fn answer(inner: &str) -> Option<(Cow<'_, str>, &str)> {
    let inner = only_environment(tidy(inner));
    if !inner
        .chars()
        .any(|c| c.is_alphanumeric() || c == '∞' || c == '∅')
    {
        return None;
    }
    // Line breaks inside another environment belong to it.
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

/// What an environment that only displays holds.
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
