//! Opens and loads the reward models of the configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_core::Clock;
use assay_core::reward_model::{ModelError, RewardModels};
pub use assay_reward_model::RawScale;
pub use assay_reward_model::bench::{Bench, BenchReport, BenchRow, Lengths, Subject};
pub use assay_reward_model::{AttentionKernel, GpuOptions, ProductRows};
use assay_reward_model::{Compute, DirectoryLoader, Fetch, Models, ServingOptions};
use assay_weights::LoadError;

use crate::config;

/// Tokens of a batch on a CPU. Larger batches are not faster there, and delay the requests behind
/// them.
const CPU_BATCH: usize = 1_024;

/// Tokens of a batch on a GPU.
const GPU_BATCH: usize = 16_384;

/// Opens the devices and creates the models of the configuration, without loading them.
///
/// # Errors
/// If a device does not exist, or a thread cannot be started.
pub fn open(config: &config::RewardModels, clock: &Arc<dyn Clock>) -> Result<Models, LoadError> {
    let gpu = config.gpu().map_err(LoadError::new)?;
    let devices = config
        .devices()
        .map(|name| Compute::open(name, config.threads)?.with_gpu(gpu))
        .collect::<Result<Vec<_>, _>>()?;
    Compute::check_equal_kinds(&devices)?;
    let defaults = ServingOptions::default();
    let default_batch = if devices.iter().all(Compute::is_cpu) {
        CPU_BATCH
    } else {
        GPU_BATCH
    };
    let options = ServingOptions {
        queue_tokens: config.queue_tokens,
        batch_tokens: if config.batch_tokens == 0 {
            default_batch
        } else {
            config.batch_tokens
        },
        devices: devices.iter().map(Compute::name).collect(),
        cache_bytes: config.cache_bytes,
        default_model: Some(config.default.clone()).filter(|name| !name.is_empty()),
        names: config.load.keys().cloned().collect(),
        ..defaults
    };
    let fetching = config.fetch.clone();
    let loader = DirectoryLoader {
        devices,
        folder: config.folder.clone(),
        named: config
            .load
            .values()
            .filter_map(|table| table.get("source")?.as_str().map(PathBuf::from))
            .collect(),
        fetch: (!config.hub.is_empty()).then(|| fetch(config.hub.reveal(), &config.folder)),
        may_fetch: Arc::new(move |name: &str| fetching.allows(name)),
        clock: Arc::clone(clock),
    };
    let thread_error = |error: std::io::Error| {
        LoadError::new(format!(
            "cannot start the thread of the reward models: {error}"
        ))
    };
    Models::start(Arc::new(loader), options, Arc::clone(clock)).map_err(thread_error)
}

/// A function that fetches models from a hub into the folder of models. It blocks.
fn fetch(hub: &str, folder: &Path) -> Arc<Fetch> {
    let (hub, folder) = (hub.to_owned(), folder.to_owned());
    Arc::new(move |name| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| format!("cannot fetch `{name}`: {error}"))?;
        runtime.block_on(assay_hub::fetch(&hub, &folder, name))
    })
}

/// Loads the models of the configuration concurrently, and returns when each is ready or failed.
///
/// # Errors
/// The name and error of the first model that failed.
pub async fn load(
    models: &dyn RewardModels,
    config: &config::RewardModels,
) -> Result<(), (String, ModelError)> {
    // The configuration was checked when it was read.
    let loads = config.loads().unwrap_or_default();
    let loading = loads.into_iter().map(|(name, load)| {
        let failed = name.clone();
        async move {
            models
                .load(name, load)
                .await
                .map_err(|error| (failed, error))
        }
    });
    let loaded = futures::future::join_all(loading).await;
    loaded.into_iter().try_for_each(|outcome| outcome.map(drop))
}

/// Measures the time of forward passes on a device, `cpu` or `cuda:N`. `threads` is the number of
/// CPU threads; 0 for one per core.
///
/// # Errors
/// If the device or model does not exist.
pub fn bench(bench: &Bench, device: &str, threads: usize) -> Result<BenchReport, LoadError> {
    let compute = Compute::open(device, threads)?.with_gpu(bench.gpu)?;
    let batch_tokens = if compute.is_cpu() {
        CPU_BATCH
    } else {
        GPU_BATCH
    };
    let bench = Bench {
        batch_tokens: if bench.batch_tokens == 0 {
            batch_tokens
        } else {
            bench.batch_tokens
        },
        ..bench.clone()
    };
    assay_reward_model::bench::bench(&bench, &compute)
}
