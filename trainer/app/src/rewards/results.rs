//! Submissions of completions and their results.

use std::collections::{BTreeMap, HashMap};

use assay_base::Random;
use assay_core::Step;
use assay_record::ItemGrade;
use assay_wire::Problem;
use assay_wire::reply::{ChannelBody, GradeReply};
use serde_json::{Map, Value};

use super::requests::groups;
use super::submission::Submission;

/// Whether a completion was graded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was graded.
    Graded,
    /// It was not graded because of the task.
    Ungradable,
    /// It was not graded because of the service.
    Failed,
}

/// The result of one completion. Only a graded one has numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemResult {
    /// Whether it was graded.
    pub outcome: Outcome,
    /// Correctness in \[0, 1\].
    pub score: Option<f64>,
    /// The reward, by the reward policy of the service; finite.
    pub reward: Option<f64>,
    /// Whether the verdict is a pass; `None` if it was not graded or the grader has no passes.
    pub pass: Option<bool>,
    /// The verdict.
    pub verdict: Option<String>,
    /// The advantage of the service; `None` in a group with fewer than two graded members.
    pub advantage: Option<f64>,
    /// The requested statistic.
    pub statistic: Option<f64>,
    /// Weight of the completion in the loss, by the reward policy.
    pub weight: Option<f64>,
    /// Indices of masked steps of a trace, from 0.
    pub masked_steps: Vec<usize>,
    /// Error code if it was not graded.
    pub fault: Option<String>,
    /// Error message if it was not graded.
    pub message: Option<String>,
    pub(super) retryable: bool,
}

impl ItemResult {
    fn empty(outcome: Outcome) -> Self {
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

    /// The result of an item whose task the service rejects.
    pub(super) fn rejected(problem: &Problem) -> Self {
        let (fault, message) = (
            Some(problem.code.to_string()),
            Some(problem.message.to_string()),
        );
        Self {
            fault,
            message,
            ..Self::empty(Outcome::Ungradable)
        }
    }

    /// The result of an item that was graded in its group.
    pub(super) fn from_reply(result: &ItemGrade) -> Self {
        let outcome = match result.outcome.as_ref() {
            "graded" => Outcome::Graded,
            "ungradable" => Outcome::Ungradable,
            _ => Outcome::Failed,
        };
        let masked = |(index, step): (usize, &Step)| step.masked.then_some(index);
        if outcome != Outcome::Graded {
            let error = result.error.as_ref();
            return Self {
                fault: Some(
                    error.map_or_else(|| "unknown".to_owned(), |error| error.code.to_string()),
                ),
                message: error.map(|error| error.message.to_string()),
                retryable: error.is_some_and(|error| error.retryable),
                ..Self::empty(outcome)
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
            ..Self::empty(outcome)
        }
    }

    /// The result of an item that was graded without its group, without the numbers that a reward
    /// policy may have computed relative to others.
    pub(super) fn without_group(result: &ItemGrade) -> Self {
        let reward = result.reward.filter(|_| result.reward_breakdown.is_none());
        Self {
            reward,
            advantage: None,
            weight: None,
            ..Self::from_reply(result)
        }
    }
}

/// The result of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupResult {
    /// Name of the group.
    pub group: String,
    /// Number of members.
    pub n: usize,
    /// Number of graded members; the others are masked.
    pub graded: usize,
    /// The requested statistics by name, in the format of the service.
    pub statistics: Map<String, Value>,
}

/// Number of ungraded items with the same error code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultCount {
    /// Number of items.
    pub items: usize,
    /// Error message of the first item.
    pub example: String,
}

/// The results of the completions of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepResults {
    /// One per submission, in the same order.
    pub items: Vec<ItemResult>,
    /// The groups in order of first appearance.
    pub groups: Vec<GroupResult>,
    /// Error rates of channels by name, with 95 % intervals.
    pub channels: BTreeMap<String, ChannelBody<'static>>,
    /// Ungraded items by error code.
    pub faults: BTreeMap<String, FaultCount>,
}

/// Collects the results of several requests.
pub(super) struct ResultCollector {
    /// One per submission, in the same order.
    pub(super) items: Vec<ItemResult>,
    channels: BTreeMap<String, ChannelBody<'static>>,
    statistics: HashMap<String, Map<String, Value>>,
}

impl ResultCollector {
    /// A collector for `n` submissions without results.
    pub(super) fn new(n: usize) -> Self {
        Self {
            items: vec![ItemResult::empty(Outcome::Failed); n],
            channels: BTreeMap::new(),
            statistics: HashMap::new(),
        }
    }

    /// Adds the reply to the submissions with the indices `sent`, in that order.
    pub(super) fn add(
        &mut self,
        sent: &[usize],
        submissions: &[Submission<'_>],
        statistics: &[String],
        reply: &GradeReply<'static>,
    ) {
        for (index, result) in sent.iter().zip(&reply.results) {
            self.items[*index] = ItemResult::from_reply(result);
        }
        let mut members: HashMap<&str, Vec<usize>> = HashMap::new();
        for index in sent {
            members
                .entry(&submissions[*index].group)
                .or_default()
                .push(*index);
        }
        for group in &reply.groups {
            let Some(name) = group.group.as_deref() else {
                continue;
            };
            let members = members.get(name).map_or(&[][..], Vec::as_slice);
            let per_member = |name: &String| {
                group
                    .statistics
                    .get(name)?
                    .as_array()
                    .filter(|all| all.len() == members.len())
            };
            if let Some(numbers) = statistics.iter().find_map(per_member) {
                for (index, number) in members.iter().zip(numbers) {
                    self.items[*index].statistic = number.as_f64();
                }
            }
            self.statistics
                .insert(name.to_owned(), group.statistics.clone());
        }
        // The last request has the most recent rates.
        self.channels.extend(
            reply
                .channels
                .iter()
                .map(|channel| (channel.channel.to_string(), channel.clone())),
        );
    }

    /// Permutes the results over the submissions.
    pub(super) fn shuffle(&mut self, random: &mut Random) {
        random.shuffle(&mut self.items);
        // The statistics describe groups whose results are permuted now.
        self.statistics.clear();
    }

    /// Counts groups and faults, once all results are collected.
    pub(super) fn finish(mut self, submissions: &[Submission<'_>]) -> StepResults {
        let mut counted = Vec::new();
        for members in groups(submissions) {
            let Some(group) = members
                .first()
                .map(|index| submissions[*index].group.clone())
            else {
                continue;
            };
            let graded = members
                .iter()
                .filter(|index| self.items[**index].outcome == Outcome::Graded)
                .count();
            let statistics = self.statistics.remove(&group).unwrap_or_default();
            counted.push(GroupResult {
                group,
                n: members.len(),
                graded,
                statistics,
            });
        }
        let mut faults: BTreeMap<String, FaultCount> = BTreeMap::new();
        for item in &self.items {
            let Some(code) = &item.fault else { continue };
            let example = item.message.clone().unwrap_or_default();
            faults
                .entry(code.clone())
                .or_insert(FaultCount { items: 0, example })
                .items += 1;
        }
        StepResults {
            items: self.items,
            groups: counted,
            channels: self.channels,
            faults,
        }
    }
}
