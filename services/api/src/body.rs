//! Reading a body: within the size limit, within the bytes the node holds at once, within a pause between pieces.

use assay_core::{ErrorCode, json_pointer};
use assay_engine::{Admission, BodyPermit};
use assay_wire::Problem;
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use std::sync::Arc;

use crate::Api;
use crate::error::{ApiError, ApiResult};
use crate::state::ApiLimits;

/// A body read, and the permit that counts its bytes until it is dropped.
pub(crate) struct ReadBody {
    pub(crate) bytes: Bytes,
    pub(crate) permit: BodyPermit,
}

pub(crate) async fn read(
    headers: &HeaderMap,
    mut body: Body,
    admission: &Arc<Admission>,
    limits: &ApiLimits,
) -> ApiResult<ReadBody> {
    refuse_other_media(headers)?;
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let mut permit = admission.body();
    let mut read = BytesMut::new();
    if let Some(announced) = announced {
        // Room is counted as bytes arrive: what is only announced would let a few slow senders lock everyone out.
        refuse_too_large(announced, limits)?;
    }
    loop {
        let frame = tokio::time::timeout(limits.body_pause, body.frame()).await.map_err(|_| {
            let seconds = limits.body_pause.as_secs();
            let message = format!("the body paused for more than {seconds} s; send it without pauses");
            ApiError::new(ErrorCode::MalformedJson, message)
        })?;
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|error| {
            let message = format!("the body broke off or does not unpack: {error}");
            ApiError::new(ErrorCode::MalformedJson, message)
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let length = read.len() + data.len();
        refuse_too_large(length, limits)?;
        permit.grow(data.len())?;
        read.extend_from_slice(&data);
    }
    Ok(ReadBody { bytes: read.freeze(), permit })
}

/// Bodies from this size on are decoded off the runtime, so that a large one does not delay small ones.
const LARGE_BODY: usize = 64 << 10;

/// What `decode` makes of a body.
pub(crate) async fn decoded<T: Send + 'static>(
    bytes: Bytes,
    decode: impl FnOnce(&[u8]) -> Result<T, Problem> + Send + 'static,
) -> ApiResult<T> {
    if bytes.len() < LARGE_BODY {
        return Ok(decode(&bytes)?);
    }
    match tokio::task::spawn_blocking(move || decode(&bytes)).await {
        Ok(decoded) => Ok(decoded?),
        Err(_) => Err(ApiError::new(ErrorCode::Internal, "reading the body failed; report it with the request")),
    }
}

/// A body that is one JSON object.
pub(crate) async fn json<T>(api: &Api, headers: &HeaderMap, body: Body) -> ApiResult<T>
where
    T: DeserializeOwned + Send + 'static,
{
    let ReadBody { bytes, permit: _permit } = read(headers, body, api.engine().admission(), api.limits()).await?;
    decoded(bytes, parse).await
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    // Derived readers take an array for the fields of an object in their order.
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(Problem::at(ErrorCode::InvalidField, String::new(), "the body is an object, not an array"));
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let pointer = json_pointer(error.path());
        let inner = error.into_inner();
        if inner.is_data() {
            let message = inner.to_string();
            let message = message.split(" at line ").next().unwrap_or(&message).to_owned();
            return Problem::at(ErrorCode::InvalidField, pointer, message);
        }
        Problem::new(ErrorCode::MalformedJson, format!("the body is not JSON: {inner}"))
    })?;
    reader.end().map_err(|error| Problem::new(ErrorCode::MalformedJson, format!("the body is not JSON: {error}")))?;
    Ok(value)
}

fn refuse_too_large(bytes: usize, limits: &ApiLimits) -> ApiResult<()> {
    if bytes <= limits.body_bytes {
        return Ok(());
    }
    let most = limits.body_bytes;
    let message = format!("the body is larger than {most} bytes after unpacking; send it in several requests");
    Err(ApiError::new(ErrorCode::BodyTooLarge, message))
}

/// A body without a type is taken for JSON; one that says it is something else is refused before it is read.
fn refuse_other_media(headers: &HeaderMap) -> ApiResult<()> {
    let Some(media) = headers.get(header::CONTENT_TYPE) else {
        return Ok(());
    };
    let essence = media.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let known = ["application/json", "application/x-www-form-urlencoded", "text/json"];
    // `curl -d` says it sends a form; a JSON body is what it means here.
    if known.iter().any(|known| essence.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    let message = format!("the body's `Content-Type` is `{essence}`; send `application/json`");
    Err(ApiError::new(ErrorCode::UnsupportedMedia, message))
}
