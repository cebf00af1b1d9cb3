//! The list of open interpreter sessions.

use askama::Template;
use assay_core::SessionId;
use assay_wire::sessions::{SessionBody, SessionState};

use crate::display::{bytes, cell, count, middle, time};
use crate::failure::Result;
use crate::page::{Menu, Page, Section};
use crate::query::{Pairs, link};
use crate::site::Viewer;

/// Sessions per page.
const PAGE: usize = 50;

/// A session in the list.
pub(crate) struct SessionRow {
    address: String,
    pub(crate) name: String,
    pub(crate) caller: String,
    pub(crate) image: String,
    calls: String,
    state: &'static str,
    is_lost: bool,
    size: String,
    used: String,
    expires: String,
}

impl From<&SessionBody> for SessionRow {
    fn from(session: &SessionBody) -> Self {
        Self {
            address: address(&session.id),
            name: middle(session.name.as_deref().unwrap_or(&session.id)),
            caller: cell(&session.caller),
            image: cell(&session.image),
            calls: count(session.calls.into()),
            state: state(session.state),
            is_lost: session.state == SessionState::Lost,
            size: bytes(session.state_bytes as f64),
            used: time(session.used_us),
            expires: time(session.expires_us),
        }
    }
}

#[derive(Template)]
#[template(path = "sessions.html")]
pub(crate) struct Sessions {
    menu: Menu,
    rows: Vec<SessionRow>,
    first: Option<&'static str>,
    next: Option<String>,
}

pub(crate) async fn page(viewer: Viewer, pairs: Pairs) -> Result<Page<Sessions>> {
    pairs.reject_unknown(&["after"])?;
    let after: Option<SessionId> = pairs.parse("after", "the id of a session")?;
    let sender = viewer.sender();
    // One more than a page, to know whether there is a next page.
    let mut found = viewer.sessions.list(&sender, after, PAGE + 1);
    let more = found.len() > PAGE;
    found.truncate(PAGE);
    let last = found.last().filter(|_| more).map(|last| last.id.clone());
    Ok(Page(Sessions {
        menu: viewer.menu.at(Section::Sessions),
        rows: found.iter().map(SessionRow::from).collect(),
        first: after.map(|_| "/ui/sessions"),
        next: last.map(|last| link("/ui/sessions", &[("after", Some(&last))])),
    }))
}

/// Where the state of a session is, in words.
pub(crate) fn state(state: SessionState) -> &'static str {
    match state {
        SessionState::New => "new",
        SessionState::Memory => "in memory",
        SessionState::Disk => "on disk",
        SessionState::Lost => "lost",
    }
}

/// The path of the page of a session.
pub(crate) fn address(id: &str) -> String {
    format!("/ui/sessions/{id}")
}
