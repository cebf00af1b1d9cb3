//! The state of the pages, and what a page gets of it.

use std::sync::Arc;

use assay_access::{Caller, Gate};
use assay_alerts::Alerts;
use assay_jobs::Jobs;
use assay_review::Review;
use assay_sessions::{Sender, Sessions};
use axum::extract::FromRequestParts;
use http::StatusCode;
use http::request::Parts;
use serde_json::Value;

use crate::failure::Failure;
use crate::page::Menu;

/// The state of the pages.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) review: Review,
    pub(crate) alerts: Arc<Alerts>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) jobs: Jobs,
    pub(crate) sessions: Sessions,
    /// Whether connections use TLS, in which case cookies are sent only over TLS.
    pub(crate) secure: bool,
}

/// The caller of a page, and the site as this caller sees it.
pub(crate) struct Viewer {
    /// With the part of the record that the caller sees.
    pub(crate) review: Review,
    pub(crate) caller: Caller,
    pub(crate) alerts: Arc<Alerts>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) jobs: Jobs,
    pub(crate) sessions: Sessions,
    /// The navigation for the caller.
    pub(crate) menu: Menu,
}

impl Viewer {
    /// The viewer, as interpreter sessions see it.
    pub(crate) fn sender(&self) -> Sender {
        Sender {
            caller: self.caller.name().to_owned(),
            sees_all: self.caller.role().sees_all(),
            share: Arc::clone(self.caller.share()),
        }
    }

    /// Writes an administrative act of the caller to the audit log.
    pub(crate) async fn audit(&self, action: &str, target: &str, details: Value) {
        self.gate.audit(&self.caller, action, target, details).await;
    }
}

impl FromRequestParts<Site> for Viewer {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, site: &Site) -> Result<Self, Failure> {
        // Without a caller nothing is shown, whatever the order of the layers.
        let caller = parts.extensions.get::<Caller>().cloned().ok_or_else(|| {
            let message = "the caller of the request is not known";
            Failure::new(StatusCode::INTERNAL_SERVER_ERROR, message)
        })?;
        let own = (!caller.role().sees_all()).then_some(caller.name());
        Ok(Self {
            review: site.review.seen_by(own, Arc::clone(caller.share())),
            menu: Menu::of(&caller, &parts.uri),
            caller,
            alerts: Arc::clone(&site.alerts),
            gate: Arc::clone(&site.gate),
            jobs: site.jobs.clone(),
            sessions: site.sessions.clone(),
        })
    }
}
