//! The log of a session, and its replay: the same calls in a new instance, with the same outputs.

use std::sync::Arc;

use assay_core::{Hash, SessionId};
use assay_wire::sessions::{
    DifferingField, LoggedCall, ReplayDifference, SessionLog, SessionReplay,
};

use crate::end::CallEnd;
use crate::error::SessionError;
use crate::files;
use crate::journal::{Line, Opened};
use crate::limits::{self, work_of};
use crate::restore::Repetition;
use crate::run::blocking;
use crate::table::{Sender, Sessions};

impl Sessions {
    /// The log of a session.
    ///
    /// # Errors
    /// [`SessionError::Unknown`], [`SessionError::Storage`].
    pub async fn log(&self, sender: &Sender, id: &str) -> Result<SessionLog, SessionError> {
        let session = self.find(sender, id)?;
        let reading = Arc::clone(&session);
        let lines = blocking(move || Ok(reading.journal.read()?)).await;
        let lines = lines.map_err(|error| session.error(error))?;
        let mut lines = lines.into_iter();
        let Some(Line::Opened(opened)) = lines.next() else {
            return Err(SessionError::Storage("its journal is damaged".to_owned()));
        };
        let calls = lines.filter_map(|line| match line {
            Line::Called(called) => Some(called.logged),
            _ => None,
        });
        Ok(SessionLog {
            session: opened.id.to_string(),
            language: opened.language,
            image: opened.image,
            image_hash: session.progress().image_hash.clone(),
            seed: opened.seed,
            limits: opened.limits,
            files: opened.files,
            calls: calls.collect(),
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
        let image = self
            .interpreters()
            .image(&log.language, Some(&log.image))
            .map_err(|(field, message)| SessionError::invalid(format!("/{field}"), message))?;
        let info = self.interpreters().prepare(image).await;
        let info = info.map_err(SessionError::Failed)?;
        let same_image = info.hash == log.image_hash;
        let opened = Opened {
            id: SessionId::default(),
            caller: String::new(),
            name: None,
            language: log.language,
            image: log.image,
            image_hash: info.hash.clone(),
            seed: log.seed,
            limits: log.limits,
            idle_seconds: 0,
            opened_us: 0,
            forked_from: None,
            files: log.files,
        };
        let mut repetition = Repetition::new(self, opened)?;
        let mut calls = 0;
        let mut difference = None;
        for logged in &log.calls {
            difference = changed_code(logged);
            if difference.is_some() {
                break;
            }
            let end = repetition.run(logged).await?;
            calls += 1;
            difference = difference_of(logged, &end, same_image);
            if difference.is_some() {
                break;
            }
        }
        Ok(SessionReplay {
            equal: difference.is_none(),
            calls,
            image_hash: info.hash.clone(),
            same_image,
            difference,
        })
    }
}

/// Rejects a log that no session can have.
fn check(log: &SessionLog) -> Result<(), SessionError> {
    limits::check(&log.limits)?;
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
        if logged.work_limit > most_work || total > work_of(log.limits.total_seconds) {
            return invalid(
                "work_limit",
                "is above the limits of the session".to_owned(),
            );
        }
        if logged.output_limit > log.limits.output_kb << 10 {
            return invalid("output_limit", "is above that of the session".to_owned());
        }
        files::check_fetched(&logged.fetch)?;
    }
    Ok(())
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
