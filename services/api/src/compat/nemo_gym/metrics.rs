//! `POST /compat/nemo-gym/aggregate_metrics`: statistics of the rollouts of a collection. NeMo Gym
//! sends them to each agent at its end, and most agents pass them on to their resources server.
//!
//! The statistics have the names and values that NeMo Gym's own servers give them (0.7), except
//! that those across repeats are left out. A rollout without a reward does not count in them, and
//! is reported under `coverage/`.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::compat::peer_error::PeerError;

/// The task of a rollout, which is also its group.
const TASK: &str = "_ng_task_index";
const ROLLOUT: &str = "_ng_rollout_index";
const MASK: &str = "mask_sample";

/// The request.
#[derive(Deserialize, ToSchema)]
#[schema(as = NemoGymMetricsRequest)]
struct MetricsRequest {
    /// Replies of `verify`, with `_ng_task_index`, and without long texts.
    #[schema(value_type = Vec<Object>)]
    verify_responses: Vec<Map<String, Value>>,
}

/// Statistics: `mean/NAME`, `max/NAME`, `min/NAME`, `median/NAME` and `std/NAME` of each number.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = NemoGymMetricsReply)]
pub(crate) struct MetricsReply {
    /// Statistics of each task.
    #[schema(value_type = Vec<Object>)]
    group_level_metrics: Vec<Map<String, Value>>,
    /// Statistics of all rollouts.
    #[schema(value_type = Object)]
    agent_metrics: Map<String, Value>,
    /// The means of all rollouts, and how many have a reward unless all do.
    #[schema(value_type = Object)]
    key_metrics: Map<String, Value>,
}

/// The numbers of a rollout by name.
type Numbers = BTreeMap<String, f64>;

/// Computes statistics of rollouts, in the format of a resources server of NeMo Gym.
#[utoipa::path(post, path = "/compat/nemo-gym/aggregate_metrics", tag = "compatibility",
    request_body(content = MetricsRequest, content_type = "application/json", example = json!({
        "verify_responses": [{ "_ng_task_index": 0, "_ng_rollout_index": 0, "reward": 1.0 }],
    })),
    responses((status = 200, description = "The statistics", body = MetricsReply)))]
pub(crate) async fn aggregate(
    api: Api,
    body: RequestBody,
) -> Result<Json<MetricsReply>, PeerError> {
    let compute = |request: MetricsRequest| Ok(MetricsReply::of(request.verify_responses));
    let (reply, _permit) = body
        .checked_lenient_json(&api, BodyKind::Batch, compute)
        .await?;
    Ok(Json(reply))
}

impl MetricsReply {
    fn of(rollouts: Vec<Map<String, Value>>) -> Self {
        let index = |rollout: &Map<String, Value>, name: &str| {
            rollout.get(name).and_then(Value::as_i64).unwrap_or(0)
        };
        let (mut tasks, mut repeats) = (BTreeSet::new(), BTreeSet::new());
        let (mut measured, mut masked) = (0, 0);
        let mut by_task: BTreeMap<i64, Vec<Numbers>> = BTreeMap::new();
        for rollout in rollouts {
            let task = index(&rollout, TASK);
            tasks.insert(task);
            repeats.insert(index(&rollout, ROLLOUT));
            if rollout.get(MASK) == Some(&Value::Bool(true)) {
                masked += 1;
            } else {
                measured += 1;
                by_task.entry(task).or_default().push(numbers(&rollout));
            }
        }
        let mut coverage = Map::new();
        if masked > 0 {
            for (name, count) in [
                ("measured_rollouts", measured),
                ("masked_rollouts", masked),
                ("measured_tasks", by_task.len()),
                ("fully_masked_tasks", tasks.len() - by_task.len()),
            ] {
                coverage.insert(format!("coverage/{name}"), json!(count));
            }
        }
        let groups = by_task.iter().map(|(task, rollouts)| {
            let mut metrics = statistics(rollouts.iter());
            metrics.insert(TASK.to_owned(), json!(task));
            metrics.insert("num_rollouts".to_owned(), json!(rollouts.len()));
            metrics
        });
        let group_level_metrics = groups.collect();
        let mut agent_metrics = statistics(by_task.values().flatten());
        let means = agent_metrics
            .iter()
            .filter(|(name, _)| name.starts_with("mean/"))
            .map(|(name, mean)| (name.clone(), mean.clone()));
        let key_metrics = means.chain(coverage.clone()).collect();
        agent_metrics.extend(coverage);
        if measured > 0 {
            agent_metrics.insert("num_repeats".to_owned(), json!(repeats.len()));
        }
        Self {
            group_level_metrics,
            agent_metrics,
            key_metrics,
        }
    }
}

/// The numbers among the fields of a rollout, and in the usage of its response.
fn numbers(rollout: &Map<String, Value>) -> Numbers {
    let usage = rollout
        .get("response")
        .and_then(|response| response["usage"].as_object());
    rollout
        .iter()
        .chain(usage.into_iter().flatten())
        .filter(|(name, _)| ![TASK, ROLLOUT, MASK].contains(&name.as_str()))
        .filter_map(|(name, value)| {
            let number = match value {
                Value::Bool(value) => f64::from(u8::from(*value)),
                value => value.as_f64()?,
            };
            Some((name.clone(), number))
        })
        .collect()
}

