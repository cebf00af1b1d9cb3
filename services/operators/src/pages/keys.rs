//! The keys of callers, without their secrets. Keys are created, changed, rotated and revoked
//! by `assay keys`.

use askama::Template;
use assay_record::access::{KeyRecord, Quotas};
use http::StatusCode;

use crate::display::{bytes, cell, count, time};
use crate::failure::{Failure, Result};
use crate::page::{Menu, Page, Section};
use crate::query::NoQuery;
use crate::site::Viewer;

/// A key as a row.
struct KeyRow {
    name: String,
    id: String,
    role: &'static str,
    state: &'static str,
    quotas: String,
    stored: String,
    created: String,
    expires: String,
    used: String,
}

impl KeyRow {
    fn new(key: &KeyRecord, now_us: i64) -> Self {
        let state = match key.expires_us {
            _ if key.revoked_us.is_some() => "revoked",
            Some(expires_us) if expires_us <= now_us => "expired",
            _ => "valid",
        };
        let stored = bytes(key.bytes_stored as f64);
        Self {
            name: cell(&key.name),
            id: cell(&key.id),
            role: key.role.as_str(),
            state,
            quotas: quotas(&key.quotas),
            stored,
            created: time(key.created_us),
            expires: key.expires_us.map(time).unwrap_or_default(),
            used: key.last_used_us.map(time).unwrap_or_default(),
        }
    }
}

/// The quotas that are set.
fn quotas(quotas: &Quotas) -> String {
    let parts = [
        (quotas.items_per_minute, "items/min"),
        (quotas.cpu_seconds_per_minute, "CPU s/min"),
        (quotas.items_in_flight, "items in flight"),
        (quotas.bytes_stored, "bytes"),
    ];
    let set = parts
        .into_iter()
        .filter_map(|(limit, unit)| Some(format!("{} {unit}", count(limit?))));
    set.collect::<Vec<_>>().join(", ")
}

#[derive(Template)]
#[template(path = "keys.html")]
pub(crate) struct Keys {
    menu: Menu,
    rows: Vec<KeyRow>,
}

pub(crate) async fn page(Viewer { gate, menu, .. }: Viewer, _: NoQuery) -> Result<Page<Keys>> {
    let store = gate.store().ok_or_else(|| {
        let message = "the node has no record; start it with a database";
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, message)
    })?;
    let now_us = gate.clock().unix_us();
    let keys = store.keys().await?;
    Ok(Page(Keys {
        menu: menu.at(Section::Keys),
        rows: keys.iter().map(|key| KeyRow::new(key, now_us)).collect(),
    }))
}
