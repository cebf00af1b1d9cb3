//! Deletes runs with their sums, after their batches.

use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};
use crate::names::DeletedNames;
use crate::retention_step::StepOutcome;

/// Start of the names of runs that are being deleted. No list shows them, because they have no
/// grades.
pub(crate) const DELETED_RUN: &str = "\u{1}deleted ";

/// The end of the range of these names: no text in UTF-8 sorts after the last character.
pub(crate) fn deleted_runs_end() -> String {
    format!("{DELETED_RUN}{}", char::MAX)
}

/// A run that is being deleted.
pub(crate) async fn next(connection: &mut Connection) -> Result<Option<i64>, DatabaseError> {
    Ok(
        sql::query_scalar("select no from runs where name >= $1 and name < $2 limit 1")
            .bind(DELETED_RUN)
            .bind(deleted_runs_end())
            .fetch_optional(connection)
            .await?,
    )
}

/// Takes a run without batches out of the lists; another run may then get its name. Returns whether
/// that happened: a run that received grades in the meantime is kept.
pub(super) async fn begin(
    connection: &mut Connection,
    run: i64,
) -> Result<StepOutcome, DatabaseError> {
    let name: Option<String> = sql::query_scalar("select name from runs where no = $1")
        .bind(run)
        .fetch_optional(connection)
        .await?;
    let begun = sql::query(
        "update runs set name = $2 || cast(no as text), grades = 0 where no = $1 \
         and not exists (select 1 from batches where run = $1)",
    )
    .bind(run)
    .bind(DELETED_RUN)
    .execute(connection)
    .await?;
    let runs = begun;
    Ok(StepOutcome {
        runs,
        names: DeletedNames {
            channels: Vec::new(),
            runs: name.filter(|_| runs > 0).into_iter().collect(),
        },
        ..StepOutcome::DONE
    })
}

/// Deletes at most `limit` rows of sums of a run that was taken out of the lists, and the run after
/// the last of them; `done` if there is no such run.
pub(super) async fn delete(
    connection: &mut Connection,
    limit: u32,
) -> Result<StepOutcome, DatabaseError> {
    const DELETES: [&str; 11] = [
        "delete from rollups where (run, step, grader, version, outcome, verdict) in (\
           select run, step, grader, version, outcome, verdict from rollups where run = $1 \
           limit $2)",
        "delete from step_numbers where (run, width, step, number, bin) in (\
           select run, width, step, number, bin from step_numbers where run = $1 limit $2)",
        "delete from step_words where (run, width, step, topic, word) in (\
           select run, width, step, topic, word from step_words where run = $1 limit $2)",
        "delete from prompt_history where (run, prompt_key, step) in (\
           select run, prompt_key, step from prompt_history where run = $1 limit $2)",
        "delete from prompt_totals where (run, prompt_key, has_step) in (\
           select run, prompt_key, has_step from prompt_totals where run = $1 limit $2)",
        "delete from answers where (run, prompt_key, pass, answer) in (\
           select run, prompt_key, pass, answer from answers where run = $1 limit $2)",
        "delete from signs where (run, kind, value) in (\
           select run, kind, value from signs where run = $1 limit $2)",
        "delete from costs where (run, caller, grader) in (\
           select run, caller, grader from costs where run = $1 limit $2)",
        "delete from slow_grades where (run, grader, grade_us, key) in (\
           select run, grader, grade_us, key from slow_grades where run = $1 limit $2)",
        "delete from channel_sources where (channel, version, run, policy) in (\
           select channel, version, run, policy from channel_sources where run = $1 limit $2)",
        "delete from channel_source_checks where (channel, version, run, policy, judge, \
           sensitivity, specificity, passes) in (\
           select channel, version, run, policy, judge, sensitivity, specificity, passes \
           from channel_source_checks where run = $1 limit $2)",
    ];
    let Some(run) = next(connection).await? else {
        return Ok(StepOutcome::DONE);
    };
    for delete in DELETES {
        let deleted = sql::query(delete)
            .bind(run)
            .bind(limit)
            .execute(connection)
            .await?;
        if deleted > 0 {
            return Ok(StepOutcome::MORE);
        }
    }
    sql::query("delete from runs where no = $1")
        .bind(run)
        .execute(connection)
        .await?;
    Ok(StepOutcome::MORE)
}
