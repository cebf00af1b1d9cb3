//! Reads a body within the limits of its route and the node's limit on memory for bodies, and
//! parses it.

mod discard;
mod kind;
mod lines;

use std::convert::Infallible;
use std::sync::Arc;

use assay_base::{json_message, json_pointer, json_reason};
use assay_core::ErrorCode;
use assay_core::clock::thread_time;
use assay_engine::MemoryPermit;
use assay_wire::unicode::{Step, Treatment, read_replacing, without_lone_surrogates};
use assay_wire::{Parsed, Problem, Scanner};
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;

use crate::Api;
use crate::arrival::TooSlow;
use crate::error::{ApiError, ApiResult};
use kind::Bounds;

pub(crate) use discard::discard;
pub(crate) use kind::BodyKind;

/// Bodies from this size on are parsed off the runtime, so that a large one does not delay small
/// ones.
const LARGE_BODY: usize = 64 << 10;

/// Maximum nesting of a body that is parsed as one value; serde_json rejects deeper values.
const MAX_DEPTH: usize = 127;

/// A request whose body has not been read.
pub(crate) struct RequestBody {
    headers: HeaderMap,
    body: Body,
}

impl<S: Send + Sync> FromRequest<S> for RequestBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Self, Infallible> {
        let (Parts { headers, .. }, body) = request.into_parts();
        Ok(Self { headers, body })
    }
}

impl RequestBody {
    /// Reads the body and returns the result of `decode` with the permit that counts its memory.
    /// Keep the permit as long as the result.
    pub(crate) async fn decoded<T: Send + 'static>(
        self,
        api: &Api,
        kind: BodyKind,
        decode: impl FnOnce(&[u8]) -> Result<T, Problem> + Send + 'static,
    ) -> ApiResult<(T, MemoryPermit)> {
        let ReadBody { bytes, permit, .. } = self.read(api, kind).await?;
        Ok((decode_bytes(api, bytes, decode).await?, permit))
    }

    /// Reads a body that is a single JSON value, and rejects lone surrogates.
    pub(crate) async fn json<T: DeserializeOwned + Send + 'static>(
        self,
        api: &Api,
        kind: BodyKind,
    ) -> ApiResult<(T, MemoryPermit)> {
        self.checked_json(api, kind, Ok).await
    }

    /// Reads a body that is a single JSON value and passes it to `check` on the thread that parsed
    /// it: off the runtime if the body is large.
    pub(crate) async fn checked_json<T: DeserializeOwned, U: Send + 'static>(
        self,
        api: &Api,
        kind: BodyKind,
        check: impl FnOnce(T) -> Result<U, Problem> + Send + 'static,
    ) -> ApiResult<(U, MemoryPermit)> {
        self.value(api, kind, |body| {
            let reject = |_: &[Step]| Treatment::Reject(ErrorCode::InvalidField);
            let (value, _) = read_replacing(body, "", reject, parse)?;
            check(value)
        })
        .await
    }

    /// Reads a single JSON value in the format of another server, with lone surrogates read as
    /// U+FFFD, also those in parts that keep their text.
    pub(crate) async fn lenient_json<T: DeserializeOwned + Send + 'static>(
        self,
        api: &Api,
        kind: BodyKind,
    ) -> ApiResult<(T, MemoryPermit)> {
        self.checked_lenient_json(api, kind, Ok).await
    }

    /// Reads a value as [`lenient_json`](Self::lenient_json) does, and passes it to `check` on the
    /// thread that parsed it.
    pub(crate) async fn checked_lenient_json<T: DeserializeOwned, U: Send + 'static>(
        self,
        api: &Api,
        kind: BodyKind,
        check: impl FnOnce(T) -> Result<U, Problem> + Send + 'static,
    ) -> ApiResult<(U, MemoryPermit)> {
        self.value(api, kind, |body| {
            check(parse(&without_lone_surrogates(body))?)
        })
        .await
    }

    async fn value<T: Send + 'static>(
        self,
        api: &Api,
        kind: BodyKind,
        decode: impl FnOnce(&[u8]) -> Result<T, Problem> + Send + 'static,
    ) -> ApiResult<(T, MemoryPermit)> {
        let read = self.read(api, kind).await?;
        reject_too_deep(&read.parsed)?;
        Ok((decode_bytes(api, read.bytes, decode).await?, read.permit))
    }

    async fn read(self, api: &Api, kind: BodyKind) -> ApiResult<ReadBody> {
        let Self { headers, mut body } = self;
        reject_other_media_types(&headers, &JSON_TYPES)?;
        let admission = api.engine().admission();
        let bounds = kind.bounds(api.limits(), admission);
        let declared = headers
            .get(header::CONTENT_LENGTH)
            .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
        if let Some(declared) = declared {
            // Memory is counted as bytes arrive. If the declared length were counted, a few slow
            // clients could use up the limit for all bodies.
            reject_too_large(declared, &bounds)?;
        }
        let (mut read, mut permit, mut scanner) = (
            BytesMut::new(),
            admission.memory(api.caller().share()),
            Scanner::default(),
        );
        loop {
            let Some(frame) = body.frame().await else {
                break;
            };
            let frame = frame.map_err(|error| incomplete(&error))?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            reject_too_large(read.len() + data.len(), &bounds)?;
            scanner.scan(&data);
            let total = reject_too_costly(scanner.parsed(), &bounds)?;
            if let Err(overloaded) = permit.grow(total - permit.bytes()) {
                drop((read, permit));
                discard(body, bounds.bytes.max).await;
                return Err(overloaded.into());
            }
            read.extend_from_slice(&data);
        }
        Ok(ReadBody {
            bytes: read.freeze(),
            permit,
            parsed: *scanner.parsed(),
        })
    }
}

