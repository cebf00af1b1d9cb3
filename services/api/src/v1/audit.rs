//! `GET /v1/audit`: the audit log, newest entries first, in pages or as JSON lines.

use std::sync::Arc;

use assay_core::ErrorCode;
use assay_record::RecordError;
use assay_record::access::{AccessStore, AuditRecord};
use assay_wire::audit::{AuditBody, AuditPageBody};
use axum::Json;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{Stream, TryStreamExt, stream};
use http::{HeaderMap, header};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Api;
use crate::error::{ApiError, ApiResult};
use crate::ndjson::{self, NDJSON};
use crate::query::Query;
use crate::v1::page::{self, PageLimit};

/// Number of entries that an export reads at once. The next ones are read when the client has
/// received these.
const CHUNK: u32 = 256;

/// The position of the page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// List only entries before this one: `next` of the previous page.
    before: Option<i64>,
    /// Number of entries on the page, 1 to 1,000; 100 by default. JSON lines contain all entries
    /// unless it is set.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<PageLimit>,
}

/// Lists administrative acts and refused callers, newest first, in pages. With `Accept:
/// application/x-ndjson`, streams all entries, one per line.
#[utoipa::path(get, path = "/v1/audit", tag = "record", params(PageQuery), responses(
    (status = 200, description = "A page of the audit log, or all of it", content(
        (AuditPageBody = "application/json"),
        (AuditBody = "application/x-ndjson"),
    )),
))]
pub(crate) async fn page(
    api: Api,
    Query(query): Query<PageQuery>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let PageQuery { before, limit } = query;
    let is_export = ndjson::is_accepted(&headers) && limit.is_none();
    let limit = page::limit(limit);
    let store = api.gate().store().ok_or_else(|| {
        let message = "the node has no record; start it with a database";
        ApiError::new(ErrorCode::StoreUnavailable, message)
    })?;
    if is_export {
        return Ok(lines(Body::from_stream(export(Arc::clone(store), before))));
    }
    let (entries, more) = page::split(store.audit_log(before, limit + 1).await?, limit);
    if ndjson::is_accepted(&headers) {
        return Ok(lines(Body::from(to_lines(entries)?)));
    }
    let next = entries.last().filter(|_| more).map(|last| last.no);
    Ok(Json(AuditPageBody {
        entries: entries.into_iter().map(AuditBody::from).collect(),
        next,
    })
    .into_response())
}

fn lines(body: Body) -> Response {
    ([(header::CONTENT_TYPE, NDJSON)], body).into_response()
}

/// Why an export ends early. The connection is then closed before the end of the reply, so that the
/// client notices that the export is incomplete.
#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error(transparent)]
    Store(#[from] RecordError),
    #[error("cannot write an entry of the audit log: {0}")]
    Json(#[from] serde_json::Error),
}

impl From<ExportError> for ApiError {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Store(error) => error.into(),
            ExportError::Json(_) => Self::new(ErrorCode::Internal, error.to_string()),
        }
    }
}

/// All entries before this one, as lines. Entries that are appended during the export are not
/// included.
fn export(
    store: Arc<dyn AccessStore>,
    before: Option<i64>,
) -> impl Stream<Item = Result<Bytes, ExportError>> {
    let chunks = stream::try_unfold(Some(before), move |position| {
        let store = Arc::clone(&store);
        async move {
            let Some(before) = position else {
                return Ok(None);
            };
            let entries = store.audit_log(before, CHUNK).await?;
            let is_last = entries.len() < CHUNK as usize;
            let next = entries.last().map(|last| last.no).filter(|_| !is_last);
            Ok::<_, ExportError>(Some((to_lines(entries)?, next.map(Some))))
        }
    });
    chunks.inspect_err(|error| tracing::error!(%error, "an export of the audit log failed"))
}

fn to_lines(entries: Vec<AuditRecord>) -> Result<Bytes, ExportError> {
    let mut lines = Vec::new();
    for entry in entries {
        serde_json::to_writer(&mut lines, &AuditBody::from(entry))?;
        lines.push(b'\n');
    }
    Ok(lines.into())
}
