//! Which verdicts a second verifier (the judge) checks, and when its verdict replaces the grader's.
//!
//! Selection uses a hash of the policy, the run, the step and the item. A batch that is sent again
//! or replayed therefore selects the same items, and selection is independent of the verdict. The
//! selection probability is stored with each check; estimates divide by it.

use assay_core::Hash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::format::format_number;

/// An entry of a policy's `appeals`: which verdicts are sent to which judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Appeals {
    /// The judge's task: an object with a `type`. Its strings are templates over `prompt`,
    /// `completion`, `task` and `evidence`.
    pub judge: Value,
    /// Channels the rule applies to, such as `math/gsm-like` or `math/*`; all when empty. `*` is
    /// allowed only as the whole family.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// Share of negatives that is appealed, in \[0, 1\].
    #[serde(default)]
    pub negatives: f64,
    /// Share of positives that is audited, in \[0, 1\].
    #[serde(default)]
    pub positives: f64,
    /// Whether the judge's verdict replaces the grader's where they differ.
    #[serde(default)]
    pub overturn: bool,
    /// Minimum probability that an overturned verdict is right, in \[0, 1\]. Below it, the judge's
    /// verdict is only counted.
    #[serde(default = "default_precision")]
    pub precision: f64,
    /// Share of right answers that the judge passes, in \[0, 1\].
    #[serde(default = "one")]
    pub sensitivity: f64,
    /// Share of wrong answers that the judge does not pass, in \[0, 1\].
    #[serde(default = "one")]
    pub specificity: f64,
    /// Limits on the judge's cost.
    #[serde(default, skip_serializing_if = "Budget::is_unlimited")]
    pub budget: Budget,
}

/// The model learns from verdicts that are overturned wrongly, so at least nine of ten must be
/// right.
fn default_precision() -> f64 {
    0.9
}

fn one() -> f64 {
    1.0
}

/// Limits on the cost of a judge in one batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Maximum number of items it judges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<usize>,
    /// Seconds of grading after which it judges no further items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

impl Budget {
    fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether a list of channels, such as `math/gsm-like` and `math/*`, contains this one. An empty
/// list contains every channel.
pub(crate) fn covers(patterns: &[String], channel: &str) -> bool {
    let covers = |pattern: &String| match pattern.strip_suffix("/*") {
        Some(grader) => channel.split_once('/').is_some_and(|(of, _)| of == grader),
        None => channel == pattern,
    };
    patterns.is_empty() || patterns.iter().any(covers)
}

impl Appeals {
    /// Validates the rule.
    ///
    /// # Errors
    /// A JSON pointer within the rule and a message for the first invalid field.
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
                    &format!(
                        "`{field}` must be from 0 to 1; found {}",
                        format_number(share)
                    ),
                );
            }
        }
        if self.judge.get("type").and_then(Value::as_str).is_none() {
            return wrong(
                "judge",
                "`judge` must be a task: an object with a `type` that names a grader",
            );
        }
        if let Some(at) = self
            .channels
            .iter()
            .position(|pattern| !is_pattern(pattern))
        {
            let message = "invalid channel pattern; write a grader and a task family such as \
                           `math/default`, or `math/*` for all families of a grader";
            return wrong(&format!("channels/{at}"), message);
        }
        if self.negatives <= 0.0 && self.positives <= 0.0 {
            return wrong(
                "negatives",
                "the rule selects no verdicts; set `negatives` or `positives` above 0",
            );
        }
        if self.sensitivity + self.specificity - 1.0 < crate::channel::checks::MIN_JUDGE_YOUDEN {
            return wrong(
                "sensitivity",
                "a judge this inaccurate cannot be used; the sum of `sensitivity` and \
                 `specificity` must be at least 1.1",
            );
        }
        if self.budget.items == Some(0) {
            return wrong(
                "budget/items",
                "`items` must be at least 1; remove the rule to disable appeals",
            );
        }
        if self
            .budget
            .seconds
            .is_some_and(|seconds| !(seconds > 0.0 && seconds.is_finite()))
        {
            return wrong(
                "budget/seconds",
                "`seconds` must be above 0; remove the rule to disable appeals",
            );
        }
        Ok(())
    }

    /// Whether the rule applies to this channel.
    #[must_use]
    pub fn covers(&self, channel: &str) -> bool {
        covers(&self.channels, channel)
    }

    /// Whether the judge has a budget.
    #[must_use]
    pub fn is_budgeted(&self) -> bool {
        !self.budget.is_unlimited()
    }

    /// Budget of one side: the whole budget if the rule checks one side only, else half of it. The
    /// odd item goes to negatives.
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

    /// Share of the verdicts of this side that is sent to the judge, in \[0, 1\].
    #[must_use]
    pub fn rate(&self, passes: bool) -> f64 {
        if passes {
            self.positives
        } else {
            self.negatives
        }
    }
}

/// Whether a channel could match: a grader, `/`, and a family or `*`.
fn is_pattern(pattern: &str) -> bool {
    pattern.split_once('/').is_some_and(|(grader, family)| {
        !grader.is_empty() && !grader.contains('*') && (family == "*" || !family.contains('*'))
    })
}

