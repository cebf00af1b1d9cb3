//! Failures as pages, with the navigation of their viewer.

use assay_access::redact;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};

use crate::failure::Failure;
use crate::page::{Menu, error_page};

/// When to load a page again that needs the record, as for requests to the API.
const RETRY_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// The page of a failure.
pub(crate) fn failure_page(failure: &Failure, menu: Menu) -> Response {
    // It may quote a path, which may contain a key by mistake.
    let mut page = error_page(failure.status, &redact(&failure.message), menu);
    if failure.status == StatusCode::SERVICE_UNAVAILABLE {
        page.headers_mut().insert(RETRY_AFTER, RETRY_SECONDS);
    }
    page
}

/// Shows failures of pages as pages.
pub(crate) async fn show_failures(request: Request, next: Next) -> Response {
    let caller = request.extensions().get();
    let menu = caller.map_or_else(|| Menu::new(None), |caller| Menu::of(caller, request.uri()));
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<Failure>() {
        Some(failure) => failure_page(&failure, menu),
        None => response,
    }
}

#[cfg(test)]
mod tests {
    use assay_record::RecordError;
    use assay_record::access::Role;

    use super::*;

    #[test]
    fn a_page_without_the_record_says_when_to_retry() {
        let page = |error: Failure| failure_page(&error, Menu::new(Some(Role::Operator)));
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
