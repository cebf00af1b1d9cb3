//! Tracks what a connection is doing: waiting for a request, processing requests, or waiting for
//! the client to read a reply. The server uses this to decide which connections to close.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::state::ConnectionLimits;

/// Maximum number of bytes of a reply that are passed to the connection at once. Large replies are
/// sent in chunks, so that a client that stops reading is detected.
const CHUNK_BYTES: usize = 64 << 10;

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct Activity {
    state: Mutex<State>,
    close_requested: Notify,
}

#[derive(Debug)]
struct State {
    /// Requests whose reply is incomplete, by number.
    exchanges: BTreeMap<u64, Phase>,
    next: u64,
    /// When the connection was opened or its last exchange ended.
    since: Instant,
    /// Whether it has had a request.
    used: bool,
    /// When the server requested that it close.
    closing: Option<Instant>,
    /// Since when writes to the socket have been blocked.
    blocked: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// The service is processing the request or the next chunk of the reply.
    Working,
    /// The head or a chunk of the reply was sent to the client at this time, and the connection has
    /// not requested the next chunk since.
    Sent(Instant),
}

/// Why a connection is to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The client sends no request.
    Idle,
    /// The client does not read its reply.
    Stalled,
    /// The server requested that the connection close, and it has no request.
    Closing,
}

/// The order in which connections without a request are replaced: those that never had one first,
/// then those that have been idle longest.
pub(crate) type Rank = (bool, Instant);

impl Activity {
    pub(crate) fn new(now: Instant) -> Self {
        let state = State {
            exchanges: BTreeMap::new(),
            next: 0,
            since: now,
            used: false,
            closing: None,
            blocked: None,
        };
        Self {
            state: Mutex::new(state),
            close_requested: Notify::new(),
        }
    }

    /// Registers a new request. It ends when the exchange is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> Exchange {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.used = true;
        state.exchanges.insert(number, Phase::Working);
        Exchange {
            activity: Arc::clone(self),
            number,
        }
    }

    /// Records whether the last write to the socket was blocked. This detects an HTTP/1 client that
    /// does not read. An HTTP/2 client reads from the socket but can withhold flow-control credit
    /// from a reply, which is detected by the body of the reply.
    pub(super) fn blocked(&self, blocked: bool) {
        let mut state = self.state();
        state.blocked = blocked.then(|| state.blocked.unwrap_or_else(Instant::now));
    }

    /// Why the connection should be closed now; `None` if it should not.
    pub(crate) fn overdue(&self, now: Instant, limits: &ConnectionLimits) -> Option<Reason> {
        let state = self.state();
        let since = |then: Instant| now.saturating_duration_since(then);
        if let Some(then) = state.blocked {
            return (since(then) >= limits.reply_pause).then_some(Reason::Stalled);
        }
        if state.exchanges.is_empty() {
            if let Some(closing) = state.closing {
                return (since(closing.max(state.since)) >= limits.close)
                    .then_some(Reason::Closing);
            }
            let timeout = if state.used { limits.idle } else { limits.head };
            return (since(state.since) >= timeout).then_some(Reason::Idle);
        }
        let stalled = |phase: &Phase| match phase {
            Phase::Sent(then) => since(*then) >= limits.reply_pause,
            Phase::Working => false,
        };
        state
            .exchanges
            .values()
            .any(stalled)
            .then_some(Reason::Stalled)
    }

    /// The connection's rank among those that may be replaced; `None` while it has a request or
    /// part of a reply to write.
    pub(crate) fn rank(&self) -> Option<Rank> {
        let state = self.state();
        let is_idle = state.exchanges.is_empty() && state.blocked.is_none();
        is_idle.then_some((state.used, state.since))
    }

    /// Requests that the connection close once its exchanges are done.
    pub(crate) fn close(&self, now: Instant) {
        self.state().closing.get_or_insert(now);
        self.close_requested.notify_one();
    }

    /// Resolves when [`close`](Self::close) is called.
    pub(crate) async fn close_requested(&self) {
        self.close_requested.notified().await;
    }

    fn set(&self, number: u64, phase: Phase) {
        self.state().exchanges.insert(number, phase);
    }

    fn end(&self, number: u64) {
        let mut state = self.state();
        state.exchanges.remove(&number);
        state.since = Instant::now();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request of a connection, until its reply has been sent.
#[derive(Debug)]
pub(crate) struct Exchange {
    activity: Arc<Activity>,
    number: u64,
}

impl Exchange {
    /// Wraps the body of the reply to record its progress.
    pub(crate) fn watch(self, body: Body) -> Body {
        self.activity.set(self.number, Phase::Sent(Instant::now()));
        Body::new(WatchedBody {
            body,
            rest: Bytes::new(),
            exchange: self,
        })
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.activity.end(self.number);
    }
}

/// The body of a reply in chunks, which records when the connection takes each of them.
struct WatchedBody {
    body: Body,
    /// The rest of the frame that contained the last chunk.
    rest: Bytes,
    exchange: Exchange,
}

impl WatchedBody {
    fn poll_chunk(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                other => return Poll::Ready(other),
            };
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        let chunk = self.rest.split_to(self.rest.len().min(CHUNK_BYTES));
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }
}

