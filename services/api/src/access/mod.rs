//! Who may call an endpoint: authenticates the caller of each request and compares its role with
//! the one that the endpoint needs.

mod batch_allowance;
mod endpoints;
mod job_owners;
mod key_path;
mod proxied;
mod time_left;

use std::borrow::Cow;
use std::sync::Arc;

use assay_access::{Caller, Denied, ExceededQuota, RefusedUser, WorkCharge, redact};
use assay_core::ErrorCode;
use assay_engine::Allowance;
use assay_record::RequestKey;
use assay_record::access::{Access, Role};
use assay_wire::Problem;
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, header};

use batch_allowance::BatchAllowance;
pub(crate) use endpoints::Endpoints;
pub use job_owners::JobOwners;
pub(crate) use key_path::{KEYED_PATHS, PathKey, split_key};
pub(crate) use proxied::ProxyHeader;
pub(crate) use time_left::reject_exhausted;

use crate::error::{ApiError, ApiResult};
use crate::serve::Client;
use crate::state::Api;

/// Lets only callers pass that may call the endpoint, and tells the endpoint who they are.
pub(crate) async fn authenticate(
    State(api): State<Api>,
    mut request: Request,
    next: Next,
) -> Response {
    let page = assay_operators::is_page(request.uri().path()).then(|| {
        let address = request.uri().path_and_query();
        // The form of the sign-in contains the address, which may have a key by mistake.
        let address = address
            .map(PathAndQuery::as_str)
            .filter(|address| matches!(redact(address), Cow::Borrowed(_)))
            .unwrap_or("/ui");
        (request.method().clone(), address.to_owned())
    });
    let has_path_key = request.extensions().get::<PathKey>().is_some();
    match admitted(&api, &request) {
        Ok(caller) => {
            let client = request.extensions().get::<Client>();
            let caller = caller.at(|| client?.address());
            request.extensions_mut().insert(caller);
            let mut response = next.run(request).await;
            if has_path_key {
                // What the reply links to must not be told the key.
                response.headers_mut().insert(
                    header::REFERRER_POLICY,
                    HeaderValue::from_static("no-referrer"),
                );
            }
            response
        }
        Err(Refused { error, role }) => match page {
            Some((method, address)) => {
                let problem = error.problem();
                let (code, message) = (problem.code, &problem.message);
                assay_operators::refusal(code, message, role, &method, &address).await
            }
            None => error.into_response(),
        },
    }
}

/// A refused request, and the role of its caller if it is known.
struct Refused {
    error: ApiError,
    role: Option<Role>,
}

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        Self { error, role: None }
    }
}

/// The caller of a request, if it may call the endpoint.
fn admitted(api: &Api, request: &Request) -> Result<Caller, Refused> {
    let matched = request.extensions().get::<MatchedPath>();
    let access = api
        .roles()
        .access(request.method(), matched.map(MatchedPath::as_str));
    let gate = api.gate();
    if !gate.requires_key() {
        return Ok(Caller::local());
    }
    let Access::Role(role) = access else {
        return Ok(Caller::anonymous());
    };
    let caller = authenticated(api, request)?;
    if caller.role() < role {
        return Err(Refused {
            error: forbidden(&caller, role, request.method()),
            role: Some(caller.role()),
        });
    }
    Ok(caller)
}

/// The caller of a request to an endpoint that needs one.
fn authenticated(api: &Api, request: &Request) -> ApiResult<Caller> {
    let gate = api.gate();
    let refused = |denied: Denied| ApiError::from(gate.refuse(denied, None));
    let key = key(request).map_err(refused)?;
    let header = ProxyHeader::of(gate, request);
    if let ProxyHeader::Trusted { proxies, user, .. } = header {
        if key.is_some() {
            return Err(refused(RefusedUser::WithKey.into()));
        }
        let user = user.map_err(|error| refused(error.into()))?;
        return Ok(gate.proxied(proxies, user)?);
    }
    let is_page = assay_operators::is_page(request.uri().path());
    // Pages link to what endpoints return. What changes something needs a key, which no page of
    // another site can send.
    if key.is_none() && (is_page || request.method().is_safe()) {
        match assay_operators::session(request.headers()) {
            Some(cookie) => return Ok(gate.resume(cookie)?),
            None if is_page => return Err(refused(Denied::NotSignedIn)),
            None => {}
        }
    }
    if key.is_none() && matches!(header, ProxyHeader::Untrusted) {
        return Err(refused(Denied::NotFromProxy));
    }
    Ok(gate.authenticate(key)?)
}

