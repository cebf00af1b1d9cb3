//! What runs the calls of sessions.

use std::sync::Arc;

use assay_core::{BoxFuture, ErrorCode, Fault};
use assay_worker::program::{Call, Called, ImageInfo};

/// Runs calls of sessions.
pub trait Interpreters: Send + Sync {
    /// The name of the image in which sessions of a language run; `image` if it is given.
    ///
    /// # Errors
    /// The field at fault, `language` or `image`, and what to do.
    fn image(
        &self,
        language: &str,
        image: Option<&str>,
    ) -> Result<&'static str, (&'static str, String)>;

    /// Returns when an image can run calls, with what it contains.
    ///
    /// # Errors
    /// Why it cannot at present.
    fn prepare<'a>(&'a self, image: &'a str) -> BoxFuture<'a, Result<Arc<ImageInfo>, Fault>>;

    /// Runs a call of a session in this language. One that uses too much processor time ends out of
    /// work.
    ///
    /// # Errors
    /// [`CallError`], never because of the code.
    fn call<'a>(
        &'a self,
        language: &'a str,
        call: Call,
    ) -> BoxFuture<'a, Result<Called, CallError>>;
}

/// Why a call did not run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// No worker became free in time.
    #[error("all sandbox workers are busy; retry")]
    Busy,
    /// The service is at fault.
    #[error("{0}")]
    Failed(Fault),
}

/// Those of a node without images, on which no session can be opened.
pub(crate) struct NoImages;

impl NoImages {
    fn fault() -> Fault {
        Fault::permanent(ErrorCode::GraderUnavailable, "this node has no images")
    }
}

impl Interpreters for NoImages {
    fn image(&self, _: &str, _: Option<&str>) -> Result<&'static str, (&'static str, String)> {
        Err(("language", Self::fault().message))
    }

    fn prepare<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Arc<ImageInfo>, Fault>> {
        Box::pin(std::future::ready(Err(Self::fault())))
    }

    fn call<'a>(&'a self, _: &'a str, _: Call) -> BoxFuture<'a, Result<Called, CallError>> {
        Box::pin(std::future::ready(Err(CallError::Failed(Self::fault()))))
    }
}
