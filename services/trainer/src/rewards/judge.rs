//! What is sent of a completion, and what is known of it afterwards.

use std::collections::{BTreeMap, HashMap};

use assay_core::{Completion, Meta, Random};
use assay_wire::reply::{ChannelBody, GradeReply, ResultBody};
use assay_wire::{ItemRequest, Problem};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::batches::groups;

/// A completion with its task.
#[derive(Debug, Clone)]
pub struct Submission<'a> {
    /// Name of the completion, unique in its step.
    pub id: String,
    /// Name that completions of one prompt share in their step.
    pub group: String,
    /// Name under which the service keeps the prompt's history over steps.
    pub prompt_key: Option<&'a str>,
    /// Task family; with the grader's name it makes the channel.
    pub channel: Option<&'a str>,
    /// What the policy was asked.
    pub prompt: &'a str,
    /// What it wrote.
    pub completion: &'a str,
    /// What the completion should achieve: an object whose `type` names the grader.
    pub task: &'a RawValue,
    /// Length of the completion in tokens.
    pub tokens: usize,
    /// Whether the completion was cut at the length limit.
    pub truncated: bool,
    /// Its number, sent as `meta.sample` where equal completions are to be graded one by one.
    pub sample: Option<u64>,
}

impl Submission<'_> {
    pub(super) fn to_item(&self) -> ItemRequest {
        ItemRequest {
            id: Some(self.id.clone()),
            group: Some(self.group.clone()),
            prompt_key: self.prompt_key.map(str::to_owned),
            policy: None,
            channel: self.channel.map(str::to_owned),
            prompt: Some(Completion::Text(self.prompt.into())),
            completion: Completion::Text(self.completion.into()),
            task: self.task.to_owned(),
            checks: BTreeMap::new(),
            meta: Meta {
                tokens: Some(self.tokens as u64),
                truncated: self.truncated,
                rest: self
                    .sample
                    .iter()
                    .map(|sample| ("sample".to_owned(), Value::from(*sample).into()))
                    .collect(),
                ..Meta::default()
            },
        }
    }
}

/// Whether a completion was graded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was.
    Graded,
    /// It was not, and the task is at fault.
    Ungradable,
    /// It was not, and the service is at fault.
    Failed,
}

/// What became of one completion. Only a graded one has numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Whether it was graded.
    pub outcome: Outcome,
    /// Correctness in \[0, 1\].
    pub score: Option<f64>,
    /// What the service's policy made of it; finite.
    pub reward: Option<f64>,
    /// Whether the verdict is a pass; `None` also of a grader that has no passes.
    pub pass: Option<bool>,
    /// Reason code of the grade.
    pub verdict: Option<String>,
    /// The number that the service recommends as advantage; `None` in a group with fewer than two
    /// graded members.
    pub advantage: Option<f64>,
    /// The statistic that `rewards.statistic` names.
    pub statistic: Option<f64>,
    /// Weight that the service's policy gives the completion in the loss.
    pub weight: Option<f64>,
    /// Steps of a trace that say nothing, from 0.
    pub masked_steps: Vec<usize>,
    /// Code of the fault where it was not graded.
    pub fault: Option<String>,
    /// What the fault was, for people.
    pub message: Option<String>,
    pub(super) retryable: bool,
}

impl Judged {
    fn blank(outcome: Outcome) -> Self {
        Self {
            outcome,
            score: None,
            reward: None,
            pass: None,
            verdict: None,
            advantage: None,
            statistic: None,
            weight: None,
            masked_steps: Vec::new(),
            fault: None,
            message: None,
            retryable: false,
        }
    }

    /// Of an item whose task the service refuses.
    pub(super) fn refused(problem: &Problem) -> Self {
        let (fault, message) = (
            Some(problem.code.to_string()),
            Some(problem.message.to_string()),
        );
        Self {
            fault,
            message,
            ..Self::blank(Outcome::Ungradable)
        }
    }

    /// Of an item in its group.
    pub(super) fn of(result: &ResultBody<'_>) -> Self {
        let outcome = match result.outcome.as_ref() {
            "graded" => Outcome::Graded,
            "ungradable" => Outcome::Ungradable,
            _ => Outcome::Failed,
        };
        let masked = |(at, step): (usize, &assay_wire::reply::StepBody)| step.masked.then_some(at);
        if outcome != Outcome::Graded {
            let error = result.error.as_ref();
            return Self {
                fault: Some(
                    error.map_or_else(|| "unknown".to_owned(), |error| error.code.to_string()),
                ),
                message: error.map(|error| error.message.to_string()),
                retryable: error.is_some_and(|error| error.retryable),
                ..Self::blank(outcome)
            };
        }
        let reward_breakdown = result
            .reward_breakdown
            .as_ref()
            .and_then(|reward_breakdown| serde_json::to_value(reward_breakdown).ok());
        Self {
            score: result.score,
            reward: result.reward,
            pass: result.pass,
            verdict: result.verdict.as_deref().map(str::to_owned),
            advantage: result.advantage,
            weight: reward_breakdown
                .as_ref()
                .and_then(|reward_breakdown| reward_breakdown.get("weight")?.as_f64()),
            masked_steps: result.steps.iter().enumerate().filter_map(masked).collect(),
            ..Self::blank(outcome)
        }
    }

