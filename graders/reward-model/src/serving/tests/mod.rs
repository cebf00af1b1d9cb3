mod fake;
mod names;
mod queue;
mod requests;

use std::sync::Arc;

use assay_core::SystemClock;
use assay_core::reward_model::{ModelLoad, RewardModels};

use super::{Models, ServingOptions};
use fake::World;

/// Models without any loaded.
fn models(options: ServingOptions) -> (Arc<World>, Arc<Models>) {
    let world = Arc::new(World::default());
    world.device.open();
    let clock = Arc::new(SystemClock::new());
    let models = Models::start(Arc::new(Arc::clone(&world)), options, clock).unwrap();
    (world, Arc::new(models))
}

/// Models with one of version `v1` under the name `m`, and nothing on record.
async fn one_model(options: ServingOptions) -> (Arc<World>, Arc<Models>) {
    let (world, models) = models(options);
    models.load("m".to_owned(), from("v1")).await.unwrap();
    world.batches.lock().unwrap().clear();
    (world, models)
}

fn from(source: &str) -> ModelLoad {
    ModelLoad { source: Some(source.to_owned()), options: None }
}

/// Waits until something is so.
async fn until(mut so: impl FnMut() -> bool) {
    while !so() {
        tokio::task::yield_now().await;
    }
}

fn waiting(models: &Models) -> u64 {
    models.list().iter().map(|status| status.waiting_tokens).sum()
}
