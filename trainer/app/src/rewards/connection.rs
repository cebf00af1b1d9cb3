//! Connections to the service: over HTTP, or to its routes in this process. Both send and read the
//! same JSON.

use std::error::Error;

use assay_base::causes::with_causes;
use assay_client::{Client, ClientError};
use assay_core::{BoxFuture, ErrorCode};
use assay_node::{Node, NodeError};
use assay_wire::channels::{SuggestRequest, SuggestionsBody};
use assay_wire::grades::GradersBody;
use assay_wire::reply::GradeReply;
use assay_wire::{GradeRequest, Problem, ProblemBody};
use http::Request;
use http_body_util::BodyExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tower::ServiceExt as _;

/// Why a call failed.
#[derive(Debug)]
pub(super) enum CallError {
    /// The service cannot be reached or is overloaded; the call can be retried.
    Unavailable {
        reason: String,
        code: Option<ErrorCode>,
    },
    /// The service rejected the request; a retry would fail again.
    Rejected(Problem),
    /// The response is not a valid one of the service.
    Unexpected(String),
}

impl CallError {
    fn from_status(status: u16, problem: Problem) -> Self {
        match status {
            429 | 503 => Self::Unavailable {
                reason: problem.to_string(),
                code: Some(problem.code),
            },
            _ => Self::Rejected(problem),
        }
    }
}

impl From<ClientError> for CallError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused { status, problem } => Self::from_status(status, problem),
            // A proxy in front of an unavailable service responds in its own format.
            ClientError::Transport { .. }
            | ClientError::Unexpected {
                status: 429 | 502..=504,
                ..
            } => Self::Unavailable {
                reason: with_causes(&error),
                code: None,
            },
            ClientError::Unexpected { .. }
            | ClientError::Untrusted { .. }
            | ClientError::BadUrl { .. }
            | ClientError::BadName(_)
            | ClientError::BadKey => Self::Unexpected(with_causes(&error)),
        }
    }
}

/// Status and body of a response, or why there is none.
type Response = Result<(u16, Vec<u8>), String>;

/// A connection to the service.
pub(super) enum Connection {
    /// Over HTTP.
    Http(Client),
    /// In this process.
    Embedded(Box<EmbeddedService>),
}

impl Connection {
    pub(super) async fn grade(
        &self,
        request: &GradeRequest,
        key: &str,
    ) -> Result<GradeReply<'static>, CallError> {
        match self {
            Self::Http(client) => Ok(client.grade(request, Some(key)).await?),
            Self::Embedded(service) => service.post("/v1/grade", request, Some(key)).await,
        }
    }

    pub(super) async fn suggest(
        &self,
        request: &SuggestRequest,
    ) -> Result<SuggestionsBody, CallError> {
        match self {
            Self::Http(client) => Ok(client.suggest(request).await?),
            Self::Embedded(service) => service.post("/v1/prompts/suggest", request, None).await,
        }
    }

    pub(super) async fn graders(&self) -> Result<GradersBody, CallError> {
        match self {
            Self::Http(client) => Ok(client.graders().await?),
            Self::Embedded(service) => {
                service
                    .send(Request::get("/v1/graders").body(String::new()))
                    .await
            }
        }
    }

    /// Stops an embedded service; does nothing for a service over HTTP.
    pub(super) async fn stop(self) {
        if let Self::Embedded(service) = self {
            service.node.stop().await;
        }
    }
}

/// A service in this process.
pub(super) struct EmbeddedService {
    node: Node,
    routes: Box<dyn Fn(Request<String>) -> BoxFuture<'static, Response> + Send + Sync>,
}

impl EmbeddedService {
    pub(super) fn new(node: Node) -> Result<Self, NodeError> {
        let router = assay_api::router(node.api()?);
        let routes = move |request: Request<String>| -> BoxFuture<'static, Response> {
            let router = router.clone();
            Box::pin(async move {
                let (parts, body) = match router.oneshot(request).await {
                    Ok(response) => response.into_parts(),
                    Err(never) => match never {},
                };
                let body = body.collect().await.map_err(|error| with_causes(&error))?;
                Ok((parts.status.as_u16(), body.to_bytes().to_vec()))
            })
        };
        Ok(Self {
            node,
            routes: Box::new(routes),
        })
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        key: Option<&str>,
    ) -> Result<T, CallError> {
        let mut request = Request::post(path).header("content-type", "application/json");
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let body = serde_json::to_string(body)
            .map_err(|error| CallError::Unexpected(error.to_string()))?;
        self.send(request.body(body)).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        request: http::Result<Request<String>>,
    ) -> Result<T, CallError> {
        let unexpected = |error: &dyn Error| CallError::Unexpected(with_causes(error));
        let request = request.map_err(|error| unexpected(&error))?;
        let (status, bytes) = (self.routes)(request)
            .await
            .map_err(CallError::Unexpected)?;
        if status == 200 {
            return serde_json::from_slice(&bytes).map_err(|error| unexpected(&error));
        }
        let ProblemBody { error, .. } =
            serde_json::from_slice(&bytes).map_err(|error| unexpected(&error))?;
        Err(CallError::from_status(status, error))
    }
}
