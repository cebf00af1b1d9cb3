//! Owns the typed HTTP client: pooled connections, and retries where they are safe. Does not own
//! grading.

mod retry;

use std::error::Error;
use std::time::Duration;

use assay_wire::appeals::AdjudicationBody;
use assay_wire::audit::AuditPageBody;
use assay_wire::channels::{
    AdjudicateRequest, CalibrationBody, ChannelsBody, ComparisonBody, DrawnBody, PoliciesBody,
    SuggestRequest, SuggestionsBody,
};
use assay_wire::checks::{CheckBody, CheckReport};
use assay_wire::grades::{GradeDetail, GradersBody, GradesBody, ReplayBody};
use assay_wire::pairs::{CollectedBody, PairsBody, PairsRequest, RunPairsBody, RunPairsRequest};
use assay_wire::reply::GradeReply;
use assay_wire::reward_models::{LoadRequest, ModelBody, RewardModelsBody, UnloadedBody};
use assay_wire::runs::{RunDetail, RunsBody};
use assay_wire::scoring::{ScoreReply, ScoreRequest};
use assay_wire::storage::{PruneReply, PruneRequest, StorageBody};
use assay_wire::{GradeRequest, Problem, ProblemBody};
use opentelemetry::trace::TraceContextExt as _;
use reqwest::{Method, RequestBuilder, StatusCode, Url, header};
use serde::de::DeserializeOwned;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

pub use retry::Retry;

/// A request failed, after retries if they are safe.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The base address is not a valid URL.
    #[error("invalid server URL `{url}`: {reason}; write it as `http://127.0.0.1:8080`")]
    BadUrl {
        /// The given address.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// A name has no place in the path of a URL: `.` and `..` mean folders, even when escaped, and
    /// URLs lose control characters.
    #[error(
        "the name `{}` cannot be part of a URL; names of a record are neither `.` nor `..` and have \
         no control characters",
        .0.escape_debug()
    )]
    BadName(String),
    /// The key cannot be sent.
    #[error("malformed key; it has characters that a header cannot contain")]
    BadKey,
    /// The server cannot be reached, or the connection failed.
    #[error("the request to `{url}` failed")]
    Transport {
        /// URL of the request.
        url: Url,
        /// The cause.
        #[source]
        error: reqwest::Error,
    },
    /// The certificate of the server is not valid, or not known.
    #[error(
        "the certificate of `{url}` is not trusted: {reason}; put it, or that of its authority, \
         into the PEM file that the variable `SSL_CERT_FILE` names"
    )]
    Untrusted {
        /// URL of the request.
        url: Url,
        /// What is wrong with it.
        reason: String,
    },
    /// The server returned an error.
    #[error("{problem}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The error body.
        problem: Problem,
    },
    /// The response does not follow the protocol.
    #[error(
        "{url} returned {status} with an unexpected body: {reason}; check that the URL is that of \
         an Assay server"
    )]
    Unexpected {
        /// URL of the request.
        url: Url,
        /// HTTP status.
        status: u16,
        /// Why the body cannot be parsed.
        reason: String,
    },
}

/// Time limit for storing a report, which does not wait for grading.
const RECORD_TIMEOUT: Duration = Duration::from_secs(60);

/// A client of one server. Cheap to clone: clones share the connection pool.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    retry: Retry,
    /// Value of `Authorization`.
    key: Option<header::HeaderValue>,
}

impl Client {
    /// Creates a client of the server at `base`.
    ///
    /// # Errors
    /// [`ClientError::BadUrl`].
    pub fn new(base: &str, retry: Retry) -> Result<Self, ClientError> {
        let bad_url = |reason: String| ClientError::BadUrl {
            url: base.to_owned(),
            reason,
        };
        // A base without a trailing slash would lose its last segment when paths are joined.
        let base_url = Url::parse(&format!("{}/", base.trim_end_matches('/')))
            .map_err(|error| bad_url(error.to_string()))?;
        if !matches!(base_url.scheme(), "http" | "https") {
            return Err(bad_url("the scheme must be `http` or `https`".to_owned()));
        }
        // Fails if a provider is already installed, which is then used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .build()
            .map_err(|error| bad_url(error.to_string()))?;
        Ok(Self {
            http,
            base: base_url,
            retry,
            key: None,
        })
    }

    /// A client that sends this key.
    ///
    /// # Errors
    /// [`ClientError::BadKey`] if the key has characters that a header cannot contain.
    pub fn with_key(self, key: &str) -> Result<Self, ClientError> {
        let mut value = header::HeaderValue::try_from(format!("Bearer {key}"))
            .map_err(|_| ClientError::BadKey)?;
        value.set_sensitive(true);
        Ok(Self {
            key: Some(value),
            ..self
        })
    }

