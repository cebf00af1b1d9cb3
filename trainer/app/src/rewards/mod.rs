//! Rewards of completions. Owns the connection to the service, over HTTP or in this process, and
//! the handling of unavailable services, rejected requests and failed items. Computes no
//! advantages.
//!
//! Both connections send the same bytes to the same routes, so their results are equal. An
//! ungraded completion has no numbers: it is masked and never counts as 0.

mod connection;
mod preflight;
mod requests;
mod results;
mod submission;

use std::sync::Arc;
use std::time::Duration;

use assay_base::Random;
use assay_client::{Client, ClientError, Retry};
use assay_core::{ErrorCode, Hash};
use assay_node::{Config, Node, NodeError};
use assay_wire::channels::{SuggestRequest, SuggestionBody};
use assay_wire::reply::GradeReply;
use assay_wire::{GradeRequest, ItemRequest, Problem};
use serde_json::Value;
use tokio::time::Instant;

use self::connection::{CallError, Connection, EmbeddedService};
use self::requests::{GroupIndices, groups, halves, split};
use self::results::ResultCollector;

pub use self::preflight::{Sample, samples};
pub use self::results::{FaultCount, GroupResult, ItemResult, Outcome, StepResults};
pub use self::submission::Submission;

/// Random stream of the permutation of results: "shuffled" in ASCII.
const SHUFFLED: u64 = 0x7368_7566_666c_6564;

/// How requests are sent to the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Maximum number of items per request. Larger batches are split between groups; a larger group
    /// is sent in a separate request.
    pub batch_items: usize,
    /// Time to wait for an unavailable service before the run ends.
    pub timeout: Duration,
    /// Time to wait for one response. Afterwards the service counts as unavailable, and the same
    /// request is sent again.
    pub response_timeout: Duration,
    /// Seed of a permutation of the results of each batch. The rewards keep their distribution but
    /// lose their meaning: the control of an experiment.
    pub shuffled: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            batch_items: 4_096,
            timeout: Duration::from_secs(300),
            response_timeout: Duration::from_secs(600),
            shuffled: None,
        }
    }
}

/// Why rewards could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum RewardsError {
    /// The URL of the service is invalid.
    #[error(transparent)]
    Address(ClientError),
    /// The embedded service cannot be started.
    #[error("cannot start the embedded service: {0}")]
    Embedded(#[from] NodeError),
    /// The service was unavailable for longer than the timeout.
    #[error(
        "the service was unavailable for {} s: {reason}; resume the run with `--resume` when it is \
         back",
        waited.as_secs()
    )]
    Unavailable {
        /// The time waited.
        waited: Duration,
        /// The error of the last request.
        reason: String,
    },
    /// The service rejected the request.
    #[error("the service rejected the request: {0}")]
    Rejected(Problem),
    /// A group exceeds the request limits of the service.
    #[error(
        "group `{group}` exceeds the request limits of the service ({problem}); use fewer samples \
         per group"
    )]
    GroupTooLarge {
        /// Name of the group.
        group: String,
        /// The error of the service.
        problem: Problem,
    },
    /// The response is not a valid one of Assay.
    #[error("{0}")]
    Unexpected(String),
    /// The service cannot grade the tasks of the data.
    #[error("the service cannot grade the data: {0}")]
    Preflight(String),
}

/// The service that grades, with the settings of requests.
pub struct Rewards {
    connection: Arc<Connection>,
    settings: Settings,
    retry: Retry,
}

impl Rewards {
    /// Connects to the service at a URL, for example `http://127.0.0.1:8080`.
    ///
    /// # Errors
    /// [`RewardsError::Address`].
    pub fn served(url: &str, settings: Settings) -> Result<Self, RewardsError> {
        // Retries are disabled in the client: `with_retries` repeats calls, with a timeout and a
        // log.
        let never = Retry {
            times: 0,
            ..Retry::default()
        };
        let client = Client::new(url, never).map_err(RewardsError::Address)?;
        Ok(Self::over(Connection::Http(client), settings))
    }

    /// Starts a service in this process, without a socket, and loads its reward models.
    ///
    /// # Errors
    /// [`RewardsError::Embedded`].
    pub async fn embedded(config: Config, settings: Settings) -> Result<Self, RewardsError> {
        let node = Node::start(config).await?;
        node.load_models().await?;
        Ok(Self::over(
            Connection::Embedded(Box::new(EmbeddedService::new(node)?)),
            settings,
        ))
    }

    fn over(connection: Connection, settings: Settings) -> Self {
        Self {
            connection: Arc::new(connection),
            settings,
            retry: Retry {
                times: u32::MAX,
                ..Retry::default()
            },
        }
    }

