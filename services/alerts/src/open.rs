//! The open problems: what fires, what stays, and what clears.

use std::collections::BTreeMap;

use assay_wire::alerts::{AlertBody, AlertStatus};

use crate::measure::{Observation, Subject};
use crate::rules::Rule;

/// Number of evaluations in a row after which a problem whose cause has ended is closed.
const CLEAR_AFTER: u32 = 2;

/// The open problems, by rule and subject. Bounded by the number of subjects that are measured.
#[derive(Debug, Default)]
pub(crate) struct OpenAlerts(BTreeMap<(&'static str, Subject), OpenAlert>);

#[derive(Debug)]
struct OpenAlert {
    alert: AlertBody,
    /// Evaluations in a row in which the cause had ended.
    clear_evaluations: u32,
}

impl OpenAlerts {
    /// Applies what was measured for a rule. Problems of subjects that were not measured, because
    /// they are idle, end too. Returns what was found or has ended.
    pub(crate) fn update(
        &mut self,
        rule: &Rule,
        observed: Vec<Observation>,
        now_us: i64,
    ) -> Vec<(AlertStatus, AlertBody)> {
        let mut changes = Vec::new();
        let mut measured: BTreeMap<Subject, Observation> = BTreeMap::new();
        for observation in observed {
            measured.insert(observation.subject.clone(), observation);
        }
        self.0.retain(|(name, subject), open| {
            if *name != rule.name {
                return true;
            }
            match measured.remove(subject) {
                // Too few items say nothing.
                Some(observation) if observation.items < rule.minimum => return true,
                Some(observation) if observation.lasting >= rule.clears_below => {
                    open.clear_evaluations = 0;
                    // What a problem says and counts is that of its last evaluation in which it
                    // was met.
                    if observation.value >= rule.threshold {
                        open.alert = alert(rule, observation, open.alert.since_us);
                    }
                    return true;
                }
                _ => open.clear_evaluations += 1,
            }
            if open.clear_evaluations < CLEAR_AFTER {
                return true;
            }
            changes.push((AlertStatus::Resolved, open.alert.clone()));
            false
        });
        for observation in measured.into_values() {
            if observation.items >= rule.minimum && observation.value >= rule.threshold {
                let key = (rule.name, observation.subject.clone());
                let alert = alert(rule, observation, now_us);
                changes.push((AlertStatus::Firing, alert.clone()));
                self.0.insert(
                    key,
                    OpenAlert {
                        alert,
                        clear_evaluations: 0,
                    },
                );
            }
        }
        changes
    }

    /// Number of open problems of a rule.
    pub(crate) fn count(&self, rule: &Rule) -> usize {
        self.0.keys().filter(|(name, _)| *name == rule.name).count()
    }

    /// The most severe first, then the oldest.
    pub(crate) fn list(&self) -> Vec<AlertBody> {
        let mut alerts: Vec<AlertBody> = self.0.values().map(|open| open.alert.clone()).collect();
        alerts.sort_by_key(|alert| (alert.severity, alert.since_us));
        alerts
    }
}

fn alert(rule: &Rule, observation: Observation, since_us: i64) -> AlertBody {
    let (run, channel) = match observation.subject {
        Subject::Node => (None, None),
        Subject::Run(run) => (Some(run), None),
        Subject::Channel(channel) => (None, Some(channel)),
    };
    AlertBody {
        rule: rule.name.to_owned(),
        severity: rule.severity,
        run,
        channel,
        message: observation.message,
        since_us,
        value: observation.value,
        threshold: rule.threshold,
        grades: observation.causes,
        link: observation.link,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Settings, rules};

    fn observed(run: &str, value: f64, items: u64) -> Observation {
        Observation {
            subject: Subject::Run(run.to_owned()),
            value,
            lasting: value,
            items,
            causes: 1,
            message: format!("{value}"),
            link: None,
        }
    }

    /// Statuses after each evaluation of `failures`, which fires from 0.01 and clears below 0.008.
    fn changes(evaluations: &[&[Observation]]) -> Vec<Vec<AlertStatus>> {
        let rules = rules(&Settings::default());
        let rule = rules.iter().find(|rule| rule.name == "failures").unwrap();
        let mut open = OpenAlerts::default();
        let evaluations = evaluations.iter().map(|observed| {
            let changes = open.update(rule, observed.to_vec(), 7);
            changes.into_iter().map(|(status, _)| status).collect()
        });
        evaluations.collect()
    }

    #[test]
    fn clears_after_two_calm_evaluations_and_does_not_flap() {
        use AlertStatus::{Firing, Resolved};
        let at = |value| [observed("a", value, 300)];
        let (bad, edge, good) = (at(0.5), at(0.009), at(0.0));
        assert_eq!(changes(&[&good, &edge]), [vec![], vec![]]);
        assert_eq!(
            changes(&[&bad, &edge, &good, &edge, &good, &bad, &good, &good, &good]),
            [
                vec![Firing],
                vec![],
                vec![],
                vec![],
                vec![],
                vec![],
                vec![],
                vec![Resolved],
                vec![]
            ]
        );
    }

    #[test]
    fn few_items_neither_fire_nor_clear() {
        let (few_bad, few_good) = ([observed("a", 1.0, 199)], [observed("a", 0.0, 199)]);
        let bad = [observed("a", 1.0, 200)];
        assert_eq!(
            changes(&[&few_bad, &bad, &few_good, &few_good, &few_good]),
            [vec![], vec![AlertStatus::Firing], vec![], vec![], vec![]]
        );
    }

    #[test]
    fn problems_of_idle_runs_end() {
        let both = [observed("a", 1.0, 200), observed("b", 1.0, 200)];
        let one = [observed("b", 1.0, 200)];
        assert_eq!(
            changes(&[&both, &one, &one, &one]),
            [
                vec![AlertStatus::Firing; 2],
                vec![],
                vec![AlertStatus::Resolved],
                vec![]
            ]
        );
    }
}
