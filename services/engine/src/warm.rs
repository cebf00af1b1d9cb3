//! Warm-up: does work that would otherwise delay the first batch, such as building tables on first
//! use, loading pages of the binary and the first read of the record. It writes nothing to the
//! record, the metrics or the caches.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use assay_core::{GradeContext, Grader, Item, Lane, Task};
use futures::FutureExt;
use tokio::sync::mpsc;

use crate::Engine;
use crate::stages::prepare::prepare_one;
use crate::state::EngineState;
use crate::worker_threads::Job;

/// The caller of these jobs, so that the scheduler is fair to real callers.
const CALLER: &str = "warm-up";

impl Engine {
    /// Grades the example of every grader of the CPU lane on each worker thread, and reads the
    /// channels and names from the record. Returns when both are done. Failures are ignored: the
    /// first batch reports them.
    pub async fn warm(&self) {
        let state = self.state();
        let (sender, mut finished) = mpsc::unbounded_channel::<()>();
        let jobs = (0..state.workers.count()).map(|_| {
            let (state, sender) = (Arc::clone(state), sender.clone());
            Box::new(move || {
                state
                    .graders
                    .iter()
                    .for_each(|grader| grade_example(&state, grader.as_ref()));
                drop(sender);
            }) as Job
        });
        state.workers.submit(&CALLER.into(), jobs.collect());
        drop(sender);
        if let Some(record) = &state.record {
            state.names.are_read(record).await;
        }
        if let Some(record) = &state.record
            && let Err(error) = state.channel_cache.read(record.channels()).await
        {
            tracing::warn!(%error, "cannot read the counts of channels during warm-up");
        }
        // Ends when every job is done or was dropped because the node stops.
        while finished.recv().await.is_some() {}
    }
}

fn grade_example(state: &EngineState, grader: &dyn Grader) {
    let spec = grader.spec();
    if spec.lane != Lane::Cpu {
        return;
    }
    let Ok(task) = Task::from_json(spec.example_task) else {
        return;
    };
    let Ok(prepared) = prepare_one(state, grader, &task).ready else {
        return;
    };
    let item = Item::text(spec.example_completion);
    let cx = GradeContext::default();
    // A panic is ignored here: the same item in a batch would report it.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        prepared.grade(&[&item], &cx).now_or_never().is_some()
    }));
}
