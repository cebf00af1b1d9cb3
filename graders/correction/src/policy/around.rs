//! The sections that act around the reward: which verdicts are looked at twice, which rates are
//! stated, how the advantage is made.

use std::collections::BTreeMap;

use super::Section;
use super::explain::Line;
use super::read::{Checked, MAX_LIST, PolicyError, escaped};
use crate::appeal::Appeals;
use crate::{Estimator, Rates};

impl Section for Vec<Appeals> {
    fn check(&self) -> Checked {
        if self.len() > MAX_LIST {
            return Err(PolicyError::at(
                "",
                format!(
                    "there are {} rules, more than {MAX_LIST}; join some",
                    self.len()
                ),
            ));
        }
        for (at, rule) in self.iter().enumerate() {
            rule.check().map_err(|(pointer, message)| PolicyError {
                pointer: format!("/{at}{pointer}"),
                message,
            })?;
        }
        Ok(())
    }

    fn explain(&self) -> Vec<Line> {
        let one = |(at, rule): (usize, &Appeals)| {
            let judge = rule
                .judge
                .get("type")
                .and_then(serde_json::Value::as_str)
                .unwrap_or_default();
            let channels = if rule.channels.is_empty() {
                "every channel".to_owned()
            } else {
                rule.channels.join(", ")
            };
            let word = if rule.overturn {
                format!(
                    "its word replaces theirs where it is right with {} or more",
                    rule.precision
                )
            } else {
                "its word is counted and changes nothing".to_owned()
            };
            Line::new(
                &at.to_string(),
                "appeal",
                format!(
                    "hash(policy, run, step, id) < {} (no pass), < {} (pass)",
                    rule.negatives, rule.positives
                ),
                format!("verdicts of {channels} go to `{judge}`; {word}"),
            )
        };
        self.iter().enumerate().map(one).collect()
    }
}

impl Section for BTreeMap<String, Rates> {
    fn check(&self) -> Checked {
        if self.len() > MAX_LIST {
            return Err(PolicyError::at(
                "",
                format!("there are {} channels, more than {MAX_LIST}", self.len()),
            ));
        }
        for (channel, rates) in self {
            let message = if channel.split_once('/').is_none() {
                "a channel is a grader and a task family, as `math/default`"
            } else if rates.j() <= 0.0 {
                "the verifier would say nothing: `rho0` and `rho1` together are below 1"
            } else {
                continue;
            };
            return Err(PolicyError::at(escaped(channel), message));
        }
        Ok(())
    }

    fn explain(&self) -> Vec<Line> {
        let one = |(channel, rates): (&String, &Rates)| {
            Line::new(
                channel,
                "declared",
                format!(
                    "rho0 = {}, rho1 = {}, J = {:.3}",
                    rates.rho0,
                    rates.rho1,
                    rates.j()
                ),
                "stands until 30 verdicts of a side were checked, or the channel is calibrated"
                    .to_owned(),
            )
        };
        self.iter().map(one).collect()
    }
}

impl Section for Estimator {
    fn check(&self) -> Checked {
        Ok(())
    }

    fn explain(&self) -> Vec<Line> {
        let (formula, meaning) = self
            .summary()
            .split_once("; ")
            .unwrap_or((self.summary(), ""));
        vec![Line::new(
            "",
            "advantage_estimator",
            format!("{}: {formula}", self.name()),
            meaning,
        )]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::PolicyRules;

    fn refused(policy: &serde_json::Value) -> (String, String) {
        let error = PolicyRules::from_json(policy).unwrap_err();
        (error.pointer, error.message)
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_its_field() {
        let judge = json!({ "type": "math", "answer": "{{ task.answer }}" });
        let (pointer, _) = refused(&json!({ "appeals": [{ "judge": judge, "negatives": 2 }] }));
        assert_eq!(pointer, "/appeals/0/negatives");
        let (pointer, _) = refused(&json!({ "rates": { "math/a": { "rho0": 0.5, "rho1": 0.5 } } }));
        assert_eq!(pointer, "/rates/math~1a");
        let (pointer, message) =
            refused(&json!({ "rates": { "math/a": { "rho0": 1.5, "rho1": 0.5 } } }));
        assert!(
            pointer.starts_with("/rates/math~1a") && message.contains("shares from 0 to 1"),
            "{pointer} {message}"
        );
        let (pointer, message) = refused(&json!({ "advantage_estimator": "ppo" }));
        assert!(
            pointer.starts_with("/advantage_estimator") && message.contains("`rloo`"),
            "{pointer} {message}"
        );
    }

    #[test]
    fn what_acts_around_the_reward_leaves_it_as_it_is() {
        let policy = json!({ "advantage_estimator": "rloo", "rates": { "math/a": { "rho0": 0.1, "rho1": 0.2 } } });
        assert!(PolicyRules::from_json(&policy).unwrap().is_plain());
        assert!(
            !PolicyRules::from_json(&json!({ "outcome": "backward" }))
                .unwrap()
                .is_plain()
        );
        assert!(PolicyRules::default().is_plain());
    }
}
