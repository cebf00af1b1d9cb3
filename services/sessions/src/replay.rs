//! The log of a session, and its replay: the same calls in a new instance, with the same outputs.

use assay_core::{CancelFlag, Hash, SessionId};
use assay_wire::sessions::{
    DifferingField, LoggedCall, ReplayDifference, SessionLog, SessionReplay,
};

use crate::end::CallEnd;
use crate::error::SessionError;
use crate::files;
use crate::interpreters::Interpreters;
use crate::journal::{Line, Opened};
use crate::limits::{self, Used, work_of};
use crate::restore::Repetition;
use crate::run::blocking;
use crate::table::{Sender, Sessions};

impl Sessions {
    /// The log of a session.
    ///
    /// # Errors
    /// [`SessionError::Unknown`], [`SessionError::Storage`].
    pub async fn log(&self, sender: &Sender, id: &str) -> Result<SessionLog, SessionError> {
        let (this, sender, id) = (self.clone(), sender.clone(), id.to_owned());
        blocking(move || this.read_log(&sender, &id)).await
    }

    /// The log of a session, as [`Sessions::log`]. Reads a file.
    ///
    /// # Errors
    /// [`SessionError::Unknown`], [`SessionError::Storage`].
    pub fn read_log(&self, sender: &Sender, id: &str) -> Result<SessionLog, SessionError> {
        let session = self.find(sender, id)?;
        let lines = session.journal.read();
        let lines = lines.map_err(|error| session.error(error.into()))?;
        let mut lines = lines.into_iter();
        let Some(Line::Opened(opened)) = lines.next() else {
            return Err(SessionError::Storage("its journal is damaged".to_owned()));
        };
        let (mut calls, mut image_hash) = (Vec::new(), opened.image_hash);
        for line in lines {
            match line {
                Line::Called(called) => calls.push(called.logged),
                // The work of calls after an exchange of the image is that of the new one.
                Line::Restored {
                    image_hash: next, ..
                } if !image_hash.ends_with(&next) => {
                    image_hash = format!("{image_hash}+{next}");
                }
                Line::Restored { .. } | Line::Opened(_) => {}
            }
        }
        Ok(SessionLog {
            session: opened.id.to_string(),
            language: opened.language,
            image: opened.image,
            image_hash,
            seed: opened.seed,
            limits: opened.limits,
            files: opened.files,
            calls,
        })
    }

    /// Runs the calls of a log again, and compares what they return, until the first difference.
    ///
    /// # Errors
    /// [`SessionError::Invalid`] for a log that no session can have, and errors of the service.
    pub async fn replay(
        &self,
        sender: &Sender,
        log: SessionLog,
    ) -> Result<SessionReplay, SessionError> {
        check(&log)?;
        let _permit = self.permit(sender).await?;
        let replay = Replay {
            interpreters: self.interpreters(),
            state_bytes: self.settings().state_bytes,
            cancel: CancelFlag::new(),
        };
        Ok(replay.run(&log).await?.result)
    }
}

/// Runs the calls of a log again.
pub(crate) struct Replay<'a> {
    pub(crate) interpreters: &'a dyn Interpreters,
    /// Bytes of the state of a session.
    pub(crate) state_bytes: u64,
    /// Is set when nobody needs the result.
    pub(crate) cancel: CancelFlag,
}

/// What the calls of a log returned when they ran again, up to the first difference.
pub(crate) struct Replayed {
    pub(crate) result: SessionReplay,
    /// Whether each of the calls that ran succeeded.
    pub(crate) succeeded: Vec<bool>,
    /// Their work, in instructions.
    pub(crate) work: u64,
}

impl Replay<'_> {
    /// Runs the calls of a log that [`check`] accepts, until the first difference.
    ///
    /// # Errors
    /// [`SessionError::Invalid`] for a language, an image or files that no session can have, and
    /// errors of the service.
    pub(crate) async fn run(&self, log: &SessionLog) -> Result<Replayed, SessionError> {
        let image = image_of(self.interpreters, log)?;
        let info = self.interpreters.prepare(image).await;
        let info = info.map_err(SessionError::Failed)?;
        let mut replayed = Replayed {
            result: SessionReplay {
                equal: true,
                calls: 0,
                image_hash: info.hash.clone(),
                same_image: info.hash == log.image_hash,
                difference: None,
            },
            succeeded: Vec::with_capacity(log.calls.len()),
            work: 0,
        };
        let mut repetition =
            Repetition::new(self.interpreters, self.state_bytes, opened(log, &info.hash))?;
        let mut used = Used::default();
        for logged in &log.calls {
            let mut difference = changed_code(logged);
            if difference.is_none() {
                if self.cancel.is_cancelled() {
                    return Err(SessionError::Busy);
                }
                // Logged work is only compared in the same image, so it bounds nothing.
                let left = used.next_call(&log.limits, None)?;
                let end = repetition.run(logged, Some(left)).await;
                let end = end.map_err(|error| {
                    let error = error.of_files(!logged.files.is_empty());
                    within(error, &format!("/calls/{}", logged.call - 1))
                })?;
                let result = &mut replayed.result;
                result.calls += 1;
                difference = difference_of(logged, &end, result.same_image);
                replayed.succeeded.push(end.succeeded());
                replayed.work = replayed.work.saturating_add(end.work);
                used.calls += 1;
                used.work = used.work.saturating_add(end.work);
                used.output_bytes = used.output_bytes.saturating_add(end.output_bytes);
            }
            if difference.is_some() {
                replayed.result.equal = false;
                replayed.result.difference = difference;
                break;
            }
        }
        Ok(replayed)
    }
}