    /// Grades the completions of one step of a run. Results are in the order of the submissions.
    ///
    /// - `policy` is the name of a reward policy of the service. The first of `statistics` that has
    ///   one number per member is stored in [`ItemResult::statistic`].
    /// - A repeated call, by a retry or a resumed run, has the same idempotency keys: a service
    ///   with a record replies with the same bytes and records nothing twice.
    /// - If the service rejects a task, all items with that task are ungradable; the others are
    ///   graded.
    /// - Items with retryable errors are sent again once, without their group. They get a score,
    ///   but no number that is relative to the group, because the group was graded without them.
    ///
    /// # Errors
    /// [`RewardsError`], except those of starting. Completed requests are in the record of the
    /// service, under their keys.
    pub async fn grade(
        &self,
        run: &str,
        step: u64,
        policy: Option<&str>,
        statistics: &[String],
        submissions: &[Submission<'_>],
    ) -> Result<StepResults, RewardsError> {
        let head = GradeRequest {
            run: Some(run.to_owned()),
            // Steps beyond the range of the record are never reached.
            step: i64::try_from(step).ok(),
            policy: policy.map(|name| Value::String(name.to_owned())),
            statistics: statistics.to_vec(),
            ..GradeRequest::default()
        };
        let mut collector = ResultCollector::new(submissions.len());
        let mut pending = split(groups(submissions), self.settings.batch_items);
        while let Some(batch) = pending.pop_front() {
            if let Some((first, second)) = self
                .grade_groups(&head, submissions, batch, &mut collector)
                .await?
            {
                pending.push_front(second);
                pending.push_front(first);
            }
        }
        self.retry_failed(&head, submissions, &mut collector)
            .await?;
        if let Some(seed) = self.settings.shuffled {
            collector.shuffle(&mut Random::stream(&[SHUFFLED, seed, step]));
        }
        Ok(collector.finish(submissions))
    }

    /// Grades whole groups in one request. Returns the groups in two halves if they exceed the
    /// request limits of the service.
    async fn grade_groups(
        &self,
        head: &GradeRequest,
        submissions: &[Submission<'_>],
        batch: GroupIndices,
        collector: &mut ResultCollector,
    ) -> Result<Option<(GroupIndices, GroupIndices)>, RewardsError> {
        let mut indices: Vec<usize> = batch.iter().flatten().copied().collect();
        while !indices.is_empty() {
            let items = indices
                .iter()
                .map(|index| submissions[*index].to_item())
                .collect();
            let problem = match self
                .send(GradeRequest {
                    items,
                    ..head.clone()
                })
                .await
            {
                Ok(reply) => {
                    collector.add(&indices, submissions, &head.statistics, &reply);
                    return Ok(None);
                }
                Err(RewardsError::Rejected(problem)) => problem,
                Err(error) => return Err(error),
            };
            if matches!(
                problem.code,
                ErrorCode::TooManyItems | ErrorCode::BodyTooLarge
            ) {
                let group = indices
                    .first()
                    .map(|index| submissions[*index].group.clone())
                    .unwrap_or_default();
                return halves(batch)
                    .map(Some)
                    .ok_or(RewardsError::GroupTooLarge { group, problem });
            }
            let Some(rejected) = task_of(&problem).and_then(|item| indices.get(item)) else {
                return Err(RewardsError::Rejected(problem));
            };
            let task = submissions[*rejected].task.get();
            indices.retain(|index| {
                let same_task = submissions[*index].task.get() == task;
                if same_task {
                    collector.items[*index] = ItemResult::rejected(&problem);
                }
                !same_task
            });
        }
        Ok(None)
    }

    /// Sends items with retryable errors again, without their group.
    async fn retry_failed(
        &self,
        head: &GradeRequest,
        submissions: &[Submission<'_>],
        collector: &mut ResultCollector,
    ) -> Result<(), RewardsError> {
        let failed: Vec<usize> = (0..submissions.len())
            .filter(|index| collector.items[*index].retryable)
            .collect();
        for indices in failed.chunks(self.settings.batch_items.max(1)) {
            let items = indices.iter().map(|index| ItemRequest {
                group: None,
                ..submissions[*index].to_item()
            });
            let request = GradeRequest {
                items: items.collect(),
                statistics: Vec::new(),
                ..head.clone()
            };
            let reply = self.send(request).await?;
            for (index, result) in indices.iter().zip(&reply.results) {
                collector.items[*index] = ItemResult::without_group(result);
            }
        }
        Ok(())
    }

    /// Sends a request with an idempotency key of run, step and content, and validates the reply.
    async fn send(&self, request: GradeRequest) -> Result<GradeReply<'static>, RewardsError> {
        let body = serde_json::to_vec(&request)
            .map_err(|error| RewardsError::Unexpected(error.to_string()))?;
        let run = request.run.as_deref().unwrap_or_default();
        let step = request.step.unwrap_or_default().to_le_bytes();
        let key = Hash::of_parts(&[run.as_bytes(), &step, &body]).to_string();
        let reply = self
            .with_retries(|| self.connection.grade(&request, &key))
            .await?;
        let (sent, got) = (request.items.len(), reply.results.len());
        if sent != got {
            return Err(RewardsError::Unexpected(format!(
                "the service returned {got} results for {sent} items"
            )));
        }
        let mut pairs = request.items.iter().zip(&reply.results);
        if let Some((item, result)) =
            pairs.find(|(item, result)| item.id.as_deref() != result.id.as_deref())
        {
            let (sent, got) = (
                item.id.as_deref().unwrap_or_default(),
                result.id.as_deref().unwrap_or_default(),
            );
            return Err(RewardsError::Unexpected(format!(
                "the service returned the result of `{got}` for `{sent}`"
            )));
        }
        let out_of_range = |score: f64| !(0.0..=1.0).contains(&score);
        if let Some(result) = reply
            .results
            .iter()
            .find(|result| result.score.is_some_and(out_of_range))
        {
            let (id, score) = (
                result.id.as_deref().unwrap_or_default(),
                result.score.unwrap_or_default(),
            );
            return Err(RewardsError::Unexpected(format!(
                "the service returned score {score} for `{id}`; scores must be between 0 and 1"
            )));
        }
        Ok(reply)
    }

    /// Prompts to sample next, best first; empty if the service has no record or cannot read it.
    ///
    /// # Errors
    /// [`RewardsError::Unavailable`], [`RewardsError::Rejected`] with the invalid field,
    /// [`RewardsError::Unexpected`].
    pub async fn suggest(
        &self,
        request: &SuggestRequest,
    ) -> Result<Vec<SuggestionBody>, RewardsError> {
        let call = || async {
            match self.connection.suggest(request).await {
                Err(CallError::Unavailable {
                    code: Some(ErrorCode::StoreUnavailable),
                    ..
                }) => Ok(Vec::new()),
                other => Ok(other?.prompts),
            }
        };
        self.with_retries(call).await
    }

    /// Stops an embedded service after its record is complete.
    ///
    /// Does nothing while another value of [`Rewards::with`] uses the service.
    pub async fn stop(self) {
        if let Some(connection) = Arc::into_inner(self.connection) {
            connection.stop().await;
        }
    }

    /// The same service with other settings.
    #[must_use]
    pub fn with(&self, settings: Settings) -> Self {
        Self {
            connection: Arc::clone(&self.connection),
            settings,
            retry: self.retry,
        }
    }

    /// Repeats a call until it succeeds or the timeout expires, with pauses from 0.2 to 20 s.
    async fn with_retries<T, F: Future<Output = Result<T, CallError>>>(
        &self,
        call: impl Fn() -> F,
    ) -> Result<T, RewardsError> {
        let mut unavailable_since: Option<Instant> = None;
        let mut tries = 0;
        let response_timeout = self.settings.response_timeout;
        loop {
            let reason = match tokio::time::timeout(response_timeout, call()).await {
                Ok(Ok(value)) => {
                    if let Some(since) = unavailable_since {
                        let seconds = since.elapsed().as_secs();
                        tracing::info!(seconds, "the service is available again");
                    }
                    return Ok(value);
                }
                Ok(Err(CallError::Unavailable { reason, .. })) => reason,
                Ok(Err(CallError::Rejected(problem))) => {
                    return Err(RewardsError::Rejected(problem));
                }
                Ok(Err(CallError::Unexpected(reason))) => {
                    return Err(RewardsError::Unexpected(reason));
                }
                Err(_) => format!("no response within {} s", response_timeout.as_secs()),
            };
            if unavailable_since.is_none() {
                tracing::warn!(
                    reason,
                    timeout_s = self.settings.timeout.as_secs(),
                    "the service is unavailable; retrying"
                );
            }
            let since = *unavailable_since.get_or_insert_with(Instant::now);
            let left = self.settings.timeout.saturating_sub(since.elapsed());
            let Some(pause) = self.retry.pause(tries, None).filter(|_| !left.is_zero()) else {
                return Err(RewardsError::Unavailable {
                    waited: since.elapsed(),
                    reason,
                });
            };
            // The pause is limited so that the last attempt is made when the timeout expires.
            tokio::time::sleep(pause.min(left)).await;
            tries += 1;
        }
    }
}

/// Index of the item whose task an error points to.
fn task_of(problem: &Problem) -> Option<usize> {
    let (item, field) = problem
        .pointer
        .as_deref()?
        .strip_prefix("/items/")?
        .split_once('/')?;
    (field == "task" || field.starts_with("task/")).then(|| item.parse().ok())?
}

#[cfg(test)]
mod tests;
