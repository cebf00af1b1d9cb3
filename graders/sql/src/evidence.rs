//! The evidence of a verdict.

use assay_core::Evidence;
use assay_worker::query::{End, Rows};
use serde_json::{Value, json};

use crate::compare::{Difference, GoldResult};
use crate::extract::Extracted;

/// Maximum number of rows of a result.
const MAX_ROWS: usize = 5;

/// Maximum length of a cell, in characters.
const MAX_CELL_CHARACTERS: usize = 200;

/// Maximum number of columns of a row.
const MAX_COLUMNS: usize = 40;

/// Describes how a statement ended.
pub(crate) fn describe_end(end: &End) -> String {
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
            "it returns more rows or bytes than `limits` or `sql.result_bytes` allow".to_owned()
        }
        End::TooLong => "it produces a value that is too long".to_owned(),
    }
}

/// The evidence that is known before the statement runs.
pub(crate) fn of_statement(found: &Extracted) -> Evidence {
    Evidence::new()
        .text("statement", &found.text)
        .value("span", vec![found.span.start as u64, found.span.end as u64])
        .text("extraction", found.rule)
}

/// The difference between the results, with their first rows.
pub(crate) fn of_difference(difference: &Difference, gold: &GoldResult, found: &Rows) -> Value {
    let row = |rows: &Rows, at: usize| rows.rows().nth(at).map(|row| formatted(&row));
    let mut evidence = match difference {
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
            json!({"what": "no choice of columns was found before the search reached its limit"})
        }
    };
    if let Value::Object(fields) = &mut evidence {
        let first = |rows: &Rows| {
            rows.rows()
                .take(MAX_ROWS)
                .map(|row| formatted(&row))
                .collect::<Vec<_>>()
        };
        fields.insert("gold_rows".to_owned(), json!(first(&gold.rows)));
        fields.insert("found_rows".to_owned(), json!(first(found)));
    }
    evidence
}

fn formatted(row: &[assay_worker::query::Value<'_>]) -> Vec<String> {
    let cell = |cell: &assay_worker::query::Value<'_>| {
        let text = cell.to_string();
        match text.char_indices().nth(MAX_CELL_CHARACTERS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    };
    row.iter().take(MAX_COLUMNS).map(cell).collect()
}
