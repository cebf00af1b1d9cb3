//! Counts the memory of replies until they are sent. A client may request large replies and not
//! read them.

use std::pin::Pin;
use std::task::{Context, Poll};

use assay_access::Caller;
use assay_engine::MemoryPermit;
use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::Method;
use http_body::{Frame, SizeHint};

use crate::error::ApiError;
use crate::state::Api;

/// Smaller replies are not counted: the limits on connections bound them.
const MIN_COUNTED: usize = 64 << 10;

/// Routes whose replies contain stored bodies of any size. A reply takes several times its size
/// while it is made, before it can be counted.
const WITH_BODIES: &[&str] = &[
    "/v1/grades/{id}",
    "/v1/checks/{id}",
    "/v1/reward-models/{name}/pairs",
    "/v1/sessions/{id}/log",
    "/ui/grades/{id}",
    "/ui/queue/{id}",
    "/ui/checks/{id}",
];

/// Routes whose replies are the same bytes for everyone, which are in memory once.
const SHARED: &[&str] = &["/openapi.json", "/docs"];

/// Counts the reply to a request in the share of its caller. A read whose reply exceeds it is
/// rejected.
pub(crate) async fn count(State(api): State<Api>, request: Request, next: Next) -> Response {
    let Some(caller) = request.extensions().get::<Caller>() else {
        return next.run(request).await;
    };
    let share = caller.share().clone();
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let matched = request.extensions().get::<MatchedPath>();
    let is_one_of = |paths: &[&str]| matched.is_some_and(|path| paths.contains(&path.as_str()));
    if is_one_of(SHARED) {
        return next.run(request).await;
    }
    let has_bodies = is_read && is_one_of(WITH_BODIES);
    let mut permit = api.engine().admission().memory(&share);
    let making = if has_bodies {
        // The permits are never closed.
        let making = api.permits().replies.acquire(&share).await.ok();
        // Rejected before the work of making the reply if nothing is left.
        if let Err(error) = permit.grow(MIN_COUNTED) {
            return ApiError::from(error).into_response();
        }
        making
    } else {
        None
    };
    let reply = next.run(request).await;
    let bytes = reply.body().size_hint().exact().unwrap_or_default();
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    if bytes < MIN_COUNTED {
        return reply;
    }
    if is_read {
        if let Err(error) = permit.grow(bytes - permit.bytes()) {
            return ApiError::from(error).into_response();
        }
    } else {
        // The work is done, and the reply may be recorded.
        permit.count(bytes);
    }
    drop(making);
    reply.map(|body| {
        Body::new(CountedBody {
            body,
            _permit: permit,
        })
    })
}

/// The body of a reply whose memory is counted until it is sent.
struct CountedBody {
    body: Body,
    _permit: MemoryPermit,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
