//! What every page shares: that it is HTML, and the page that says why there is none.

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;

use crate::show::Shown;

/// Where a page stands in the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Home,
    Runs,
    Grades,
    Queue,
    Channels,
    Disagreements,
    Suspects,
    Checks,
    Nowhere,
}

/// A link of the navigation.
pub(crate) struct Link {
    pub(crate) address: &'static str,
    pub(crate) name: &'static str,
    /// The key that leads there after `g`.
    pub(crate) key: &'static str,
    pub(crate) here: bool,
}

impl Place {
    const ALL: &'static [(Self, &'static str, &'static str, &'static str)] = &[
        (Self::Home, "/ui", "Now", "n"),
        (Self::Runs, "/ui/runs", "Runs", "r"),
        (Self::Grades, "/ui/grades", "Grades", "g"),
        (Self::Queue, "/ui/queue", "Queue", "q"),
        (Self::Channels, "/ui/channels", "Channels", "c"),
        (
            Self::Disagreements,
            "/ui/disagreements",
            "Disagreements",
            "d",
        ),
        (Self::Suspects, "/ui/suspects", "Suspects", "s"),
        (Self::Checks, "/ui/checks", "Checks", "k"),
    ];

    /// The navigation as it stands on a page of this place.
    pub(crate) fn links(self) -> impl Iterator<Item = Link> {
        Self::ALL
            .iter()
            .map(move |(place, address, name, key)| Link {
                address,
                name,
                key,
                here: *place == self,
            })
    }
}

/// A template as a reply.
pub(crate) struct Page<T>(pub(crate) T);

impl<T: Template> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        match self.0.render() {
            Ok(html) => Html(html).into_response(),
            Err(error) => {
                tracing::error!(%error, "a page cannot be written");
                (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "the page cannot be written; look at the node's log\n",
                )
                    .into_response()
            }
        }
    }
}

/// Why there is no page.
pub(crate) struct ErrorPage {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorTemplate<'e> {
    place: Place,
    reason: &'e str,
    message: Shown<'e>,
}

impl IntoResponse for ErrorPage {
    fn into_response(self) -> Response {
        let reason = self.status.canonical_reason().unwrap_or("Error");
        Page(ErrorTemplate {
            place: Place::Nowhere,
            reason,
            message: Shown(&self.message),
        })
        .into_response()
    }
}
