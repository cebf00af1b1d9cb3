//! `POST /v1/grade`: grades a batch of rollouts and returns one reply or a stream.

mod stream;

use std::sync::Arc;

use assay_access::{Caller, Gate};
use assay_core::{ErrorCode, Hash};
use assay_engine::{Answer, Batch, Engine, IdempotentRequest, MemoryPermit, Mode, Render};
use assay_jobs::Jobs;
use assay_mapping::render::Framing;
use assay_mapping::{FindLog, TemplateTasks, batch};
use assay_record::SealedReply;
use assay_sessions::SessionError;
use assay_wire::request::Decoded;
use assay_wire::{DecodeLimits, GradeRequest, Problem, ProblemBody, Warning};
use axum::Extension;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, header};
use serde_json::Value;

use crate::Api;
use crate::access::idempotency_key;
use crate::body::{BodyKind, RequestBody, decode_bytes};
use crate::error::{ApiError, ApiResult};
use crate::ndjson::{self, NDJSON};
use crate::serve::Client;
use crate::v1::sessions::sender;

const JSON: &str = "application/json";

/// Grades a batch of rollouts and returns when all are done. With `Accept: application/x-ndjson`,
/// streams one line per result in the order in which they finish. A failure of the service never
/// results in a reward of 0: an item that failed has no score.
#[utoipa::path(post, path = "/v1/grade", tag = "grading",
    params(
        ("Idempotency-Key" = inline(Option<String>), Header, description = "A request with the \
            same key and body returns the same bytes for a day",
            pattern = "^[!-~]{1,255}$"),
    ),
    request_body(content = GradeRequest, content_type = "application/json", example = json!({
        "run": "demo", "step": 1,
        "items": [
            { "id": "a", "group": "p1", "completion": "… so it is \\boxed{\\frac{12}{36}}.",
              "task": { "type": "math", "answer": "1/3" } },
            { "id": "b", "group": "p1", "completion": "The answer is 0.34.",
              "task": { "type": "math", "answer": "1/3" } },
        ],
    })),
    responses(
        (status = 200, description = "One result for each item, in order", content(
            (assay_wire::reply::GradeReply<'static> = "application/json"),
            (assay_wire::reply::StreamLine<'static> = "application/x-ndjson"),
        )),
        (status = 422, description = "A field or task is invalid; `pointer` locates it",
         body = ProblemBody),
    ))]
pub(crate) async fn grade(
    api: Api,
    client: Option<Extension<Client>>,
    headers: HeaderMap,
    body: RequestBody,
) -> ApiResult<Response> {
    let streamed = ndjson::is_accepted(&headers);
    let key = idempotency_key(&headers)?;
    let (is_keyed, decode) = (key.is_some(), decoder(&api));
    let decode = move |bytes: &[u8]| {
        let media_type = if streamed { NDJSON } else { JSON };
        let request = is_keyed.then(|| Hash::of_parts(&[bytes, media_type.as_bytes()]));
        match decode(bytes) {
            Err(problem) if request.is_none() => Err(problem),
            received => Ok((received, request)),
        }
    };
    let ((received, request), permit) = body.decoded(&api, BodyKind::Batch, decode).await?;
    let received = match received {
        Ok(received) => received,
        Err(problem) => {
            // A session may have ended since the request was first sent.
            return match recorded_reply(&api, key, request).await {
                Some(reply) => Ok(sealed(reply)),
                None => Err(problem.into()),
            };
        }
    };
    if client.is_some_and(|Extension(client)| client.is_gone()) {
        // A client that gave up while this process was suspended has sent the batch to another
        // node, and it would be in both records. Nobody reads this reply.
        let message = "the client closed the connection before the batch was accepted".to_owned();
        return Err(ApiError::new(ErrorCode::MalformedJson, message));
    }
    let (batch, framing) = received.accept(&api, permit)?;
    let keyed = key.zip(request).map(|(key, request)| IdempotentRequest {
        key: api.request_key(key),
        request,
        render: sealing(framing.clone(), streamed),
        repeated: None,
    });
    if streamed {
        return stream::start(api.engine(), batch, keyed, framing).await;
    }
    let engine = api.engine();
    let answer = match keyed {
        None => Answer::Fresh(engine.grade(batch, Mode::Whole).await?, None),
        Some(keyed) => engine.grade_once(keyed, batch, Mode::Whole).await?,
    };
    Ok(sealed(match answer {
        Answer::Fresh(_, Some(sealed)) | Answer::Again(sealed) => sealed,
        Answer::Fresh(reply, None) => SealedReply {
            media: JSON.to_owned(),
            body: framing.whole(&reply),
        },
    }))
}

