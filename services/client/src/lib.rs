//! Owns the typed HTTP client: one pooled session, retries where they are safe, order kept. Grades
//! nothing.

mod causes;
pub mod hub;
mod retry;

use std::time::Duration;

use assay_wire::channels::{
    AdjudicateRequest, AdjudicationBody, CalibrationBody, ChannelsBody, ComparisonBody, DrawnBody,
    PoliciesBody, SuggestRequest, SuggestionsBody,
};
use assay_wire::checks::{CheckBody, CheckReport};
use assay_wire::grades::{GradeDetail, GradersBody, GradesBody, ReplayBody};
use assay_wire::pairs::{CollectedBody, PairsBody, PairsRequest};
use assay_wire::reply::GradeReply;
use assay_wire::reward_models::{LoadRequest, ModelBody, RewardModelsBody, UnloadedBody};
use assay_wire::runs::{RunDetail, RunsBody};
use assay_wire::scoring::{ScoreReply, ScoreRequest};
use assay_wire::{GradeRequest, Problem, ProblemBody};
use reqwest::{Method, RequestBuilder, StatusCode, Url, header};
use serde::de::DeserializeOwned;

pub use causes::with_causes;
pub use retry::Retry;

/// A request failed for good.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The base address is no URL.
    #[error("`{url}` is no URL of a server, as in `http://127.0.0.1:8080`: {reason}")]
    BadUrl {
        /// What was given.
        url: String,
        /// Why.
        reason: String,
    },
    /// The server cannot be reached or broke off.
    #[error("the request to `{url}` failed")]
    Transport {
        /// Where.
        url: Url,
        /// Why.
        #[source]
        error: reqwest::Error,
    },
    /// The server refused.
    #[error("{problem}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// Why and where.
        problem: Problem,
    },
    /// The server answered something else than the protocol says.
    #[error("{url} answered {status} with a body that is not the service's: {reason}")]
    Unexpected {
        /// Where.
        url: Url,
        /// HTTP status.
        status: u16,
        /// What does not fit.
        reason: String,
    },
}

/// A report that is not kept by then is not waited for: nothing has to be graded for it.
const KEPT_WITHIN: Duration = Duration::from_secs(60);

/// A connection to one server. Cheap to clone: clones share the pool.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    retry: Retry,
}

impl Client {
    /// A client of the server at `base`.
    ///
    /// # Errors
    /// [`ClientError::BadUrl`].
    pub fn new(base: &str, retry: Retry) -> Result<Self, ClientError> {
        let bad = |reason: String| ClientError::BadUrl {
            url: base.to_owned(),
            reason,
        };
        // A base without a trailing slash would lose its last segment when paths are joined.
        let base_url = Url::parse(&format!("{}/", base.trim_end_matches('/')))
            .map_err(|error| bad(error.to_string()))?;
        if !matches!(base_url.scheme(), "http" | "https") {
            return Err(bad(
                "it starts with neither `http://` nor `https://`".to_owned()
            ));
        }
        // The first provider installed serves the whole process; a second try is no error.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .build()
            .map_err(|error| bad(error.to_string()))?;
        Ok(Self {
            http,
            base: base_url,
            retry,
        })
    }

    /// Grades a batch. Under a key it is safe to send again, so it is retried; without one, only
    /// when it was refused.
    ///
    /// # Errors
    /// [`ClientError`] once retries are used up.
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

