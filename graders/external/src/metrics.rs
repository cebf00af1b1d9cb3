//! Metrics of judges.

use assay_core::declare_metrics;
use metrics::{counter, gauge};

use crate::answer::Usage;

declare_metrics! {
    counter CALLS = "assay_judge_calls_total" [Count]
        "Calls of judges, by judge and result; cached answers and calls that were not made count.";
    counter TOKENS = "assay_judge_tokens_total" [Count]
        "Tokens that judges read and wrote, by judge and direction.";
    counter COST = "assay_judge_cost_micros_total" [Count]
        "Cost of calls of judges in millionths of the unit of the prices, by judge.";
    gauge IN_FLIGHT = "assay_judge_in_flight" [Count] "Items that a judge works on, by judge.";
    gauge STOPPED = "assay_judge_stopped"
        "1 while a judge is not called because its calls failed, by judge.";
    counter PAIRS = "assay_judge_pairs_total" [Count]
        "Pairs that a judge compared in both orders, by judge and whether it preferred the same \
         completion.";
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallResult {
    Read,
    Cached,
    Unreadable,
    Failed,
    Limited,
    Stopped,
    OverBudget,
}

impl CallResult {
    const ALL: [Self; 7] = [
        Self::Read,
        Self::Cached,
        Self::Unreadable,
        Self::Failed,
        Self::Limited,
        Self::Stopped,
        Self::OverBudget,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Cached => "cached",
            Self::Unreadable => "unreadable",
            Self::Failed => "failed",
            Self::Limited => "limited",
            Self::Stopped => "stopped",
            Self::OverBudget => "over_budget",
        }
    }
}

/// Values of labels.
const DIRECTIONS: [&str; 2] = ["read", "written"];
const PREFERRED: [&str; 2] = ["same", "other"];

/// Describes the metrics, and starts the counters of these judges at 0.
pub(crate) fn describe<'j>(judges: impl Iterator<Item = &'j str>) {
    describe_all();
    for judge in judges {
        for result in CallResult::ALL {
            let labels = [
                ("judge", judge.to_owned()),
                ("result", result.as_str().to_owned()),
            ];
            counter!(CALLS, &labels).increment(0);
        }
        for direction in DIRECTIONS {
            counter!(TOKENS, "judge" => judge.to_owned(), "direction" => direction).increment(0);
        }
        counter!(COST, "judge" => judge.to_owned()).increment(0);
        for preferred in PREFERRED {
            counter!(PAIRS, "judge" => judge.to_owned(), "preferred" => preferred).increment(0);
        }
        gauge!(IN_FLIGHT, "judge" => judge.to_owned()).set(0.0);
        stopped(judge, false);
    }
}

pub(crate) fn call(judge: &str, result: CallResult) {
    counter!(CALLS, "judge" => judge.to_owned(), "result" => result.as_str()).increment(1);
}

pub(crate) fn spent(judge: &str, call: Usage) {
    let tokens = [call.input_tokens, call.output_tokens];
    for (direction, tokens) in DIRECTIONS.into_iter().zip(tokens) {
        counter!(TOKENS, "judge" => judge.to_owned(), "direction" => direction).increment(tokens);
    }
    // Prices are not negative, and a float is saturated.
    let micros = (call.cost * 1e6).round() as u64;
    counter!(COST, "judge" => judge.to_owned()).increment(micros);
}

pub(crate) fn stopped(judge: &str, is_stopped: bool) {
    gauge!(STOPPED, "judge" => judge.to_owned()).set(f64::from(is_stopped));
}

pub(crate) fn swapped_pair(judge: &str, agreed: bool) {
    let result = PREFERRED[usize::from(!agreed)];
    counter!(PAIRS, "judge" => judge.to_owned(), "preferred" => result).increment(1);
}

/// Counts an item until it is dropped.
pub(crate) struct InFlight<'j>(&'j str);

pub(crate) fn in_flight(judge: &str) -> InFlight<'_> {
    gauge!(IN_FLIGHT, "judge" => judge.to_owned()).increment(1.0);
    InFlight(judge)
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        gauge!(IN_FLIGHT, "judge" => self.0.to_owned()).decrement(1.0);
    }
}