impl HttpBody for WatchedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = self.poll_chunk(cx);
        let phase = if polled.is_ready() {
            Phase::Sent(Instant::now())
        } else {
            Phase::Working
        };
        self.exchange.activity.set(self.exchange.number, phase);
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, body) = (self.rest.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        if let Some(upper) = body.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(body.lower().saturating_add(rest));
        hint
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;
    use std::time::Duration;

    use super::*;

    const LIMITS: ConnectionLimits = ConnectionLimits {
        max: 1,
        head: Duration::from_secs(10),
        idle: Duration::from_secs(20),
        reply_pause: Duration::from_secs(30),
        close: Duration::from_secs(1),
    };

    fn after(seconds: u64) -> Instant {
        Instant::now() + Duration::from_secs(seconds)
    }

    /// Polls the next chunk of a reply and returns its length; `None` if there is none.
    fn poll(body: &mut Body) -> Option<usize> {
        let mut cx = Context::from_waker(Waker::noop());
        match Pin::new(body).poll_frame(&mut cx) {
            Poll::Ready(Some(Ok(frame))) => frame.data_ref().map(Bytes::len),
            _ => None,
        }
    }

    #[test]
    fn closes_idle_connections() {
        let activity = Arc::new(Activity::new(Instant::now()));
        assert_eq!(activity.overdue(after(9), &LIMITS), None);
        assert_eq!(activity.overdue(after(11), &LIMITS), Some(Reason::Idle));
        drop(activity.begin());
        assert_eq!(activity.overdue(after(19), &LIMITS), None);
        assert_eq!(activity.overdue(after(21), &LIMITS), Some(Reason::Idle));
        activity.close(Instant::now());
        assert_eq!(activity.overdue(Instant::now(), &LIMITS), None);
        assert_eq!(activity.overdue(after(2), &LIMITS), Some(Reason::Closing));
    }

    #[test]
    fn keeps_connections_open_while_a_request_is_processed() {
        let activity = Arc::new(Activity::new(Instant::now()));
        let (one, other) = (activity.begin(), activity.begin());
        activity.close(Instant::now());
        assert_eq!(activity.overdue(after(1_000_000), &LIMITS), None);
        assert_eq!(activity.rank(), None);
        drop(one);
        let mut streamed = other.watch(Body::from_stream(futures::stream::pending::<
            Result<Bytes, axum::Error>,
        >()));
        assert_eq!(
            activity.overdue(after(31), &LIMITS),
            Some(Reason::Stalled),
            "the connection does not request the reply"
        );
        assert_eq!(poll(&mut streamed), None);
        assert_eq!(
            activity.overdue(after(1_000_000), &LIMITS),
            None,
            "the next line of the stream is still being graded"
        );
    }

    #[test]
    fn closes_connections_whose_reply_is_not_read() {
        let activity = Arc::new(Activity::new(Instant::now()));
        let mut reply = activity.begin().watch(Body::from(vec![0; CHUNK_BYTES + 1]));
        assert_eq!(reply.size_hint().exact(), Some(CHUNK_BYTES as u64 + 1));
        assert_eq!(poll(&mut reply), Some(CHUNK_BYTES));
        assert_eq!(reply.size_hint().exact(), Some(1));
        assert!(!reply.is_end_stream());
        assert_eq!(activity.overdue(after(29), &LIMITS), None);
        assert_eq!(activity.overdue(after(31), &LIMITS), Some(Reason::Stalled));
        assert_eq!(poll(&mut reply), Some(1));
        assert!(reply.is_end_stream());
        drop(reply);
        assert_eq!(
            activity.overdue(after(19), &LIMITS),
            None,
            "the connection can be reused"
        );
    }

    #[test]
    fn closes_connections_whose_socket_is_blocked() {
        let activity = Arc::new(Activity::new(Instant::now()));
        drop(activity.begin());
        activity.blocked(true);
        activity.blocked(true);
        assert_eq!(activity.overdue(after(29), &LIMITS), None);
        assert_eq!(activity.overdue(after(31), &LIMITS), Some(Reason::Stalled));
        assert_eq!(activity.rank(), None);
        activity.blocked(false);
        assert_eq!(activity.overdue(after(19), &LIMITS), None);
        assert!(activity.rank().is_some());
    }

    #[test]
    fn ranks_connections_that_were_never_used_first() {
        let now = Instant::now();
        let (used, silent) = (
            Arc::new(Activity::new(now)),
            Activity::new(now + Duration::from_secs(5)),
        );
        drop(used.begin());
        assert!(silent.rank() < used.rank());
        assert!(
            Activity::new(now).rank() < silent.rank(),
            "the older of two"
        );
    }
}