/// The image in which the calls of a log run.
///
/// # Errors
/// [`SessionError::Invalid`] if there is none.
pub(crate) fn image_of(
    interpreters: &dyn Interpreters,
    log: &SessionLog,
) -> Result<&'static str, SessionError> {
    let image = interpreters.image(&log.language, Some(&log.image));
    image.map_err(|(field, message)| SessionError::invalid(format!("/{field}"), message))
}

/// The session of a log, in the image with this hash.
fn opened(log: &SessionLog, image_hash: &str) -> Opened {
    Opened {
        id: SessionId::default(),
        caller: String::new(),
        name: None,
        language: log.language.clone(),
        image: log.image.clone(),
        image_hash: image_hash.to_owned(),
        seed: log.seed,
        limits: log.limits,
        idle_seconds: 0,
        opened_us: 0,
        forked_from: None,
        files: log.files.clone(),
    }
}

/// Longest name or hash in a log, in bytes.
const MAX_NAME: usize = 1_024;

/// Rejects a log that no session can have.
pub(crate) fn check(log: &SessionLog) -> Result<(), SessionError> {
    limits::check(&log.limits)?;
    let names = [
        ("session", &log.session),
        ("language", &log.language),
        ("image", &log.image),
        ("image_hash", &log.image_hash),
    ];
    for (field, name) in names {
        if name.len() > MAX_NAME {
            let message = format!("is longer than {MAX_NAME} bytes");
            return Err(SessionError::invalid(format!("/{field}"), message));
        }
    }
    let most_work = work_of(log.limits.seconds);
    let mut total = 0_u64;
    for (at, logged) in log.calls.iter().enumerate() {
        let invalid = |field: &str, message: String| {
            Err(SessionError::invalid(
                format!("/calls/{at}/{field}"),
                message,
            ))
        };
        if logged.call as usize != at + 1 || logged.call > log.limits.calls {
            let message = "calls are numbered from 1 to at most `limits/calls`".to_owned();
            return invalid("call", message);
        }
        total = total.saturating_add(logged.work);
        let exceeded = [
            ("work_limit", logged.work_limit > most_work),
            ("work", total > work_of(log.limits.total_seconds)),
        ];
        if let Some((field, _)) = exceeded.into_iter().find(|(_, exceeded)| *exceeded) {
            return invalid(field, "is above the limits of the session".to_owned());
        }
        if logged.output_limit > log.limits.output_kb << 10 {
            return invalid("output_limit", "is above that of the session".to_owned());
        }
        let at_call = |error| within(error, &format!("/calls/{at}"));
        files::check_fetched(&logged.fetch).map_err(at_call)?;
        files::decode(&logged.files).map_err(at_call)?;
    }
    files::decode(&log.files).map(drop)
}

/// An error of a part of a log, with its place in the log.
fn within(error: SessionError, place: &str) -> SessionError {
    match error {
        SessionError::Invalid { pointer, message } => {
            SessionError::invalid(format!("{place}{pointer}"), message)
        }
        error => error,
    }
}

fn changed_code(logged: &LoggedCall) -> Option<ReplayDifference> {
    let found = Hash::of(logged.code.as_bytes());
    (found != logged.code_hash).then(|| ReplayDifference {
        call: logged.call,
        field: DifferingField::CodeHash,
        logged: logged.code_hash.to_string(),
        replayed: found.to_string(),
    })
}

/// The first difference between a logged call and what it returned when it ran again.
fn difference_of(logged: &LoggedCall, end: &CallEnd, same_image: bool) -> Option<ReplayDifference> {
    let outcomes = (logged.outcome.as_str(), end.outcome.as_str());
    let rows = [
        (
            DifferingField::Outcome,
            outcomes.0.to_owned(),
            outcomes.1.to_owned(),
        ),
        (
            DifferingField::Kept,
            logged.kept.to_string(),
            end.kept.to_string(),
        ),
        (
            DifferingField::OutputHash,
            logged.output_hash.to_string(),
            end.output_hash.to_string(),
        ),
        (
            DifferingField::Work,
            logged.work.to_string(),
            end.work.to_string(),
        ),
    ];
    let differing = rows.into_iter().find(|(field, logged, replayed)| {
        logged != replayed && (same_image || *field != DifferingField::Work)
    });
    differing.map(|(field, logged_value, replayed)| ReplayDifference {
        call: logged.call,
        field,
        logged: logged_value,
        replayed,
    })
}
