//! All models of a node, and the steps of a request: tokenise, plan, queue, run and score.

use std::sync::Arc;
use std::sync::atomic::Ordering;
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
use super::plan::Plan;
use super::queue::{DeviceRequest, Queue};
use super::registry::Registry;
use super::tokeniser_pool::TokeniserPool;
use super::{device, loading, metrics};

/// Reward models by name, run by one thread. Dropping it rejects waiting requests.
pub struct Models {
    server: Arc<ModelServer>,
    /// Its sender is dropped when the device thread ends.
    device: watch::Receiver<()>,
}

/// State shared by requests and loads.
pub(super) struct ModelServer {
    pub(super) registry: Registry,
    pub(super) loader: Arc<dyn Loader>,
    pub(super) queue: Arc<Queue>,
    pub(super) batch_tokens: usize,
    cache: ReadoutCache,
    tokenisers: TokeniserPool,
    clock: Arc<dyn Clock>,
}

impl Models {
    /// Starts the device thread. No model is loaded yet.
    ///
    /// # Errors
    /// The thread cannot be started.
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
            cache_bytes,
            default_model,
            names,
        } = options;
        names.iter().for_each(|name| metrics::register_label(name));
        let batch = Budget {
            tokens: batch_tokens.max(1),
            rows: batch_rows.max(1),
        };
        let queue = Queue::new(queue_tokens, batch, Arc::clone(&clock));
        let device = device::start(Arc::clone(&queue), Arc::clone(&clock))?;
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
            device,
        })
    }

    /// Rejects new requests, answers waiting ones, and rejects those still waiting when `timeout`
    /// expires. Returns when the device is idle or the timeout expires.
    pub async fn stop(&self, timeout: Duration) {
        let queue = &self.server.queue;
        queue.close();
        let rest = async {
            queue.drained().await;
            // No value is ever sent: `changed` returns when the sender is dropped.
            let _ = self.device.clone().changed().await;
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

impl ModelServer {
    async fn score(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let ModelRequest {
            model,
            caller,
            inputs,
            truncate,
            expected_version,
            timeout,
        } = request;
        let slot = self.registry.find(model.as_deref())?;
        self.queue.check_capacity()?;
        let deadline = timeout.map(|timeout| self.clock.monotonic().saturating_add(timeout));
        let loaded = slot.wait_for_model(deadline, self.clock.as_ref()).await?;
        let info = loaded.info();
        if let Some(expected) =
            expected_version.filter(|expected| !info.version.starts_with(expected.as_str()))
        {
            let (name, version) = (info.name.clone(), info.version.clone());
            return Err(ModelError::VersionMismatch {
                name,
                version,
                expected,
            });
        }
        let started = self.clock.monotonic();
        let read = self.tokenisers.tokenise(&loaded, inputs, truncate).await?;
        metrics::record_tokenise_time(&info.name, self.clock.monotonic().saturating_sub(started));
        let (mut plan, sequences) = Plan::new(read, &self.cache);
        metrics::record_cache_lookups(&info.name, plan.hits, plan.duplicates, sequences.len());
        if !sequences.is_empty() {
            let request = DeviceRequest {
                caller,
                model: Arc::clone(&loaded),
                deadline,
                sequences,
            };
            self.run(request, &mut plan).await?;
        }
        let unanswered = || ModelError::Device("the device did not answer a sequence".to_owned());
        let scores = plan.scores(loaded.model.as_ref()).ok_or_else(unanswered)?;
        let scored = scores.iter().filter(|score| score.is_ok()).count();
        loaded
            .counts
            .scored
            .fetch_add(scored as u64, Ordering::Relaxed);
        Ok(ModelReply {
            model: Arc::clone(info),
            scores,
        })
    }

    /// Runs the sequences of a plan. Fails with [`ModelError::Expired`] if one of them is still
    /// waiting at the deadline.
    async fn run(&self, request: DeviceRequest, plan: &mut Plan) -> Result<(), ModelError> {
        let mut deadline = request.deadline;
        let mut ticket = self.queue.admit(request)?;
        loop {
            let answer = match deadline {
                None => ticket.next().await?,
                Some(at) => {
                    match tokio::time::timeout(
                        at.saturating_sub(self.clock.monotonic()),
                        ticket.next(),
                    )
                    .await
                    {
                        Ok(answer) => answer?,
                        Err(_) if ticket.cancel() => return Err(ModelError::Expired),
                        // All sequences are on the device or finished.
                        Err(_) => {
                            deadline = None;
                            continue;
                        }
                    }
                }
            };
            let Some((index, readout)) = answer else {
                return Ok(());
            };
            plan.store(index, readout, &self.cache);
        }
    }
}