/// The bytes of a body, with their counts.
struct ReadBody {
    bytes: Bytes,
    /// Counts the memory of the body and of its parsed form.
    permit: MemoryPermit,
    parsed: Parsed,
}

/// Decodes a body, on a blocking thread if that may take long, and charges the caller for it.
pub(crate) async fn decode_bytes<T: Send + 'static>(
    api: &Api,
    bytes: Bytes,
    decode: impl FnOnce(&[u8]) -> Result<T, Problem> + Send + 'static,
) -> ApiResult<T> {
    let (caller, clock) = (api.caller().clone(), Arc::clone(api.gate().clock()));
    let names = |key: &[u8]| memchr::memmem::find(&bytes, key).is_some();
    // Templates may make larger tasks from the rows of a small body, and logs of sessions are read
    // from files.
    let has_rows = names(b"\"template\"");
    let is_slow = has_rows || names(b"\"session\"") || bytes.len() >= LARGE_BODY;
    let decode = move || {
        let (decoded, time) = thread_time(clock.as_ref(), || decode(&bytes));
        caller.spend(time);
        decoded
    };
    if !is_slow {
        return Ok(decode()?);
    }
    let internal = || {
        let message =
            "cannot parse the body because of an internal error; report it with the request";
        ApiError::new(ErrorCode::Internal, message)
    };
    let permits = api.permits();
    let permits = if has_rows {
        &permits.templates
    } else {
        &permits.decoders
    };
    let permit = permits.acquire(api.caller().share()).await;
    let permit = permit.map_err(|_| internal())?;
    let decode = move || {
        // Also held if the client is gone: the thread goes on.
        let _permit = permit;
        decode()
    };
    match tokio::task::spawn_blocking(decode).await {
        Ok(decoded) => Ok(decoded?),
        Err(_) => Err(internal()),
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    // Derived deserializers also accept an array of the fields in order.
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(Problem::invalid(
            "",
            "the body must be an object, not an array",
        ));
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let pointer = json_pointer(error.path());
        let inner = error.into_inner();
        if inner.is_data() {
            return Problem::invalid(pointer, json_reason(&inner));
        }
        Problem::new(
            ErrorCode::MalformedJson,
            format!("the body is not valid JSON: {}", json_message(&inner, body)),
        )
    })?;
    reader.end().map_err(|error| {
        Problem::new(
            ErrorCode::MalformedJson,
            format!("the body is not valid JSON: {}", json_message(&error, body)),
        )
    })?;
    Ok(value)
}

fn reject_too_large(bytes: usize, bounds: &Bounds) -> ApiResult<()> {
    let bound = &bounds.bytes;
    if bytes <= bound.max {
        return Ok(());
    }
    let message = match bound.setting {
        Some(_) => format!(
            "the body is larger than {} bytes after decompression; split it into several requests",
            bound.max
        ),
        None => format!(
            "the body is larger than {} bytes after decompression; send less{}",
            bound.max,
            bound.remedy()
        ),
    };
    Err(ApiError::new(ErrorCode::BodyTooLarge, message))
}

/// Returns the memory in bytes that the body takes so far, raw and parsed.
fn reject_too_costly(parsed: &Parsed, bounds: &Bounds) -> ApiResult<usize> {
    let memory = parsed.memory();
    let total = memory.saturating_add(parsed.bytes);
    let bound = if memory > bounds.parsed.max {
        &bounds.parsed
    } else if total > bounds.total.max {
        &bounds.total
    } else {
        return Ok(total);
    };
    let Parsed {
        bytes,
        objects,
        arrays,
        strings,
        ..
    } = parsed;
    let remedy = if bound.setting.is_some() {
        "split it into several requests"
    } else {
        "send less"
    };
    let message = format!(
        "the body would take more than {} bytes of memory when parsed: its first {bytes} bytes \
         contain {objects} objects, {arrays} arrays and {strings} strings; {remedy}{}",
        bound.max,
        bound.remedy()
    );
    Err(ApiError::new(ErrorCode::BodyTooLarge, message))
}

fn reject_too_deep(parsed: &Parsed) -> Result<(), Problem> {
    if parsed.depth <= MAX_DEPTH {
        return Ok(());
    }
    Err(Problem::new(
        ErrorCode::TooDeep,
        format!("the body is nested deeper than {MAX_DEPTH} levels; flatten it"),
    ))
}

/// The error of a body that does not arrive.
fn incomplete(error: &axum::Error) -> ApiError {
    let message = match TooSlow::find_in(error) {
        Some(slow) => slow.to_string(),
        None => format!("the body is incomplete or cannot be decompressed: {error}"),
    };
    ApiError::new(ErrorCode::MalformedJson, message)
}

/// The media types of a JSON value, the one to send first. `curl -d` declares a form even if the
/// body is JSON.
const JSON_TYPES: [&str; 3] = [
    "application/json",
    "application/x-www-form-urlencoded",
    "text/json",
];

/// Rejects a body with another media type before it is read. A body without a media type has the
/// first one.
fn reject_other_media_types(headers: &HeaderMap, accepted: &[&str]) -> ApiResult<()> {
    let Some(media_type) = headers.get(header::CONTENT_TYPE) else {
        return Ok(());
    };
    let essence = media_type
        .to_str()
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    if accepted
        .iter()
        .any(|accepted| essence.eq_ignore_ascii_case(accepted))
    {
        return Ok(());
    }
    let wanted = accepted.first().copied().unwrap_or_default();
    let message = format!("unsupported `Content-Type` `{essence}`; send `{wanted}`");
    Err(ApiError::new(ErrorCode::UnsupportedMedia, message))
}
