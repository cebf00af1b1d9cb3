//! Owns the typed HTTP client: pooled connections, and retries where they are safe. Does not own
//! grading.

mod error;
mod jobs;
mod retry;
mod send;
mod shadows;

use std::time::Duration;

use assay_wire::GradeRequest;
use assay_wire::adjudications::AdjudicationBody;
use assay_wire::audit::AuditPageBody;
use assay_wire::channels::{
    AdjudicateRequest, CalibrationBody, ChannelsBody, ComparisonBody, DrawnBody, PoliciesBody,
    SuggestRequest, SuggestionsBody,
};
use assay_wire::checks::{CheckBody, CheckReport};
use assay_wire::grades::{GradeDetail, GradersBody, GradesBody, ReceiptKeyBody};
use assay_wire::pairs::{Collected, PairsBody, PairsRequest, RunPairs, RunPairsRequest};
use assay_wire::replays::ReplayBody;
use assay_wire::reply::GradeReply;
use assay_wire::reward_models::{LoadRequest, ModelInfo, RewardModelsBody, UnloadedBody};
use assay_wire::runs::{RunChanges, RunDetail, RunSummary, RunsBody};
use assay_wire::scoring::{ScoreReply, ScoreRequest};
use assay_wire::sessions::{EndedBody, SessionBody, SessionLog, SessionReplay, SessionsBody};
use assay_wire::storage::{PruneReply, PruneRequest, StorageBody};
use reqwest::{Method, Url, header};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

