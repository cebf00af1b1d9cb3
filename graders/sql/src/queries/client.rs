//! Sends requests to workers, and interprets failures. A failure of a worker is a fault of the
//! service or of the database being built. It never becomes the end of a statement, because no
//! function of this module can return one.

use std::time::Duration;

use assay_core::Fault;
use assay_worker::query::{Reply, Request};
use assay_worker::{UntrustedReply, WorkerError, WorkerPool};

use super::run::BuildError;

/// Sends requests about databases to workers.
pub(super) struct WorkerClient(WorkerPool);

impl WorkerClient {
    pub(super) fn new(workers: WorkerPool) -> Self {
        Self(workers)
    }

    pub(super) fn pool(&self) -> &WorkerPool {
        &self.0
    }

    /// The reply to a request of several runs; `None` if each run should be requested separately.
    pub(super) async fn ask(
        &self,
        request: &Request,
        timeout: Duration,
    ) -> Result<Option<Reply>, Fault> {
        match self.0.ask(request, timeout).await {
            Ok(reply) => Ok(Some(reply)),
            Err(WorkerError::Overran { .. } | WorkerError::Died(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The reply to a request of one run, or that the run takes too long.
    pub(super) async fn ask_untrusted(
        &self,
        request: &Request,
        timeout: Duration,
    ) -> Result<UntrustedReply<Reply>, Fault> {
        Ok(self.0.ask_untrusted(request, timeout).await?)
    }

    /// The reply to a request to build or describe a database of a task.
    pub(super) async fn request_about_database(
        &self,
        request: &Request,
        timeout: Duration,
    ) -> Result<Reply, BuildError> {
        match self.0.ask_untrusted(request, timeout).await {
            Ok(UntrustedReply::Answered(reply)) => Ok(reply),
            Ok(UntrustedReply::Overran) => Err(BuildError::Task(format!(
                "it takes more than {} s",
                timeout.as_secs()
            ))),
            Err(WorkerError::Died(death)) if death.is_crash() => {
                Err(BuildError::Task("the database crashes SQLite".to_owned()))
            }
            Err(error) => Err(BuildError::Service(error.into())),
        }
    }
}
