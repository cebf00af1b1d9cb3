//! Which verdicts a second verifier looks at, and when its word counts.
//!
//! Selection is by a hash of the policy, the run, the step and the item, so that a batch sent
//! again, or replayed, selects the same items, and so that what is selected says nothing of what is
//! in it. The probability is kept with each check; estimates divide by it.

use assay_core::Hash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::policy::read::number;

/// Which verdicts go to a judge, as a policy says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Appeals {
    /// The judge's task: an object with a `type`. Its texts are templates over `prompt`,
    /// `completion`, `task` and `evidence`.
    pub judge: Value,
    /// Channels whose verdicts go to this judge, as in `math/gsm-like` or `math/*`; all when empty.
    /// `*` stands for every family of a grader and for nothing less.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// Share of negatives that is appealed, in \[0, 1\].
    #[serde(default)]
    pub negatives: f64,
    /// Share of positives that is audited, in \[0, 1\].
    #[serde(default)]
    pub positives: f64,
    /// Whether the judge's word replaces the verdict where they differ.
    #[serde(default)]
    pub overturn: bool,
    /// Least probability that an overturned verdict is right, in \[0, 1\]; below it the judge's
    /// word is only counted.
    #[serde(default = "default_precision")]
    pub precision: f64,
    /// Share of right answers that the judge passes, in \[0, 1\].
    #[serde(default = "one")]
    pub sensitivity: f64,
    /// Share of wrong answers that the judge does not pass, in \[0, 1\].
    #[serde(default = "one")]
    pub specificity: f64,
    /// What the judge may cost.
    #[serde(default, skip_serializing_if = "Budget::is_unlimited")]
    pub budget: Budget,
}

/// Errors of a verdict that is overturned wrongly are learnt: nine of ten must be right.
fn default_precision() -> f64 {
    0.9
}

fn one() -> f64 {
    1.0
}

/// What a judge may cost in one batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Most items it looks at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<usize>,
    /// Seconds of grading after which it looks at no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

impl Budget {
    fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

impl Appeals {
    /// What cannot be meant: the field, and what to do.
    ///
    /// # Errors
    /// A pointer within the rule and a sentence.
    pub fn check(&self) -> Result<(), (String, String)> {
        let wrong = |field: &str, message: &str| Err((format!("/{field}"), message.to_owned()));
        let shares = [
            ("negatives", self.negatives),
            ("positives", self.positives),
            ("precision", self.precision),
            ("sensitivity", self.sensitivity),
            ("specificity", self.specificity),
        ];
        for (field, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return wrong(
                    field,
                    &format!("`{field}` is a share from 0 to 1: {}", number(share)),
                );
            }
        }
        if self.judge.get("type").and_then(Value::as_str).is_none() {
            return wrong(
                "judge",
                "`judge` is a task: an object with a `type` that names a grader",
            );
        }
        if let Some(at) = self
            .channels
            .iter()
            .position(|pattern| !is_pattern(pattern))
        {
            let message = "no channel is named like this; write a grader and a family, as \
                           `math/default`, or `math/*` for all families of a grader";
            return wrong(&format!("channels/{at}"), message);
        }
        if self.negatives <= 0.0 && self.positives <= 0.0 {
            return wrong(
                "negatives",
                "nothing is appealed: give `negatives` or `positives` a share above 0",
            );
        }
        if self.sensitivity + self.specificity - 1.0 < crate::channel::checks::LEAST_JUDGE {
            return wrong(
                "sensitivity",
                "the judge guesses: `sensitivity` and `specificity` together are at least 1.1",
            );
        }
        if self.budget.items == Some(0) {
            return wrong(
                "budget/items",
                "`items` is at least 1; leave the rule out to appeal nothing",
            );
        }
        if self
            .budget
            .seconds
            .is_some_and(|seconds| !(seconds > 0.0 && seconds.is_finite()))
        {
            return wrong(
                "budget/seconds",
                "`seconds` is above 0; leave the rule out to appeal nothing",
            );
        }
        Ok(())
    }

    /// Whether verdicts of this channel go to this judge.
    #[must_use]
    pub fn covers(&self, channel: &str) -> bool {
        let covers = |pattern: &String| match pattern.strip_suffix("/*") {
            Some(grader) => channel.split_once('/').is_some_and(|(of, _)| of == grader),
            None => channel == pattern,
        };
        self.channels.is_empty() || self.channels.iter().any(covers)
    }

    /// Whether its cost is bounded.
    #[must_use]
    pub fn is_budgeted(&self) -> bool {
        !self.budget.is_unlimited()
    }

    /// What the judge may cost on one side: half of the budget where both sides are looked at, the
    /// odd item for negatives.
    #[must_use]
    pub fn budget(&self, passes: bool) -> Budget {
        if self.negatives <= 0.0 || self.positives <= 0.0 {
            return self.budget;
        }
        Budget {
            items: self
                .budget
                .items
                .map(|items| if passes { items / 2 } else { items.div_ceil(2) }),
            seconds: self.budget.seconds.map(|seconds| seconds / 2.0),
        }
    }

    /// Share of this side's verdicts that goes to the judge.
    #[must_use]
    pub fn rate(&self, passes: bool) -> f64 {
        if passes {
            self.positives
        } else {
            self.negatives
        }
    }
}

/// Whether some channel may be meant: a grader, `/`, and a family or `*`.
fn is_pattern(pattern: &str) -> bool {
    pattern.split_once('/').is_some_and(|(grader, family)| {
        !grader.is_empty() && !grader.contains('*') && (family == "*" || !family.contains('*'))
    })
}

