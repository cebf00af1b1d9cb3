//! What completions earned. Owns the way to the service, over HTTP or in this process, and what is
//! done when it is away, refuses or cannot grade; makes no advantage of its own.
//!
//! Both ways send the same bytes to the same routes, so their results are the same. A completion
//! that is not graded has no number: it is masked, never worth 0.

mod batches;
mod call;
mod judge;
mod preflight;

use std::sync::Arc;
use std::time::Duration;

use assay_client::{Client, ClientError, Retry};
use assay_core::{ErrorCode, Hash, Random};
use assay_node::{Config, Node, NodeError};
use assay_wire::channels::{SuggestRequest, SuggestionBody};
use assay_wire::reply::GradeReply;
use assay_wire::{GradeRequest, ItemRequest, Problem};
use serde_json::Value;
use tokio::time::Instant;

use self::batches::{Batch, batches, groups, halves};
use self::call::{CallError, Embedded, Way};
use self::judge::Collected;

pub use self::judge::{Fault, Group, Judged, Judgement, Outcome, Submission};
pub use self::preflight::{Sample, samples};

/// First word of the random stream that permutes results: "shuffled" in ASCII.
const SHUFFLED: u64 = 0x7368_7566_666c_6564;

/// How the service is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Most items of one request. Larger batches are sent in several, cut between groups; a group
    /// larger than this is sent alone.
    pub batch_items: usize,
    /// How long a service that is away is waited for before the run ends.
    pub timeout: Duration,
    /// Longest wait for one answer; after it the service counts as away, and the same request is
    /// sent again.
    pub answer: Duration,
    /// Seed of a permutation of all results of a batch, done before anyone reads them: the control
    /// of an experiment, in which rewards keep their distribution and lose what they say. For
    /// nothing else.
    pub shuffled: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            batch_items: 4_096,
            timeout: Duration::from_secs(300),
            answer: Duration::from_secs(600),
            shuffled: None,
        }
    }
}

/// Why there are no rewards.
#[derive(Debug, thiserror::Error)]
pub enum RewardsError {
    /// The address is no URL of a server.
    #[error(transparent)]
    Address(ClientError),
    /// The service cannot be started in this process.
    #[error("the embedded service does not start: {0}")]
    Embedded(#[from] NodeError),
    /// The service was away for longer than was waited.
    #[error("the service was away for {} s: {reason}; resume the run when it is back", waited.as_secs())]
    Away {
        /// How long it was waited for.
        waited: Duration,
        /// What the last request ended in.
        reason: String,
    },
    /// The service refused the request.
    #[error("the service refused the request: {0}")]
    Refused(Problem),
    /// One group is more than the service takes at once.
    #[error(
        "group `{group}` alone is more than the service takes in one request ({problem}); make \
         groups smaller"
    )]
    GroupTooLarge {
        /// Its name.
        group: String,
        /// What the service said.
        problem: Problem,
    },
    /// The answer is not that of an Assay service.
    #[error("{0}")]
    Unexpected(String),
    /// The service cannot grade what the data holds.
    #[error("the service does not grade the data: {0}")]
    Preflight(String),
}

/// The service that grades, and how it is asked.
pub struct Rewards {
    way: Arc<Way>,
    settings: Settings,
    retry: Retry,
}

impl Rewards {
    /// The service at a URL, as `http://127.0.0.1:8080`.
    ///
    /// # Errors
    /// [`RewardsError::Address`].
    pub fn served(url: &str, settings: Settings) -> Result<Self, RewardsError> {
        // One loop waits for the service: the one below, which has timeout and says so.
        let never = Retry {
            times: 0,
            ..Retry::default()
        };
        let client = Client::new(url, never).map_err(RewardsError::Address)?;
        Ok(Self::over(Way::Served(client), settings))
    }

    /// A service in this process, without a socket. Its reward models are loaded when this returns.
    ///
    /// # Errors
    /// [`RewardsError::Embedded`].
    pub async fn embedded(config: Config, settings: Settings) -> Result<Self, RewardsError> {
        let node = Node::start(config).await?;
        node.load_models().await?;
        Ok(Self::over(
            Way::Embedded(Box::new(Embedded::new(node)?)),
            settings,
        ))
    }

    fn over(way: Way, settings: Settings) -> Self {
        Self {
            way: Arc::new(way),
            settings,
            retry: Retry {
                times: u32::MAX,
                ..Retry::default()
            },
        }
    }

