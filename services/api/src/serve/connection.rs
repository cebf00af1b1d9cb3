//! Responsible for serving one connection until it ends or is asked to close.

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use assay_engine::EngineError;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::response::IntoResponse;
use http::{HeaderValue, Request, Response, header};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tower::{Service, ServiceExt};

use super::activity::Activity;
use super::stream::Watched;
use crate::error::ApiError;
use crate::state::ConnectionLimits;

/// Bytes of a request's head, and of what is read or written ahead on a connection. Longer heads are answered 431.
const BUFFER: usize = 64 << 10;

/// Requests at once on a connection of HTTP/2.
const STREAMS: u32 = 256;

/// What a connection over the limit is served: enough to see that the node lives.
const ALWAYS: &[&str] = &["/healthz", "/readyz", "/metrics"];

/// When a client that was refused because all connections are taken may come again.
const COME_AGAIN: Duration = Duration::from_secs(1);

/// How connections of this server speak HTTP.
pub(super) fn protocol(limits: &ConnectionLimits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    // Time is kept by `Activity`, for both versions and before either is known.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(BUFFER);
    let mut http2 = builder.http2();
    http2.timer(TokioTimer::new()).max_concurrent_streams(STREAMS);
    // Finds clients that are gone while their batch is graded; one that only is busy has as long to answer as it may be idle.
    http2.keep_alive_interval(limits.idle).keep_alive_timeout(limits.idle);
    builder
}

/// Serves a connection. The task may be aborted at any time.
pub(super) async fn run(stream: TcpStream, builder: Builder<TokioExecutor>, answers: Answers) {
    // Replies are written whole; waiting to fill a packet would only delay them.
    let _ = stream.set_nodelay(true);
    let activity = Arc::clone(&answers.activity);
    let mut connection = pin!(builder.serve_connection(
        TokioIo::new(Watched::new(stream, Arc::clone(&activity))),
        TowerToHyperService::new(answers)
    ));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = activity.asked_to_close() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

/// What answers the requests of one connection.
#[derive(Clone)]
pub(super) struct Answers {
    pub(super) router: Router,
    pub(super) activity: Arc<Activity>,
    /// Whether all connections were taken when this one came.
    pub(super) over_limit: bool,
}

impl<B> Service<Request<B>> for Answers
where
    B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let exchange = self.activity.begin();
        let refused = self.over_limit && !ALWAYS.contains(&request.uri().path());
        let router = self.router.clone();
        Box::pin(async move {
            let reply = if refused { busy() } else { router.oneshot(request.map(Body::new)).await? };
            Ok(reply.map(|body| exchange.watch(body)))
        })
    }
}

fn busy() -> Response<Body> {
    let mut reply = ApiError::from(EngineError::Overloaded { retry_after: COME_AGAIN }).into_response();
    reply.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    reply
}
