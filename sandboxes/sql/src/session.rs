//! Runs scripts of sessions with databases of their own. A call opens the image that the one before
//! it left, and leaves another one.

use assay_worker::query::{Call, Called, End, MAX_IMAGE, Ran};
use rusqlite::Batch;
use rusqlite::fallible_iterator::FallibleIterator;

use crate::build::serialized;
use crate::connection::OpenImage;
use crate::functions::Originals;
use crate::run::{end_of, execute, limit_values, malformed};
use crate::system::{self, memory};

/// Runs a script.
///
/// # Errors
/// If the image is invalid.
pub(crate) fn call(call: &Call, originals: &Originals) -> Result<Called, String> {
    let _random = system::seeded();
    let image = call.image.as_deref();
    let opened = memory::with_limit(memory::DATABASE_BYTES, || {
        OpenImage::open_to_write(image.unwrap_or_default(), originals)
    })?;
    let (mut ran, has_written) =
        memory::with_limit(call.limits.memory_bytes, || run(&opened, call));
    if ran.end != End::Rows || !has_written {
        return Ok(Called { ran, image: None });
    }
    let written = memory::with_limit(memory::DATABASE_BYTES, || serialized(opened.connection));
    let image = written.map_err(|error| format!("the database cannot be stored: {error}"))?;
    if image.len() > MAX_IMAGE {
        ran = Ran::ended(End::OutOfMemory);
        return Ok(Called { ran, image: None });
    }
    Ok(Called {
        ran,
        image: Some(image.into()),
    })
}

/// Also returns whether a statement may have written.
fn run(opened: &OpenImage, call: &Call) -> (Ran, bool) {
    if let Some(end) = malformed(&call.script) {
        return (Ran::ended(end), false);
    }
    opened.meter.begin(call.steps);
    let log = &opened.authorizer_log;
    let mut statements = Batch::new(&opened.connection, &call.script);
    let (mut last, mut has_written) = (Ran::ended(End::Nothing), false);
    loop {
        log.clear();
        // Literals may be longer than what a statement computes.
        let limited = limit_values(opened, log.max_value_bytes(true, opened.longest_value));
        let mut statement = match limited.and_then(|()| statements.next()) {
            Ok(Some(statement)) => statement,
            Ok(None) => break,
            Err(error) => return (Ran::ended(end_of(opened, &error)), has_written),
        };
        if statement.is_explain() != 0 {
            return (Ran::ended(End::NotAQuery), has_written);
        }
        has_written |= !statement.readonly();
        let longest = log.max_value_bytes(call.limits.long_values, opened.longest_value);
        let before = last.steps.saturating_sub(opened.meter.charged());
        let ran = match limit_values(opened, longest) {
            Ok(()) => execute(opened, &mut statement, call.limits, before),
            Err(error) => Ran::ended(end_of(opened, &error)),
        };
        if ran.end != End::Rows {
            return (ran, has_written);
        }
        let is_shown = last.end == End::Nothing || statement.column_count() > 0;
        last = if is_shown {
            ran
        } else {
            Ran {
                steps: ran.steps,
                ..last
            }
        };
    }
    if !opened.connection.is_autocommit()
        && let Err(error) = opened.connection.execute_batch("commit")
    {
        return (Ran::ended(end_of(opened, &error)), has_written);
    }
    (last, has_written)
}
