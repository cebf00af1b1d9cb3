//! Checks before a run that the service is available, has the graders that the data requires, and
//! grades one task of each type.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::submission::Submission;
use super::{ItemResult, Outcome, Rewards, RewardsError};

/// Channel of preflight items, so that they do not count in a channel of the data.
const CHANNEL: &str = "preflight";

/// Run of preflight items. Because their idempotency keys do not change, a service with a record
/// grades them only once.
const RUN: &str = "preflight";

/// A task of a type, with a completion that should pass if one is known.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Name of the grader.
    pub grader: String,
    /// The prompt.
    pub prompt: String,
    /// The task.
    pub task: Box<RawValue>,
    /// A completion that passes.
    pub solution: Option<String>,
}

#[derive(Deserialize)]
struct TaskType {
    r#type: String,
}

/// The first prompt of each task type, by type; prompts with a solution are preferred. Tasks
/// without a type are ignored.
pub fn samples<'a>(
    prompts: impl IntoIterator<Item = (&'a str, &'a RawValue, Option<&'a str>)>,
) -> Vec<Sample> {
    let mut samples: BTreeMap<String, Sample> = BTreeMap::new();
    for (prompt, task, solution) in prompts {
        let Ok(TaskType { r#type: grader }) = serde_json::from_str(task.get()) else {
            continue;
        };
        let existing = samples.get(&grader);
        if existing.is_some_and(|sample| sample.solution.is_some() || solution.is_none()) {
            continue;
        }
        let (prompt, task, solution) = (
            prompt.to_owned(),
            task.to_owned(),
            solution.map(str::to_owned),
        );
        samples.insert(
            grader.clone(),
            Sample {
                grader,
                prompt,
                task,
                solution,
            },
        );
    }
    samples.into_values().collect()
}

impl Rewards {
    /// Checks that the service has the graders of the samples, and grades the samples with their
    /// solution or an empty completion. A solution that does not pass causes only a warning,
    /// because verifiers can be noisy on purpose.
    ///
    /// # Errors
    /// [`RewardsError::Preflight`] for the first sample that cannot be graded, with the reason; the
    /// errors of [`Rewards::grade`].
    pub async fn preflight(&self, samples: &[Sample]) -> Result<(), RewardsError> {
        let reply = self.with_retries(|| self.connection.graders()).await?;
        for Sample { grader, .. } in samples {
            let fail = |reason: String| Err(RewardsError::Preflight(reason));
            match reply.graders.iter().find(|known| known.name == *grader) {
                Some(known) => match &known.unavailable {
                    None => {}
                    Some(reason) => {
                        return fail(format!("grader `{grader}` is not available: {reason}"));
                    }
                },
                None => {
                    let names: Vec<String> = reply
                        .graders
                        .iter()
                        .map(|known| format!("`{}`", known.name))
                        .collect();
                    return fail(format!(
                        "no grader `{grader}`; available graders: {}",
                        names.join(", ")
                    ));
                }
            }
        }
        let submissions: Vec<Submission<'_>> = samples.iter().map(submission).collect();
        let results = self.grade(RUN, 0, None, &[], &submissions).await?;
        // Shuffled results do not belong to their samples.
        let shuffled = self.settings.shuffled.is_some();
        for (sample, result) in samples.iter().zip(&results.items) {
            let ItemResult {
                outcome,
                pass,
                verdict,
                message,
                ..
            } = result;
            if *outcome != Outcome::Graded {
                let reason = message.as_deref().unwrap_or("no reason given");
                return Err(RewardsError::Preflight(format!(
                    "a task of type `{}`: {reason}",
                    sample.grader
                )));
            }
            if sample.solution.is_some() && *pass == Some(false) && !shuffled {
                tracing::warn!(
                    grader = sample.grader,
                    verdict,
                    "a solution in the data does not pass its task"
                );
            }
        }
        Ok(())
    }
}

fn submission(sample: &Sample) -> Submission<'_> {
    Submission {
        id: sample.grader.clone(),
        group: sample.grader.clone(),
        prompt_key: None,
        channel: Some(CHANNEL),
        prompt: &sample.prompt,
        completion: sample.solution.as_deref().unwrap_or_default(),
        task: &sample.task,
        tokens: 0,
        truncated: false,
        sample: None,
    }
}
