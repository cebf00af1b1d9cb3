//! `assay record copy`: copies a record to a new database and compares all rows.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use assay_base::url::redacted;
use assay_record::CopyProgress;
use serde::Serialize;

use crate::arguments::CopyArguments;
use crate::exit::CommandStatus;
use crate::process::{block_on, configuration_of};
use crate::progress::Progress;
use crate::{table, terminal};

/// What was copied.
#[derive(Serialize)]
struct Report {
    /// The source, without its password.
    from: String,
    /// The copy, without its password.
    to: String,
    rows: u64,
    tables: Vec<TableLine>,
}

#[derive(Serialize)]
struct TableLine {
    table: String,
    rows: u64,
    /// Of all rows, which were equal in both databases.
    digest: String,
}

pub(crate) fn run(file: Option<&Path>, arguments: &CopyArguments) -> anyhow::Result<CommandStatus> {
    let config = configuration_of(file, None)?;
    let (from, to) = (url(&arguments.from), url(&arguments.to));
    let mut shown: Option<Progress> = None;
    let copied = block_on(async {
        let progress = |step| match (step, &mut shown) {
            // Each row is copied, and then read again.
            (CopyProgress::Total(rows), shown) => {
                *shown = Some(Progress::new(Some(2 * rows), "rows"));
            }
            (CopyProgress::Rows(rows), Some(shown)) => shown.advance(rows),
            (CopyProgress::Rows(_), None) => {}
        };
        let copied = assay_node::copy_record(&config, &from, &to, progress).await;
        copied.context("cannot copy the record")
    });
    if let Some(shown) = shown {
        shown.finish();
    }
    let tables = copied?.into_iter().map(|copied| TableLine {
        table: copied.table,
        rows: copied.rows,
        digest: copied.digest,
    });
    let tables: Vec<TableLine> = tables.collect();
    let report = Report {
        from: redacted(&from),
        to: redacted(&to),
        rows: tables.iter().map(|table| table.rows).sum(),
        tables,
    };
    let mut out = terminal::results();
    if arguments.output.json {
        writeln!(out, "{}", terminal::pretty(&report)?)?;
        return Ok(CommandStatus::Done);
    }
    let rows: Vec<_> = report
        .tables
        .iter()
        .map(|line| {
            [
                line.table.clone(),
                line.rows.to_string(),
                line.digest.clone(),
            ]
        })
        .collect();
    table::write(&mut out, ["TABLE", "ROWS", "DIGEST"], &rows)?;
    writeln!(
        out,
        "\ncopied and compared {} rows in {} tables to `{}`",
        report.rows,
        report.tables.len(),
        report.to
    )?;
    Ok(CommandStatus::Done)
}

/// The URL of a database: paths are those of files.
fn url(text: &str) -> Cow<'_, str> {
    if text.contains("://") || text.starts_with("sqlite:") {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("sqlite://{text}"))
    }
}
