//! The servers whose APIs are emulated: the path prefix and the error format of each.
//!
//! Errors from the layers that all routes share are converted to the emulated server's format, like
//! those of its own routes.

use assay_core::ErrorCode;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::{StatusCode, header};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::reward::Trouble;
use super::{openrlhf, sandboxfusion, sglang, tei, vllm};
use crate::error::ApiError;

/// An emulated server.
pub(crate) struct Peer {
    /// Prefix of its paths.
    prefix: &'static str,
    /// Name of its error bodies in the OpenAPI document.
    pub(crate) name: &'static str,
    /// Schema of its error bodies.
    pub(crate) schema: fn() -> RefOr<Schema>,
    /// Whether its routes use a reward model.
    pub(crate) asks_model: bool,
    refuse: fn(Trouble) -> Response,
}

/// Every peer. A longer prefix comes before a shorter one.
pub(crate) const PEERS: &[Peer] = &[
    Peer::new::<openrlhf::ErrorBody>("/compat/openrlhf/", "OpenRlhfError", true, openrlhf::refuse),
    Peer::new::<sandboxfusion::ErrorBody>(
        "/compat/sandboxfusion/",
        "SandboxFusionError",
        false,
        sandboxfusion::refuse,
    ),
    Peer::new::<sglang::openai::ErrorBody>(
        "/compat/sglang/v1/",
        "SglangOpenAiError",
        true,
        sglang::openai::refuse,
    ),
    Peer::new::<sglang::native::ErrorBody>(
        "/compat/sglang/",
        "SglangError",
        true,
        sglang::native::refuse,
    ),
    Peer::new::<tei::ErrorBody>("/compat/tei/", "TeiError", true, tei::refuse),
    Peer::new::<vllm::ErrorBody>("/compat/vllm/", "VllmError", true, vllm::refuse),
];

impl Peer {
    const fn new<E: ToSchema>(
        prefix: &'static str,
        name: &'static str,
        asks_model: bool,
        refuse: fn(Trouble) -> Response,
    ) -> Self {
        Self {
            prefix,
            name,
            schema: <E as PartialSchema>::schema,
            asks_model,
            refuse,
        }
    }

    /// The peer that this path belongs to.
    pub(crate) fn of(path: &str) -> Option<&'static Self> {
        PEERS.iter().find(|peer| path.starts_with(peer.prefix))
    }

    /// The peer's status for this error code.
    pub(crate) fn status(&self, code: ErrorCode) -> StatusCode {
        (self.refuse)(ApiError::new(code, "").into()).status()
    }
}

/// Converts errors of the shared layers to the format of the peer whose route was requested.
pub(crate) async fn reword(request: Request, next: Next) -> Response {
    let peer = Peer::of(request.uri().path());
    let mut response = next.run(request).await;
    let Some(peer) = peer else { return response };
    let Some(error) = response.extensions_mut().remove::<ApiError>() else {
        return response;
    };
    let mut reworded = (peer.refuse)(error.into());
    if let Some(allow) = response.headers_mut().remove(header::ALLOW) {
        reworded.headers_mut().insert(header::ALLOW, allow);
    }
    reworded
}
