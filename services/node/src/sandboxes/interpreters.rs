//! Runs the calls of sessions in the workers of programs and of queries.

use std::sync::Arc;
use std::time::Duration;

use assay_code::{Programs, SESSION_LANGUAGES};
use assay_core::execution::ExecuteError;
use assay_core::{BoxFuture, Fault, Hash};
use assay_sessions::{CallError, Interpreters};
use assay_sql::Queries;
use assay_worker::program::{Call, Called, ImageInfo};

/// The language of sessions that run in the workers of queries.
const SQL: &str = "sql";

/// The only image of this language.
const SQLITE: &str = "sqlite";

/// The workers of programs and of queries.
pub(crate) struct SandboxInterpreters {
    pub(crate) programs: Programs,
    pub(crate) queries: Queries,
    /// Maximum time that a call waits for a worker.
    pub(crate) queue_timeout: Duration,
}

impl Interpreters for SandboxInterpreters {
    fn image(
        &self,
        language: &str,
        image: Option<&str>,
    ) -> Result<&'static str, (&'static str, String)> {
        if language == SQL {
            return match image {
                None | Some(SQLITE) => Ok(SQLITE),
                Some(_) => Err(("image", format!("the only image of `{SQL}` is `{SQLITE}`"))),
            };
        }
        self.programs
            .session_image(language, image)
            .unwrap_or_else(|| {
                let names = SESSION_LANGUAGES.map(|name| format!("`{name}`")).join(", ");
                let message =
                    format!("there are no sessions in `{language}`; use one of {names}, `{SQL}`");
                Err(("language", message))
            })
    }

    fn prepare<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<Arc<ImageInfo>, Fault>> {
        if image != SQLITE {
            return Box::pin(self.programs.prepare_sessions(image));
        }
        let version = assay_sqlbox::sqlite_version();
        let info = ImageInfo {
            name: SQLITE.to_owned(),
            language: SQL.to_owned(),
            hash: Hash::of(version.as_bytes()).to_string(),
            version: version.to_owned(),
            modules: Vec::new(),
        };
        Box::pin(std::future::ready(Ok(Arc::new(info))))
    }

    fn call<'a>(
        &'a self,
        language: &'a str,
        call: Call,
    ) -> BoxFuture<'a, Result<Called, CallError>> {
        Box::pin(async move {
            let called = if language == SQL {
                self.queries.call_session(call, self.queue_timeout).await
            } else {
                self.programs.call(language, call, self.queue_timeout).await
            };
            called.map_err(|error| match error {
                ExecuteError::Busy => CallError::Busy,
                ExecuteError::Failed(fault) => CallError::Failed(fault),
            })
        })
    }
}
