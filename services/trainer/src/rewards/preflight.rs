//! A look at the service before a run: it answers, knows the graders that the data needs, and
//! grades one task of each type.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Judged, Outcome, Rewards, RewardsError, Submission};

/// Channel of trial items, so that they count for no task family of the data.
const CHANNEL: &str = "preflight";

/// Run of trial items. Under the same keys, a service with a record grades them once and not at
/// each start.
const RUN: &str = "preflight";

/// One task of a type, with a completion that should pass, if one is known.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Name of its grader.
    pub grader: String,
    /// What the policy is asked.
    pub prompt: String,
    /// The task.
    pub task: Box<RawValue>,
    /// A completion that passes.
    pub solution: Option<String>,
}

#[derive(Deserialize)]
struct Typed {
    r#type: String,
}

/// The first prompt of each type of task, by type; those with a solution before those without. A
/// task without a type is none.
pub fn samples<'a>(
    prompts: impl IntoIterator<Item = (&'a str, &'a RawValue, Option<&'a str>)>,
) -> Vec<Sample> {
    let mut samples: BTreeMap<String, Sample> = BTreeMap::new();
    for (prompt, task, solution) in prompts {
        let Ok(Typed { r#type: grader }) = serde_json::from_str(task.get()) else {
            continue;
        };
        let known = samples.get(&grader);
        if known.is_some_and(|known| known.solution.is_some() || solution.is_none()) {
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
    /// Asks the service for its graders and grades the samples, each by its solution or an empty
    /// completion. A solution that does not pass is warned of: the verifier may be noisy on
    /// purpose.
    ///
    /// # Errors
    /// [`RewardsError::Preflight`] with the first sample that cannot be graded, and why; those of
    /// [`Rewards::grade`].
    pub async fn preflight(&self, samples: &[Sample]) -> Result<(), RewardsError> {
        let known = self.patiently(|| self.way.graders()).await?.graders;
        for Sample { grader, .. } in samples {
            let refuse = |why: String| Err(RewardsError::Preflight(why));
            match known.iter().find(|known| known.name == *grader) {
                Some(known) => match &known.unavailable {
                    None => {}
                    Some(why) => {
                        return refuse(format!("its grader `{grader}` is not available: {why}"));
                    }
                },
                None => {
                    let names: Vec<String> = known
                        .iter()
                        .map(|known| format!("`{}`", known.name))
                        .collect();
                    return refuse(format!(
                        "it has no grader `{grader}`, only {}",
                        names.join(", ")
                    ));
                }
            }
        }
        let submissions: Vec<Submission<'_>> = samples.iter().map(submission).collect();
        let judgement = self.grade(RUN, 0, None, &[], &submissions).await?;
        // Shuffled results are not those of their samples.
        let shuffled = self.settings.shuffled.is_some();
        for (sample, judged) in samples.iter().zip(&judgement.results) {
            let Judged {
                outcome,
                pass,
                verdict,
                message,
                ..
            } = judged;
            if *outcome != Outcome::Graded {
                let why = message.as_deref().unwrap_or("no reason was given");
                return Err(RewardsError::Preflight(format!(
                    "a task of type `{}`: {why}",
                    sample.grader
                )));
            }
            if sample.solution.is_some() && *pass == Some(false) && !shuffled {
                tracing::warn!(
                    grader = sample.grader,
                    verdict,
                    "a solution of the data does not pass its own task"
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
