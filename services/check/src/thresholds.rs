//! Numbers that the configuration can change, from which on a rule reports a row.

use serde::Deserialize;

/// Thresholds of rules. Shares are in (0, 1].
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thresholds {
    /// `near-duplicate`, `near-conflict`: minimum share of the word pairs of two prompts that both
    /// have. Fewer pairs of prompts are compared below 0.8.
    pub near_duplicate_share: f64,
    /// `contaminated`: minimum share of the 8-word sequences of the prompt that occur in the
    /// benchmark, as in Tulu 3 (arXiv 2411.15124, section 3.2).
    pub contaminated_share: f64,
    /// `contaminated`: the same after numbers and names are masked, which makes more prompts
    /// similar.
    pub contaminated_masked_share: f64,
    /// `prompt-language`: minimum share of the prompts in the main language.
    pub main_language_share: f64,
    /// `mixed-answers`: minimum share of the golds of the main kind.
    pub main_answer_share: f64,
    /// `always-solved`, `never-solved`: minimum number of rollouts of a row.
    pub rollouts: u32,
    /// `rollouts-disagree`: minimum number of rollouts with an answer.
    pub rollout_answers: u64,
    /// `rollouts-disagree`: minimum share of the answers that agree against the gold. Independent
    /// wrong answers rarely do: a majority of samples is the usual label where there is no gold
    /// (Wang and others 2023, self-consistency, arXiv 2203.11171).
    pub rollouts_agree_share: f64,
    /// `weak-checks`: share of the changes of a right program that may pass without being told from
    /// the program.
    pub weak_checks_share: f64,
    /// `work-outlier`: minimum ratio of the work to the 90th percentile. The most expensive program
    /// of HumanEval takes 1,065 times that.
    pub work_ratio: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            near_duplicate_share: 0.8,
            contaminated_share: 0.5,
            contaminated_masked_share: 0.8,
            main_language_share: 0.9,
            main_answer_share: 0.95,
            rollouts: 4,
            rollout_answers: 8,
            rollouts_agree_share: 0.6,
            weak_checks_share: 0.5,
            work_ratio: 2_000,
        }
    }
}

impl Thresholds {
    /// Checks the ranges.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, share) in [
            ("near_duplicate_share", self.near_duplicate_share),
            ("contaminated_share", self.contaminated_share),
            ("contaminated_masked_share", self.contaminated_masked_share),
            ("main_language_share", self.main_language_share),
            ("main_answer_share", self.main_answer_share),
            ("rollouts_agree_share", self.rollouts_agree_share),
            ("weak_checks_share", self.weak_checks_share),
        ] {
            if !(share > 0.0 && share <= 1.0) {
                return Err(format!(
                    "`check.thresholds.{name}` is {share}, but must be above 0 and at most 1"
                ));
            }
        }
        for (name, number) in [
            ("rollouts", u64::from(self.rollouts)),
            ("rollout_answers", self.rollout_answers),
            ("work_ratio", self.work_ratio),
        ] {
            if number == 0 {
                return Err(format!("`check.thresholds.{name}` must be at least 1"));
            }
        }
        Ok(())
    }
}

/// Whether `count` is at least this share of `all`.
pub(crate) fn is_share(count: u64, all: u64, share: f64) -> bool {
    count as f64 >= share * all as f64
}
