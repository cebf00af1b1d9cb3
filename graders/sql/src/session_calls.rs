//! Calls of interpreter sessions in SQL. A session has an SQLite database of its own, and each call
//! runs a script on it. What a call leaves is the database, so it does not depend on the worker.

use std::time::Duration;

use assay_core::execution::ExecuteError;
use assay_core::{ErrorCode, Fault};
use assay_worker::program::{self, Called, File, MAX_FETCHED, WORK_PER_SECOND};
use assay_worker::query::{Call, End, Limits, Ran, Reply, Request, Value};
use assay_worker::{UntrustedReply, WorkerError};
use bytes::Bytes;

use crate::queries::{PREDICTION_TIMEOUT, Queries};

/// The file that is the database of a session: with which it is opened, and which can be read.
const DATABASE: &str = "database.sqlite";

/// Work of a step: 20 million steps take 0.3 s.
const WORK_PER_STEP: u64 = WORK_PER_SECOND / 200_000_000 * 3;

/// Most rows of a result.
const MAX_ROWS: u64 = 100_000;

/// What a call starts from.
#[derive(Debug)]
struct Start {
    /// The database; empty if `None`.
    image: Option<Bytes>,
    /// Scripts that run before the code.
    scripts: Vec<String>,
}

impl Start {
    /// The files of a new session are its database and scripts, which run in the order of their
    /// names. Later calls have no files.
    fn of(call: &program::Call) -> Result<Self, Fault> {
        let invalid = |message: String| Fault::permanent(ErrorCode::GraderUnavailable, message);
        if let Some(left) = &call.frozen {
            if !call.files.is_empty() {
                let message = "a session in `sql` has files only before its first call".to_owned();
                return Err(invalid(message));
            }
            return Ok(Self {
                image: Some(left.clone()).filter(|left| !left.is_empty()),
                scripts: Vec::new(),
            });
        }
        let (mut image, mut scripts) = (None, Vec::new());
        for File { path, bytes } in &call.files {
            if path == DATABASE {
                image = Some(Bytes::from(bytes.clone()));
            } else if path.ends_with(".sql") {
                let script = String::from_utf8(bytes.clone());
                scripts.push(script.map_err(|_| invalid(format!("`{path}` is not UTF-8")))?);
            } else {
                return Err(invalid(format!(
                    "the files of a session in `sql` are `{DATABASE}` and scripts that end in \
                     `.sql`, not `{path}`"
                )));
            }
        }
        Ok(Self { image, scripts })
    }
}

impl Queries {
    /// Runs a call of a session, for which it waits at most `queue_timeout`.
    ///
    /// # Errors
    /// [`ExecuteError::Busy`] on a timeout, files that the session cannot have, and faults of the
    /// service.
    pub async fn call_session(
        &self,
        call: program::Call,
        queue_timeout: Duration,
    ) -> Result<Called, ExecuteError> {
        let Start { image, scripts } = Start::of(&call).map_err(ExecuteError::Failed)?;
        let permit = self.session_workers().acquire(queue_timeout).await;
        let mut permit = permit.map_err(|error| match error {
            WorkerError::Busy => ExecuteError::Busy,
            error => ExecuteError::Failed(error.into()),
        })?;
        let limits = Limits {
            rows: MAX_ROWS,
            bytes: call.limits.output_bytes,
            memory_bytes: call.limits.memory_bytes,
            long_values: false,
            long_value_steps: u64::MAX,
        };
        let (mut image, mut used) = (image, 0_u64);
        let mut last = Ran::ended(End::Nothing);
        let mut is_opened = true;
        let count = scripts.len();
        for (at, script) in scripts.into_iter().chain([call.code.clone()]).enumerate() {
            let request = Request::Call(Call {
                image: image.clone(),
                script,
                steps: (call.limits.work / WORK_PER_STEP)
                    .saturating_sub(used)
                    .max(1),
                limits,
            });
            let reply = permit.ask_untrusted(&request, PREDICTION_TIMEOUT).await;
            match reply.map_err(|error| ExecuteError::Failed(error.into()))? {
                UntrustedReply::Answered(Reply::Called(called)) => {
                    used = used.saturating_add(called.ran.steps);
                    image = called.image.or(image);
                    last = called.ran;
                }
                UntrustedReply::Answered(other) => {
                    return Err(ExecuteError::Failed(unusable(&other)));
                }
                // Exceeding the processor time counts as using up the steps.
                UntrustedReply::Overran => last = Ran::ended(End::OutOfSteps),
            }
            is_opened = at == count;
            if !matches!(last.end, End::Rows | End::Nothing) {
                break;
            }
        }
        Ok(called(&call, &last, image, used, is_opened))
    }
}

/// The result of a call whose last script ended like this. If it is a script of the session, the
/// call has no effect: the next one begins again.
fn called(
    call: &program::Call,
    last: &Ran,
    image: Option<Bytes>,
    used: u64,
    is_opened: bool,
) -> Called {
    let shown = (!last.columns.is_empty()).then(|| table(last));
    let raised = |message: &str| program::End::Raised(format!("Error: {message}"));
    let end = match &last.end {
        End::Rows | End::Nothing => shown.map_or(program::End::Finished, program::End::Returned),
        End::OutOfSteps => program::End::OutOfWork,
        End::OutOfMemory => program::End::OutOfMemory,
        End::TooManyRows => program::End::OutOfOutput,
        End::Syntax(message) | End::Error(message) => raised(message),
        End::Denied(operation) => raised(&format!("`{operation}` is not permitted")),
        End::TooLong => raised("the statement, or a value that it computes, is too long"),
        End::NotAQuery | End::Several => raised("statements that explain are not run"),
    };
    let is_limit = matches!(
        end,
        program::End::OutOfWork | program::End::OutOfMemory | program::End::OutOfOutput
    );
    let bytes = image.unwrap_or_default();
    let mut ran = program::Ran::without_output(end);
    ran.work = used.saturating_mul(WORK_PER_STEP).min(call.limits.work);
    ran.memory_bytes = bytes.len() as u64;
    if call.fetch.iter().any(|path| path == DATABASE) && bytes.len() as u64 <= MAX_FETCHED {
        ran.files.push(File {
            path: DATABASE.to_owned(),
            bytes: bytes.to_vec(),
        });
    }
    Called {
        ran,
        changed_bytes: bytes.len() as u64,
        frozen: (is_opened && !is_limit).then_some(bytes),
    }
}

/// The rows below the names of the columns, with `|` between columns, as the shell of SQLite shows
/// them, but for NULL and binary values, which are as in SQL.
fn table(ran: &Ran) -> String {
    let cell = |value: Value<'_>| match value {
        Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
        other => other.to_string(),
    };
    let rows = ran.rows.rows().map(|row| {
        let cells: Vec<String> = row.into_iter().map(cell).collect();
        cells.join("|")
    });
    let lines: Vec<String> = std::iter::once(ran.columns.join("|")).chain(rows).collect();
    lines.join("\n")
}

fn unusable(reply: &Reply) -> Fault {
    let message = match reply {
        Reply::Unable(reason) => format!("the database of the session cannot be used: {reason}"),
        _ => "a worker returned another reply than requested".to_owned(),
    };
    Fault::permanent(ErrorCode::SandboxFailed, message)
}
