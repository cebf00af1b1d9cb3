//! `sql-order-missing`: the prompt asks for an order that the gold query does not have.

use std::sync::LazyLock;

use regex::Regex;

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::GradedRow;
use crate::reading::any_phrase;

pub(super) const CODE: Code = code!("sql-order-missing", Warning);

/// Phrases that ask for an order of the rows, in lower case.
static ORDERS: LazyLock<Regex> = LazyLock::new(|| {
    any_phrase(&[
        "sorted by",
        "ordered by",
        "in ascending order",
        "in descending order",
        "in alphabetical order",
        "alphabetically",
        "in order of",
        "from highest to lowest",
        "from lowest to highest",
        "from oldest to youngest",
        "from youngest to oldest",
        "from most to least",
        "from least to most",
        "sort the",
        "in increasing order",
        "in decreasing order",
        "sort by",
        "order by",
        "in chronological order",
        "newest first",
        "oldest first",
    ])
});

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let (Some("sql"), Ok(subject)) = (row.kind(), &row.subject) else {
        return;
    };
    let (Some(prompt), golds) = (&subject.prompt, subject.texts("gold")) else {
        return;
    };
    let has_order = |query: &&str| {
        let query = query.to_lowercase();
        query
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains("order by")
    };
    if golds.is_empty() || golds.iter().any(has_order) {
        return;
    }
    if let Some(phrase) = ORDERS.find(&prompt.to_lowercase()) {
        let phrase = phrase.as_str();
        let message = format!("the prompt says `{phrase}`, but the gold has no `order by`");
        sink.add(&CODE, &row.location, &row.key, message);
    }
}
