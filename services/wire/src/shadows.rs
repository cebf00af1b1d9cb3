//! JSON types of shadows: a share of a run that is graded again as it is recorded.

use std::collections::BTreeMap;

use assay_record::ItemGrade;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::replays::{ReplayBody, ReplaySummary};

/// A shadow to start.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartShadow {
    /// Fields to set in every task, by name; checks are not changed.
    #[schema(value_type = Object)]
    pub options: BTreeMap<String, Box<RawValue>>,
    /// Share of the grades that are graded again, above 0 and at most 1.
    #[serde(default = "usual_share")]
    pub share: f64,
    /// Whether grades that are recorded already are graded too.
    #[serde(default)]
    pub from_start: bool,
}

fn usual_share() -> f64 {
    0.1
}

/// The shadow of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ShadowBody {
    /// Its id, a ULID.
    pub shadow: String,
    /// Name of the run.
    pub run: String,
    /// Name of the key that started it.
    pub caller: String,
    /// Fields that it sets in every task.
    #[schema(value_type = Object)]
    pub options: serde_json::Map<String, serde_json::Value>,
    /// Share of the grades that are graded again.
    pub share: f64,
    /// When it was started, in microseconds since the Unix epoch.
    pub started_us: i64,
    /// When it was ended; null while it is open.
    pub ended_us: Option<i64>,
    /// When its fields became those of the run; null if they did not.
    pub promoted_us: Option<i64>,
    /// When they no longer were; null if they are.
    pub withdrawn_us: Option<i64>,
    /// What was found.
    pub findings: ShadowFindings,
}

/// What a shadow found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ShadowFindings {
    /// Verdicts by recorded verdict, and grades that could not be graded again.
    pub replay: ReplaySummary,
    /// Scores.
    pub scores: Difference,
    /// Rewards of items whose reward is their score; those that a policy changes are not compared.
    pub rewards: Difference,
    /// Microseconds of grading, as recorded.
    pub recorded_us: u64,
    /// Microseconds of grading with the fields.
    pub shadow_us: u64,
    /// Deterministic cost as recorded, in the units of the graders.
    pub recorded_work: u64,
    /// Deterministic cost with the fields.
    pub shadow_work: u64,
}

/// Numbers of the same items, as recorded and with the fields of a shadow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Difference {
    /// Items that have both numbers.
    pub items: u64,
    /// Of those, items whose numbers differ.
    pub changed: u64,
    /// Sum as recorded.
    pub recorded_sum: f64,
    /// Sum with the fields.
    pub shadow_sum: f64,
}

impl Difference {
    fn add(&mut self, recorded: Option<f64>, shadow: Option<f64>) {
        let (Some(recorded), Some(shadow)) = (recorded, shadow) else {
            return;
        };
        self.items += 1;
        self.changed += u64::from(recorded != shadow);
        self.recorded_sum += recorded;
        self.shadow_sum += shadow;
    }

    /// Mean with the fields minus the mean as recorded; `None` without items.
    #[must_use]
    pub fn of_means(&self) -> Option<f64> {
        (self.items > 0).then(|| (self.shadow_sum - self.recorded_sum) / self.items as f64)
    }
}

impl ShadowFindings {
    /// Adds a replay, of these grades.
    pub fn add(&mut self, body: &ReplayBody, recorded: &ItemGrade, shadow: &ItemGrade) {
        let missing_before: u64 = self.replay.missing.values().sum();
        self.replay.add(body);
        if self.replay.missing.values().sum::<u64>() > missing_before {
            return;
        }
        self.scores.add(recorded.score, shadow.score);
        let is_plain = recorded.reward.is_some() && recorded.reward == recorded.score;
        if is_plain && recorded.reward_breakdown.is_none() {
            self.rewards.add(recorded.reward, shadow.score);
        }
        self.recorded_us += recorded.grade_us;
        self.shadow_us += shadow.grade_us;
        self.recorded_work = self.recorded_work.saturating_add(recorded.work);
        self.shadow_work = self.shadow_work.saturating_add(shadow.work);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_counts_items_with_both_numbers() {
        let mut difference = Difference::default();
        assert_eq!(difference.of_means(), None);
        for (recorded, shadow) in [
            (Some(1.0), Some(1.0)),
            (Some(1.0), Some(0.0)),
            (None, Some(1.0)),
            (Some(0.0), None),
        ] {
            difference.add(recorded, shadow);
        }
        assert_eq!((difference.items, difference.changed), (2, 1));
        assert_eq!(difference.of_means(), Some(-0.5));
    }
}
