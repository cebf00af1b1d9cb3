//! Alerts: open problems, the rules that find them, and what is sent to a webhook.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The open problems of a node, and its rules.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertsBody {
    /// Open problems, the most severe first, then the oldest first.
    pub alerts: Vec<AlertBody>,
    /// The rules that are evaluated.
    pub rules: Vec<AlertRuleBody>,
    /// When the rules were last evaluated, in microseconds since the Unix epoch; null before the
    /// first time.
    pub evaluated_us: Option<i64>,
}

/// An open problem: a rule that is met by a run, a channel or the node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertBody {
    /// Name of the rule.
    pub rule: String,
    /// How urgent it is.
    pub severity: Severity,
    /// Name of the run; null if the problem is not that of a run.
    pub run: Option<String>,
    /// Name of the channel; null if the problem is not that of a channel.
    pub channel: Option<String>,
    /// What is wrong, in one sentence.
    pub message: String,
    /// When the rule was first met, in microseconds since the Unix epoch.
    pub since_us: i64,
    /// The measured value, in the unit of the rule.
    pub value: f64,
    /// The value from which the rule is met.
    pub threshold: f64,
    /// Number of grades that cause the problem.
    pub grades: u64,
    /// Path and query of the page that lists these grades; null if the record has none of them.
    pub link: Option<String>,
}

/// A rule that is evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlertRuleBody {
    /// Name, as in `alerts.off` of the configuration.
    pub rule: String,
    /// How urgent its problems are.
    pub severity: Severity,
    /// What is measured, with its unit.
    pub measures: String,
    /// The value from which the rule is met.
    pub threshold: f64,
    /// The value below which a problem is closed.
    pub clears_below: f64,
    /// Number of items from which the value counts.
    pub minimum_items: u64,
}

/// How urgent a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Rewards or grades are lost or wrong.
    Critical,
    /// To be inspected.
    Warning,
}

/// Whether a problem was found or has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlertStatus {
    /// The problem was found.
    Firing,
    /// The problem has ended.
    Resolved,
}

/// The body of a request to the webhook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NotificationBody {
    /// Whether the problem was found or has ended.
    pub status: AlertStatus,
    /// One line for people, which chat services show.
    pub text: String,
    /// The problem.
    pub alert: AlertBody,
}
