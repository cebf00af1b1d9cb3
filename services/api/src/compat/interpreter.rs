//! Interpreter sessions by name, for the routes that emulate tool servers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use assay_sessions::{Sender, SessionError, Sessions};
use assay_wire::sessions::{CallOutcome, CallReply, OpenSession, SessionCall, SessionLimits};

/// A session of a caller, which its first call opens.
pub(super) struct Interpreter<'a> {
    pub(super) sessions: &'a Sessions,
    pub(super) sender: &'a Sender,
    pub(super) name: String,
    pub(super) language: &'a str,
    /// The image, unless it is not installed.
    pub(super) image: Option<&'a str>,
    /// Seconds without a call after which it ends; by default, and at most, those of the node.
    pub(super) idle_seconds: Option<u64>,
}

impl Interpreter<'_> {
    /// Runs code, with the limits of a new session.
    ///
    /// # Errors
    /// [`SessionError`].
    pub(super) async fn run(&self, code: String, stdin: String) -> Result<CallReply, SessionError> {
        let id = self.open().await?;
        self.sessions.run(self.sender, &id, call(code, stdin)).await
    }

    /// The id of the session, which is opened unless it is open.
    ///
    /// # Errors
    /// [`SessionError`].
    pub(super) async fn open(&self) -> Result<String, SessionError> {
        // One that is open continues in its image.
        if let Some(id) = self.sessions.id_of_name(self.sender, &self.name) {
            return Ok(id);
        }
        match self.open_in(self.image).await {
            Err(SessionError::Invalid { pointer, .. }) if pointer == "/image" => {
                self.open_in(None).await
            }
            opened => opened,
        }
    }

    async fn open_in(&self, image: Option<&str>) -> Result<String, SessionError> {
        let most = self.sessions.idle_seconds();
        let request = OpenSession {
            name: Some(self.name.clone()),
            language: self.language.to_owned(),
            image: image.map(str::to_owned),
            seed: 0,
            files: BTreeMap::new(),
            limits: SessionLimits::default(),
            idle_seconds: self.idle_seconds.map(|seconds| seconds.clamp(1, most)),
        };
        Ok(self.sessions.create(self.sender, request).await?.id)
    }

    /// Ends the session, if it is open.
    pub(super) fn end(&self) {
        self.sessions.end_named(self.sender, &self.name);
    }
}

/// A call without files, with the limits of its session.
pub(super) fn call(code: String, stdin: String) -> SessionCall {
    SessionCall {
        code,
        stdin,
        files: BTreeMap::new(),
        fetch: Vec::new(),
        seconds: None,
    }
}

/// What the code of a call wrote to standard error, without the traceback that follows it.
pub(super) fn written_errors(called: &CallReply) -> &str {
    let Some(exception) = &called.exception else {
        return &called.stderr;
    };
    let (stderr, traceback) = (called.stderr.trim_end(), exception.traceback.trim_end());
    stderr.strip_suffix(traceback).unwrap_or(&called.stderr)
}

/// The limit that stopped a call.
pub(super) fn stopped(outcome: CallOutcome) -> Option<&'static str> {
    match outcome {
        CallOutcome::Ok | CallOutcome::Exception | CallOutcome::Exited => None,
        CallOutcome::OutOfWork => Some("more work than the limit"),
        CallOutcome::OutOfMemory => Some("more memory than the limit"),
        CallOutcome::OutOfOutput => Some("more output than the limit"),
        CallOutcome::TooLarge => Some("variables larger than the limit"),
    }
}

/// What a call wrote, as IPython shows it, for a model to read.
pub(super) fn output(called: &CallReply) -> String {
    let mut output = called.stdout.clone();
    if let Some(value) = &called.value {
        // Writing to a text does not fail.
        let _ = write!(output, "Out[{}]: {value}", called.call);
    }
    if let Some(exception) = &called.exception {
        output.push_str(&exception.traceback);
    }
    let stderr = written_errors(called);
    if !stderr.is_empty() {
        let _ = write!(output, "\nStderr: {stderr}");
    }
    if let Some(limit) = stopped(called.outcome) {
        let _ = write!(
            output,
            "\nThe code was stopped: {limit}. Variables are as before it."
        );
    }
    let output = output.trim_matches([' ', '\n']);
    if output.is_empty() {
        return "The code ran and wrote nothing.".to_owned();
    }
    output.to_owned()
}
