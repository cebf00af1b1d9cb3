//! Manages the open connections: limits their number, replaces idle ones with new ones, and closes
//! those that are idle or whose client does not read its reply.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use hyper_util::rt::TokioExecutor;
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpStream;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::activity::{Activity, Reason};
use super::connection;
use crate::state::ConnectionLimits;
use crate::tls::Tls;

/// Number of connections that are accepted beyond the limit. They serve health checks and metrics;
/// other requests are rejected because the node is busy.
const EXTRA_CONNECTIONS: usize = 16;

const OPEN: &str = "assay_connections";
const CLOSED: &str = "assay_connections_closed_total";

/// All open connections. Dropping it closes them.
pub(super) struct Connections {
    limits: ConnectionLimits,
    builder: Builder<TokioExecutor>,
    router: Router,
    tls: Option<Arc<Tls>>,
    tasks: JoinSet<u64>,
    open: BTreeMap<u64, OpenConnection>,
    next: u64,
}

struct OpenConnection {
    activity: Arc<Activity>,
    task: AbortHandle,
}

impl Connections {
    pub(super) fn new(limits: ConnectionLimits, router: Router, tls: Option<Arc<Tls>>) -> Self {
        metrics::describe_gauge!(OPEN, "Open connections.");
        metrics::describe_counter!(CLOSED, "Connections that the server closed, by reason.");
        // Registered before they count, so that the first count is an increase.
        for reason in ["refused", "replaced", "idle", "stalled"] {
            metrics::counter!(CLOSED, "reason" => reason).increment(0);
        }
        let builder = connection::protocol(&limits);
        Self {
            limits,
            builder,
            router,
            tls,
            tasks: JoinSet::new(),
            open: BTreeMap::new(),
            next: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Serves a new connection. At the limit it replaces a connection without a request; if all
    /// have requests, the new one may only request health checks and metrics.
    pub(super) fn add(&mut self, stream: TcpStream) {
        let full = self.open.len() >= self.limits.max;
        let over_limit = full && !self.replace_idle();
        if over_limit && self.open.len() >= self.limits.max + EXTRA_CONNECTIONS {
            metrics::counter!(CLOSED, "reason" => "refused").increment(1);
            return;
        }
        let activity = Arc::new(Activity::new(Instant::now()));
        let (builder, router) = (self.builder.clone(), self.router.clone());
        let acceptor = self.tls.as_ref().map(|tls| tls.acceptor());
        let (of_task, number) = (Arc::clone(&activity), self.next);
        self.next += 1;
        let task = self.tasks.spawn(async move {
            connection::run(stream, acceptor, builder, router, of_task, over_limit).await;
            number
        });
        self.open.insert(number, OpenConnection { activity, task });
        self.count();
    }

    /// Closes the connection without a request that is first in [`Rank`](super::activity::Rank)
    /// order. Returns `false` if all have requests.
    pub(super) fn replace_idle(&mut self) -> bool {
        let ranked = self
            .open
            .iter()
            .filter_map(|(number, open)| Some((open.activity.rank()?, *number)));
        let Some((_, number)) = ranked.min() else {
            return false;
        };
        self.abort(number, "replaced");
        true
    }

    /// Resolves when a connection has ended; `None` if no connection is open.
    pub(super) async fn ended(&mut self) -> Option<()> {
        // An aborted task was already removed from `open`. The number of a task that panicked is
        // unknown here; `check` removes it.
        if let Ok(number) = self.tasks.join_next().await? {
            self.open.remove(&number);
        }
        self.count();
        Some(())
    }

    /// Closes connections that are idle or whose client does not read its reply.
    pub(super) fn check(&mut self, now: Instant) {
        let overdue = self.open.iter().filter_map(|(number, open)| {
            if open.task.is_finished() {
                return Some((*number, Reason::Closing));
            }
            Some((*number, open.activity.overdue(now, &self.limits)?))
        });
        for (number, reason) in overdue.collect::<Vec<_>>() {
            match reason {
                Reason::Idle => {
                    if let Some(open) = self.open.get(&number) {
                        metrics::counter!(CLOSED, "reason" => "idle").increment(1);
                        open.activity.close(now);
                    }
                }
                Reason::Stalled => self.abort(number, "stalled"),
                Reason::Closing => {
                    if let Some(open) = self.open.remove(&number) {
                        open.task.abort();
                    }
                }
            }
        }
        self.count();
    }

    /// Requests that all connections close once their requests are answered.
    pub(super) fn close_all(&self, now: Instant) {
        for open in self.open.values() {
            open.activity.close(now);
        }
    }

    fn abort(&mut self, number: u64, reason: &'static str) {
        if let Some(open) = self.open.remove(&number) {
            metrics::counter!(CLOSED, "reason" => reason).increment(1);
            open.task.abort();
        }
    }

    fn count(&self) {
        metrics::gauge!(OPEN).set(self.open.len() as f64);
    }
}
