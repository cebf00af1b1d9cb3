//! A language whose code appends to a text, and a clock that tests set.

use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assay_core::{BoxFuture, Clock, ErrorCode, Fault, Ids};
use assay_sessions::{CallError, Interpreters, Sender, SessionError, Sessions, Settings};
use assay_wire::sessions::{CallReply, OpenSession, SessionBody, SessionCall};
use assay_worker::program::{Call, Called, End, File, ImageInfo, Ran, WORK_PER_SECOND};
use serde_json::json;

/// An interpreter whose state is a text. Code is appended to it, and the value is the state, except
/// for the words in [`FakeInterpreters::call`].
pub(crate) struct FakeInterpreters {
    pub(crate) image_hash: Mutex<String>,
    /// Number of calls that ran.
    pub(crate) calls: AtomicU64,
    /// Number of calls with the code `wait` that have started.
    pub(crate) waiting: AtomicU64,
    /// Lets the calls with the code `wait` end.
    pub(crate) gate: tokio::sync::Semaphore,
}

impl Interpreters for FakeInterpreters {
    fn image(
        &self,
        language: &str,
        _: Option<&str>,
    ) -> Result<&'static str, (&'static str, String)> {
        match language {
            "fake" => Ok("fake"),
            other => Err(("language", format!("no language `{other}`"))),
        }
    }

    fn prepare<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Arc<ImageInfo>, Fault>> {
        let info = ImageInfo {
            name: "fake".to_owned(),
            language: "fake".to_owned(),
            hash: self.image_hash.lock().unwrap().clone(),
            version: "1".to_owned(),
            modules: Vec::new(),
        };
        Box::pin(std::future::ready(Ok(Arc::new(info))))
    }

    fn call<'a>(&'a self, _: &'a str, call: Call) -> BoxFuture<'a, Result<Called, CallError>> {
        Box::pin(async move {
            if call.code == "fail" {
                let fault = Fault::transient(ErrorCode::SandboxFailed, "a worker died");
                return Err(CallError::Failed(fault));
            }
            if call.files.iter().any(|file| file.path == "folder") {
                let fault = Fault::permanent(ErrorCode::GraderUnavailable, "it is a folder");
                return Err(CallError::Failed(fault));
            }
            if call.code == "wait" {
                self.waiting.fetch_add(1, Ordering::Relaxed);
                self.gate.acquire().await.unwrap().forget();
            }
            let number = self.calls.fetch_add(1, Ordering::Relaxed);
            let before = call.frozen.clone().unwrap_or_default();
            let mut state = String::from_utf8(before.into()).unwrap();
            for File { path, bytes } in &call.files {
                state += &format!("{path}={};", String::from_utf8_lossy(bytes));
            }
            let mut ran = Ran::without_output(End::Finished);
            ran.work = WORK_PER_SECOND / 10;
            if call.code == "loop" {
                ran.end = End::OutOfWork;
                ran.work = call.limits.work;
                return Ok(called(ran, None));
            }
            match call.code.split_once(' ') {
                Some(("fill", count)) => state += &"x".repeat(count.parse().unwrap()),
                Some(("raise", message)) => ran.end = End::Raised(message.to_owned()),
                // Another value every time.
                Some(("unstable", _)) => state += &number.to_string(),
                _ => {
                    state += &call.code;
                    ran.end = End::Returned(state.clone());
                }
            }
            let fetched = call.fetch.iter().filter(|path| *path == "state");
            ran.files = fetched
                .map(|path| File {
                    path: path.clone(),
                    bytes: state.clone().into_bytes(),
                })
                .collect();
            Ok(called(ran, Some(state)))
        })
    }
}

fn called(ran: Ran, state: Option<String>) -> Called {
    Called {
        ran,
        changed_bytes: 0,
        frozen: state.map(Into::into),
    }
}

/// A clock that a test sets, in seconds.
#[derive(Default)]
pub(crate) struct TestClock(pub(crate) AtomicI64);

impl Clock for TestClock {
    fn unix_us(&self) -> i64 {
        self.0.load(Ordering::Relaxed) * 1_000_000
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// Sessions with their interpreter.
pub(crate) struct Fixture {
    pub(crate) sessions: Sessions,
    pub(crate) interpreters: Arc<FakeInterpreters>,
    pub(crate) clock: Arc<TestClock>,
}

/// Sessions with files in a folder.
pub(crate) fn in_folder(folder: &Path) -> Fixture {
    with(Settings {
        folder: Some(folder.to_owned()),
        ..Settings::default()
    })
}

pub(crate) fn with(settings: Settings) -> Fixture {
    let interpreters = Arc::new(FakeInterpreters {
        image_hash: Mutex::new("1".to_owned()),
        calls: AtomicU64::new(0),
        waiting: AtomicU64::new(0),
        gate: tokio::sync::Semaphore::new(0),
    });
    let clock = Arc::new(TestClock::default());
    let sessions = Sessions::open(
        settings,
        Arc::<FakeInterpreters>::clone(&interpreters),
        Arc::<TestClock>::clone(&clock),
        Ids::random(),
    );
    Fixture {
        sessions: sessions.unwrap(),
        interpreters,
        clock,
    }
}

pub(crate) fn sender(name: &str) -> Sender {
    Sender {
        caller: name.to_owned(),
        sees_all: false,
        share: name.into(),
    }
}

pub(crate) fn code(code: &str) -> SessionCall {
    serde_json::from_value(json!({ "code": code })).unwrap()
}

pub(crate) fn opening() -> OpenSession {
    serde_json::from_value(json!({ "language": "fake" })).unwrap()
}

impl Fixture {
    pub(crate) async fn open(&self) -> String {
        self.open_by("a").await.unwrap().id
    }

    pub(crate) async fn open_by(&self, caller: &str) -> Result<SessionBody, SessionError> {
        self.sessions.create(&sender(caller), opening()).await
    }

    pub(crate) async fn try_run(&self, id: &str, text: &str) -> Result<CallReply, SessionError> {
        self.sessions.run(&sender("a"), id, code(text)).await
    }

    pub(crate) async fn run(&self, id: &str, text: &str) -> CallReply {
        self.try_run(id, text).await.unwrap()
    }

    /// The value of a call, which is the state after it.
    pub(crate) async fn value(&self, id: &str, text: &str) -> String {
        self.run(id, text).await.value.unwrap()
    }

    pub(crate) fn body(&self, id: &str) -> SessionBody {
        self.sessions.describe(&sender("a"), id).unwrap()
    }
}
