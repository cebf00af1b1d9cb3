//! Criteria that compute are not graded on the threads of the runtime, which other requests need.

use std::num::NonZero;
use std::sync::Arc;

use assay_core::{ErrorCode, Fault, GradeContext, Item, Nested, Outcome};
use futures::FutureExt as _;
use tokio::sync::Semaphore;

/// Runs computing criteria on threads of their own, as many at a time as there are cores.
pub(crate) struct Offload(Arc<Semaphore>);

impl Default for Offload {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self(Arc::new(Semaphore::new(cores)))
    }
}

impl Offload {
    /// Grades a criterion of the lane `Cpu`.
    pub(crate) async fn grade(&self, nested: &Nested, item: &Item, cx: &GradeContext) -> Outcome {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.0).acquire_owned().await.ok();
        let (nested, item, cx) = (nested.clone(), item.clone(), cx.clone());
        let grade = move || {
            let _permit = permit;
            nested.grade(&item, &cx).now_or_never()
        };
        match tokio::task::spawn_blocking(grade).await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => failed("was not ready at once"),
            Err(_) => failed("panicked"),
        }
    }
}

fn failed(what: &str) -> Outcome {
    let message = format!("the grader of a criterion {what}; report it with the item");
    Outcome::Failed(Fault::permanent(ErrorCode::GraderPanicked, message))
}
