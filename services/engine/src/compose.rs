//! Stage 4, compose: the policy makes a reward from score, checks and measures.

use std::sync::Arc;

use assay_core::{Component, ErrorCode, Outcome, Reward};

use crate::EngineError;
use crate::grade::ItemDone;
use crate::plan::Plan;
use crate::reply::ItemResult;

/// What makes rewards from scores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Policy {
    /// The reward is the score; checks and measures are reported only.
    #[default]
    Score,
}

impl Policy {
    /// The policy of this name.
    ///
    /// # Errors
    /// [`EngineError::Unknown`], with the names there are.
    pub fn by_name(name: &str) -> Result<Self, EngineError> {
        if name == Self::Score.name() {
            return Ok(Self::Score);
        }
        Err(EngineError::Unknown {
            code: ErrorCode::UnknownPolicy,
            pointer: "/policy",
            message: format!("no policy is named `{name}`; this node has `default`"),
        })
    }

    /// The name in requests and in the record.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Score => "default",
        }
    }

    fn reward(&self, outcome: &Outcome) -> Option<Reward> {
        match self {
            Self::Score => outcome.grade().map(|grade| grade.score.into()),
        }
    }
}

pub(crate) fn compose(plan: &Arc<Plan>, wave: Vec<ItemDone>) -> Vec<ItemResult> {
    wave.into_iter().map(|done| compose_one(plan, done)).collect()
}

fn compose_one(plan: &Arc<Plan>, done: ItemDone) -> ItemResult {
    let ItemDone { main, checks } = done;
    let batch_item = &plan.batch.items[main.item];
    let mut outcome = main.outcome;
    let (mut queue_us, mut grade_us, mut time_us) = (main.queue_us, main.grade_us, main.time_us);
    let mut check_components = Vec::with_capacity(checks.len());
    for (check, (name, _)) in checks.into_iter().zip(&batch_item.checks) {
        queue_us = queue_us.min(check.queue_us);
        grade_us += check.grade_us;
        time_us = time_us.max(check.time_us);
        check_components.push(Component { name: name.clone(), grader: check.spec.id(), outcome: check.outcome });
    }
    if let Outcome::Graded(grade) = &mut outcome {
        grade.measures.extend(batch_item.item.meta.measures());
    }
    let reward = plan.batch.policy.reward(&outcome);
    let family = batch_item.channel.as_deref().unwrap_or("default");
    ItemResult {
        position: main.item,
        grade: plan.id.grade(u32::try_from(main.item).unwrap_or(u32::MAX)),
        channel: format!("{}/{family}", main.spec.name),
        spec: main.spec,
        pass: outcome.grade().and_then(|grade| main.spec.pass(grade.verdict)),
        outcome,
        check_components,
        score_after_appeal: None,
        backward: None,
        forward: None,
        reward,
        coefficient: None,
        coefficient_rule: None,
        cached: main.cached,
        queue_us,
        grade_us,
        time_us,
        recorded: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_policy_is_told_what_there_is() {
        assert_eq!(Policy::by_name("default").unwrap(), Policy::Score);
        let error = Policy::by_name("defualt").unwrap_err();
        assert_eq!(error.code(), ErrorCode::UnknownPolicy);
        assert!(error.to_string().contains("this node has `default`"), "{error}");
    }
}
