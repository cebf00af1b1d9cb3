//! Accepts connections until the server is stopped, then finishes those that are open.

mod activity;
mod connection;
mod open;
mod stream;

pub(crate) use stream::Client;

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::{Instant, MissedTickBehavior};

use crate::state::ConnectionLimits;
use crate::{Api, router};
use open::Connections;

/// Pause after a failed accept. It fails at the limit on open files, and only closing connections
/// releases files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Linux error codes for the system-wide and the per-process limit on open files: `ENFILE` and
/// `EMFILE`.
const FILE_LIMIT_ERRORS: [i32; 2] = [23, 24];

/// Minimum and maximum interval between two checks of all connections.
const CHECK_INTERVALS: [Duration; 2] = [Duration::from_millis(10), Duration::from_secs(1)];

/// Serves `api` on `listener` until `stop` resolves, then finishes open connections. Dropping the
/// future closes them all.
pub async fn serve(
    listener: TcpListener,
    api: Api,
    stop: impl Future<Output = ()> + Send + 'static,
) {
    let limits = api.limits().connections.clone();
    let mut checks = tokio::time::interval(check_interval(&limits));
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let tls = api.tls().cloned();
    let mut connections = Connections::new(limits, router(api), tls);
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => connections.add(stream),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    if error.raw_os_error().is_some_and(|code| FILE_LIMIT_ERRORS.contains(&code)) {
                        connections.replace_idle();
                    }
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(()) = connections.ended() => {}
            _ = checks.tick() => connections.check(Instant::now()),
            () = &mut stop => break,
        }
    }
    drop(listener);
    connections.close_all(Instant::now());
    while !connections.is_empty() {
        tokio::select! {
            Some(()) = connections.ended() => {}
            _ = checks.tick() => connections.check(Instant::now()),
        }
    }
}

/// The interval between checks, short enough that no limit is exceeded by more than a quarter.
fn check_interval(limits: &ConnectionLimits) -> Duration {
    let shortest = limits
        .head
        .min(limits.idle)
        .min(limits.reply_pause)
        .min(limits.close);
    let [min, max] = CHECK_INTERVALS;
    (shortest / 4).clamp(min, max)
}
