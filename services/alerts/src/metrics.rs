//! The metrics of alerts.

use metrics::{Unit, counter, describe_counter, describe_gauge, gauge};

const FIRING: &str = "assay_alert_firing";
const NOTIFICATIONS: &str = "assay_alert_notifications_total";

/// Names of all metrics of alerts.
pub const NAMES: &[&str] = &[FIRING, NOTIFICATIONS];

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
    describe_gauge!(FIRING, Unit::Count, "Open problems, by rule.");
    describe_counter!(
        NOTIFICATIONS,
        Unit::Count,
        "Notifications of the webhook for alerts, by result."
    );
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
