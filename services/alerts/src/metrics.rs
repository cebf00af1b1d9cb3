//! The metrics of alerts.

use assay_core::declare_metrics;
use metrics::{counter, gauge};

declare_metrics! {
    gauge FIRING = "assay_alert_firing" [Count] "Open problems, by rule.";
    counter NOTIFICATIONS = "assay_alert_notifications_total" [Count]
        "Notifications of the webhook for alerts, by result.";
}

/// What became of a notification.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Delivery {
    Sent,
    /// The webhook did not accept it.
    Failed,
    /// The queue was full.
    Dropped,
}

impl Delivery {
    const ALL: [Self; 3] = [Self::Sent, Self::Failed, Self::Dropped];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Dropped => "dropped",
        }
    }
}

/// Describes the metrics and starts them at zero.
pub(crate) fn start() {
    describe_all();
    for name in crate::rules::names() {
        gauge!(FIRING, "rule" => name).set(0.0);
    }
    for delivery in Delivery::ALL {
        counter!(NOTIFICATIONS, "result" => delivery.as_str()).increment(0);
    }
}

pub(crate) fn firing(rule: &'static str, problems: usize) {
    #[expect(clippy::cast_precision_loss, reason = "there are few problems")]
    gauge!(FIRING, "rule" => rule).set(problems as f64);
}

pub(crate) fn notified(delivery: Delivery) {
    counter!(NOTIFICATIONS, "result" => delivery.as_str()).increment(1);
}
