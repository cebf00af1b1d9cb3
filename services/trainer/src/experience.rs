//! What completions earned, and what is learned from it: groups with the service's word on each
//! completion, made into rows with advantages.

use std::collections::BTreeMap;

use assay_core::Visit;
use assay_objective::{Advantage, Prompt, Sample};
use serde::{Deserialize, Serialize};

use crate::data::Source;
use crate::learn::Row;
use crate::rewards::{Judged, Judgement, Outcome, Rewards, Submission};
use crate::rollout::{Group, item};
use crate::telemetry::Values;
use crate::text::Tokens;

/// The service's word on a completion. Without a score it has no number at all: it is masked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Correctness in \[0, 1\].
    pub score: Option<f64>,
    /// What the service's policy made of it.
    pub reward: Option<f64>,
    /// Whether it passed.
    pub pass: Option<bool>,
    /// The number to use as the advantage: the requested statistic, else the advantage that the service computed.
    pub advantage: Option<f64>,
    /// Weight in the loss; 1 unless the service's policy says otherwise.
    pub weight: f64,
}

/// A batch that is graded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Experience {
    /// The groups, each with the marks of its completions.
    pub groups: Vec<(Group, Vec<Mark>)>,
    /// Completions without a grade, by the code of the fault.
    pub faults: BTreeMap<String, u64>,
    /// Groups that were written and left out because their scores did not differ.
    pub replaced: u64,
    /// What the service knows of the noise of its channels, by the name of the number:
    /// `channels/math/default/rho1`.
    pub rates: BTreeMap<String, f64>,
}

/// How completions are submitted.
#[derive(Debug, Clone, Copy)]
pub struct Grading<'a> {
    /// Name of the run in the record.
    pub run: &'a str,
    /// The step that learns from them.
    pub step: u64,
    /// One of the service's policies.
    pub policy: Option<&'a str>,
    /// One of its statistics of groups.
    pub statistic: Option<&'a str>,
    /// As [`Rewards::numbered`](crate::config::Rewards::numbered).
    pub numbered: bool,
}