    /// Grades what was written at one step of a run. Results have the order of the submissions.
    ///
    /// - `policy` is the name of one of the service's policies. Of `statistics`, those that are one
    ///   number a member are named advantages: the first of them stands in [`Judged::advantage`].
    /// - The same call made again, by a retry or a resumed run, has the same idempotency keys: a
    ///   service with a record answers it with the bytes it kept and records nothing twice.
    /// - A task that the service refuses is set aside with all items that share it; the others are
    ///   graded.
    /// - Items whose fault may pass are asked again once, each alone. Their group was closed
    ///   without them, so they have a score and no number that is relative to others.
    ///
    /// # Errors
    /// [`RewardsError`], all but those of starting. Nothing of the step is lost: what was graded is
    /// in the record, under its keys.
    pub async fn grade(
        &self,
        run: &str,
        step: u64,
        policy: Option<&str>,
        statistics: &[String],
        submissions: &[Submission<'_>],
    ) -> Result<Judgement, RewardsError> {
        let head = GradeRequest {
            run: Some(run.to_owned()),
            // Steps beyond what the record can hold are never reached.
            step: i64::try_from(step).ok(),
            policy: policy.map(|name| Value::String(name.to_owned())),
            statistics: statistics.to_vec(),
            items: Vec::new(),
        };
        let mut collected = Collected::new(submissions.len());
        let mut waiting = batches(groups(submissions), self.settings.batch_items);
        while let Some(batch) = waiting.pop_front() {
            if let Some((first, second)) =
                self.ask(&head, submissions, batch, &mut collected).await?
            {
                waiting.push_front(second);
                waiting.push_front(first);
            }
        }
        self.ask_again(&head, submissions, &mut collected).await?;
        if let Some(seed) = self.settings.shuffled {
            collected.shuffle(&mut Random::stream(&[SHUFFLED, seed, step]));
        }
        Ok(collected.close(submissions))
    }

    /// Grades whole groups in one request. Returns the batch in halves where it is more than the
    /// service takes.
    async fn ask(
        &self,
        head: &GradeRequest,
        submissions: &[Submission<'_>],
        batch: Batch,
        collected: &mut Collected,
    ) -> Result<Option<(Batch, Batch)>, RewardsError> {
        let mut positions: Vec<usize> = batch.iter().flatten().copied().collect();
        while !positions.is_empty() {
            let items = positions
                .iter()
                .map(|at| submissions[*at].to_item())
                .collect();
            let problem = match self
                .send(GradeRequest {
                    items,
                    ..head.clone()
                })
                .await
            {
                Ok(reply) => {
                    collected.take(&positions, submissions, &head.statistics, &reply);
                    return Ok(None);
                }
                Err(RewardsError::Refused(problem)) => problem,
                Err(error) => return Err(error),
            };
            if matches!(
                problem.code,
                ErrorCode::TooManyItems | ErrorCode::BodyTooLarge
            ) {
                let group = positions
                    .first()
                    .map(|at| submissions[*at].group.clone())
                    .unwrap_or_default();
                return halves(batch)
                    .map(Some)
                    .ok_or(RewardsError::GroupTooLarge { group, problem });
            }
            let Some(refused) = task_of(&problem).and_then(|at| positions.get(at)) else {
                return Err(RewardsError::Refused(problem));
            };
            let task = submissions[*refused].task.get();
            positions.retain(|at| {
                let shared = submissions[*at].task.get() == task;
                if shared {
                    collected.results[*at] = Judged::refused(&problem);
                }
                !shared
            });
        }
        Ok(None)
    }

    /// Asks once more for items whose fault may pass.
    async fn ask_again(
        &self,
        head: &GradeRequest,
        submissions: &[Submission<'_>],
        collected: &mut Collected,
    ) -> Result<(), RewardsError> {
        let failed: Vec<usize> = (0..submissions.len())
            .filter(|at| collected.results[*at].retryable)
            .collect();
        for positions in failed.chunks(self.settings.batch_items.max(1)) {
            let items = positions.iter().map(|at| ItemRequest {
                group: None,
                ..submissions[*at].to_item()
            });
            let request = GradeRequest {
                items: items.collect(),
                statistics: Vec::new(),
                ..head.clone()
            };
            let reply = self.send(request).await?;
            for (at, result) in positions.iter().zip(&reply.results) {
                collected.results[*at] = Judged::alone(result);
            }
        }
        Ok(())
    }

    /// Sends a batch under the key that its run, step and content make.
    async fn send(&self, request: GradeRequest) -> Result<GradeReply<'static>, RewardsError> {
        let body = serde_json::to_vec(&request)
            .map_err(|error| RewardsError::Unexpected(error.to_string()))?;
        let run = request.run.as_deref().unwrap_or_default();
        let step = request.step.unwrap_or_default().to_le_bytes();
        let key = Hash::of_parts(&[run.as_bytes(), &step, &body]).to_string();
        let reply = self.patiently(|| self.way.grade(&request, &key)).await?;
        let (sent, got) = (request.items.len(), reply.results.len());
        if sent != got {
            return Err(RewardsError::Unexpected(format!(
                "{sent} items were sent and {got} results came back"
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
                "the result of `{sent}` is that of `{got}`"
            )));
        }
        let odd = |score: f64| !(0.0..=1.0).contains(&score);
        if let Some(result) = reply
            .results
            .iter()
            .find(|result| result.score.is_some_and(odd))
        {
            let (id, score) = (
                result.id.as_deref().unwrap_or_default(),
                result.score.unwrap_or_default(),
            );
            return Err(RewardsError::Unexpected(format!(
                "`{id}` has the score {score}; scores are from 0 to 1"
            )));
        }
        Ok(reply)
    }

    /// Which prompts to sample next, best first; empty where the service keeps no record or cannot
    /// read it now.
    ///
    /// # Errors
    /// [`RewardsError::Away`], [`RewardsError::Refused`] with the field that is wrong,
    /// [`RewardsError::Unexpected`].
    pub async fn suggest(
        &self,
        request: &SuggestRequest,
    ) -> Result<Vec<SuggestionBody>, RewardsError> {
        let asked = || async {
            match self.way.suggest(request).await {
                Err(CallError::Away {
                    code: Some(ErrorCode::StoreUnavailable),
                    ..
                }) => Ok(Vec::new()),
                other => Ok(other?.prompts),
            }
        };
        self.patiently(asked).await
    }

    /// Stops an embedded service: what was graded is in its record then.
    ///
    /// Does nothing while others from [`Rewards::with`] are there.
    pub async fn stop(self) {
        if let Some(way) = Arc::into_inner(self.way) {
            way.stop().await;
        }
    }

    /// The same service, asked otherwise.
    #[must_use]
    pub fn with(&self, settings: Settings) -> Self {
        Self {
            way: Arc::clone(&self.way),
            settings,
            retry: self.retry,
        }
    }

    /// Makes a call until it is answered or timeout ends, with pauses that grow from 0.2 to 20 s.
    async fn patiently<T, F: Future<Output = Result<T, CallError>>>(
        &self,
        call: impl Fn() -> F,
    ) -> Result<T, RewardsError> {
        let mut away: Option<Instant> = None;
        let mut tries = 0;
        loop {
            let reason = match tokio::time::timeout(self.settings.answer, call()).await {
                Ok(Ok(value)) => {
                    if let Some(since) = away {
                        tracing::info!(seconds = since.elapsed().as_secs(), "the service is back");
                    }
                    return Ok(value);
                }
                Ok(Err(CallError::Away { reason, .. })) => reason,
                Ok(Err(CallError::Refused(problem))) => return Err(RewardsError::Refused(problem)),
                Ok(Err(CallError::Unexpected(reason))) => {
                    return Err(RewardsError::Unexpected(reason));
                }
                Err(_) => format!("no answer came within {} s", self.settings.answer.as_secs()),
            };
            if away.is_none() {
                tracing::warn!(
                    reason,
                    timeout_s = self.settings.timeout.as_secs(),
                    "the service is away; waiting"
                );
            }
            let since = *away.get_or_insert_with(Instant::now);
            let left = self.settings.timeout.saturating_sub(since.elapsed());
            let Some(pause) = self.retry.pause(tries, None).filter(|_| !left.is_zero()) else {
                return Err(RewardsError::Away {
                    waited: since.elapsed(),
                    reason,
                });
            };
            // The last try is made when timeout ends, not a pause after it.
            tokio::time::sleep(pause.min(left)).await;
            tries += 1;
        }
    }
}

/// Position of the item whose task a problem points to.
fn task_of(problem: &Problem) -> Option<usize> {
    let (at, field) = problem
        .pointer
        .as_deref()?
        .strip_prefix("/items/")?
        .split_once('/')?;
    (field == "task" || field.starts_with("task/")).then(|| at.parse().ok())?
}

#[cfg(test)]
mod tests;
