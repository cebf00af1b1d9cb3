//! Requests about jobs.

use std::io;

use assay_wire::jobs::{JobBody, JobsBody, LastJobLine, ReplayJobRequest};
use bytes::Bytes;
use futures::Stream;
use http_body::Frame;
use http_body_util::StreamBody;
use reqwest::{Body, Method};

use crate::{Client, ClientError};

/// Results of a job that were read in one request.
#[derive(Debug, Clone, PartialEq)]
pub struct JobResults {
    /// A line for each result, each with its end.
    pub lines: Bytes,
    /// Value of `after` with which the next request continues; `None` at the end.
    pub next: Option<u32>,
    /// The state of the job.
    pub state: String,
}

/// A body that is sent while it is made.
pub fn streamed(pieces: impl Stream<Item = io::Result<Bytes>> + Send + Sync + 'static) -> Body {
    let frames = futures::StreamExt::map(pieces, |piece| piece.map(Frame::data));
    Body::wrap(StreamBody::new(frames))
}

impl Client {
    /// Submits a job; `query` has the parameters of `POST /v1/jobs`, and `body` makes the lines for
    /// each try, or returns `None` if they cannot be sent again. With the idempotency key, a failed
    /// request is repeated.
    ///
    /// # Errors
    /// [`ClientError`] after the last retry.
    pub async fn submit_job(
        &self,
        query: &[(&str, String)],
        key: &str,
        mut body: impl FnMut() -> Option<Body>,
    ) -> Result<JobBody, ClientError> {
        let call = self
            .call(Method::POST, &["v1", "jobs"], query)?
            .header("idempotency-key", key)
            .header("content-type", "application/x-ndjson");
        let make = || Some(call.try_clone()?.body(body()?));
        self.send_made(make, true).await
    }

    /// Submits a replay of grades; `query` has the parameters of `GET /v1/grades` that select them.
    /// With the idempotency key, a failed request is repeated.
    ///
    /// # Errors
    /// [`ClientError`] after the last retry.
    pub async fn submit_replay(
        &self,
        query: &[(&str, String)],
        request: &ReplayJobRequest,
        key: &str,
    ) -> Result<JobBody, ClientError> {
        let call = self
            .call(Method::POST, &["v1", "jobs", "replay"], query)?
            .header("idempotency-key", key)
            .json(request);
        self.send(call, true).await
    }

    /// Returns a page of jobs, newest first; `query` has the parameters of `GET /v1/jobs`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn jobs(&self, query: &[(&str, String)]) -> Result<JobsBody, ClientError> {
        self.read(&["v1", "jobs"], query).await
    }

    /// Returns a job.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn job(&self, id: &str) -> Result<JobBody, ClientError> {
        self.read(&["v1", "jobs", id], &[]).await
    }

    /// Cancels a job.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn cancel_job(&self, id: &str) -> Result<JobBody, ClientError> {
        let call = self.call(Method::DELETE, &["v1", "jobs", id], &[])?;
        self.send(call, true).await
    }

    /// Returns about `limit` results of a job, from the position `after` on.
    ///
    /// # Errors
    /// [`ClientError`]; also if the reply is incomplete.
    pub async fn job_results(
        &self,
        id: &str,
        after: u32,
        limit: u32,
    ) -> Result<JobResults, ClientError> {
        let query = [("after", after.to_string()), ("limit", limit.to_string())];
        let call = self.call(Method::GET, &["v1", "jobs", id, "results"], &query)?;
        self.send_read(|| call.try_clone(), true, results).await
    }
}

/// Reads a reply with results.
fn results(body: &Bytes) -> Result<JobResults, String> {
    let text = body.strip_suffix(b"\n").ok_or("the reply is incomplete")?;
    let last = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
    match serde_json::from_slice(&text[last..]).map_err(|error| error.to_string())? {
        LastJobLine::Page { next, state } => Ok(JobResults {
            lines: body.slice(..last),
            next,
            state,
        }),
        LastJobLine::Error { error } => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_ends_with_its_last_line() {
        let read = |text: &'static str| results(&Bytes::from_static(text.as_bytes()));
        let page = "{\"type\":\"page\",\"next\":3,\"state\":\"running\"}\n";
        let whole = results(&Bytes::from(format!("{{\"id\":1}}\n{{}}\n{page}"))).unwrap();
        assert_eq!(&whole.lines[..], b"{\"id\":1}\n{}\n");
        assert_eq!((whole.next, &*whole.state), (Some(3), "running"));
        assert!(read(page).unwrap().lines.is_empty());
        assert!(read("").is_err() && read("{\"id\":1}\n").is_err() && read("{\"type\":").is_err());
        let failed = "{\"type\":\"error\",\"error\":{\"code\":\"store_unavailable\",\
                      \"message\":\"locked\",\"retryable\":true}}\n";
        assert_eq!(read(failed).unwrap_err(), "store_unavailable: locked");
    }
}
