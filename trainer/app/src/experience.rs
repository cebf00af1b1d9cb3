//! Graded batches, and their conversion to training rows with advantages.

use std::collections::BTreeMap;

use assay_objective::{Advantage, Prompt, Sample};
use assay_rewards::Visit;
use serde::{Deserialize, Serialize};

use crate::data::Source;
use crate::learn::Row;
use crate::rewards::{ItemResult, Outcome, Rewards, StepResults, Submission};
use crate::rollout::{Group, prompt_at};
use crate::telemetry::Values;
use crate::text::PolicyTokenizer;

/// The result of a completion. An ungraded completion has no numbers and is masked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CompletionGrade {
    /// Correctness in \[0, 1\].
    pub score: Option<f64>,
    /// The reward, by the reward policy of the service.
    pub reward: Option<f64>,
    /// Whether it passed.
    pub pass: Option<bool>,
    /// The requested statistic if there is one, else the advantage of the service.
    pub advantage: Option<f64>,
    /// Factor of the advantage; 1 unless the reward policy sets another.
    pub weight: f64,
    /// Whether a step of it is masked, so that it is excluded from the loss.
    pub is_masked: bool,
}

/// A graded batch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Experience {
    /// The groups, each with the grades of its completions.
    pub groups: Vec<(Group, Vec<CompletionGrade>)>,
    /// Number of ungraded completions, by error code.
    pub faults: BTreeMap<String, u64>,
    /// Number of groups that were replaced because their rewards were equal.
    pub replaced: u64,
    /// Error rates of channels reported by the service, by metric name, for example
    /// `channels/math/default/rho1`.
    pub rates: BTreeMap<String, f64>,
}

/// How completions are submitted to the service.
#[derive(Debug, Clone, Copy)]
pub struct Grading<'a> {
    /// Name of the run in the record of the service.
    pub run: &'a str,
    /// The step that uses the completions.
    pub step: u64,
    /// Name of a reward policy.
    pub policy: Option<&'a str>,
    /// Name of a group statistic.
    pub statistic: Option<&'a str>,
    /// See [`Rewards::number_samples`](crate::config::Rewards::number_samples).
    pub numbered: bool,
}

/// Grades groups with the service.
///
/// # Errors
/// A prompt does not exist, or the service is unavailable or rejects the request.
pub async fn grade(
    rewards: &Rewards,
    grading: Grading<'_>,
    source: &dyn Source,
    tokenizer: &PolicyTokenizer,
    groups: Vec<Group>,
) -> anyhow::Result<Experience> {
    let items = groups
        .iter()
        .map(|group| prompt_at(source, group.prompt))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut texts = Vec::with_capacity(groups.len());
    for group in &groups {
        let decoded: Result<Vec<String>, _> = group
            .rollouts
            .iter()
            .map(|rollout| tokenizer.decode(&rollout.tokens))
            .collect();
        texts.push(decoded?);
    }
    let mut submissions = Vec::new();
    for ((group, item), texts) in groups.iter().zip(&items).zip(&texts) {
        for (number, (rollout, text)) in group.rollouts.iter().zip(texts).enumerate() {
            submissions.push(Submission {
                id: format!("{}-{number}", group.key),
                group: group.key.to_string(),
                prompt_key: Some(&item.key),
                channel: item.channel.as_deref(),
                prompt: &item.prompt,
                completion: text,
                task: &item.task,
                tokens: rollout.tokens.len(),
                truncated: !rollout.ended,
                sample: grading.numbered.then_some(submissions.len() as u64),
            });
        }
    }
    let statistics: Vec<String> = grading
        .statistic
        .iter()
        .map(|name| (*name).to_owned())
        .collect();
    let results = rewards
        .grade(
            grading.run,
            grading.step,
            grading.policy,
            &statistics,
            &submissions,
        )
        .await?;
    Ok(collect(groups, &results, grading.statistic.is_some()))
}

