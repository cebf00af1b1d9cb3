//! Restores the state of a session: from its bytes, or by running its calls again.

use std::sync::Arc;

use assay_core::Hash;
use assay_wire::sessions::{LoggedCall, Restored};
use assay_worker::program::{File, Limits};
use bytes::Bytes;

use crate::end::CallEnd;
use crate::error::SessionError;
use crate::files;
use crate::interpreters::Interpreters;
use crate::journal::{Line, Opened};
use crate::metrics;
use crate::run::{Request, blocking, new_call};
use crate::session::Session;
use crate::table::Sessions;

impl Sessions {
    /// The state from which the next call of a session continues; `None` for a new instance. Other
    /// calls of the session must wait.
    ///
    /// # Errors
    /// [`SessionError::Lost`] if the state cannot be restored, and errors of the service.
    pub(crate) async fn state_of(
        &self,
        session: &Arc<Session>,
    ) -> Result<Option<Bytes>, SessionError> {
        let info = self.interpreters().prepare(&session.opened.image).await;
        let info = info.map_err(SessionError::Failed)?;
        let (state, is_usable) = {
            let progress = session.progress();
            if let Some(reason) = &progress.lost {
                return Err(SessionError::Lost(reason.clone()));
            }
            let is_usable = !progress.needs_replay && progress.image_hash == info.hash;
            (progress.state, is_usable)
        };
        match state {
            None if is_usable => return Ok(None),
            Some(hash) if is_usable => match self.read_state(hash).await {
                Ok(bytes) => return Ok(Some(bytes)),
                Err(error) => {
                    let id = session.opened.id;
                    tracing::warn!(%id, %error, "the calls of a session run again");
                }
            },
            _ => {}
        }
        self.run_again(session, &info.hash).await
    }

    async fn read_state(&self, hash: Hash) -> Result<Bytes, SessionError> {
        if let Some(bytes) = self.states().in_memory(&hash) {
            return Ok(bytes);
        }
        let this = self.clone();
        blocking(move || {
            let bytes = this.states().get(&hash);
            bytes.map_err(|error| SessionError::Storage(error.to_string()))
        })
        .await
    }

    /// Runs the calls with an effect again, and keeps what they left. The outputs must be those of
    /// the journal.
    async fn run_again(
        &self,
        session: &Arc<Session>,
        image_hash: &str,
    ) -> Result<Option<Bytes>, SessionError> {
        let reading = Arc::clone(session);
        let lines = blocking(move || Ok(reading.journal.read()?)).await?;
        let mut lines = lines.into_iter();
        let Some(Line::Opened(opened)) = lines.next() else {
            return Err(SessionError::Storage("its journal is damaged".to_owned()));
        };
        let state_bytes = self.settings().state_bytes;
        let mut repetition = Repetition::new(self.interpreters(), state_bytes, opened)?;
        for line in lines {
            let Line::Called(called) = line else {
                continue;
            };
            let logged = called.logged;
            if !logged.kept {
                continue;
            }
            let end = repetition.run(&logged, None).await?;
            if end.output_hash != logged.output_hash {
                let reason = format!(
                    "its state is missing, and call {} has another output when it runs again",
                    logged.call
                );
                metrics::lost();
                session.progress().lost = Some(reason.clone());
                return Err(SessionError::Lost(reason));
            }
        }
        let left = repetition.frozen;
        let (this, session) = (self.clone(), Arc::clone(session));
        let image_hash = image_hash.to_owned();
        blocking(move || this.keep_restored(&session, image_hash, left)).await
    }

    fn keep_restored(
        &self,
        session: &Session,
        image_hash: String,
        left: Option<Bytes>,
    ) -> Result<Option<Bytes>, SessionError> {
        let state = left.as_ref().map(|bytes| self.states().put(bytes));
        let state = state.transpose();
        let state = state.map_err(|error| SessionError::TooMany(error.to_string()))?;
        let line = Line::Restored {
            image_hash: image_hash.clone(),
            state,
        };
        let mut progress = session.progress();
        let written = session.journal.append(&line);
        if progress.has_ended || written.is_err() {
            drop(progress);
            if let Some(state) = &state {
                self.states().release(state);
            }
            written?;
            return Err(SessionError::Unknown(session.opened.id.to_string()));
        }
        let before = std::mem::replace(&mut progress.state, state);
        progress.image_hash = image_hash;
        progress.needs_replay = false;
        progress.restored = Some(Restored::Replayed);
        drop(progress);
        if let Some(before) = before {
            self.states().release(&before);
        }
        metrics::restored(Restored::Replayed);
        Ok(left)
    }
}

/// Calls of a log that run again in a new instance.
pub(crate) struct Repetition<'a> {
    interpreters: &'a dyn Interpreters,
    state_bytes: u64,
    opened: Opened,
    files: Vec<File>,
    /// What the calls so far left.
    pub(crate) frozen: Option<Bytes>,
}

impl<'a> Repetition<'a> {
    /// Nothing has run yet.
    ///
    /// # Errors
    /// [`SessionError::Invalid`] if a file is invalid.
    pub(crate) fn new(
        interpreters: &'a dyn Interpreters,
        state_bytes: u64,
        opened: Opened,
    ) -> Result<Self, SessionError> {
        Ok(Self {
            interpreters,
            state_bytes,
            files: files::decode(&opened.files)?,
            opened,
            frozen: None,
        })
    }

    /// Runs the next call, with what is `left` of the limits of the session. If it has an effect,
    /// the one after it continues from what it left.
    ///
    /// # Errors
    /// Errors of the service, and files that are invalid.
    pub(crate) async fn run(
        &mut self,
        logged: &LoggedCall,
        left: Option<Limits>,
    ) -> Result<CallEnd, SessionError> {
        let mut files = match self.frozen {
            Some(_) => Vec::new(),
            None => self.files.clone(),
        };
        files.extend(files::decode(&logged.files)?);
        let request = Request {
            number: logged.call,
            code: &logged.code,
            stdin: &logged.stdin,
            files,
            fetch: &logged.fetch,
            limits: Limits {
                work: left
                    .map_or(u64::MAX, |left| left.work)
                    .min(logged.work_limit),
                memory_bytes: self.opened.limits.memory_mb << 20,
                output_bytes: left
                    .map_or(u64::MAX, |left| left.output_bytes)
                    .min(logged.output_limit),
            },
        };
        let call = new_call(&self.opened, self.frozen.clone(), request);
        let language = &self.opened.language;
        let called = self.interpreters.call(language, call).await?;
        let mut end = CallEnd::read(called, logged.call, self.state_bytes);
        if let Some(frozen) = end.frozen.take() {
            self.frozen = Some(frozen);
        }
        Ok(end)
    }
}
