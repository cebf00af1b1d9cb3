//! The rules, and the settings that they are made from.

use std::time::Duration;

use assay_wire::alerts::{AlertRuleBody, Severity};

/// When the rules are met.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Time between two evaluations; zero for no alerts.
    pub interval: Duration,
    /// Names of rules that are not evaluated.
    pub off: Vec<String>,
    /// Number of the last steps of a run that are measured.
    pub steps: u32,
    /// Time over which items without a step and verdicts of channels are measured.
    pub window: Duration,
    /// Time without grades after which the problems of a run or channel are closed.
    pub idle: Duration,
    /// Number of items from which a share counts.
    pub minimum_items: u64,
    /// Share of failed items.
    pub failed_share: f64,
    /// Share of truncated completions.
    pub truncated_share: f64,
    /// Drop of the reward, in standard errors.
    pub reward_errors: f64,
    /// 95th percentile of the time in the queue, in seconds.
    pub queue_seconds: f64,
    /// URL to which problems are sent; empty for none.
    pub webhook: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(15),
            off: Vec::new(),
            steps: 10,
            window: Duration::from_mins(20),
            idle: Duration::from_mins(120),
            minimum_items: 200,
            failed_share: 0.01,
            truncated_share: 0.2,
            reward_errors: 3.0,
            queue_seconds: 30.0,
            webhook: String::new(),
        }
    }
}

/// What a rule measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Measure {
    Unrecorded,
    Failures,
    OneSided,
    Drift,
    RewardDrop,
    Truncation,
    Queue,
}

/// A rule.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    pub(crate) measure: Measure,
    pub(crate) severity: Severity,
    /// What is measured, with its unit.
    pub(crate) measures: &'static str,
    /// The rule is met from this value.
    pub(crate) threshold: f64,
    /// A problem is closed below this value, which is lower if the value varies by itself.
    pub(crate) clears_below: f64,
    /// Number of items from which the value counts.
    pub(crate) minimum: u64,
}

impl Rule {
    pub(crate) fn body(&self) -> AlertRuleBody {
        AlertRuleBody {
            rule: self.name.to_owned(),
            severity: self.severity,
            measures: self.measures.to_owned(),
            threshold: self.threshold,
            clears_below: self.clears_below,
            minimum_items: self.minimum,
        }
    }
}

/// Part of a threshold below which a problem is closed.
const CLEARS: f64 = 0.8;

/// All rules, also those that are off.
fn all(settings: &Settings) -> [Rule; 7] {
    use Severity::{Critical, Warning};
    let items = settings.minimum_items;
    let rule = |name, measure, severity, measures, (threshold, part): (f64, f64), minimum| Rule {
        name,
        measure,
        severity,
        measures,
        threshold,
        clears_below: threshold * part,
        minimum,
    };
    [
        rule(
            "unrecorded",
            Measure::Unrecorded,
            Critical,
            "number of grades that could not be recorded",
            (1.0, 1.0),
            1,
        ),
        rule(
            "failures",
            Measure::Failures,
            Critical,
            "share of failed items of a run, or of items without a run or step",
            (settings.failed_share, CLEARS),
            items,
        ),
        rule(
            "one_sided",
            Measure::OneSided,
            Warning,
            "share of the more frequent side, pass or fail, of a channel",
            (1.0, 1.0),
            items,
        ),
        rule(
            "drift",
            Measure::Drift,
            Warning,
            "1 if the error rates of a channel have changed, else 0",
            (1.0, 1.0),
            0,
        ),
        rule(
            "reward_drop",
            Measure::RewardDrop,
            Warning,
            "drop of the mean reward of a run, in standard errors",
            (settings.reward_errors, CLEARS),
            items,
        ),
        rule(
            "truncation",
            Measure::Truncation,
            Warning,
            "share of truncated completions of a run, or of items without a run or step",
            (settings.truncated_share, CLEARS),
            items,
        ),
        rule(
            "slow_queue",
            Measure::Queue,
            Warning,
            "95th percentile of the time in the queue of a run, in seconds",
            (settings.queue_seconds, CLEARS),
            items,
        ),
    ]
}

/// The rules that are evaluated.
pub(crate) fn rules(settings: &Settings) -> Vec<Rule> {
    if settings.interval.is_zero() {
        return Vec::new();
    }
    let is_on = |rule: &Rule| settings.off.iter().all(|off| off != rule.name);
    all(settings).into_iter().filter(is_on).collect()
}

/// Names of all rules.
#[must_use]
pub fn names() -> [&'static str; 7] {
    all(&Settings::default()).map(|rule| rule.name)
}

/// Whether a rule has this name.
#[must_use]
pub fn is_rule(name: &str) -> bool {
    names().contains(&name)
}