fn statistics<'n>(rollouts: impl Iterator<Item = &'n Numbers>) -> Map<String, Value> {
    let mut by_name: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, number) in rollouts.flatten() {
        by_name.entry(name).or_default().push(*number);
    }
    let mut metrics = Map::new();
    for (name, mut numbers) in by_name {
        numbers.sort_by(f64::total_cmp);
        let [first, .., last] = numbers.as_slice() else {
            let only = numbers.first().copied().unwrap_or_default();
            add(&mut metrics, name, [only, only, only, only, 0.0]);
            continue;
        };
        let mean = mean(&numbers);
        let middle = numbers.len() / 2;
        let median = if numbers.len().is_multiple_of(2) {
            f64::midpoint(numbers[middle - 1], numbers[middle])
        } else {
            numbers[middle]
        };
        let squares: Vec<f64> = numbers
            .iter()
            .map(|number| (number - mean).powi(2))
            .collect();
        let count = count(&numbers);
        let deviation = (self::mean(&squares) * count / (count - 1.0)).sqrt();
        let values = [mean, *last, *first, median, deviation];
        add(&mut metrics, name, values);
    }
    metrics
}

/// Adds the mean, maximum, minimum, median and deviation, except those that overflowed.
fn add(metrics: &mut Map<String, Value>, name: &str, values: [f64; 5]) {
    for (statistic, value) in ["mean", "max", "min", "median", "std"].iter().zip(values) {
        if value.is_finite() {
            metrics.insert(format!("{statistic}/{name}"), value.into());
        }
    }
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / count(numbers)
}

fn count(numbers: &[f64]) -> f64 {
    numbers.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rollouts: &Value) -> MetricsReply {
        MetricsReply::of(serde_json::from_value(rollouts.clone()).unwrap())
    }

    #[test]
    fn masked_rollouts_do_not_count() {
        let reply = of(&json!([
            { TASK: 1, ROLLOUT: 0, "reward": 1.0, "mask_sample": false, "verdict": "correct" },
            { TASK: 1, ROLLOUT: 1, "reward": 0.0, "mask_sample": true, "length": 9 },
            { TASK: 2, ROLLOUT: 0, "reward": 0.0, "mask_sample": true },
            { TASK: 0, ROLLOUT: 0, "reward": 0.5, "mask_sample": false,
              "response": { "usage": { "total_tokens": 7 } } },
        ]));
        assert_eq!(reply.agent_metrics["mean/reward"], 0.75);
        assert_eq!(reply.agent_metrics["min/reward"], 0.5);
        assert_eq!(reply.key_metrics["mean/total_tokens"], 7.0);
        assert!(!reply.agent_metrics.contains_key("mean/length"));
        assert!(!reply.agent_metrics.contains_key("mean/mask_sample"));
        for (name, count) in [
            ("measured_rollouts", 2),
            ("masked_rollouts", 2),
            ("measured_tasks", 2),
            ("fully_masked_tasks", 1),
        ] {
            assert_eq!(reply.key_metrics[&format!("coverage/{name}")], count);
        }
        assert_eq!(reply.agent_metrics["num_repeats"], 2);
        let [first, second] = reply.group_level_metrics.as_slice() else {
            panic!("{reply:?}");
        };
        assert_eq!((&first[TASK], &second[TASK]), (&json!(0), &json!(1)));
        assert_eq!(second["mean/reward"], 1.0);
        assert_eq!(second["num_rollouts"], 1);
    }

    #[test]
    fn a_task_without_a_reward_has_no_statistics_of_it() {
        let reply = of(&json!([{ TASK: 3, "reward": 0.0, "mask_sample": true }]));
        assert!(!reply.agent_metrics.contains_key("mean/reward"));
        assert_eq!(reply.agent_metrics, reply.key_metrics);
        assert!(reply.group_level_metrics.is_empty());
        assert!(of(&json!([])).agent_metrics.is_empty());
    }

    #[test]
    fn statistics_are_those_of_samples() {
        let numbers: Vec<Numbers> = [4.0, 1.0, 2.0, 3.0]
            .map(|number| Numbers::from([("x".to_owned(), number)]))
            .to_vec();
        let found = statistics(numbers.iter());
        let expected = json!({ "mean/x": 2.5, "max/x": 4.0, "min/x": 1.0, "median/x": 2.5,
            "std/x": (5.0_f64 / 3.0).sqrt() });
        assert_eq!(Value::Object(found), expected);
        let one = statistics(numbers[..1].iter());
        assert_eq!(
            (&one["median/x"], &one["std/x"]),
            (&json!(4.0), &json!(0.0))
        );
        let huge = [f64::MAX, f64::MAX].map(|x| Numbers::from([("x".to_owned(), x)]));
        assert!(!statistics(huge.iter()).contains_key("mean/x"));
    }
}
