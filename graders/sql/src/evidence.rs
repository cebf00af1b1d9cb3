//! The evidence of a verdict.

use assay_core::Evidence;
use assay_worker::query::{End, Rows};
use serde_json::{Value, json};

use crate::compare::{Difference, Sheet};
use crate::extract::Found;

/// Most rows of a result that are shown.
const ROWS: usize = 5;

/// Longest cell shown, in characters.
const CELL: usize = 200;

/// Most columns shown.
const COLUMNS: usize = 40;

/// Describes how a statement ended.
pub(crate) fn how(end: &End) -> String {
    match end {
        End::Rows => "it returns rows".to_owned(),
        End::Nothing => "it contains no statement".to_owned(),
        End::Several => "it contains more than one statement".to_owned(),
        End::NotAQuery => "it is not a query".to_owned(),
        End::Denied(what) => format!("{what} is not allowed"),
        End::Syntax(message) | End::Error(message) => message.clone(),
        End::OutOfSteps => "it takes too many steps".to_owned(),
        End::OutOfMemory => "it takes too much memory".to_owned(),
        End::TooManyRows => {
            "it gives more rows or bytes than `limits` or `sql.result_bytes` allow".to_owned()
        }
        End::TooLong => "it produces a value that is too long".to_owned(),
    }
}

/// What is known before the statement runs.
pub(crate) fn of_statement(found: &Found) -> Evidence {
    Evidence::new()
        .text("statement", &found.text)
        .value("span", vec![found.span.start as u64, found.span.end as u64])
        .text("extraction", found.rule)
}

/// The difference, with rows.
pub(crate) fn of_difference(difference: &Difference, gold: &Sheet, found: &Rows) -> Value {
    let row = |rows: &Rows, at: usize| rows.rows().nth(at).map(|row| shown(&row));
    let mut report = match difference {
        Difference::Width(gold, found) => json!({"what": "columns", "gold": gold, "found": found}),
        Difference::Height(gold, found) => {
            json!({"what": "number of rows", "gold": gold, "found": found})
        }
        Difference::Rows { missing, extra } => json!({
            "what": "rows", "missing": row(&gold.rows, *missing), "unexpected": row(found, *extra)
        }),
        Difference::Order { from } => {
            json!({"what": "order", "row": from, "found": row(found, *from)})
        }
        Difference::Columns => json!({"what": "no choice of columns matches"}),
        Difference::ColumnsUnknown => {
            json!({"what": "no choice of columns was found before the search gave up"})
        }
    };
    if let Value::Object(report) = &mut report {
        let first = |rows: &Rows| {
            rows.rows()
                .take(ROWS)
                .map(|row| shown(&row))
                .collect::<Vec<_>>()
        };
        report.insert("gold_rows".to_owned(), json!(first(&gold.rows)));
        report.insert("found_rows".to_owned(), json!(first(found)));
    }
    report
}

fn shown(row: &[assay_worker::query::Value<'_>]) -> Vec<String> {
    let cell = |cell: &assay_worker::query::Value<'_>| {
        let text = cell.to_string();
        match text.char_indices().nth(CELL) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    };
    row.iter().take(COLUMNS).map(cell).collect()
}