    /// Of an item that was graded apart from its group: what a policy may have made relative to
    /// others is left out.
    pub(super) fn alone(result: &ResultBody<'_>) -> Self {
        let reward = result.reward.filter(|_| result.reward_breakdown.is_none());
        Self {
            reward,
            advantage: None,
            weight: None,
            ..Self::of(result)
        }
    }
}

/// One group of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Its name.
    pub group: String,
    /// Members.
    pub n: usize,
    /// Of those, graded; the others are masked.
    pub graded: usize,
    /// The statistics that were asked for, by name, as the service documents them.
    pub statistics: Map<String, Value>,
}

/// How often items were not graded for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Items.
    pub items: usize,
    /// What the service said of the first of them.
    pub example: String,
}

/// What became of the completions of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// One a submission, in their order.
    pub results: Vec<Judged>,
    /// In the order they first appear.
    pub groups: Vec<Group>,
    /// What is known of the noise of the channels, by name, with 95 % intervals.
    pub channels: BTreeMap<String, ChannelBody<'static>>,
    /// Items that were not graded, by code.
    pub faults: BTreeMap<String, Fault>,
}

/// A judgement under way: requests are answered one after the other.
pub(super) struct Collected {
    /// One a submission, in their order.
    pub(super) results: Vec<Judged>,
    channels: BTreeMap<String, ChannelBody<'static>>,
    statistics: HashMap<String, Map<String, Value>>,
}

impl Collected {
    /// Of submissions that nobody looked at yet.
    pub(super) fn new(n: usize) -> Self {
        Self {
            results: vec![Judged::blank(Outcome::Failed); n],
            channels: BTreeMap::new(),
            statistics: HashMap::new(),
        }
    }

    /// Takes the results of the items sent, in the order they were sent.
    pub(super) fn take(
        &mut self,
        sent: &[usize],
        submissions: &[Submission<'_>],
        statistics: &[String],
        reply: &GradeReply<'static>,
    ) {
        for (at, result) in sent.iter().zip(&reply.results) {
            self.results[*at] = Judged::of(result);
        }
        let mut members: HashMap<&str, Vec<usize>> = HashMap::new();
        for at in sent {
            members
                .entry(&submissions[*at].group)
                .or_default()
                .push(*at);
        }
        for group in &reply.groups {
            let Some(name) = group.group.as_deref() else {
                continue;
            };
            let members = members.get(name).map_or(&[][..], Vec::as_slice);
            let of_members = |name: &String| {
                group
                    .statistics
                    .get(name)?
                    .as_array()
                    .filter(|all| all.len() == members.len())
            };
            if let Some(advantages) = statistics.iter().find_map(of_members) {
                for (at, advantage) in members.iter().zip(advantages) {
                    self.results[*at].statistic = advantage.as_f64();
                }
            }
            self.statistics
                .insert(name.to_owned(), group.statistics.clone());
        }
        // Of several requests the last knows most.
        self.channels.extend(
            reply
                .channels
                .iter()
                .map(|channel| (channel.channel.to_string(), channel.clone())),
        );
    }

    /// Gives every submission the result of one drawn without replacement.
    pub(super) fn shuffle(&mut self, random: &mut Random) {
        random.shuffle(&mut self.results);
        // They describe results that are elsewhere now.
        self.statistics.clear();
    }

    /// Counts groups and faults once all results stand.
    pub(super) fn close(mut self, submissions: &[Submission<'_>]) -> Judgement {
        let mut counted = Vec::new();
        for members in groups(submissions) {
            let Some(group) = members.first().map(|at| submissions[*at].group.clone()) else {
                continue;
            };
            let graded = members
                .iter()
                .filter(|at| self.results[**at].outcome == Outcome::Graded)
                .count();
            let statistics = self.statistics.remove(&group).unwrap_or_default();
            counted.push(Group {
                group,
                n: members.len(),
                graded,
                statistics,
            });
        }
        let mut faults: BTreeMap<String, Fault> = BTreeMap::new();
        for judged in &self.results {
            let Some(code) = &judged.fault else { continue };
            let example = judged.message.clone().unwrap_or_default();
            faults
                .entry(code.clone())
                .or_insert(Fault { items: 0, example })
                .items += 1;
        }
        Judgement {
            results: self.results,
            groups: counted,
            channels: self.channels,
            faults,
        }
    }
}
