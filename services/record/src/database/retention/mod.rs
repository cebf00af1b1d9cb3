//! Steps of retention, each for one bounded transaction that the caller opens and ends. After every
//! step the tables are consistent, and an interrupted deletion can be continued.
//!
//! Bodies are stored once and used by many batches. A pack belongs to the batch that stored it;
//! `body_uses` lists the other batches that refer to bodies in it. The rows of a batch in this
//! table, in `bodies` and in `items` are spread over the whole tables, so deleting them with the
//! batch would write a page for nearly every row. They are left behind, and removed by a [`sweep`]
//! in the order of the tables: a row of a batch that is not in `batches`, or whose bodies are
//! deleted, counts as absent.

pub(super) mod channels;
mod counting;
mod grades;
mod moving;
pub(super) mod runs;
mod stored;
mod sweep;

use super::space::return_pages;
use crate::database::DatabaseError;
use crate::database::sql::Connection;
use crate::retention_step::{RetentionStep, StepOutcome};

pub(crate) use runs::{DELETED_RUN, deleted_runs_end};

/// Does a step of about `amount` rows or pages.
pub(super) async fn run(
    connection: &mut Connection,
    step: &RetentionStep,
    amount: u32,
) -> Result<StepOutcome, DatabaseError> {
    match step {
        RetentionStep::Count => counting::count_batches(connection, amount).await,
        RetentionStep::Bodies(batches) => sweep::leave_bodies(connection, batches).await,
        RetentionStep::Grades(batches) => grades::delete(connection, batches, amount).await,
        RetentionStep::Sweep => sweep::sweep(connection, amount).await,
        RetentionStep::BeginRun(run) => runs::begin(connection, *run).await,
        RetentionStep::Runs => runs::delete(connection, amount).await,
        RetentionStep::Channels(filter) => channels::delete(connection, filter, amount).await,
        RetentionStep::Vacuum => return_pages(connection, amount).await,
    }
}

#[cfg(test)]
mod tests;
