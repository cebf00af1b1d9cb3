//! Streams a reply as JSON lines. An error before the first line is an ordinary error response.

use assay_core::{ErrorCode, Fault};
use assay_engine::{Answer, Batch, Engine, EngineError, IdempotentRequest, Mode, Reply};
use assay_mapping::render::{self, Framing};
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http::header;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::response;
use crate::error::{ApiError, ApiResult};
use crate::ndjson::NDJSON;

/// Maximum number of waves that wait for a slow client before grading is paused.
const MAX_QUEUED_WAVES: usize = 16;

type Grading = AbortOnDropHandle<Result<Answer, EngineError>>;

pub(super) async fn start(
    engine: &Engine,
    batch: Batch,
    keyed: Option<IdempotentRequest>,
    framing: Framing,
) -> ApiResult<Response> {
    let (sender, mut waves) = mpsc::channel(MAX_QUEUED_WAVES);
    let engine = engine.clone();
    let mode = Mode::Streamed(sender);
    // The handle is dropped when the client disconnects, which stops the grading of a batch without
    // an idempotency key.
    let grading = async move {
        match keyed {
            Some(keyed) => engine.grade_once(keyed, batch, mode).await,
            None => engine
                .grade(batch, mode)
                .await
                .map(|reply| Answer::Fresh(reply, None)),
        }
    };
    let grading: Grading = AbortOnDropHandle::new(tokio::spawn(grading.in_current_span()));
    match waves.recv().await {
        Some(first) => {
            let lines =
                lines(first, waves, grading, framing).map(Ok::<_, std::convert::Infallible>);
            Ok(([(header::CONTENT_TYPE, NDJSON)], Body::from_stream(lines)).into_response())
        }
        None => match grading.await {
            Ok(Ok(Answer::Again(sealed) | Answer::Fresh(_, Some(sealed)))) => Ok(response(sealed)),
            Ok(Ok(Answer::Fresh(_, None))) | Err(_) => Err(ApiError::new(
                ErrorCode::Internal,
                "the stream failed before its first line; send the batch again",
            )),
            Ok(Err(error)) => Err(error.into()),
        },
    }
}

enum State {
    First(Reply, mpsc::Receiver<Reply>, Grading),
    Waves(mpsc::Receiver<Reply>, Grading),
    Ended,
}

fn lines(
    first: Reply,
    waves: mpsc::Receiver<Reply>,
    grading: Grading,
    framing: Framing,
) -> impl Stream<Item = Bytes> {
    stream::unfold(State::First(first, waves, grading), move |state| {
        let framing = framing.clone();
        async move {
            match state {
                State::First(wave, waves, grading) => Some((
                    Bytes::from(framing.result_lines(&wave)),
                    State::Waves(waves, grading),
                )),
                State::Waves(mut waves, grading) => match waves.recv().await {
                    Some(wave) => Some((
                        Bytes::from(framing.result_lines(&wave)),
                        State::Waves(waves, grading),
                    )),
                    None => Some((closing(grading, &framing).await, State::Ended)),
                },
                State::Ended => None,
            }
        }
    })
}

async fn closing(grading: Grading, framing: &Framing) -> Bytes {
    let lines = match grading.await {
        Ok(Ok(Answer::Fresh(reply, _))) => framing.closing_lines(&reply),
        Ok(Ok(Answer::Again(_))) | Err(_) => render::error_line(&Fault::transient(
            ErrorCode::Internal,
            "the stream failed; send the batch again",
        )),
        Ok(Err(error)) => {
            let problem = ApiError::from(error);
            let problem = problem.problem();
            render::error_line(&Fault::transient(problem.code, problem.message.clone()))
        }
    };
    Bytes::from(lines)
}