/// Where an item falls in \[0, 1): the same for the same policy, run, step and item, and as good as
/// random over items.
#[must_use]
pub fn lot(policy: &Hash, run: Option<&str>, step: Option<i64>, item: &[u8]) -> f64 {
    let step = step.map(i64::to_le_bytes);
    let parts = [
        &policy.as_bytes()[..],
        run.unwrap_or_default().as_bytes(),
        step.as_ref().map_or(&[][..], |step| &step[..]),
        item,
    ];
    let hash = Hash::of_parts(&parts);
    let [a, b, c, d, e, f, g, ..] = *hash.as_bytes();
    // 53 bits are what a number of this type holds.
    let bits = u64::from_le_bytes([a, b, c, d, e, f, g, 0]) >> 3;
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let lot = bits as f64 / (1u64 << 53) as f64;
    lot
}

/// The candidates that are selected, lowest lot first: those whose lot is below `rate`, at most
/// `most`.
#[must_use]
pub fn select(lots: &[f64], rate: f64, most: Option<usize>) -> Vec<usize> {
    let mut selected: Vec<usize> = (0..lots.len()).filter(|at| lots[*at] < rate).collect();
    selected.sort_by(|a, b| lots[*a].total_cmp(&lots[*b]));
    selected.truncate(most.unwrap_or(usize::MAX));
    selected
}

/// Probability with which each of the `judged` first selected was chosen among `candidates`: the
/// rate, or, where a budget ended the list, their share, because the lowest lots are a simple
/// random sample.
#[must_use]
pub fn probability(rate: f64, selected: usize, judged: usize, candidates: usize) -> f64 {
    if judged == selected {
        return rate;
    }
    super::channel::window::count(judged as u64)
        / super::channel::window::count(candidates as u64).max(1.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn appeals(more: &Value) -> Result<Appeals, String> {
        let mut rule = json!({ "judge": { "type": "math", "answer": "1" }, "negatives": 0.5 });
        rule.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let rule: Appeals = serde_json::from_value(rule).map_err(|error| error.to_string())?;
        rule.check()
            .map_err(|(pointer, message)| format!("{pointer}: {message}"))?;
        Ok(rule)
    }

    #[test]
    fn a_lot_is_the_same_when_the_batch_is_sent_again() {
        let policy = Hash::of(b"policy");
        let one = lot(&policy, Some("run"), Some(3), b"item");
        assert!(
            (one - lot(&policy, Some("run"), Some(3), b"item")).abs() < 1e-15
                && (0.0..1.0).contains(&one)
        );
        for other in [
            lot(&policy, Some("run"), Some(4), b"item"),
            lot(&policy, None, Some(3), b"item"),
        ] {
            assert!((one - other).abs() > 1e-9);
        }
    }

    #[test]
    fn lots_are_spread_evenly() {
        let lots: Vec<f64> = (0..10_000u32)
            .map(|n| lot(&Hash::of(b"p"), None, None, &n.to_le_bytes()))
            .collect();
        let below = select(&lots, 0.25, None).len();
        // Four standard deviations of a share of 10,000: 4 sqrt(0.25 * 0.75 * 10,000) = 173.
        assert!(below.abs_diff(2_500) < 173, "{below}");
    }

    #[test]
    fn a_budget_keeps_the_lowest_lots_and_says_how_likely_they_were() {
        let lots = [0.4, 0.1, 0.9, 0.3];
        assert_eq!(select(&lots, 0.5, None), [1, 3, 0]);
        assert_eq!(select(&lots, 0.5, Some(2)), [1, 3]);
        assert!((probability(0.5, 3, 3, 4) - 0.5).abs() < 1e-15);
        assert!(
            (probability(0.5, 3, 2, 4) - 0.5).abs() < 1e-15,
            "two of four"
        );
        assert!((probability(0.5, 3, 1, 4) - 0.25).abs() < 1e-15);
    }

    #[test]
    fn a_rule_covers_its_channels() {
        let rule = appeals(&json!({ "channels": ["math/*", "sql/easy"] })).unwrap();
        assert!(rule.covers("math/gsm-like") && rule.covers("sql/easy"));
        assert!(!rule.covers("sql/hard") && !rule.covers("mathx/a"));
        assert!(appeals(&json!({})).unwrap().covers("anything/at-all"));
    }

    #[test]
    fn a_pattern_that_covers_nothing_is_refused() {
        for pattern in [
            "math",
            "*",
            "",
            "*/default",
            "ma*/default",
            "math/gsm*",
            "math/**",
            "math/a/*",
            "/*",
        ] {
            let found = appeals(&json!({ "channels": ["sql/*", pattern] })).unwrap_err();
            assert!(
                found.starts_with("/channels/1: no channel is named like this"),
                "{pattern}: {found}"
            );
        }
        assert!(appeals(&json!({ "channels": ["math/a/b", "math/a@1", "sql/*"] })).is_ok());
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_its_field() {
        let refused = |more: Value| appeals(&more).unwrap_err();
        assert!(
            refused(json!({ "negatives": 1.5 })).starts_with("/negatives: `negatives` is a share")
        );
        assert!(
            refused(json!({ "negatives": 0.0 })).starts_with("/negatives: nothing is appealed")
        );
        assert!(refused(json!({ "judge": { "answer": "1" } })).starts_with("/judge:"));
        assert!(
            refused(json!({ "sensitivity": 0.5, "specificity": 0.5 }))
                .starts_with("/sensitivity: the judge guesses")
        );
        assert!(refused(json!({ "budget": { "items": 0 } })).starts_with("/budget/items"));
        assert!(refused(json!({ "budget": { "seconds": -1 } })).starts_with("/budget/seconds"));
        assert!(refused(json!({ "rate": 1 })).contains("unknown field `rate`"));
    }
}
