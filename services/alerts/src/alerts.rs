//! Evaluates the rules regularly, keeps the open problems, and reports changes.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_engine::{Engine, Totals};
use assay_record::{RecentChannel, RecentRun, Record, RecordError};
use assay_rewards::channel::Ledger;
use assay_wire::alerts::{AlertBody, AlertStatus, AlertsBody, NotificationBody};

use crate::measure::{self, HISTORY, Observation};
use crate::metrics;
use crate::open::OpenAlerts;
use crate::rules::{Measure, Rule, Settings, rules};
use crate::totals_window::TotalsWindow;
use crate::webhook::Webhook;

/// Maximum number of runs that are measured: those that were used last.
const MAX_RUNS: u32 = 16;

/// Maximum number of channels that are measured: those that were used last.
const MAX_CHANNELS: u32 = 256;

/// The alerts of a node.
pub struct Alerts {
    engine: Engine,
    settings: Settings,
    rules: Vec<Rule>,
    webhook: Option<Webhook>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: OpenAlerts,
    totals: TotalsWindow,
    evaluated_us: Option<i64>,
}

/// What the record knows of the last minutes.
struct Recorded {
    runs: Vec<RecentRun>,
    channels: Vec<RecentChannel>,
    ledger: std::sync::Arc<Ledger>,
}

impl Alerts {
    /// The alerts of the node that has this engine. Starts the task of the webhook, if there is
    /// one, so it must be called in a runtime.
    ///
    /// # Errors
    /// If the client of the webhook cannot be created.
    pub fn new(engine: Engine, settings: Settings) -> Result<Self, String> {
        metrics::start();
        let webhook = (!settings.webhook.is_empty())
            .then(|| Webhook::start(settings.webhook.clone()))
            .transpose()?;
        Ok(Self {
            engine,
            rules: rules(&settings),
            settings,
            webhook,
            state: Mutex::default(),
        })
    }

    /// The open problems and the rules.
    #[must_use]
    pub fn current(&self) -> AlertsBody {
        let state = self.state();
        AlertsBody {
            alerts: state.open.list(),
            rules: self.rules.iter().map(Rule::body).collect(),
            evaluated_us: state.evaluated_us,
        }
    }

    /// Evaluates the rules regularly for as long as the future is polled. An evaluation that takes
    /// long delays the next one.
    pub async fn run(&self) {
        if self.rules.is_empty() {
            return;
        }
        loop {
            tokio::time::sleep(self.settings.interval).await;
            self.evaluate().await;
        }
    }

    /// Evaluates the rules once. If the record cannot be read, the problems that depend on it stay
    /// as they are.
    pub async fn evaluate(&self) {
        let clock = self.engine.clock();
        let recorded = match self.engine.record() {
            Some(record) => self.read(record, clock.unix_us()).await,
            None => Ok(None),
        };
        let recorded = recorded.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot read the record for alerts");
            None
        });
        let (now, now_us) = (clock.monotonic(), clock.unix_us());
        let mut changes = Vec::new();
        {
            let mut state = self.state();
            let totals = self.engine.totals();
            let totals = state.totals.add(now, totals, self.settings.window);
            for rule in &self.rules {
                let Some(observed) = self.observe(rule, &totals, recorded.as_ref()) else {
                    continue;
                };
                changes.extend(state.open.update(rule, observed, now_us));
                metrics::firing(rule.name, state.open.count(rule));
            }
            state.evaluated_us = Some(now_us);
        }
        for (status, alert) in changes {
            self.report(status, alert);
        }
    }

    async fn read(&self, record: &Record, now_us: i64) -> Result<Option<Recorded>, RecordError> {
        let before = |span: Duration| {
            let span = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
            now_us.saturating_sub(span)
        };
        let used_us = before(self.settings.idle);
        let steps = self.settings.steps.saturating_mul(HISTORY);
        let since_us = before(self.settings.window);
        Ok(Some(Recorded {
            runs: record.recent_runs(used_us, MAX_RUNS, steps).await?,
            channels: record
                .recent_channels(used_us, since_us, MAX_CHANNELS)
                .await?,
            ledger: self.engine.recent_channels().await,
        }))
    }

    /// What a rule measures; `None` if it needs a record that could not be read.
    fn observe(
        &self,
        rule: &Rule,
        totals: &Totals,
        recorded: Option<&Recorded>,
    ) -> Option<Vec<Observation>> {
        let mut observed = measure::node(rule.measure, totals);
        if rule.measure == Measure::Unrecorded {
            return Some(observed);
        }
        let Some(Recorded {
            runs,
            channels,
            ledger,
        }) = recorded
        else {
            return self.engine.record().is_none().then_some(observed);
        };
        let steps = self.settings.steps;
        let of_runs = runs
            .iter()
            .filter_map(|run| measure::run(rule.measure, run, steps, rule.threshold));
        observed.extend(of_runs);
        observed.extend(measure::channels(rule.measure, channels, ledger));
        Some(observed)
    }

    /// Logs a change and sends it to the webhook.
    fn report(&self, status: AlertStatus, alert: AlertBody) {
        let (run, channel) = (alert.run.as_deref(), alert.channel.as_deref());
        let subject = match (run, channel) {
            (Some(run), _) => format!(" of run {run}"),
            (None, Some(channel)) => format!(" of channel {channel}"),
            (None, None) => String::new(),
        };
        let (rule, message) = (&*alert.rule, &*alert.message);
        let text = match status {
            AlertStatus::Firing => {
                tracing::warn!(rule, run, channel, message, "alert");
                format!("{rule}{subject}: {message}")
            }
            AlertStatus::Resolved => {
                tracing::info!(rule, run, channel, "an alert has ended");
                format!("{rule}{subject} has ended")
            }
        };
        if let Some(webhook) = &self.webhook {
            webhook.notify(NotificationBody {
                status,
                text,
                alert,
            });
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
