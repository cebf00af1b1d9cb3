//! Limits how slowly a request body may arrive, because a stalled body occupies memory that other
//! requests need.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use crate::state::Api;

/// A body arrived too slowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TooSlow {
    /// No data arrived for this long.
    #[error("the body paused for more than {} s; send it without pauses", .0.as_secs())]
    Paused(Duration),
    /// The body was incomplete after this long.
    #[error(
        "the body was incomplete after {} s; send it faster or in several requests",
        .0.as_secs()
    )]
    Unfinished(Duration),
}

impl TooSlow {
    /// Finds this error among the causes of a failed read.
    pub(crate) fn find_in(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(slow) = error.downcast_ref::<Self>() {
                return Some(*slow);
            }
            // `io::Error::source` skips the error that it wraps and returns that error's source.
            let wrapped = error
                .downcast_ref::<std::io::Error>()
                .and_then(std::io::Error::get_ref);
            cause = wrapped
                .map(|error| error as &(dyn Error + 'static))
                .or_else(|| error.source());
        }
        None
    }
}

/// Limits how slowly request bodies may arrive, regardless of which handler reads them.
pub(crate) async fn limit(State(api): State<Api>, request: Request, next: Next) -> Response {
    let (pause, total) = (api.limits().body_pause, api.limits().body_total);
    let limited = |body| {
        Body::new(LimitedBody {
            body,
            pause,
            total,
            waiting: None,
            started: None,
        })
    };
    next.run(request.map(limited)).await
}

struct LimitedBody {
    body: Body,
    pause: Duration,
    total: Duration,
    /// Runs while no data arrives, until the earlier of the two limits.
    waiting: Option<Pin<Box<Sleep>>>,
    /// When the body was first polled.
    started: Option<Instant>,
}

impl HttpBody for LimitedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.waiting = None;
            return Poll::Ready(frame);
        }
        let now = Instant::now();
        let started = *self.started.get_or_insert(now);
        let (pause, total) = (self.pause, self.total);
        let left = total.saturating_sub(now.saturating_duration_since(started));
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(pause.min(left))));
        if waiting.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        let slow = if now.saturating_duration_since(started) >= total {
            TooSlow::Unfinished(total)
        } else {
            TooSlow::Paused(pause)
        };
        Poll::Ready(Some(Err(axum::Error::new(slow))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
