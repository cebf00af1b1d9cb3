//! Accepting connections until told to stop, then finishing those that are open.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};

use crate::{Api, router};

/// Longest time a client may take to send the head of a request; a connection that says nothing costs memory.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);

/// Pause after a failed accept. It fails when files run out, and only connections that close give some back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `api` on `listener` until `stop` resolves, then finishes what is open.
pub async fn serve(listener: TcpListener, api: Api, stop: impl Future<Output = ()> + Send + 'static) {
    let router = router(api);
    let open = GracefulShutdown::new();
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, _)) => connect(stream, router.clone(), &open),
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    open.shutdown().await;
}

fn connect(stream: TcpStream, router: Router, open: &GracefulShutdown) {
    // Replies are written whole; waiting to fill a packet would only delay them.
    let _ = stream.set_nodelay(true);
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
    builder.http2().timer(TokioTimer::new());
    let service = TowerToHyperService::new(router);
    let connection = open.watch(builder.serve_connection(TokioIo::new(stream), service).into_owned());
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection broke");
        }
    });
}
