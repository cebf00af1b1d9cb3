//! Runs the calls of sessions in the workers of programs.

use std::sync::Arc;
use std::time::Duration;

use assay_code::Programs;
use assay_core::execution::ExecuteError;
use assay_core::{BoxFuture, Fault};
use assay_sessions::{CallError, Interpreters};
use assay_worker::program::{Call, Called, ImageInfo};

/// Maximum time that a call waits for a worker.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(60);

/// The images and the workers of programs.
pub(crate) struct ProgramInterpreters(pub(crate) Programs);

impl Interpreters for ProgramInterpreters {
    fn image(
        &self,
        language: &str,
        image: Option<&str>,
    ) -> Result<&'static str, (&'static str, String)> {
        self.0.session_image(language, image)
    }

    fn prepare<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<Arc<ImageInfo>, Fault>> {
        Box::pin(self.0.prepare_sessions(image))
    }

    fn call<'a>(
        &'a self,
        language: &'a str,
        call: Call,
    ) -> BoxFuture<'a, Result<Called, CallError>> {
        Box::pin(async move {
            let called = self.0.call(language, call, QUEUE_TIMEOUT).await;
            called.map_err(|error| match error {
                ExecuteError::Busy => CallError::Busy,
                ExecuteError::Failed(fault) => CallError::Failed(fault),
            })
        })
    }
}