pub use error::ClientError;
pub use jobs::{JobResults, streamed};
pub use retry::Retry;

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
        let mut call = self
            .call(Method::POST, &["v1", "grade"], &[])?
            .json(request);
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
        self.read(&["v1", "graders"], &[]).await
    }

    /// Lists a page of grades; `query` has the parameters of `GET /v1/grades`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn grades(&self, query: &[(&str, String)]) -> Result<GradesBody, ClientError> {
        self.read(&["v1", "grades"], query).await
    }

    /// Returns one grade with its task, prompt, completion and policy.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn get(&self, grade: &str) -> Result<GradeDetail, ClientError> {
        self.read(&["v1", "grades", grade], &[]).await
    }

    /// The signed receipt of a stored grade.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn receipt(&self, grade: &str) -> Result<Box<RawValue>, ClientError> {
        self.read(&["v1", "grades", grade, "receipt"], &[]).await
    }

    /// The public key of the receipts of the server.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn receipt_key(&self) -> Result<ReceiptKeyBody, ClientError> {
        self.read(&["v1", "receipts", "key"], &[]).await
    }

    /// Grades a stored item again on the server.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn replay(&self, grade: &str) -> Result<ReplayBody, ClientError> {
        let call = self.call(Method::POST, &["v1", "grades", grade, "replay"], &[])?;
        self.send(call, true).await
    }

    /// Compares two runs, as the type of `GET /v1/runs/compare`, whose parameters `query` has.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn compare_runs<T: DeserializeOwned>(
        &self,
        query: &[(&str, String)],
    ) -> Result<T, ClientError> {
        self.read(&["v1", "runs", "compare"], query).await
    }

    /// Lists a page of runs; `query` has the parameters of `GET /v1/runs`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn runs(&self, query: &[(&str, String)]) -> Result<RunsBody, ClientError> {
        self.read(&["v1", "runs"], query).await
    }

    /// Changes the tags and the note of a run, or archives it.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn annotate_run(
        &self,
        run: &str,
        changes: &RunChanges,
    ) -> Result<RunSummary, ClientError> {
        let call = self.call(Method::PATCH, &["v1", "runs", run], &[])?;
        self.send(call.json(changes), true).await
    }

    /// Returns one run with its highest `steps` steps.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn run(&self, run: &str, steps: usize) -> Result<RunDetail, ClientError> {
        let query = [("steps", steps.to_string())];
        self.read(&["v1", "runs", run], &query).await
    }

    /// Returns the storage that the record of the server uses.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn storage(&self) -> Result<StorageBody, ClientError> {
        self.read(&["v1", "storage"], &[]).await
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
        self.read(&["v1", "audit"], &query).await
    }

    /// Starts a prune on the server, or returns what it would delete.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn prune(&self, request: &PruneRequest) -> Result<PruneReply, ClientError> {
        self.post(&["v1", "storage", "prune"], request, false).await
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
            let page: ChannelsBody = self.read(&["v1", "channels"], after.as_slice()).await?;
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
        self.read(&["v1", "channels", "compare"], &query).await
    }

    /// Stores error rates that were measured on labelled data.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn calibrate(
        &self,
        calibration: &CalibrationBody,
    ) -> Result<CalibrationBody, ClientError> {
        self.post(&["v1", "channels", "calibrations"], calibration, true)
            .await
    }

    /// Draws a grade for an operator to adjudicate; `query` has the parameters of `POST
    /// /v1/adjudications/next`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn draw(&self, query: &[(&str, String)]) -> Result<DrawnBody, ClientError> {
        let call = self.call(Method::POST, &["v1", "adjudications", "next"], query)?;
        self.send(call, false).await
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
        self.post(&["v1", "grades", grade, "adjudicate"], request, false)
            .await
    }

    /// Stores the report of a dataset check.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn record_check(&self, report: &CheckReport) -> Result<CheckBody, ClientError> {
        let call = self
            .call(Method::POST, &["v1", "checks"], &[])?
            .json(report);
        self.send(call.timeout(RECORD_TIMEOUT), false).await
    }

    /// Lists the reward policies of the server.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn policies(&self) -> Result<PoliciesBody, ClientError> {
        self.read(&["v1", "policies"], &[]).await
    }

    /// Chooses the prompts to sample next.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn suggest(&self, request: &SuggestRequest) -> Result<SuggestionsBody, ClientError> {
        self.post(&["v1", "prompts", "suggest"], request, true)
            .await
    }

    /// Lists the open sessions that the caller sees, page by page.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn sessions(&self) -> Result<Vec<SessionBody>, ClientError> {
        let mut all = Vec::new();
        let mut after = None;
        loop {
            let query: Vec<_> = [("limit", Some("1000".to_owned())), ("after", after)]
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?)))
                .collect();
            let page: SessionsBody = self.read(&["v1", "sessions"], &query).await?;
            all.extend(page.sessions);
            after = page.next;
            if after.is_none() {
                return Ok(all);
            }
        }
    }

    /// Returns a session.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn session(&self, id: &str) -> Result<SessionBody, ClientError> {
        self.read(&["v1", "sessions", id], &[]).await
    }

    /// Returns the log of a session.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn session_log(&self, id: &str) -> Result<SessionLog, ClientError> {
        self.read(&["v1", "sessions", id, "log"], &[]).await
    }

    /// Ends a session.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn end_session(&self, id: &str) -> Result<EndedBody, ClientError> {
        let call = self.call(Method::DELETE, &["v1", "sessions", id], &[])?;
        self.send(call, false).await
    }

    /// Runs the calls of a log again.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn replay_session(&self, log: &SessionLog) -> Result<SessionReplay, ClientError> {
        self.post(&["v1", "sessions", "replay"], log, true).await
    }

    /// Lists the reward models of the server.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn reward_models(&self) -> Result<RewardModelsBody, ClientError> {
        self.read(&["v1", "reward-models"], &[]).await
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
    ) -> Result<ModelInfo, ClientError> {
        let call = self.call(Method::PUT, &["v1", "reward-models", name], &[])?;
        self.send(call.json(request), true).await
    }

    /// Unloads a reward model.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn unload_model(&self, name: &str) -> Result<UnloadedBody, ClientError> {
        let call = self.call(Method::DELETE, &["v1", "reward-models", name], &[])?;
        self.send(call, false).await
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
        self.post(&["v1", "reward-models", name, "score"], request, true)
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
    ) -> Result<Collected, ClientError> {
        self.post(&["v1", "reward-models", name, "pairs"], request, true)
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
    ) -> Result<RunPairs, ClientError> {
        self.post(
            &["v1", "reward-models", name, "pairs", "from-run"],
            request,
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
        self.read(&["v1", "reward-models", name, "pairs"], query)
            .await
    }
}
