//! All models of a node, and the steps of a request: tokenise, plan, queue, run and score.

use std::sync::Arc;
use std::time::Duration;

use assay_core::reward_model::{
    ModelError, ModelInfo, ModelLoad, ModelReply, ModelRequest, ModelStatus, RewardModels,
};
use assay_core::{BoxFuture, Clock};
use tokio::sync::watch;

use super::batcher::Budget;
use super::cache::ReadoutCache;
use super::contract::Loader;
use super::options::ServingOptions;
use super::queue::Queue;
use super::registry::Registry;
use super::server::ModelServer;
use super::tokeniser_pool::TokeniserPool;
use super::{device, loading, metrics};

/// Reward models by name, run by a thread for each device. Dropping it rejects waiting requests.
pub struct Models {
    server: Arc<ModelServer>,
    /// Its sender is dropped when all device threads have ended.
    devices: watch::Receiver<()>,
}

impl Models {
    /// Starts the device threads. No model is loaded yet.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(
        loader: Arc<dyn Loader>,
        options: ServingOptions,
        clock: Arc<dyn Clock>,
    ) -> std::io::Result<Self> {
        metrics::describe();
        let ServingOptions {
            queue_tokens,
            batch_tokens,
            batch_rows,
            tokeniser_threads,
            devices,
            cache_bytes,
            default_model,
            names,
        } = options;
        metrics::register_devices(devices.iter().cloned());
        names.iter().for_each(|name| metrics::register_label(name));
        let batch = Budget {
            tokens: batch_tokens.max(1),
            rows: batch_rows.max(1),
        };
        let queue = Queue::new(queue_tokens, batch, devices.len(), Arc::clone(&clock));
        let devices = device::start(&queue, devices, &clock)?;
        let server = ModelServer {
            registry: Registry::new(default_model),
            loader,
            queue,
            batch_tokens: batch.tokens,
            cache: ReadoutCache::new(cache_bytes),
            tokenisers: TokeniserPool::new(tokeniser_threads),
            clock,
        };
        Ok(Self {
            server: Arc::new(server),
            devices,
        })
    }

    /// Rejects new requests, answers waiting ones, and rejects those still waiting when `timeout`
    /// expires. Returns when the devices are idle or the timeout expires.
    pub async fn stop(&self, timeout: Duration) {
        let queue = &self.server.queue;
        queue.close();
        let rest = async {
            queue.drained().await;
            // No value is ever sent: `changed` returns when the sender is dropped.
            let _ = self.devices.clone().changed().await;
        };
        if tokio::time::timeout(timeout, rest).await.is_err() {
            queue.reject_all();
        }
    }
}

impl Drop for Models {
    fn drop(&mut self) {
        self.server.queue.close();
        self.server.queue.reject_all();
    }
}

impl RewardModels for Models {
    fn list(&self) -> Vec<ModelStatus> {
        self.server
            .registry
            .all()
            .iter()
            .map(|(slot, default)| slot.status(*default))
            .collect()
    }

    fn find(&self, name: Option<&str>) -> Result<Arc<ModelInfo>, ModelError> {
        let loaded = self.server.registry.find(name)?.model()?;
        Ok(Arc::clone(loaded.info()))
    }

    fn score(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let reply = self.server.score(request).await;
            if let Err(error) = &reply {
                metrics::record_rejection(error.code());
            }
            reply
        })
    }

    fn load(
        &self,
        name: String,
        load: ModelLoad,
    ) -> BoxFuture<'_, Result<Arc<ModelInfo>, ModelError>> {
        Box::pin(loading::load(Arc::clone(&self.server), name, load))
    }

    fn unload(&self, name: &str) -> Result<(), ModelError> {
        self.server.registry.remove(name)
    }

    fn stop(&self, timeout: Duration) -> BoxFuture<'_, ()> {
        Box::pin(Self::stop(self, timeout))
    }
}