/// A deterministic uniform draw in \[0, 1) from a hash of policy, run, step and item: equal
/// arguments have equal draws.
#[must_use]
pub fn uniform_draw(policy: &Hash, run: Option<&str>, step: Option<i64>, item: &[u8]) -> f64 {
    let step = step.map(i64::to_le_bytes);
    let parts = [
        &policy.as_bytes()[..],
        run.unwrap_or_default().as_bytes(),
        step.as_ref().map_or(&[][..], |step| &step[..]),
        item,
    ];
    let hash = Hash::of_parts(&parts);
    let [a, b, c, d, e, f, g, ..] = *hash.as_bytes();
    // An `f64` represents integers of 53 bits exactly.
    let bits = u64::from_le_bytes([a, b, c, d, e, f, g, 0]) >> 3;
    bits as f64 / (1u64 << 53) as f64
}

/// Indices of the candidates with a draw below `rate`, lowest draw first, at most `limit` of them.
#[must_use]
pub fn select(draws: &[f64], rate: f64, limit: Option<usize>) -> Vec<usize> {
    let mut selected: Vec<usize> = (0..draws.len()).filter(|at| draws[*at] < rate).collect();
    selected.sort_by(|a, b| draws[*a].total_cmp(&draws[*b]));
    selected.truncate(limit.unwrap_or(usize::MAX));
    selected
}

/// Inclusion probability, in \[0, 1\], of each of the first `judged` selected items.
///
/// It is `rate` if all `selected` items were judged. If a budget ended the list, it is `judged` /
/// `candidates`, because the items with the lowest draws are a simple random sample of the
/// candidates.
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
    fn draws_depend_on_policy_run_step_and_item_only() {
        let policy = Hash::of(b"policy");
        let one = uniform_draw(&policy, Some("run"), Some(3), b"item");
        assert!(
            (one - uniform_draw(&policy, Some("run"), Some(3), b"item")).abs() < 1e-15
                && (0.0..1.0).contains(&one)
        );
        for other in [
            uniform_draw(&policy, Some("run"), Some(4), b"item"),
            uniform_draw(&policy, None, Some(3), b"item"),
        ] {
            assert!((one - other).abs() > 1e-9);
        }
    }

    #[test]
    fn draws_are_uniform() {
        let draws: Vec<f64> = (0..10_000u32)
            .map(|n| uniform_draw(&Hash::of(b"p"), None, None, &n.to_le_bytes()))
            .collect();
        let below = select(&draws, 0.25, None).len();
        // Four standard deviations of a share of 10,000: 4 sqrt(0.25 * 0.75 * 10,000) = 173.
        assert!(below.abs_diff(2_500) < 173, "{below}");
    }

    #[test]
    fn a_budget_selects_the_lowest_draws_and_lowers_the_probability() {
        let draws = [0.4, 0.1, 0.9, 0.3];
        assert_eq!(select(&draws, 0.5, None), [1, 3, 0]);
        assert_eq!(select(&draws, 0.5, Some(2)), [1, 3]);
        assert!((probability(0.5, 3, 3, 4) - 0.5).abs() < 1e-15);
        assert!(
            (probability(0.5, 3, 2, 4) - 0.5).abs() < 1e-15,
            "two of four"
        );
        assert!((probability(0.5, 3, 1, 4) - 0.25).abs() < 1e-15);
    }

    #[test]
    fn channel_patterns_match_one_family_or_all_of_a_grader() {
        let rule = appeals(&json!({ "channels": ["math/*", "sql/easy"] })).unwrap();
        assert!(rule.covers("math/gsm-like") && rule.covers("sql/easy"));
        assert!(!rule.covers("sql/hard") && !rule.covers("mathx/a"));
        assert!(appeals(&json!({})).unwrap().covers("anything/at-all"));
    }

    #[test]
    fn rejects_invalid_channel_patterns() {
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
                found.starts_with("/channels/1: invalid channel pattern"),
                "{pattern}: {found}"
            );
        }
        assert!(appeals(&json!({ "channels": ["math/a/b", "math/a@1", "sql/*"] })).is_ok());
    }

    #[test]
    fn rejects_invalid_rules_with_a_pointer_to_the_field() {
        let error = |more: Value| appeals(&more).unwrap_err();
        assert!(
            error(json!({ "negatives": 1.5 })).starts_with("/negatives: `negatives` must be from")
        );
        assert!(
            error(json!({ "negatives": 0.0 }))
                .starts_with("/negatives: the rule selects no verdicts")
        );
        assert!(error(json!({ "judge": { "answer": "1" } })).starts_with("/judge:"));
        assert!(
            error(json!({ "sensitivity": 0.5, "specificity": 0.5 }))
                .starts_with("/sensitivity: a judge this inaccurate cannot be used")
        );
        assert!(error(json!({ "budget": { "items": 0 } })).starts_with("/budget/items"));
        assert!(error(json!({ "budget": { "seconds": -1 } })).starts_with("/budget/seconds"));
        assert!(error(json!({ "rate": 1 })).contains("unknown field `rate`"));
    }
}
