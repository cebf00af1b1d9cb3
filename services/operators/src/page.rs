//! The navigation, HTML responses, and the error page.

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;

use crate::display::SafeText;

/// A section of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Home,
    Runs,
    Grades,
    Queue,
    Channels,
    Disagreements,
    Suspects,
    Checks,
    Storage,
    Other,
}

/// A link of the navigation.
pub(crate) struct Link {
    pub(crate) address: &'static str,
    pub(crate) name: &'static str,
    /// The key after `g` that opens the section.
    pub(crate) key: &'static str,
    /// Whether the page belongs to this section.
    pub(crate) current: bool,
}

impl Section {
    const ALL: &'static [(Self, &'static str, &'static str, &'static str)] = &[
        (Self::Home, "/ui", "Overview", "n"),
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
        (Self::Storage, "/ui/storage", "Storage", "o"),
    ];

    /// The links of the navigation on a page of this section.
    pub(crate) fn links(self) -> impl Iterator<Item = Link> {
        Self::ALL
            .iter()
            .map(move |(section, address, name, key)| Link {
                address,
                name,
                key,
                current: *section == self,
            })
    }
}

/// A template as a response.
pub(crate) struct Page<T>(pub(crate) T);

impl<T: Template> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        match self.0.render() {
            Ok(html) => Html(html).into_response(),
            Err(error) => {
                tracing::error!(%error, "cannot render a page");
                (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "cannot render the page; see the log of the node\n",
                )
                    .into_response()
            }
        }
    }
}

/// An error, shown as a page.
pub(crate) struct ErrorPage {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorTemplate<'e> {
    section: Section,
    reason: &'e str,
    message: SafeText<'e>,
}

impl IntoResponse for ErrorPage {
    fn into_response(self) -> Response {
        let reason = self.status.canonical_reason().unwrap_or("Error");
        Page(ErrorTemplate {
            section: Section::Other,
            reason,
            message: SafeText(&self.message),
        })
        .into_response()
    }
}
