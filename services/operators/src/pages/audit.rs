//! The audit log, newest entries first.

use askama::Template;
use assay_record::access::AuditRecord;
use http::StatusCode;

use crate::display::{cell, time};
use crate::failure::{Failure, Result};
use crate::page::{Menu, Page, Section};
use crate::query::{Pairs, link};
use crate::site::Viewer;

/// Entries per page.
const PAGE: u32 = 100;

/// An entry as a row.
struct AuditRow {
    time: String,
    caller: String,
    role: &'static str,
    action: String,
    target: String,
    details: String,
}

impl From<&AuditRecord> for AuditRow {
    fn from(AuditRecord { entry, .. }: &AuditRecord) -> Self {
        Self {
            time: time(entry.time_us),
            caller: cell(&entry.caller),
            role: entry.role.map_or("", |role| role.as_str()),
            action: cell(&entry.action),
            target: cell(&entry.target),
            details: cell(&entry.details.to_string()),
        }
    }
}

#[derive(Template)]
#[template(path = "audit.html")]
pub(crate) struct Audit {
    menu: Menu,
    rows: Vec<AuditRow>,
    first: Option<&'static str>,
    next: Option<String>,
}

pub(crate) async fn page(Viewer { gate, menu, .. }: Viewer, pairs: Pairs) -> Result<Page<Audit>> {
    pairs.reject_unknown(&["before"])?;
    let before: Option<i64> = pairs.parse("before", "the number of an entry")?;
    let store = gate.store().ok_or_else(|| {
        let message = "the node has no record; start it with a database";
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, message)
    })?;
    // One more than a page, to know whether there is a next page.
    let mut entries = store.audit_log(before, PAGE + 1).await?;
    let more = entries.len() > PAGE as usize;
    entries.truncate(PAGE as usize);
    let last = entries
        .last()
        .filter(|_| more)
        .map(|last| last.no.to_string());
    Ok(Page(Audit {
        menu: menu.at(Section::Audit),
        rows: entries.iter().map(AuditRow::from).collect(),
        first: before.map(|_| "/ui/audit"),
        next: last.map(|last| link("/ui/audit", &[("before", Some(&last))])),
    }))
}