fn collect(groups: Vec<Group>, results: &StepResults, use_statistic: bool) -> Experience {
    let grade = |item: &ItemResult| CompletionGrade {
        score: item.score,
        reward: item.reward,
        pass: item.pass,
        advantage: if use_statistic {
            item.statistic
        } else {
            item.advantage
        },
        weight: item.weight.unwrap_or(1.0),
        is_masked: !item.masked_steps.is_empty(),
    };
    let mut faults = BTreeMap::new();
    for item in results
        .items
        .iter()
        .filter(|item| item.outcome != Outcome::Graded)
    {
        *faults
            .entry(item.fault.clone().unwrap_or_default())
            .or_default() += 1;
    }
    let mut items = results.items.iter();
    let graded = |group: Group| {
        let grades = items
            .by_ref()
            .take(group.rollouts.len())
            .map(grade)
            .collect();
        (group, grades)
    };
    let groups = groups.into_iter().map(graded).collect();
    Experience {
        groups,
        faults,
        replaced: 0,
        rates: rates(results),
    }
}

/// Error rates of the channels, if the service reports them.
fn rates(results: &StepResults) -> BTreeMap<String, f64> {
    let mut rates = BTreeMap::new();
    for (name, channel) in &results.channels {
        for (rate, value) in [
            ("rho0", channel.rho0),
            ("rho1", channel.rho1),
            ("j", channel.j),
        ] {
            rates.extend(value.map(|value| (format!("channels/{name}/{rate}"), value)));
        }
    }
    rates
}

/// The training rows and metrics of a batch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrainingBatch {
    /// Rows with advantages, group by group.
    pub rows: Vec<Row>,
    /// Metrics of the batch.
    pub values: Values,
    /// Visits of this batch, by the index of the prompt.
    pub visits: Vec<(u64, Visit)>,
}

impl Experience {
    /// Whether all completions are from this version of the policy.
    pub(crate) fn is_of_version(&self, version: u64) -> bool {
        let mut groups = self.groups.iter();
        groups.all(|(group, _)| group.version == version)
    }

    /// Rewards of the completions of each group.
    #[must_use]
    pub fn rewards(&self) -> Vec<Vec<Option<f64>>> {
        self.groups
            .iter()
            .map(|(_, grades)| grades.iter().map(|grade| grade.reward).collect())
            .collect()
    }

    /// Converts the batch to rows with advantages. `history` has earlier visits to prompts, by
    /// index.
    ///
    /// # Errors
    /// Data that the estimator requires is missing, or a prompt cannot be tokenised.
    pub fn training_batch(
        &self,
        advantage: &Advantage,
        source: &dyn Source,
        tokenizer: &PolicyTokenizer,
        history: &BTreeMap<u64, Vec<Visit>>,
    ) -> anyhow::Result<TrainingBatch> {
        let all = || self.groups.iter().enumerate();
        let samples: Vec<Sample> = all()
            .flat_map(|(index, (group, grades))| {
                group
                    .rollouts
                    .iter()
                    .zip(grades)
                    .map(move |(rollout, grade)| (index, rollout, grade))
            })
            .map(|(group, rollout, grade)| Sample {
                group,
                rewards: vec![grade.reward],
                pass: grade.pass,
                tokens: rollout.tokens.len(),
                advantage: grade.advantage,
                ..Sample::default()
            })
            .collect();
        let prompts = all().filter_map(|(index, (group, _))| {
            let history = history.get(&group.prompt)?.clone();
            Some((
                index,
                Prompt {
                    history,
                    ..Prompt::default()
                },
            ))
        });
        let advantages = advantage.compute(&samples, &prompts.collect())?;
        let mut rows = Vec::new();
        let mut next = advantages.values.iter().zip(&advantages.keep);
        for (index, (group, grades)) in all() {
            let prompt = tokenizer.encode(&prompt_at(source, group.prompt)?.prompt)?;
            for ((rollout, grade), (values, keep)) in
                group.rollouts.iter().zip(grades).zip(next.by_ref())
            {
                if !keep || grade.is_masked || rollout.tokens.is_empty() {
                    continue;
                }
                rows.push(Row {
                    prompt: prompt.clone(),
                    completion: rollout.tokens.clone(),
                    behaviour: rollout.log_probs.clone(),
                    mask: None,
                    advantages: values.iter().map(|value| value * grade.weight).collect(),
                    group: index,
                    score: grade.score.unwrap_or_default(),
                });
            }
        }
        if rows.is_empty() {
            tracing::warn!("no completion of the batch has an advantage; the step is skipped");
        }
        let mut values = self.values();
        let masked_by_steps = all()
            .flat_map(|(_, (_, grades))| grades)
            .filter(|grade| grade.is_masked && grade.reward.is_some())
            .count();
        let masked = advantages.masked + masked_by_steps;
        values.insert("completions/masked".to_owned(), masked as f64);
        let scale = rows
            .iter()
            .flat_map(|row| &row.advantages)
            .map(|advantage| advantage.abs())
            .fold(0.0, f64::max);
        values.insert("advantages/abs_max".to_owned(), scale);
        let visits = self
            .groups
            .iter()
            .map(|(group, grades)| (group.prompt, visit(grades)))
            .collect();
        Ok(TrainingBatch {
            rows,
            values,
            visits,
        })
    }

