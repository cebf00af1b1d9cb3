//! The section `[alerts]`: when alerts fire, and where they are sent.

use std::time::Duration;

use assay_alerts::{Settings, is_rule, rules};
use assay_base::did_you_mean;
use assay_base::url::Url;
use serde::{Deserialize, Serialize};

use super::error::shown;
use super::server_url::ServerUrl;

/// Maximum number of steps of a run that are measured, so that reading them takes milliseconds.
const MAX_STEPS: u32 = 50;

/// Longest time, in minutes: a month.
const MAX_MINUTES: u32 = 43_200;

/// `[alerts]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Alerts {
    /// Seconds between two evaluations of the rules; 0 for no alerts.
    pub seconds: u32,
    /// Names of rules that are not evaluated, such as `slow_queue`.
    pub off: Vec<String>,
    /// URL to which alerts are sent as JSON; empty for none.
    pub webhook: ServerUrl,
    /// Number of the last steps of a run that are measured, from 2 to 50.
    pub steps: u32,
    /// Minutes over which verdicts of channels and items without a step are measured.
    pub minutes: u32,
    /// Minutes without grades after which the alerts of a run or channel end.
    pub idle_minutes: u32,
    /// Number of items from which a share counts.
    pub minimum_items: u64,
    /// Share of failed items from which `failures` fires.
    pub failed_share: f64,
    /// Share of truncated completions from which `truncation` fires.
    pub truncated_share: f64,
    /// Drop of the reward, in standard errors, from which `reward_drop` fires.
    pub reward_errors: f64,
    /// 95th percentile of the time in the queue, in seconds, from which `slow_queue` fires.
    pub queue_seconds: f64,
}

impl Default for Alerts {
    fn default() -> Self {
        let minutes = |span: Duration| u32::try_from(span.as_secs() / 60).unwrap_or(MAX_MINUTES);
        let settings = Settings::default();
        Self {
            seconds: u32::try_from(settings.interval.as_secs()).unwrap_or(u32::MAX),
            off: settings.off,
            webhook: settings.webhook.into(),
            steps: settings.steps,
            minutes: minutes(settings.window),
            idle_minutes: minutes(settings.idle),
            minimum_items: settings.minimum_items,
            failed_share: settings.failed_share,
            truncated_share: settings.truncated_share,
            reward_errors: settings.reward_errors,
            queue_seconds: settings.queue_seconds,
        }
    }
}

impl Alerts {
    pub(super) fn check(&self) -> Result<(), String> {
        if let Some(unknown) = self.off.iter().find(|name| !is_rule(name)) {
            let similar = did_you_mean(unknown, rules::names());
            let end = if similar.is_empty() {
                format!("; the rules are {}", rules::names().join(", "))
            } else {
                similar
            };
            return Err(format!(
                "unknown rule `{}` in `alerts.off`{end}",
                shown(unknown)
            ));
        }
        if !(2..=MAX_STEPS).contains(&self.steps) {
            return Err(format!("`alerts.steps` must be from 2 to {MAX_STEPS}"));
        }
        for (name, minutes) in [
            ("minutes", self.minutes),
            ("idle_minutes", self.idle_minutes),
        ] {
            if !(1..=MAX_MINUTES).contains(&minutes) {
                return Err(format!("`alerts.{name}` must be from 1 to {MAX_MINUTES}"));
            }
        }
        for (name, share) in [
            ("failed_share", self.failed_share),
            ("truncated_share", self.truncated_share),
        ] {
            if !(share > 0.0 && share <= 1.0) {
                return Err(format!("`alerts.{name}` must be above 0 and at most 1"));
            }
        }
        for (name, number) in [
            ("reward_errors", self.reward_errors),
            ("queue_seconds", self.queue_seconds),
        ] {
            if !(number > 0.0 && number.is_finite()) {
                return Err(format!("`alerts.{name}` must be a number above 0"));
            }
        }
        self.check_webhook()
    }

    /// No message contains the URL, which may contain a password.
    fn check_webhook(&self) -> Result<(), String> {
        let is_http = |url: &Url<'_>| ["http", "https"].contains(&url.scheme);
        let url = Url::parse(self.webhook.reveal());
        if self.webhook.is_empty() || url.is_some_and(|url| is_http(&url) && !url.host.is_empty()) {
            return Ok(());
        }
        let message = "`alerts.webhook` must be an HTTP URL such as `https://chat.example/hooks/1`";
        Err(message.to_owned())
    }

    /// The settings of the rules.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let minutes = |minutes: u32| Duration::from_mins(minutes.into());
        Settings {
            interval: Duration::from_secs(self.seconds.into()),
            off: self.off.clone(),
            webhook: self.webhook.reveal().to_owned(),
            steps: self.steps,
            window: minutes(self.minutes),
            idle: minutes(self.idle_minutes),
            minimum_items: self.minimum_items,
            failed_share: self.failed_share,
            truncated_share: self.truncated_share,
            reward_errors: self.reward_errors,
            queue_seconds: self.queue_seconds,
        }
    }
}
