//! Serves one connection until it ends or is asked to close.

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use http::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tower::{Service, ServiceExt};

use super::activity::Activity;
use super::stream::{Client, WatchedStream};
use crate::over_limit::OverLimit;
use crate::state::ConnectionLimits;

/// Maximum size of a request's head and of a connection's read and write buffers, in bytes. A
/// longer head is rejected with status 431.
const BUFFER_BYTES: usize = 64 << 10;

/// Maximum number of concurrent requests on an HTTP/2 connection.
const MAX_STREAMS: u32 = 256;

/// Paths that are served on a connection over the limit, so that the node can be monitored.
const MONITORING_PATHS: &[&str] = &["/healthz", "/readyz", "/metrics"];

/// The HTTP settings of connections.
pub(super) fn protocol(limits: &ConnectionLimits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    // Timeouts are enforced by `Activity`, for both versions and before the version is known.
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_buf_size(BUFFER_BYTES);
    let mut http2 = builder.http2();
    http2
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS);
    // Detects clients that disappear while their batch is graded. A client may take as long to
    // answer a ping as it may be idle.
    http2
        .keep_alive_interval(limits.idle)
        .keep_alive_timeout(limits.idle);
    builder
}

/// Serves a connection. The task may be aborted at any time.
pub(super) async fn run(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    builder: Builder<TokioExecutor>,
    router: Router,
    activity: Arc<Activity>,
    over_limit: bool,
) {
    // A reply is written at once, so waiting for more data to fill a packet would only delay it.
    let _ = stream.set_nodelay(true);
    let stream = WatchedStream::new(stream, Arc::clone(&activity));
    let service = ConnectionService {
        router,
        client: stream.client(),
        activity: Arc::clone(&activity),
        over_limit,
    };
    match acceptor {
        None => serve(stream, builder, service, &activity).await,
        // A handshake that takes too long ends as a head that does.
        Some(acceptor) => match acceptor.accept(stream).await {
            Ok(stream) => serve(stream, builder, service, &activity).await,
            Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
        },
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    builder: Builder<TokioExecutor>,
    service: ConnectionService,
    activity: &Activity,
) {
    let mut connection =
        pin!(builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = activity.close_requested() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection failed");
    }
}

/// The service for the requests of one connection.
#[derive(Clone)]
struct ConnectionService {
    router: Router,
    client: Client,
    activity: Arc<Activity>,
    /// Whether all connections were in use when this one was opened.
    over_limit: bool,
}

impl<B> Service<Request<B>> for ConnectionService
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
        let rejected = self.over_limit && !MONITORING_PATHS.contains(&request.uri().path());
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(self.client.clone());
        if rejected {
            // Closes HTTP/2 connections too, where the header `Connection` has no meaning. The
            // client's next connection may be within the limit.
            self.activity.close(Instant::now());
            request.extensions_mut().insert(OverLimit);
        }
        let router = self.router.clone();
        Box::pin(async move {
            let reply = router.oneshot(request).await?;
            Ok(reply.map(|body| exchange.watch(body)))
        })
    }
}
