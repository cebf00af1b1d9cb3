//! Calls of interpreter sessions, which run in the images and workers of programs.

use std::sync::Arc;
use std::time::Duration;

use assay_core::Fault;
use assay_core::execution::ExecuteError;
use assay_worker::program::{
    Call, Called, CompiledCall, End, ImageInfo, NATIVE_COMPILE_WORK, Ran, Reply, Request,
};
use assay_worker::{UntrustedReply, WorkerError};

use crate::images::{self, Image};
use crate::language::{self, Dialect};
use crate::programs::{Programs, fault_of_reply, timeout};

/// The languages in which sessions run in the workers of programs.
pub const SESSION_LANGUAGES: [&str; 4] = ["python", "javascript", "cpp", "c"];

/// The language of a session: one of [`SESSION_LANGUAGES`], or a standard of one, such as `c++23`.
fn of_session(name: &str) -> Option<Dialect> {
    let found = language::named(name)?;
    let is_known = SESSION_LANGUAGES.contains(&found.name);
    (is_known && (found.name == name || !found.standard.is_empty())).then_some(found)
}

impl Programs {
    /// The name of the image in which sessions of a language run: `image`, or the first one of the
    /// language. `None` if no sessions in this language run in the workers of programs.
    ///
    /// # Errors
    /// The field at fault, `language` or `image`, and what to do.
    pub fn session_image(
        &self,
        language: &str,
        image: Option<&str>,
    ) -> Option<Result<&'static str, (&'static str, String)>> {
        let found = of_session(language)?;
        Some(self.image_of(&found, language, image))
    }

    fn image_of(
        &self,
        found: &Dialect,
        language: &str,
        image: Option<&str>,
    ) -> Result<&'static str, (&'static str, String)> {
        let chosen = match image {
            None => images::chosen(found, []),
            Some(name) => images::named(found, name).ok_or_else(|| {
                let names = images::names(found).join("`, `");
                let message = format!("no image of `{language}` has this name; use `{names}`");
                ("image", message)
            })?,
        };
        match self.missing(chosen) {
            None => Ok(chosen.name),
            Some(message) => Err((image.map_or("language", |_| "image"), message)),
        }
    }

    /// Returns when workers can run calls in an image, with what it contains.
    ///
    /// # Errors
    /// A fault of the service.
    pub async fn prepare_sessions(&self, image: &str) -> Result<Arc<ImageInfo>, Fault> {
        self.prepare(image).await.map(|prepared| prepared.info)
    }

    /// Runs a call of a session in this language, for which it waits at most `queue_timeout`. The
    /// memory of the call's limits does not include what its image takes beyond the first one of
    /// the language, and the work not what a compiler takes.
    ///
    /// # Errors
    /// [`ExecuteError::Busy`] on a timeout, and faults of the service.
    pub async fn call(
        &self,
        language: &str,
        call: Call,
        queue_timeout: Duration,
    ) -> Result<Called, ExecuteError> {
        let prepared = self.prepare(&call.image).await;
        let version = prepared.map_err(ExecuteError::Failed)?.version;
        let workers = self.workers();
        let permit = workers.acquire(queue_timeout).await;
        let mut permit = permit.map_err(|error| match error {
            WorkerError::Busy => ExecuteError::Busy,
            error => ExecuteError::Failed(error.into()),
        })?;
        let (image, work) = (call.image.clone(), call.limits.work);
        let limits = Image::of_name(&image).map_or(call.limits, |image| image.limits(call.limits));
        let call = Call { limits, ..call };
        let standard = of_session(language).map_or("", |language| language.standard);
        let (request, time) = if standard.is_empty() {
            (Request::Call(call), timeout(work))
        } else {
            let standard = standard.to_owned();
            let request = Request::CompiledCall(CompiledCall { call, standard });
            (request, timeout(NATIVE_COMPILE_WORK.saturating_add(work)))
        };
        let reply = permit.ask_untrusted(&request, time).await;
        drop(permit);
        let confirmed = self.confirm(&image, version).await;
        confirmed.map_err(ExecuteError::Failed)?;
        match reply.map_err(|error| ExecuteError::Failed(error.into()))? {
            UntrustedReply::Answered(Reply::Called(called)) => Ok(called),
            UntrustedReply::Answered(other) => Err(ExecuteError::Failed(fault_of_reply(&other))),
            // Exceeding the processor time counts as using up the work.
            UntrustedReply::Overran => Ok(Called {
                ran: Ran {
                    work,
                    ..Ran::without_output(End::OutOfWork)
                },
                frozen: None,
                changed_bytes: 0,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_worker::{WorkerOptions, WorkerPool};

    use super::*;

    #[test]
    fn rejects_unknown_languages_and_images() {
        let options = WorkerOptions {
            program: "unused".into(),
            arguments: Vec::new(),
            count: 1,
            uses: 1,
        };
        let programs = Programs::new(WorkerPool::new(options), None);
        for unknown in ["cobol", "Python", "typescript", "c++2000"] {
            assert!(programs.session_image(unknown, None).is_none(), "{unknown}");
        }
        let error = |language, image| {
            programs
                .session_image(language, image)
                .unwrap()
                .unwrap_err()
        };
        assert_eq!(error("python", Some("javascript")).0, "image");
        let (field, message) = error("python", None);
        assert_eq!(field, "language");
        assert!(message.contains("is not installed"), "{message}");
    }

    #[test]
    fn languages_with_a_compiler_have_standards() {
        let standard = |name| of_session(name).unwrap().standard;
        assert_eq!(standard("python"), "");
        assert_eq!(standard("cpp"), "gnu++17");
        assert_eq!(standard("c++23"), "gnu++23");
        assert_eq!(standard("c11"), language::named("c11").unwrap().standard);
    }
}