    /// Grades a batch. With an idempotency key a request is retried after a failed connection too;
    /// without one, only if the server rejected it or was not reached.
    ///
    /// # Errors
    /// [`ClientError`] after the last retry.
    pub async fn grade(
        &self,
        request: &GradeRequest,
        key: Option<&str>,
    ) -> Result<GradeReply<'static>, ClientError> {
        let mut call = self.call(Method::POST, "v1/grade", &[])?.json(request);
        if let Some(key) = key {
            call = call.header("idempotency-key", key);
        }
        self.send(call, key.is_some()).await
    }

    /// Lists the graders of the server.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn graders(&self) -> Result<GradersBody, ClientError> {
        self.send(self.call(Method::GET, "v1/graders", &[])?, true)
            .await
    }

    /// Lists a page of grades; `query` has the parameters of `GET /v1/grades`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn grades(&self, query: &[(&str, String)]) -> Result<GradesBody, ClientError> {
        self.send(self.call(Method::GET, "v1/grades", query)?, true)
            .await
    }

    /// Returns one grade with its task, prompt, completion and policy.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn get(&self, grade: &str) -> Result<GradeDetail, ClientError> {
        self.send(
            self.named_call(Method::GET, &["v1", "grades", grade], &[])?,
            true,
        )
        .await
    }

    /// Grades a stored item again on the server.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn replay(&self, grade: &str) -> Result<ReplayBody, ClientError> {
        self.send(
            self.named_call(Method::POST, &["v1", "grades", grade, "replay"], &[])?,
            true,
        )
        .await
    }

    /// Lists the recorded runs.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn runs(&self) -> Result<RunsBody, ClientError> {
        self.send(self.call(Method::GET, "v1/runs", &[])?, true)
            .await
    }

    /// Returns one run with its highest `steps` steps.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn run(&self, run: &str, steps: usize) -> Result<RunDetail, ClientError> {
        let query = [("steps", steps.to_string())];
        self.send(
            self.named_call(Method::GET, &["v1", "runs", run], &query)?,
            true,
        )
        .await
    }

    /// Returns the storage that the record of the server uses.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn storage(&self) -> Result<StorageBody, ClientError> {
        self.send(self.call(Method::GET, "v1/storage", &[])?, true)
            .await
    }

    /// Lists a page of the audit log, newest entries first, with at most `limit` entries before the
    /// one numbered `before`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn audit_log(
        &self,
        before: Option<i64>,
        limit: u32,
    ) -> Result<AuditPageBody, ClientError> {
        let before = before.map(|before| ("before", before.to_string()));
        let query: Vec<_> = before
            .into_iter()
            .chain([("limit", limit.to_string())])
            .collect();
        self.send(self.call(Method::GET, "v1/audit", &query)?, true)
            .await
    }

    /// Starts a prune on the server, or returns what it would delete.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn prune(&self, request: &PruneRequest) -> Result<PruneReply, ClientError> {
        let call = self.call(Method::POST, "v1/storage/prune", &[])?;
        self.send(call.json(request), false).await
    }

    /// Lists all channels with their error rates, page by page.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn channels(&self) -> Result<ChannelsBody, ClientError> {
        let mut all = ChannelsBody {
            channels: Vec::new(),
            next: None,
        };
        loop {
            let after = all.next.take().map(|next| ("after", next));
            let call = self.call(Method::GET, "v1/channels", after.as_slice())?;
            let page: ChannelsBody = self.send(call, true).await?;
            all.channels.extend(page.channels);
            all.next = page.next;
            if all.next.is_none() {
                return Ok(all);
            }
        }
    }

    /// Compares two channels.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn compare(&self, first: &str, second: &str) -> Result<ComparisonBody, ClientError> {
        let query = [("first", first.to_owned()), ("second", second.to_owned())];
        self.send(self.call(Method::GET, "v1/channels/compare", &query)?, true)
            .await
    }

    /// Stores error rates that were measured on labelled data.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn calibrate(
        &self,
        calibration: &CalibrationBody,
    ) -> Result<CalibrationBody, ClientError> {
        self.send(
            self.call(Method::POST, "v1/channels/calibrations", &[])?
                .json(calibration),
            true,
        )
        .await
    }

    /// Draws a grade for an operator to adjudicate; `query` has the parameters of `POST
    /// /v1/adjudications/next`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn draw(&self, query: &[(&str, String)]) -> Result<DrawnBody, ClientError> {
        self.send(
            self.call(Method::POST, "v1/adjudications/next", query)?,
            false,
        )
        .await
    }

    /// Stores an operator's adjudication of a grade.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn adjudicate(
        &self,
        grade: &str,
        request: &AdjudicateRequest,
    ) -> Result<AdjudicationBody, ClientError> {
        self.send(
            self.named_call(Method::POST, &["v1", "grades", grade, "adjudicate"], &[])?
                .json(request),
            false,
        )
        .await
    }

    /// Stores the report of a dataset check.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn record_check(&self, report: &CheckReport) -> Result<CheckBody, ClientError> {
        let call = self.call(Method::POST, "v1/checks", &[])?.json(report);
        self.send(call.timeout(RECORD_TIMEOUT), false).await
    }

    /// Lists the reward policies of the server.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn policies(&self) -> Result<PoliciesBody, ClientError> {
        self.send(self.call(Method::GET, "v1/policies", &[])?, true)
            .await
    }

    /// Chooses the prompts to sample next.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn suggest(&self, request: &SuggestRequest) -> Result<SuggestionsBody, ClientError> {
        self.send(
            self.call(Method::POST, "v1/prompts/suggest", &[])?
                .json(request),
            true,
        )
        .await
    }

    /// Lists the reward models of the server.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn reward_models(&self) -> Result<RewardModelsBody, ClientError> {
        self.send(self.call(Method::GET, "v1/reward-models", &[])?, true)
            .await
    }

    /// Loads a reward model under a name, or replaces the current one, and returns when it is
    /// ready.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn load_model(
        &self,
        name: &str,
        request: &LoadRequest,
    ) -> Result<ModelBody, ClientError> {
        self.send(
            self.model_call(Method::PUT, name, &[], &[])?.json(request),
            true,
        )
        .await
    }

    /// Unloads a reward model.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn unload_model(&self, name: &str) -> Result<UnloadedBody, ClientError> {
        self.send(self.model_call(Method::DELETE, name, &[], &[])?, false)
            .await
    }

    /// Scores inputs with a reward model.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn score(
        &self,
        name: &str,
        request: &ScoreRequest,
    ) -> Result<ScoreReply, ClientError> {
        self.send(
            self.model_call(Method::POST, name, &["score"], &[])?
                .json(request),
            true,
        )
        .await
    }

    /// Stores preference pairs for a reward model. Retries are safe because duplicates are stored
    /// once.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn collect_pairs(
        &self,
        name: &str,
        request: &PairsRequest,
    ) -> Result<CollectedBody, ClientError> {
        self.send(
            self.model_call(Method::POST, name, &["pairs"], &[])?
                .json(request),
            true,
        )
        .await
    }

    /// Chooses preference pairs from the grades of a run. Retries are safe because duplicates are
    /// stored once.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn collect_pairs_of_run(
        &self,
        name: &str,
        request: &RunPairsRequest,
    ) -> Result<RunPairsBody, ClientError> {
        self.send(
            self.model_call(Method::POST, name, &["pairs", "from-run"], &[])?
                .json(request),
            true,
        )
        .await
    }

    /// Lists a page of pairs; `query` has `after` and `limit`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn pairs(
        &self,
        name: &str,
        query: &[(&str, String)],
    ) -> Result<PairsBody, ClientError> {
        self.send(self.model_call(Method::GET, name, &["pairs"], query)?, true)
            .await
    }

    /// Builds a request for a reward model.
    fn model_call(
        &self,
        method: Method,
        name: &str,
        action: &[&str],
        query: &[(&str, String)],
    ) -> Result<RequestBuilder, ClientError> {
        let path: Vec<&str> = ["v1", "reward-models", name]
            .into_iter()
            .chain(action.iter().copied())
            .collect();
        self.named_call(method, &path, query)
    }

    /// Builds a request whose path contains a name. The name becomes one segment, even if it
    /// contains a separator.
    fn named_call(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<RequestBuilder, ClientError> {
        if let Some(name) = path.iter().find(|name| !assay_wire::fits_path(name)) {
            return Err(ClientError::BadName((*name).to_owned()));
        }
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(self.authorized(self.http.request(method, url)))
    }

    fn call(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
    ) -> Result<RequestBuilder, ClientError> {
        let mut url = self.base.join(path).map_err(|error| ClientError::BadUrl {
            url: path.to_owned(),
            reason: error.to_string(),
        })?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(self.authorized(self.http.request(method, url)))
    }

    fn authorized(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.key {
            Some(key) => request.header(header::AUTHORIZATION, key),
            None => request,
        }
    }

    async fn send<T: DeserializeOwned>(
        &self,
        call: RequestBuilder,
        idempotent: bool,
    ) -> Result<T, ClientError> {
        let mut tries = 0;
        loop {
            let Some(attempt) = call.try_clone() else {
                return Err(ClientError::BadUrl {
                    url: self.base.to_string(),
                    reason: "a streamed body cannot be sent twice".to_owned(),
                });
            };
            let (error, retry_after) = match self.attempt(attempt).await {
                Ok(value) => return Ok(value),
                Err(failed) => failed,
            };
            let rejected = matches!(
                &error,
                ClientError::Refused {
                    status: 429 | 503,
                    ..
                }
            );
            let not_sent =
                matches!(&error, ClientError::Transport { error, .. } if error.is_connect());
            let interrupted = matches!(&error, ClientError::Transport { .. });
            let can_retry = rejected || not_sent || (idempotent && interrupted);
            let Some(pause) = self.retry.pause(tries, retry_after).filter(|_| can_retry) else {
                return Err(error);
            };
            tokio::time::sleep(pause).await;
            tries += 1;
        }
    }

    async fn attempt<T: DeserializeOwned>(
        &self,
        call: RequestBuilder,
    ) -> Result<T, (ClientError, Option<Duration>)> {
        let transport = |error: reqwest::Error| {
            let url = error.url().unwrap_or(&self.base).clone();
            let error = match certificate_error(&error) {
                Some(reason) => ClientError::Untrusted { url, reason },
                None => ClientError::Transport {
                    url,
                    error: error.without_url(),
                },
            };
            (error, None)
        };
        let call = match traceparent() {
            Some(traceparent) => call.header("traceparent", traceparent),
            None => call,
        };
        let response = call.send().await.map_err(transport)?;
        let (status, url) = (response.status(), response.url().clone());
        let retry_after = response
            .headers()
            .get(header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .map(Duration::from_secs);
        let body = response.bytes().await.map_err(transport)?;
        let unexpected = |error: &serde_json::Error| {
            (
                ClientError::Unexpected {
                    url: url.clone(),
                    status: status.as_u16(),
                    reason: error.to_string(),
                },
                None,
            )
        };
        if status == StatusCode::OK {
            return serde_json::from_slice(&body).map_err(|error| unexpected(&error));
        }
        let ProblemBody { error: problem, .. } =
            serde_json::from_slice(&body).map_err(|error| unexpected(&error))?;
        Err((
            ClientError::Refused {
                status: status.as_u16(),
                problem,
            },
            retry_after,
        ))
    }
}

/// Why the certificate of the server was rejected, if it was. A retry would fail in the same way.
fn certificate_error(error: &reqwest::Error) -> Option<String> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(rustls::Error::InvalidCertificate(reason)) = error.downcast_ref() {
            return Some(reason.to_string());
        }
        // `source` of an I/O error skips the error that it wraps.
        let wrapped = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        cause = wrapped
            .map(|wrapped| wrapped as &(dyn Error + 'static))
            .or_else(|| error.source());
    }
    None
}

/// The current span in the format of W3C Trace Context; `None` if spans are not exported.
fn traceparent() -> Option<String> {
    let context = tracing::Span::current().context();
    let span = context.span();
    let span = span.span_context();
    span.is_valid().then(|| {
        let flags = span.trace_flags().to_u8();
        format!("00-{}-{}-{flags:02x}", span.trace_id(), span.span_id())
    })
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing::Instrument as _;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    /// Answers one request with status 200 and `{}`; returns its head.
    fn head_of_one_request(listener: &TcpListener) -> String {
        let (stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(&stream).lines().map(Result::unwrap);
        let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        (&stream)
            .write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}")
            .unwrap();
        head.join("\n")
    }

    #[test]
    fn names_are_one_segment_of_a_path_or_refused() {
        let client = Client::new("http://127.0.0.1:1/base", Retry::default()).unwrap();
        let path = |name: &str| {
            let call = client.named_call(Method::GET, &["v1", "runs", name], &[]);
            call.map(|call| call.build().unwrap().url().path().to_owned())
        };
        for (name, segment) in [
            ("a/b?c#d", "a%2Fb%3Fc%23d"),
            ("a b", "a%20b"),
            ("%2e", "%252e"),
            ("...", "..."),
            ("é", "%C3%A9"),
        ] {
            assert_eq!(path(name).unwrap(), format!("/base/v1/runs/{segment}"));
        }
        for name in [".", "..", "a\nb", "\ta", "\u{7f}"] {
            let error = path(name).unwrap_err();
            assert!(matches!(error, ClientError::BadName(_)), "{error}");
        }
    }

    #[test]
    fn requests_carry_the_current_span() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = std::thread::spawn(move || head_of_one_request(&listener));
        let provider = SdkTracerProvider::builder().build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        let subscriber = tracing_subscriber::registry().with(layer);
        let sent = tracing::subscriber::with_default(subscriber, || {
            let span = tracing::info_span!("step");
            let trace = span.context().span().span_context().trace_id().to_string();
            let client = Client::new(&url, Retry::default()).unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            // The reply is not a valid one of the service, which does not matter here.
            let _ = runtime.block_on(client.graders().instrument(span));
            trace
        });
        let head = served.join().unwrap();
        assert!(
            head.contains(&format!("traceparent: 00-{sent}-")),
            "{head}\n{sent}"
        );
    }
}
