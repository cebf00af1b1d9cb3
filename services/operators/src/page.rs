//! The navigation, HTML responses, and the error page.

use askama::Template;
use assay_access::Caller;
use assay_record::access::{Access, Role};
use axum::response::{Html, IntoResponse, Response};
use http::{StatusCode, Uri};

use crate::display::{SafeText, cell};
use crate::focus::Focus;
use crate::query::Pairs;

/// A section of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Home,
    Runs,
    Grades,
    /// Channels, disagreements and the queue.
    Verifier,
    Suspects,
    Checks,
    Jobs,
    /// Interpreter sessions.
    Sessions,
    Cost,
    Storage,
    Audit,
    Keys,
    Other,
}

impl Section {
    /// The sections of the navigation, with the key after `g` that opens each.
    const LISTED: &'static [(Self, &'static str, &'static str, &'static str)] = &[
        (Self::Home, "/ui", "Overview", "n"),
        (Self::Runs, "/ui/runs", "Runs", "r"),
        (Self::Grades, "/ui/grades", "Grades", "g"),
        (Self::Verifier, "/ui/channels", "Verifier", "v"),
        (Self::Suspects, "/ui/suspects", "Suspects", "s"),
        (Self::Checks, "/ui/checks", "Checks", "k"),
        (Self::Jobs, "/ui/jobs", "Jobs", "b"),
        (Self::Sessions, "/ui/sessions", "Sessions", "i"),
        (Self::Cost, "/ui/cost", "Cost", "t"),
        (Self::Storage, "/ui/storage", "Storage", "o"),
    ];

    /// The role that its pages and forms need.
    pub(crate) const fn role(self) -> Role {
        match self {
            Self::Home | Self::Runs | Self::Grades | Self::Jobs | Self::Sessions | Self::Other => {
                Role::Trainer
            }
            Self::Checks => Role::Checker,
            Self::Verifier | Self::Suspects | Self::Cost | Self::Storage | Self::Audit => {
                Role::Operator
            }
            Self::Keys => Role::Admin,
        }
    }

    /// Who may see its pages.
    pub(crate) const fn access(self) -> Access {
        Access::Role(self.role())
    }
}

/// A link of the navigation.
pub(crate) struct Link {
    pub(crate) address: String,
    pub(crate) name: &'static str,
    /// The key after `g` that opens the section.
    pub(crate) key: &'static str,
    /// Whether the page belongs to this section.
    pub(crate) current: bool,
}

/// The navigation of a page: links to what its viewer may see, and who that is.
#[derive(Debug, Clone)]
pub(crate) struct Menu {
    section: Section,
    /// Role of the viewer; `None` if it is not known who that is.
    role: Option<Role>,
    /// Name of the viewer who is signed in.
    name: Option<String>,
    /// What the page is about, which its links keep.
    focus: Focus,
}

impl Menu {
    /// The navigation for a viewer, on a page of no section.
    pub(crate) fn new(role: Option<Role>) -> Self {
        Self {
            section: Section::Other,
            role,
            name: None,
            focus: Focus::default(),
        }
    }

    /// The navigation for the caller of the page at `uri`.
    pub(crate) fn of(caller: &Caller, uri: &Uri) -> Self {
        let pairs = Pairs::read(uri.query().unwrap_or_default());
        Self {
            name: caller.is_named().then(|| cell(caller.name())),
            focus: Focus::read(uri.path(), &pairs),
            ..Self::new(Some(caller.role()))
        }
    }

    /// The navigation on a page about this run, if its address has none.
    pub(crate) fn about(mut self, run: Option<&str>) -> Self {
        if self.focus.run.is_none() {
            self.focus.run = run.map(str::to_owned);
        }
        self
    }

    /// What the page is about.
    pub(crate) fn focus(&self) -> &Focus {
        &self.focus
    }

    /// Name and role of the viewer who is signed in.
    pub(crate) fn user(&self) -> Option<(&str, &'static str)> {
        Some((self.name.as_deref()?, self.role?.as_str()))
    }

    /// Whether the viewer has at least this role.
    pub(crate) fn has_role(&self, needed: Role) -> bool {
        self.role.is_some_and(|role| role >= needed)
    }

    /// The navigation on a page of this section.
    pub(crate) fn at(self, section: Section) -> Self {
        Self { section, ..self }
    }

    /// Whether the viewer may see the pages of a section and send their forms.
    pub(crate) fn has(&self, section: Section) -> bool {
        self.has_role(section.role())
    }

    pub(crate) fn links(&self) -> impl Iterator<Item = Link> {
        Section::LISTED
            .iter()
            .filter(|(section, ..)| self.has(*section))
            .map(|(section, address, name, key)| Link {
                address: self.focus.link(address),
                name,
                key,
                current: *section == self.section,
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

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorTemplate<'e> {
    menu: Menu,
    reason: &'e str,
    message: SafeText<'e>,
}

/// The page of an error.
pub(crate) fn error_page(status: StatusCode, message: &str, menu: Menu) -> Response {
    let page = Page(ErrorTemplate {
        menu,
        reason: status.canonical_reason().unwrap_or("Error"),
        message: SafeText(message),
    });
    (status, page).into_response()
}
