//! The servers whose APIs are emulated: the path prefix and the error format of each.
//!
//! Errors of its routes, and of the layers that all routes share, are converted to the emulated
//! server's format.

use assay_core::ErrorCode;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::{StatusCode, header};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::peer_error::PeerError;
use super::{e2b, nemo_gym, openrlhf, piston, sandboxfusion, sglang, tei, verl_tool, vllm};
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
    pub(crate) uses_model: bool,
    error_response: fn(PeerError) -> Response,
}

/// All emulated servers. A longer prefix precedes a shorter prefix of it.
pub(crate) const PEERS: &[Peer] = &[
    Peer::new::<e2b::ErrorBody>("/compat/e2b/", "E2bError", false, e2b::error_response),
    Peer::new::<nemo_gym::ErrorBody>(
        "/compat/nemo-gym/",
        "NemoGymError",
        false,
        nemo_gym::error_response,
    ),
    Peer::new::<openrlhf::ErrorBody>(
        "/compat/openrlhf/",
        "OpenRlhfError",
        true,
        openrlhf::error_response,
    ),
    Peer::new::<piston::ErrorBody>(
        "/compat/piston/",
        "PistonError",
        false,
        piston::error_response,
    ),
    Peer::new::<sandboxfusion::ErrorBody>(
        "/compat/sandboxfusion/",
        "SandboxFusionError",
        false,
        sandboxfusion::error_response,
    ),
    Peer::new::<sglang::openai::ErrorBody>(
        "/compat/sglang/v1/",
        "SglangOpenAiError",
        true,
        sglang::openai::error_response,
    ),
    Peer::new::<sglang::native::ErrorBody>(
        "/compat/sglang/",
        "SglangError",
        true,
        sglang::native::error_response,
    ),
    Peer::new::<tei::ErrorBody>("/compat/tei/", "TeiError", true, tei::error_response),
    Peer::new::<verl_tool::ErrorBody>(
        "/compat/verl-tool/",
        "VerlToolError",
        false,
        verl_tool::error_response,
    ),
    Peer::new::<vllm::ErrorBody>("/compat/vllm/", "VllmError", true, vllm::error_response),
];

impl Peer {
    const fn new<E: ToSchema>(
        prefix: &'static str,
        name: &'static str,
        uses_model: bool,
        error_response: fn(PeerError) -> Response,
    ) -> Self {
        Self {
            prefix,
            name,
            schema: <E as PartialSchema>::schema,
            uses_model,
            error_response,
        }
    }

    /// The emulated server that this path belongs to.
    pub(crate) fn for_path(path: &str) -> Option<&'static Self> {
        PEERS.iter().find(|peer| path.starts_with(peer.prefix))
    }

    /// The emulated server's status for this error code.
    pub(crate) fn status(&self, code: ErrorCode) -> StatusCode {
        (self.error_response)(ApiError::new(code, "").into()).status()
    }
}

/// Converts errors of routes and of shared layers to the format of the requested route.
pub(crate) async fn convert_errors(request: Request, next: Next) -> Response {
    let peer = Peer::for_path(request.uri().path());
    let mut response = next.run(request).await;
    let Some(peer) = peer else { return response };
    let extensions = response.extensions_mut();
    let error = extensions.remove::<ApiError>().map(PeerError::from);
    let Some(error) = error.or_else(|| extensions.remove()) else {
        return response;
    };
    let mut converted = (peer.error_response)(error);
    for name in [header::ALLOW, header::WWW_AUTHENTICATE] {
        if let Some(value) = response.headers_mut().remove(&name) {
            converted.headers_mut().insert(name, value);
        }
    }
    converted
}