/// The key of a request, from its path or its header.
fn key(request: &Request) -> Result<Option<&str>, Denied> {
    let in_path = request.extensions().get::<PathKey>();
    let in_header = bearer(request.headers())?;
    match (in_path, in_header) {
        (Some(_), Some(_)) => Err(Denied::Several),
        (Some(key), None) => Ok(Some(key.as_str())),
        (None, key) => Ok(key),
    }
}

/// The key in `Authorization: Bearer`.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Denied> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(Denied::Several);
    }
    // Any other scheme or text is not a key, which is reported as such.
    let text = value.to_str().unwrap_or_default();
    let key = text.split_once(' ').and_then(|(scheme, key)| {
        scheme
            .eq_ignore_ascii_case("bearer")
            .then(|| key.trim_matches(' '))
    });
    Ok(Some(key.unwrap_or_default()))
}

fn forbidden(caller: &Caller, needed: Role, method: &Method) -> ApiError {
    let message = format!(
        "this {} needs the role `{needed}`; the {} `{}` has the role `{}`",
        if method == Method::GET {
            "resource"
        } else {
            "operation"
        },
        if caller.meter().is_some() {
            "key"
        } else {
            "user"
        },
        caller.name(),
        caller.role()
    );
    ApiError::new(ErrorCode::Forbidden, message)
}

impl From<Denied> for ApiError {
    fn from(denied: Denied) -> Self {
        let code = match denied {
            // Who it is is known.
            Denied::User(RefusedUser::Unknown) => ErrorCode::Forbidden,
            _ => ErrorCode::Unauthenticated,
        };
        Self::new(code, denied.to_string())
    }
}

impl From<ExceededQuota> for ApiError {
    fn from(exceeded: ExceededQuota) -> Self {
        Self::new(ErrorCode::QuotaExceeded, exceeded.to_string())
            .retry_after(exceeded.retry_after_s())
    }
}

/// Endpoints get the API as their caller sees it.
impl FromRequestParts<Api> for Api {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Response> {
        // Without a caller nothing is served, whatever the order of the layers.
        let unknown = || {
            let message = "the caller of the request is not known";
            ApiError::new(ErrorCode::Internal, message).into_response()
        };
        let caller = parts.extensions.get::<Caller>().ok_or_else(unknown)?;
        Ok(api.seen_by(caller.clone()))
    }
}

impl Api {
    /// Admits `items` items of the caller, which take about `bytes` bytes of the record, within its
    /// quotas. They are in progress until the charge is dropped. `None` if the caller has no key.
    pub(crate) fn charge(&self, items: usize, bytes: usize) -> ApiResult<Option<WorkCharge>> {
        let clock = self.gate().clock();
        Ok(self.caller().charge(items, bytes, clock)?)
    }

    /// Writes an administrative act of the caller to the audit log.
    pub(crate) async fn audit(&self, action: &str, target: &str, details: serde_json::Value) {
        self.gate()
            .audit(self.caller(), action, target, details)
            .await;
    }

    /// The name under which a reply of the caller is recorded.
    pub(crate) fn request_key(&self, key: String) -> RequestKey {
        RequestKey {
            caller: self.caller().name().into(),
            key,
        }
    }

    /// What the caller may use for a batch with a body of `body_bytes` bytes.
    pub(crate) fn allowance(&self, body_bytes: usize) -> Option<Arc<dyn Allowance>> {
        self.caller().meter()?;
        Some(Arc::new(BatchAllowance {
            caller: self.caller().clone(),
            clock: Arc::clone(self.gate().clock()),
            body_bytes,
        }))
    }
}

/// Maximum length of an idempotency key, in bytes.
const MAX_KEY_BYTES: usize = 255;

/// The idempotency key of a request.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> ApiResult<Option<String>> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(key)
            if (1..=MAX_KEY_BYTES).contains(&key.len())
                && key.bytes().all(|byte| byte.is_ascii_graphic()) =>
        {
            Ok(Some(key.to_owned()))
        }
        _ => {
            let message = format!(
                "`Idempotency-Key` must have 1 to {MAX_KEY_BYTES} visible ASCII characters"
            );
            Err(Problem::new(ErrorCode::InvalidParameter, message).into())
        }
    }
}
