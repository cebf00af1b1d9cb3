//! Sections that belong to other stages of the pipeline than the reward: appeals, trust, declared
//! rates, and the advantage estimator.

use std::collections::BTreeMap;

use assay_base::pointer::escaped;

use super::line::Line;
use super::section::Section;
use super::validate::{self, MAX_LIST, PolicyError, ValidationResult};
use crate::appeal::Appeals;
use crate::trust::Trust;
use crate::{Estimator, Rates};

fn check_number(rules: usize) -> ValidationResult {
    if rules > MAX_LIST {
        let message = format!("there are {rules} rules; the maximum is {MAX_LIST}");
        return Err(PolicyError::at("", message));
    }
    Ok(())
}

/// The channels of a rule in words; none are all.
fn listed(channels: &[String]) -> String {
    if channels.is_empty() {
        "every channel".to_owned()
    } else {
        channels.join(", ")
    }
}

impl Section for Vec<Appeals> {
    fn check(&self) -> ValidationResult {
        check_number(self.len())?;
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
            let channels = listed(&rule.channels);
            let effect = if rule.overturn {
                format!(
                    "the judge overturns verdicts if it is right with a probability of at least {}",
                    rule.precision
                )
            } else {
                "its verdicts only measure error rates".to_owned()
            };
            Line::new(
                &at.to_string(),
                "appeal",
                format!(
                    "hash(policy, run, step, id) < {} (negatives), < {} (positives)",
                    rule.negatives, rule.positives
                ),
                format!("sends verdicts of {channels} to `{judge}`; {effect}"),
            )
        };
        self.iter().enumerate().map(one).collect()
    }
}

impl Section for Vec<Trust> {
    fn check(&self) -> ValidationResult {
        check_number(self.len())?;
        for (at, rule) in self.iter().enumerate() {
            validate::check_positive(format!("{at}/precision"), rule.precision)?;
            validate::check_range(format!("{at}/precision"), rule.precision, 0.0, 1.0)?;
            if rule.channels.len() > MAX_LIST {
                let message = format!("there are more than {MAX_LIST} channels");
                return Err(PolicyError::at(format!("{at}/channels"), message));
            }
        }
        Ok(())
    }

    fn explain(&self) -> Vec<Line> {
        let one = |(at, rule): (usize, &Trust)| {
            let channels = listed(&rule.channels);
            Line::new(
                &at.to_string(),
                "trust",
                format!("no reward unless P(right | pass) >= {}", rule.precision),
                format!("verdicts of {channels} have no reward until they are known to be precise"),
            )
        };
        self.iter().enumerate().map(one).collect()
    }
}

impl Section for BTreeMap<String, Rates> {
    fn check(&self) -> ValidationResult {
        if self.len() > MAX_LIST {
            return Err(PolicyError::at(
                "",
                format!(
                    "there are {} channels; the maximum is {MAX_LIST}",
                    self.len()
                ),
            ));
        }
        for (channel, rates) in self {
            let message = if channel.split_once('/').is_none() {
                "invalid channel; write a grader and a task family, such as `math/default`"
            } else if rates.j() <= 0.0 {
                "the sum of `rho0` and `rho1` must be below 1; otherwise verdicts carry no \
                 information"
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
                "used until 30 verdicts of a side are checked, or the channel is calibrated"
                    .to_owned(),
            )
        };
        self.iter().map(one).collect()
    }
}

impl Section for Estimator {
    fn check(&self) -> ValidationResult {
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

    fn rejected(policy: &serde_json::Value) -> (String, String) {
        let error = PolicyRules::from_json(policy).unwrap_err();
        (error.pointer, error.message)
    }

    #[test]
    fn errors_point_to_the_invalid_field() {
        let judge = json!({ "type": "math", "answer": "{{ task.answer }}" });
        let (pointer, _) = rejected(&json!({ "appeals": [{ "judge": judge, "negatives": 2 }] }));
        assert_eq!(pointer, "/appeals/0/negatives");
        let (pointer, _) =
            rejected(&json!({ "rates": { "math/a": { "rho0": 0.5, "rho1": 0.5 } } }));
        assert_eq!(pointer, "/rates/math~1a");
        let (pointer, message) =
            rejected(&json!({ "rates": { "math/a": { "rho0": 1.5, "rho1": 0.5 } } }));
        assert!(
            pointer.starts_with("/rates/math~1a") && message.contains("must be from 0 to 1"),
            "{pointer} {message}"
        );
        let (pointer, message) = rejected(&json!({ "advantage_estimator": "ppo" }));
        assert!(
            pointer.starts_with("/advantage_estimator") && message.contains("`rloo`"),
            "{pointer} {message}"
        );
    }

    #[test]
    fn sections_of_other_stages_leave_the_policy_plain() {
        let policy = json!({
            "advantage_estimator": "rloo",
            "rates": { "math/a": { "rho0": 0.1, "rho1": 0.2 } },
        });
        assert!(PolicyRules::from_json(&policy).unwrap().is_plain());
        assert!(
            !PolicyRules::from_json(&json!({ "outcome": "backward" }))
                .unwrap()
                .is_plain()
        );
        assert!(PolicyRules::default().is_plain());
    }
}
