//! Adds visits to the history of prompts.

use std::collections::HashMap;
use std::sync::Arc;

use super::insert::Insert;
use super::keys::NO_STEP;
use super::sums::{add_counts, add_numbers};
use crate::database::DatabaseError;
use crate::database::sql::Connection;
use crate::prompt_history::Visits;

const UPSERT: Insert = Insert {
    prefix: "insert into prompt_history (run, prompt_key, step, judged, passes, rewards, \
           reward_sum, reward_squares)",
    columns: 8,
    suffix: concat!(
        "on conflict (run, prompt_key, step) do update set ",
        add_counts!("prompt_history": "judged", "passes", "rewards"),
        ", ",
        add_numbers!("prompt_history": "reward_sum", "reward_squares")
    ),
};

/// Adds visits; `runs` maps runs to their numbers.
pub(super) async fn add(
    connection: &mut Connection,
    visits: &Visits,
    runs: &HashMap<&Arc<str>, i64>,
) -> Result<(), DatabaseError> {
    let rows: Vec<_> = visits
        .iter()
        .filter_map(|(key, visit)| Some((*runs.get(&key.0)?, key, visit)))
        .collect();
    UPSERT
        .run(
            connection,
            &rows,
            |values, (run, (_, prompt, step), visit)| {
                values
                    .add(*run)
                    .add(prompt.as_str())
                    .add(step.unwrap_or(NO_STEP))
                    .add(i64::from(visit.judged))
                    .add(i64::from(visit.passes))
                    .add(i64::from(visit.rewards))
                    .add_number(visit.reward_sum)
                    .add_number(visit.reward_squares);
            },
        )
        .await?;
    Ok(())
}
