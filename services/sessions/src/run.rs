//! A call: from its limits to what it leaves.

use std::sync::Arc;

use assay_core::Hash;
use assay_wire::sessions::{CallReply, LoggedCall, SessionCall};
use assay_worker::program::{Call, File, Limits};
use bytes::Bytes;

use crate::end::CallEnd;
use crate::error::SessionError;
use crate::files;
use crate::frozen::StoreError;
use crate::journal::{Called, Line, Opened};
use crate::limits::{self, MAX_JOURNAL, seconds_of};
use crate::metrics;
use crate::session::{Session, Turn};
use crate::table::{Sender, Sessions};

/// Allowance for what a line of a journal has besides the texts of the request, in bytes.
const LINE_BYTES: usize = 1_024;

/// A call whose request is checked.
struct Checked {
    request: SessionCall,
    files: Vec<File>,
}

impl Checked {
    fn new(request: SessionCall) -> Result<Self, SessionError> {
        let files = files::decode(&request.files)?;
        files::check_fetched(&request.fetch)?;
        if let Some(seconds) = request.seconds {
            limits::check_seconds("/seconds", seconds, 60.0)?;
        }
        Ok(Self { request, files })
    }

    /// At least the bytes of its line in the journal. JSON needs up to six bytes for one.
    fn line_bytes(&self) -> u64 {
        let request = &self.request;
        let files = self.files.iter();
        let texts = request.code.len()
            + request.stdin.len()
            + files
                .map(|file| file.path.len() + file.bytes.len())
                .sum::<usize>()
            + request.fetch.iter().map(String::len).sum::<usize>();
        (texts.saturating_mul(2) + LINE_BYTES) as u64
    }
}

impl Sessions {
    /// Runs a call in a session, after those that were sent before.
    ///
    /// # Errors
    /// [`SessionError`]; the session then is as before.
    pub async fn run(
        &self,
        sender: &Sender,
        id: &str,
        request: SessionCall,
    ) -> Result<CallReply, SessionError> {
        let session = self.find(sender, id)?;
        let checked = Checked::new(request)?;
        let turn = session.turn().await?;
        let ran = self.run_in_turn(sender, &session, turn, checked).await;
        ran.map_err(|error| session.error(error))
    }

    async fn run_in_turn(
        &self,
        sender: &Sender,
        session: &Arc<Session>,
        turn: Turn,
        checked: Checked,
    ) -> Result<CallReply, SessionError> {
        let used = session.progress().used;
        let limits = used.next_call(&session.opened.limits, checked.request.seconds)?;
        if session.journal.length() + checked.line_bytes() > MAX_JOURNAL {
            let (limit, what) = ("16 MiB", "the size of its log");
            return Err(SessionError::Exhausted { limit, what });
        }
        let _permit = self.permit(sender).await?;
        let frozen = self.state_of(session).await?;
        let mut files = checked.files.clone();
        if frozen.is_none() {
            files = first_files(session, files).await?;
        }
        let number = used.calls + 1;
        let request = &checked.request;
        let call = new_call(
            &session.opened,
            frozen,
            Request {
                number,
                code: &request.code,
                stdin: &request.stdin,
                files,
                fetch: &request.fetch,
                limits,
            },
        );
        let language = &session.opened.language;
        let called = self.interpreters().call(language, call).await;
        let called = called.map_err(|error| {
            metrics::call_failed();
            SessionError::from(error).of_files(!checked.files.is_empty())
        })?;
        let end = CallEnd::read(called, number, self.settings().state_bytes);
        let (this, session) = (self.clone(), Arc::clone(session));
        // Off the runtime, and to its end even if the client is gone.
        blocking(move || this.commit(&session, &turn, checked, limits, end)).await
    }

