//! Errors of pages, which are shown as pages.

use assay_access::{ExceededQuota, redact};
use assay_core::ErrorCode;
use assay_record::RecordError;
use assay_review::ReviewError;
use assay_review::filter::FilterError;
use assay_review::replay::ReplayError;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};

use crate::page::{Menu, error_page};

/// When to load a page again that needs the record, as for requests to the API.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// Why a page cannot be shown.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// The field of a form, or the parameter of the URL, that is invalid.
    pub(crate) parameter: Option<String>,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            parameter: None,
        }
    }

    /// An invalid parameter of the URL or field of a form.
    pub(crate) fn parameter(name: &str, message: impl Into<String>) -> Self {
        Self {
            parameter: Some(name.to_owned()),
            ..Self::new(StatusCode::BAD_REQUEST, message)
        }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    fn of(code: ErrorCode, message: String) -> Self {
        Self::new(
            StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            message,
        )
    }
}

impl From<ExceededQuota> for Failure {
    fn from(exceeded: ExceededQuota) -> Self {
        Self::of(ErrorCode::QuotaExceeded, exceeded.to_string())
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        tracing::error!(%error, "cannot read the record for a page");
        let message = "the record cannot be read; reload the page, or see the log of the node";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }
}

impl From<ReviewError> for Failure {
    fn from(error: ReviewError) -> Self {
        match error {
            ReviewError::Store(error) => error.into(),
            ReviewError::InvalidComment { field, message } => Self::parameter(field, message),
            error => Self::of(error.code(), error.to_string()),
        }
    }
}

impl From<FilterError> for Failure {
    fn from(error: FilterError) -> Self {
        match error {
            FilterError::Store(error) => error.into(),
            FilterError::Invalid { parameter, message } => Self::parameter(parameter, message),
        }
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Store(error) => error.into(),
            error => Self::of(error.code(), error.to_string()),
        }
    }
}

impl Failure {
    /// The page of the error, with this navigation.
    pub(crate) fn page(&self, menu: Menu) -> Response {
        // It may quote a path, which may contain a key by mistake.
        let mut page = error_page(self.status, &redact(&self.message), menu);
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            page.headers_mut().insert(RETRY_AFTER, RETRY_SECONDS);
        }
        page
    }
}

/// Only [`show_failures`] knows who the viewer is, which determines the navigation.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Shows failures of pages as pages.
pub(crate) async fn show_failures(request: Request, next: Next) -> Response {
    let caller = request.extensions().get();
    let menu = caller.map_or_else(|| Menu::new(None), |caller| Menu::of(caller, request.uri()));
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<Failure>() {
        Some(failure) => failure.page(menu),
        None => response,
    }
}

#[cfg(test)]
mod tests {
    use assay_record::access::Role;

    use super::*;

    #[test]
    fn a_page_without_the_record_says_when_to_retry() {
        let page = |error: Failure| error.page(Menu::new(Some(Role::Operator)));
        let unavailable = page(RecordError::Unavailable("locked".to_owned()).into());
        assert_eq!(unavailable.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(unavailable.headers()[RETRY_AFTER], "1");
        assert!(
            !page(Failure::not_found("nothing"))
                .headers()
                .contains_key(RETRY_AFTER)
        );
    }
}
