//! Warm-up: does work that would otherwise delay the first batch, such as building tables on first
//! use, loading pages of the binary and the first read of the record. It writes nothing to the
//! record, the metrics or the caches.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use assay_core::{GradeContext, Grader, Item, Lane, Task};
use futures::FutureExt;
use tokio::sync::mpsc;

use crate::Engine;
use crate::plan::prepare_one;
use crate::shared::Shared;
use crate::workers::Job;

/// The caller of these jobs, so that the scheduler is fair to real callers.
const CALLER: &str = "warm-up";

impl Engine {
    /// Grades the example of every grader of the CPU lane on the workers and reads the channels
    /// from the record. Returns when both are done. Failures are left for the first batch to
    /// report.
    pub async fn warm(&self) {
        let shared = self.shared();
        let (sender, mut finished) = mpsc::unbounded_channel::<()>();
        let jobs = (0..shared.workers.count()).map(|_| {
            let (shared, sender) = (Arc::clone(shared), sender.clone());
            Box::new(move || {
                shared
                    .graders
                    .iter()
                    .for_each(|grader| grade_example(&shared, grader.as_ref()));
                drop(sender);
            }) as Job
        });
        shared.workers.submit(&CALLER.into(), jobs.collect());
        drop(sender);
        if let Some(store) = &shared.store
            && let Err(error) = shared
                .known
                .read(store.as_ref(), shared.clock.monotonic())
                .await
        {
            tracing::warn!(%error, "cannot read the counts of channels during warm-up");
        }
        // Ends when every job is done or was dropped because the node stops.
        while finished.recv().await.is_some() {}
    }
}

fn grade_example(shared: &Shared, grader: &dyn Grader) {
    let spec = grader.spec();
    if spec.lane != Lane::Cpu {
        return;
    }
    let Ok(task) = Task::from_json(spec.example_task) else {
        return;
    };
    let Ok(prepared) = prepare_one(shared, grader, &task).ready else {
        return;
    };
    let item = Item::text(spec.example_completion);
    let cx = GradeContext::default();
    // A panic is ignored here: the same item in a batch would report it.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        prepared.grade(&[&item], &cx).now_or_never().is_some()
    }));
}
