//! An interpreter session: what it may still use, its last calls, and the form that ends it.

use askama::Template;
use assay_wire::sessions::{LoggedCall, Restored, SessionBody};
use axum::extract::Path;
use axum::response::Redirect;
use serde_json::json;

use super::sessions::{SessionRow, address, state};
use crate::display::{bytes, cell, count, number, text, time};
use crate::failure::Result;
use crate::page::{Menu, Page, Section};
use crate::query::Pairs;
use crate::site::Viewer;

/// Last calls that are shown.
const CALLS: usize = 100;

/// Characters of the code of a call that are shown.
const CODE: usize = 4_000;

/// A number or a name, with what it is.
struct Fact {
    name: &'static str,
    value: String,
}

struct Call {
    number: String,
    outcome: &'static str,
    is_kept: bool,
    work: String,
    ended: String,
    code: String,
}

impl From<&LoggedCall> for Call {
    fn from(call: &LoggedCall) -> Self {
        let code: String = call.code.chars().take(CODE).collect();
        let rest = if code.len() < call.code.len() {
            " …"
        } else {
            ""
        };
        Self {
            number: count(call.call.into()),
            outcome: call.outcome.as_str(),
            is_kept: call.kept,
            work: count(call.work),
            ended: time(call.time_us),
            code: text(&code) + rest,
        }
    }
}

#[derive(Template)]
#[template(path = "session.html")]
pub(crate) struct SessionPage {
    menu: Menu,
    id: String,
    address: String,
    row: SessionRow,
    facts: Vec<Fact>,
    /// The last calls, the newest first.
    calls: Vec<Call>,
    /// Calls that are not shown.
    earlier: usize,
}

pub(crate) async fn page(
    viewer: Viewer,
    Path(id): Path<String>,
    pairs: Pairs,
) -> Result<Page<SessionPage>> {
    pairs.reject_unknown(&[])?;
    let sender = viewer.sender();
    let session = viewer.sessions.describe(&sender, &id)?;
    let log = viewer.sessions.log(&sender, &id).await?;
    let shown = log.calls.iter().rev().take(CALLS);
    Ok(Page(SessionPage {
        menu: viewer.menu.at(Section::Sessions),
        address: address(&session.id),
        row: SessionRow::from(&session),
        facts: facts(&session),
        calls: shown.map(Call::from).collect(),
        earlier: log.calls.len().saturating_sub(CALLS),
        id: session.id,
    }))
}

/// Ends the session.
pub(crate) async fn end(viewer: Viewer, Path(id): Path<String>) -> Result<Redirect> {
    let sender = viewer.sender();
    let session = viewer.sessions.describe(&sender, &id)?;
    let ended = viewer.sessions.end(&sender, &id)?;
    if session.caller != sender.caller {
        let details = json!({ "caller": session.caller });
        viewer.audit("session.end", &ended.id, details).await;
    }
    Ok(Redirect::to("/ui/sessions"))
}

fn facts(session: &SessionBody) -> Vec<Fact> {
    let fact = |name, value| Fact { name, value };
    let remaining = &session.remaining;
    let mut facts = vec![
        fact("language", cell(&session.language)),
        fact("state", state(session.state).to_owned()),
        fact("size", bytes(session.state_bytes as f64)),
        fact("calls", count(session.calls.into())),
        fact("calls left", count(remaining.calls.into())),
        fact("work left", format!("{} s", number(remaining.seconds))),
        fact("output left", bytes(remaining.output_bytes as f64)),
        fact("seed", session.seed.to_string()),
        fact("opened", time(session.opened_us)),
        fact("last call", time(session.used_us)),
        fact("expires", time(session.expires_us)),
    ];
    let fork = session.forked_from.as_deref();
    facts.extend(fork.map(|from| fact("fork of", cell(from))));
    let restored = session.restored.map(Restored::as_str);
    facts.extend(restored.map(|how| fact("restored", how.to_owned())));
    facts
}
