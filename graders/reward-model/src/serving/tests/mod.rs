mod devices;
mod fake;
mod faults;
mod queue;
mod registry;
mod requests;

use std::sync::Arc;

use assay_core::SystemClock;
use assay_core::reward_model::{ModelError, ModelLoad, ModelReply, ModelRequest, RewardModels};
use tokio::task::JoinHandle;

use super::{Models, ServingOptions};
use fake::{World, ids, request};

/// Starts serving without a loaded model.
fn models(options: ServingOptions) -> (Arc<World>, Arc<Models>) {
    let world = Arc::new(World::default());
    world.device.open();
    world.second.open();
    let clock = Arc::new(SystemClock::new());
    let models = Models::start(Arc::new(Arc::clone(&world)), options, clock).unwrap();
    (world, Arc::new(models))
}

/// Starts serving with version `v1` loaded under the name `m`, and no recorded batches.
async fn one_model(options: ServingOptions) -> (Arc<World>, Arc<Models>) {
    let (world, models) = models(options);
    models.load("m".to_owned(), load_from("v1")).await.unwrap();
    world.batches.lock().unwrap().clear();
    (world, models)
}

fn load_from(source: &str) -> ModelLoad {
    ModelLoad {
        source: Some(source.to_owned()),
        ..ModelLoad::default()
    }
}

/// Waits until a condition is true.
async fn wait_until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        tokio::task::yield_now().await;
    }
}

fn waiting(models: &Models) -> u64 {
    models
        .list()
        .iter()
        .map(|status| status.waiting_tokens)
        .sum()
}

type Scored = Result<ModelReply, ModelError>;

fn spawn_score(models: &Arc<Models>, request: ModelRequest) -> JoinHandle<Scored> {
    let models = Arc::clone(models);
    tokio::spawn(async move { models.score(request).await })
}

/// Blocks the device with another request, so that further requests wait.
async fn block_device(world: &World, models: &Arc<Models>) -> JoinHandle<Scored> {
    world.device.close();
    let before = world.device.arrived();
    let blocked = spawn_score(models, request("holder", vec![ids(99, 1)]));
    wait_until(|| world.device.arrived() > before).await;
    blocked
}

fn raws(reply: &ModelReply) -> Vec<f32> {
    reply
        .scores
        .iter()
        .map(|score| score.as_ref().unwrap().raw.unwrap())
        .collect()
}

/// Returns whether a batch with this id was attempted.
fn was_run(world: &World, id: u32) -> bool {
    world
        .batches
        .lock()
        .unwrap()
        .iter()
        .flatten()
        .flatten()
        .any(|other| *other == id)
}