    /// Metrics of the batch, by their usual names in trainers.
    fn values(&self) -> Values {
        let rewards: Vec<f64> = self
            .groups
            .iter()
            .flat_map(|(_, grades)| grades)
            .filter_map(|grade| grade.reward)
            .collect();
        let lengths: Vec<f64> = self
            .rollouts()
            .map(|rollout| rollout.tokens.len() as f64)
            .collect();
        let ended: Vec<f64> = self
            .rollouts()
            .map(|rollout| f64::from(u8::from(rollout.ended)))
            .collect();
        let spread = crate::data::group_spread(&self.rewards());
        let mut values = Values::new();
        let mut insert = |name: &str, value: Option<f64>| {
            if let Some(value) = value {
                values.insert(name.to_owned(), value);
            }
        };
        insert("reward", mean(&rewards));
        let deviation = mean(&rewards)
            .and_then(|center| {
                mean(
                    &rewards
                        .iter()
                        .map(|reward| (reward - center).powi(2))
                        .collect::<Vec<_>>(),
                )
            })
            .map(f64::sqrt);
        insert("reward_std", deviation);
        insert(
            "frac_reward_zero_std",
            mean(&self.groups.iter().map(|_| 1.0).collect::<Vec<_>>())
                .map(|_| spread.same as f64 / self.groups.len() as f64),
        );
        insert("completions/mean_length", mean(&lengths));
        insert(
            "completions/max_length",
            lengths.iter().copied().reduce(f64::max),
        );
        insert(
            "completions/clipped_ratio",
            mean(&ended).map(|ended| 1.0 - ended),
        );
        insert("num_tokens", Some(lengths.iter().sum()));
        insert("groups/dropped", Some(spread.too_few as f64));
        insert("groups/replaced", Some(self.replaced as f64));
        for (name, rate) in &self.rates {
            insert(name, Some(*rate));
        }
        for (code, items) in &self.faults {
            insert(&format!("faults/{code}"), Some(*items as f64));
        }
        values
    }

    fn rollouts(&self) -> impl Iterator<Item = &crate::rollout::Rollout> {
        self.groups.iter().flat_map(|(group, _)| &group.rollouts)
    }
}

/// The visit to a prompt that the grades of a group represent.
fn visit(grades: &[CompletionGrade]) -> Visit {
    let mut visit = Visit::default();
    for grade in grades {
        if let Some(reward) = grade.reward {
            visit.add_reward(reward);
        }
        if let (Some(pass), Some(_)) = (grade.pass, grade.reward) {
            visit.judged += 1;
            visit.passes += u32::from(pass);
        }
    }
    visit
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}