fn sealed(reply: SealedReply) -> Response {
    ([(header::CONTENT_TYPE, reply.media)], reply.body).into_response()
}

/// The recorded reply to a request that cannot be decoded any more.
async fn recorded_reply(
    api: &Api,
    key: Option<String>,
    request: Option<Hash>,
) -> Option<SealedReply> {
    let key = api.request_key(key?);
    api.engine().recorded_reply(&key, request?).await
}

/// Grades a request, as JSON, that a route in the format of another server made from its body, and
/// returns the reply. `permit` counts the body.
pub(crate) async fn grade_made(
    api: &Api,
    request: Vec<u8>,
    permit: MemoryPermit,
) -> ApiResult<Value> {
    let received = decode_bytes(api, request.into(), decoder(api)).await?;
    let (batch, framing) = received.accept(api, permit)?;
    let reply = api.engine().grade(batch, Mode::Whole).await?;
    serde_json::from_slice(&framing.whole(&reply)).map_err(|error| {
        let message = format!("cannot read the reply: {error}");
        Problem::new(ErrorCode::Internal, message).into()
    })
}

/// A decoded request.
struct Received {
    batch: Batch,
    framing: Framing,
    /// Bytes of the tasks that templates made, and of shared values in tasks.
    made_bytes: usize,
    body_bytes: usize,
}

impl Received {
    /// The batch, with the permit that counts its memory and the quotas of its caller.
    fn accept(self, api: &Api, mut permit: MemoryPermit) -> ApiResult<(Batch, Framing)> {
        permit.grow(self.made_bytes)?;
        let batch = Batch {
            held: Some(permit),
            allowance: api.allowance(self.body_bytes),
            ..self.batch
        };
        Ok((batch, self.framing))
    }
}

/// Decodes the body of a request of the caller.
fn decoder(api: &Api) -> impl FnOnce(&[u8]) -> Result<Received, Problem> + Send + 'static {
    let limits = DecodeLimits {
        items: api.limits().batch_items,
        shared_bytes: api.limits().parsed_bytes,
    };
    let (engine, caller) = (api.engine().clone(), api.caller().clone());
    let (gate, templates) = (Arc::clone(api.shared_gate()), Arc::clone(api.templates()));
    let jobs = api.jobs().clone();
    let max_bytes = api.limits().parsed_bytes;
    let (sessions, sender) = (api.sessions().clone(), sender(api));
    let find_log: FindLog = Box::new(move |id| {
        let log = sessions.read_log(&sender, id);
        log.map_err(|error| match error {
            error @ SessionError::Unknown(_) => Problem::invalid("", error.to_string()),
            error => Problem::new(error.code(), error.to_string()),
        })
    });
    move |bytes| {
        let tasks = TemplateTasks::new(templates, engine.clone(), max_bytes);
        let mut tasks = tasks.with_sessions(find_log);
        let decoded = assay_wire::decode(bytes, &limits, &mut tasks)?;
        let (selection, shared_bytes) = (decoded.selection, decoded.shared_bytes);
        let (batch, warnings) = from_caller(decoded, &caller, &gate, &engine, &jobs)?;
        Ok(Received {
            batch,
            framing: Framing {
                warnings: warnings.into(),
                selection,
            },
            made_bytes: tasks.made_bytes() + shared_bytes,
            body_bytes: bytes.len(),
        })
    }
}

/// Renders the reply that is sent and stored under an idempotency key.
fn sealing(framing: Framing, streamed: bool) -> Render {
    Arc::new(move |reply| {
        if streamed {
            let mut body = framing.result_lines(reply);
            body.extend_from_slice(&framing.closing_lines(reply));
            SealedReply {
                media: NDJSON.to_owned(),
                body,
            }
        } else {
            SealedReply {
                media: JSON.to_owned(),
                body: framing.whole(reply),
            }
        }
    })
}

/// Converts a request to a batch of `caller`, in its namespace.
fn from_caller(
    decoded: Decoded,
    caller: &Caller,
    gate: &Gate,
    engine: &Engine,
    jobs: &Jobs,
) -> Result<(Batch, Vec<Warning>), Problem> {
    let (batch, warnings) = batch::from_request(decoded, caller.name(), engine)?;
    if caller.role().sees_all()
        && let Some(run) = &batch.run
    {
        gate.check_shared_run(run)
            .map_err(|error| Problem::invalid("/run", error.to_string()))?;
    }
    let run = batch.run.as_deref().map(|run| caller.recorded_run(run));
    let mut batch = Batch {
        share: caller.share_of_run(batch.run.as_deref()),
        run: run.map(Into::into),
        ..batch
    };
    jobs.set_promoted_fields(batch.run.as_deref(), &mut batch.items);
    Ok((batch, warnings))
}