    /// Keeps what a call left, and its line in the journal.
    fn commit(
        &self,
        session: &Session,
        _turn: &Turn,
        checked: Checked,
        limits: Limits,
        mut end: CallEnd,
    ) -> Result<CallReply, SessionError> {
        let left = end.frozen.take();
        let kept = left.is_some();
        let left = left.map(|bytes| self.states().put(&bytes)).transpose();
        let left = left.map_err(|error| match error {
            StoreError::Full(_) => SessionError::TooMany(error.to_string()),
            StoreError::File(_) => SessionError::Storage(error.to_string()),
        })?;
        let release = |state: Option<Hash>| {
            if let Some(state) = state {
                self.states().release(&state);
            }
        };
        let now = self.now_us();
        let mut progress = session.progress();
        if progress.has_ended {
            drop(progress);
            release(left);
            return Err(SessionError::Unknown(session.opened.id.to_string()));
        }
        let state = if kept { left } else { progress.state };
        let number = progress.used.calls + 1;
        let SessionCall {
            code,
            stdin,
            files,
            fetch,
            ..
        } = checked.request;
        let line = Line::Called(Called {
            logged: LoggedCall {
                call: number,
                code_hash: Hash::of(code.as_bytes()),
                code,
                stdin,
                files,
                fetch,
                work_limit: limits.work,
                output_limit: limits.output_bytes,
                outcome: end.outcome,
                kept,
                work: end.work,
                output_hash: end.output_hash,
                time_us: now,
            },
            output_bytes: end.output_bytes,
            state,
        });
        if let Err(error) = session.journal.append(&line) {
            drop(progress);
            release(left);
            return Err(error.into());
        }
        let before = kept.then_some(progress.state).flatten();
        progress.state = state;
        progress.used.calls = number;
        progress.used.work = progress.used.work.saturating_add(end.work);
        progress.used.output_bytes = progress.used.output_bytes.saturating_add(end.output_bytes);
        progress.used_us = now;
        let restored = progress.restored.take();
        let remaining = progress.used.remaining(&session.opened.limits);
        drop(progress);
        release(before);
        metrics::called(end.outcome);
        Ok(CallReply {
            session: session.opened.id.to_string(),
            call: number,
            outcome: end.outcome,
            value: end.value,
            stdout: end.stdout,
            stderr: end.stderr,
            exception: end.exception,
            exit_status: end.exit_status,
            files: end.files,
            kept,
            work: end.work,
            seconds: seconds_of(end.work),
            memory_bytes: end.memory_bytes,
            remaining,
            output_hash: end.output_hash,
            restored,
        })
    }

    /// Reads a file of a session. The session does not change.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn file(
        &self,
        sender: &Sender,
        id: &str,
        path: &str,
    ) -> Result<Vec<u8>, SessionError> {
        files::check_path(path).map_err(|message| SessionError::invalid("/path", message))?;
        let session = self.find(sender, id)?;
        let _turn = session.turn().await?;
        let read = self.read_file(sender, &session, path).await;
        read.map_err(|error| session.error(error))
    }

    async fn read_file(
        &self,
        sender: &Sender,
        session: &Arc<Session>,
        path: &str,
    ) -> Result<Vec<u8>, SessionError> {
        let _permit = self.permit(sender).await?;
        let frozen = self.state_of(session).await?;
        let files = match frozen {
            Some(_) => Vec::new(),
            None => first_files(session, Vec::new()).await?,
        };
        let limits = Limits {
            work: limits::work_of(1.0),
            memory_bytes: session.opened.limits.memory_mb << 20,
            output_bytes: 1 << 10,
        };
        let number = session.progress().used.calls + 1;
        let fetch = [path.to_owned()];
        let request = Request {
            number,
            code: "",
            stdin: "",
            files,
            fetch: &fetch,
            limits,
        };
        let call = new_call(&session.opened, frozen, request);
        let language = &session.opened.language;
        let called = self.interpreters().call(language, call).await?;
        let file = called.ran.files.into_iter().next();
        let file = file.ok_or_else(|| SessionError::NoFile(path.to_owned()))?;
        Ok(file.bytes)
    }
}

/// The files of a call that starts a new instance: those of the session, then its own.
async fn first_files(session: &Arc<Session>, own: Vec<File>) -> Result<Vec<File>, SessionError> {
    let session = Arc::clone(session);
    blocking(move || {
        let lines = session.journal.read()?;
        let mut all = match lines.first() {
            Some(Line::Opened(opened)) => files::decode(&opened.files)?,
            _ => Vec::new(),
        };
        all.extend(own);
        Ok(all)
    })
    .await
}

/// A call of a session, new or logged.
pub(crate) struct Request<'a> {
    pub(crate) number: u32,
    pub(crate) code: &'a str,
    pub(crate) stdin: &'a str,
    /// For a new instance, also those with which the session was opened.
    pub(crate) files: Vec<File>,
    pub(crate) fetch: &'a [String],
    pub(crate) limits: Limits,
}

/// The request to a worker.
pub(crate) fn new_call(opened: &Opened, frozen: Option<Bytes>, request: Request<'_>) -> Call {
    Call {
        image: opened.image.clone(),
        frozen,
        number: request.number,
        code: request.code.to_owned(),
        stdin: request.stdin.as_bytes().to_vec(),
        limits: request.limits,
        seed: opened.seed,
        files: request.files,
        fetch: request.fetch.to_vec(),
    }
}

/// Runs work that reads or writes files off the runtime.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SessionError> + Send + 'static,
) -> Result<T, SessionError> {
    let result = tokio::task::spawn_blocking(work).await;
    result.unwrap_or_else(|_| Err(SessionError::Storage("an internal error".to_owned())))
}
