//! Accepting connections until told to stop, then finishing those that are open.

use std::future::Future;

use tokio::net::TcpListener;

use crate::{Api, router};

/// Serves `api` on `listener` until `stop` resolves, then finishes what is open.
///
/// # Errors
/// When accepting fails for good.
pub async fn serve(
    listener: TcpListener,
    api: Api,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    axum::serve(listener, router(api)).with_graceful_shutdown(stop).await
}