    /// What the server can grade.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn graders(&self) -> Result<GradersBody, ClientError> {
        self.send(self.call(Method::GET, "v1/graders", &[])?, true)
            .await
    }

    /// A page of grades; `query` holds the parameters of `GET /v1/grades`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn grades(&self, query: &[(&str, String)]) -> Result<GradesBody, ClientError> {
        self.send(self.call(Method::GET, "v1/grades", query)?, true)
            .await
    }

    /// One grade with what it was made from.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn get(&self, grade: &str) -> Result<GradeDetail, ClientError> {
        self.send(
            self.call(Method::GET, &format!("v1/grades/{grade}"), &[])?,
            true,
        )
        .await
    }

    /// A stored item graded again by the server.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn replay(&self, grade: &str) -> Result<ReplayBody, ClientError> {
        self.send(
            self.call(Method::POST, &format!("v1/grades/{grade}/replay"), &[])?,
            true,
        )
        .await
    }

    /// The runs in the record.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn runs(&self) -> Result<RunsBody, ClientError> {
        self.send(self.call(Method::GET, "v1/runs", &[])?, true)
            .await
    }

    /// One run with its highest `steps` steps.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn run(&self, run: &str, steps: usize) -> Result<RunDetail, ClientError> {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["v1", "runs", run]);
        }
        url.query_pairs_mut()
            .append_pair("steps", &steps.to_string());
        self.send(self.http.get(url), true).await
    }

    /// What is known of channels.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn channels(&self) -> Result<ChannelsBody, ClientError> {
        self.send(self.call(Method::GET, "v1/channels", &[])?, true)
            .await
    }

    /// What two channels differ in.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn compare(&self, one: &str, other: &str) -> Result<ComparisonBody, ClientError> {
        let query = [("one", one.to_owned()), ("other", other.to_owned())];
        self.send(self.call(Method::GET, "v1/channels/compare", &query)?, true)
            .await
    }

    /// Keeps rates found on labelled data.
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

    /// Draws a grade for an operator; `query` holds the parameters of `POST
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

    /// Keeps an operator's word on a grade.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn adjudicate(
        &self,
        grade: &str,
        word: &AdjudicateRequest,
    ) -> Result<AdjudicationBody, ClientError> {
        self.send(
            self.call(Method::POST, &format!("v1/grades/{grade}/adjudicate"), &[])?
                .json(word),
            false,
        )
        .await
    }

    /// Keeps the report of a check of datasets.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn record_check(&self, report: &CheckReport) -> Result<CheckBody, ClientError> {
        let call = self.call(Method::POST, "v1/checks", &[])?.json(report);
        self.send(call.timeout(KEPT_WITHIN), false).await
    }

    /// The policies of the server.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn policies(&self) -> Result<PoliciesBody, ClientError> {
        self.send(self.call(Method::GET, "v1/policies", &[])?, true)
            .await
    }

    /// Which prompts to sample next.
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

    /// The reward models of the server.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn reward_models(&self) -> Result<RewardModelsBody, ClientError> {
        self.send(self.call(Method::GET, "v1/reward-models", &[])?, true)
            .await
    }

    /// Loads a reward model under a name, or replaces the one there; answers when it is ready.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn load_model(
        &self,
        name: &str,
        request: &LoadRequest,
    ) -> Result<ModelBody, ClientError> {
        self.send(
            self.of_model(Method::PUT, name, None, &[])?.json(request),
            true,
        )
        .await
    }

    /// Takes a reward model away.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn unload_model(&self, name: &str) -> Result<UnloadedBody, ClientError> {
        self.send(self.of_model(Method::DELETE, name, None, &[])?, false)
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
            self.of_model(Method::POST, name, Some("score"), &[])?
                .json(request),
            true,
        )
        .await
    }

    /// Collects pairs for a reward model. The same pair is kept once, so it is safe to send again.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn collect_pairs(
        &self,
        name: &str,
        request: &PairsRequest,
    ) -> Result<CollectedBody, ClientError> {
        self.send(
            self.of_model(Method::POST, name, Some("pairs"), &[])?
                .json(request),
            true,
        )
        .await
    }

    /// A page of pairs; `query` holds `after` and `limit`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn pairs(
        &self,
        name: &str,
        query: &[(&str, String)],
    ) -> Result<PairsBody, ClientError> {
        self.send(
            self.of_model(Method::GET, name, Some("pairs"), query)?,
            true,
        )
        .await
    }

    /// A call on a reward model, whose name may hold what separates segments of a path.
    fn of_model(
        &self,
        method: Method,
        name: &str,
        what: Option<&str>,
        query: &[(&str, String)],
    ) -> Result<RequestBuilder, ClientError> {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty()
                .extend(["v1", "reward-models", name])
                .extend(what);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(self.http.request(method, url))
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
        Ok(self.http.request(method, url))
    }

    async fn send<T: DeserializeOwned>(
        &self,
        call: RequestBuilder,
        repeatable: bool,
    ) -> Result<T, ClientError> {
        let mut tries = 0;
        loop {
            let Some(attempt) = call.try_clone() else {
                return Err(ClientError::BadUrl {
                    url: self.base.to_string(),
                    reason: "the body is a stream".to_owned(),
                });
            };
            let (error, wait) = match self.attempt(attempt).await {
                Ok(value) => return Ok(value),
                Err(failed) => failed,
            };
            let refused = matches!(
                &error,
                ClientError::Refused {
                    status: 429 | 503,
                    ..
                }
            );
            let unsent =
                matches!(&error, ClientError::Transport { error, .. } if error.is_connect());
            let broken = matches!(&error, ClientError::Transport { .. });
            let again = refused || unsent || (repeatable && broken);
            let Some(pause) = self.retry.pause(tries, wait).filter(|_| again) else {
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
            (
                ClientError::Transport {
                    url,
                    error: error.without_url(),
                },
                None,
            )
        };
        let response = call.send().await.map_err(transport)?;
        let (status, url) = (response.status(), response.url().clone());
        let wait = response
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
        let ProblemBody { error: problem } =
            serde_json::from_slice(&body).map_err(|error| unexpected(&error))?;
        Err((
            ClientError::Refused {
                status: status.as_u16(),
                problem,
            },
            wait,
        ))
    }
}