/// Lets the service grade groups.
///
/// # Errors
/// A prompt that is not there; the service is away, or refuses.
pub async fn grade(
    rewards: &Rewards,
    grading: Grading<'_>,
    source: &dyn Source,
    tokens: &Tokens,
    groups: Vec<Group>,
) -> anyhow::Result<Experience> {
    let items = groups
        .iter()
        .map(|group| item(source, group.prompt))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut texts = Vec::with_capacity(groups.len());
    for group in &groups {
        let written: Result<Vec<String>, _> = group
            .rollouts
            .iter()
            .map(|one| tokens.decode(&one.tokens))
            .collect();
        texts.push(written?);
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
    let judgement = rewards
        .grade(
            grading.run,
            grading.step,
            grading.policy,
            &statistics,
            &submissions,
        )
        .await?;
    Ok(collect(groups, &judgement, grading.statistic.is_some()))
}

fn collect(groups: Vec<Group>, judgement: &Judgement, named: bool) -> Experience {
    let mark = |judged: &Judged| Mark {
        score: judged.score,
        reward: judged.reward,
        pass: judged.pass,
        advantage: if named {
            judged.statistic
        } else {
            judged.advantage
        },
        weight: judged.weight.unwrap_or(1.0),
    };
    let mut faults = BTreeMap::new();
    for judged in judgement
        .results
        .iter()
        .filter(|judged| judged.outcome != Outcome::Graded)
    {
        *faults
            .entry(judged.fault.clone().unwrap_or_default())
            .or_default() += 1;
    }
    let mut results = judgement.results.iter();
    let marked = |group: Group| {
        let marks = results
            .by_ref()
            .take(group.rollouts.len())
            .map(mark)
            .collect();
        (group, marks)
    };
    let groups = groups.into_iter().map(marked).collect();
    Experience {
        groups,
        faults,
        replaced: 0,
        rates: rates(judgement),
    }
}

/// Rates of error of the channels, where the service knows them.
fn rates(judgement: &Judgement) -> BTreeMap<String, f64> {
    let mut rates = BTreeMap::new();
    for (name, channel) in &judgement.channels {
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

/// What a batch teaches, and what is told of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lesson {
    /// Rows that vote, groups one behind the other.
    pub rows: Vec<Row>,
    /// Numbers about the batch.
    pub values: Values,
    /// Visits of this batch, by number of the prompt.
    pub visits: Vec<(u64, Visit)>,
}

impl Experience {
    /// Rewards of the completions of each group.
    #[must_use]
    pub fn rewards(&self) -> Vec<Vec<Option<f64>>> {
        self.groups
            .iter()
            .map(|(_, marks)| marks.iter().map(|mark| mark.reward).collect())
            .collect()
    }

    /// Rows with advantages. `history` holds earlier visits to prompts, by their number.
    ///
    /// # Errors
    /// The estimator lacks something.
    pub fn lesson(
        &self,
        advantage: &Advantage,
        source: &dyn Source,
        tokens: &Tokens,
        history: &BTreeMap<u64, Vec<Visit>>,
    ) -> anyhow::Result<Lesson> {
        let all = || self.groups.iter().enumerate();
        let samples: Vec<Sample> = all()
            .flat_map(|(at, (group, marks))| {
                group
                    .rollouts
                    .iter()
                    .zip(marks)
                    .map(move |(one, mark)| (at, one, mark))
            })
            .map(|(group, rollout, mark)| Sample {
                group,
                rewards: vec![mark.reward],
                pass: mark.pass,
                tokens: rollout.tokens.len(),
                advantage: mark.advantage,
                ..Sample::default()
            })
            .collect();
        let prompts = all().filter_map(|(at, (group, _))| {
            let history = history.get(&group.prompt)?.clone();
            Some((
                at,
                Prompt {
                    history,
                    ..Prompt::default()
                },
            ))
        });
        let advantages = advantage.compute(&samples, &prompts.collect())?;
        let mut rows = Vec::new();
        let mut next = advantages.values.iter().zip(&advantages.keep);
        for (at, (group, marks)) in all() {
            let prompt = tokens.encode(&item(source, group.prompt)?.prompt)?;
            for ((rollout, mark), (values, keep)) in
                group.rollouts.iter().zip(marks).zip(next.by_ref())
            {
                if !keep || rollout.tokens.is_empty() {
                    continue;
                }
                rows.push(Row {
                    prompt: prompt.clone(),
                    completion: rollout.tokens.clone(),
                    behaviour: rollout.log_probs.clone(),
                    advantages: values.iter().map(|value| value * mark.weight).collect(),
                    group: at,
                    score: mark.score.unwrap_or_default(),
                });
            }
        }
        if rows.is_empty() {
            tracing::warn!(
                "no completion of the batch has an advantage: nothing is learned from it"
            );
        }
        let mut values = self.values();
        values.insert("completions/masked".to_owned(), count(advantages.masked));
        let scale = rows
            .iter()
            .flat_map(|row| &row.advantages)
            .map(|one| one.abs())
            .fold(0.0, f64::max);
        values.insert("advantages/abs_max".to_owned(), scale);
        let visits = self
            .groups
            .iter()
            .map(|(group, marks)| (group.prompt, visit(marks)))
            .collect();
        Ok(Lesson {
            rows,
            values,
            visits,
        })
    }

    /// Numbers about the batch, by the names trainers use.
    fn values(&self) -> Values {
        let rewards: Vec<f64> = self
            .groups
            .iter()
            .flat_map(|(_, marks)| marks)
            .filter_map(|mark| mark.reward)
            .collect();
        let lengths: Vec<f64> = self
            .rollouts()
            .map(|rollout| count(rollout.tokens.len()))
            .collect();
        let ended: Vec<f64> = self
            .rollouts()
            .map(|rollout| f64::from(u8::from(rollout.ended)))
            .collect();
        let kept = crate::data::keep(&self.rewards());
        let mut values = Values::new();
        let mut tell = |name: &str, value: Option<f64>| {
            if let Some(value) = value {
                values.insert(name.to_owned(), value);
            }
        };
        tell("reward", mean(&rewards));
        let deviation = mean(&rewards)
            .and_then(|middle| {
                mean(
                    &rewards
                        .iter()
                        .map(|one| (one - middle).powi(2))
                        .collect::<Vec<_>>(),
                )
            })
            .map(f64::sqrt);
        tell("reward_std", deviation);
        tell(
            "frac_reward_zero_std",
            mean(&self.groups.iter().map(|_| 1.0).collect::<Vec<_>>())
                .map(|_| count(kept.same) / count(self.groups.len())),
        );
        tell("completions/mean_length", mean(&lengths));
        tell(
            "completions/max_length",
            lengths.iter().copied().reduce(f64::max),
        );
        tell(
            "completions/clipped_ratio",
            mean(&ended).map(|ended| 1.0 - ended),
        );
        tell("num_tokens", Some(lengths.iter().sum()));
        tell("groups/dropped", Some(count(kept.too_few)));
        tell("groups/replaced", Some(self.replaced as f64));
        for (name, rate) in &self.rates {
            tell(name, Some(*rate));
        }
        for (code, items) in &self.faults {
            tell(&format!("faults/{code}"), Some(*items as f64));
        }
        values
    }

    fn rollouts(&self) -> impl Iterator<Item = &crate::rollout::Rollout> {
        self.groups.iter().flat_map(|(group, _)| &group.rollouts)
    }
}

/// The marks of a group as a visit to its prompt.
fn visit(marks: &[Mark]) -> Visit {
    let mut visit = Visit::default();
    for mark in marks {
        if let Some(reward) = mark.reward {
            visit.add_reward(reward);
        }
        if let (Some(pass), Some(_)) = (mark.pass, mark.reward) {
            visit.judged += 1;
            visit.passes += u32::from(pass);
        }
    }
    visit
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / count(numbers.len()))
}

/// A count as a number.
#[expect(
    clippy::cast_precision_loss,
    reason = "batches are far smaller than 2^53"
)]
fn count(count: usize) -> f64 {
    count as f64
}
