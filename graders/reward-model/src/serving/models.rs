//! All models of a node, and the steps of a request: tokenise, plan, queue, run and score.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use assay_core::reward_model::{
    ModelError, ModelInfo, ModelLoad, ModelReply, ModelRequest, ModelStatus, RewardModels,
};
use assay_core::{BoxFuture, Clock};
use tokio::sync::watch;

use super::cache::Readouts;
use super::contract::Loader;
use super::former::Budget;
use super::options::ServingOptions;
use super::plan::Plan;
use super::queue::{Order, Queue};
use super::reading::Readers;
use super::registry::Registry;
use super::{device, loading, metrics};

/// Reward models by name, run by one thread. Dropping it rejects waiting requests.
pub struct Models {
    house: Arc<House>,
    /// Its sender is dropped when the device thread ends.
    device: watch::Receiver<()>,
}

/// State shared by requests and loads.
pub(super) struct House {
    pub(super) registry: Registry,
    pub(super) loader: Arc<dyn Loader>,
    pub(super) queue: Arc<Queue>,
    pub(super) batch_tokens: usize,
    cache: Readouts,
    readers: Readers,
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
            readers,
            cache_bytes,
            default_model,
            names,
        } = options;
        names.iter().for_each(|name| metrics::know(name));
        let batch = Budget {
            tokens: batch_tokens.max(1),
            rows: batch_rows.max(1),
        };
        let queue = Queue::new(queue_tokens, batch, Arc::clone(&clock));
        let device = device::start(Arc::clone(&queue), Arc::clone(&clock))?;
        let house = House {
            registry: Registry::new(default_model),
            loader,
            queue,
            batch_tokens: batch.tokens,
            cache: Readouts::new(cache_bytes),
            readers: Readers::new(readers),
            clock,
        };
        Ok(Self {
            house: Arc::new(house),
            device,
        })
    }

    /// Rejects new requests, answers waiting ones, and rejects those still waiting when `timeout`
    /// expires. Returns when the device is idle or the timeout expires.
    pub async fn stop(&self, timeout: Duration) {
        let queue = &self.house.queue;
        queue.close();
        let rest = async {
            queue.drained().await;
            // No value is ever sent: `changed` returns when the sender is dropped.
            let _ = self.device.clone().changed().await;
        };
        if tokio::time::timeout(timeout, rest).await.is_err() {
            queue.clear();
        }
    }
}

impl Drop for Models {
    fn drop(&mut self) {
        self.house.queue.close();
        self.house.queue.clear();
    }
}

impl RewardModels for Models {
    fn list(&self) -> Vec<ModelStatus> {
        self.house
            .registry
            .all()
            .iter()
            .map(|(slot, default)| slot.status(*default))
            .collect()
    }

    fn find(&self, name: Option<&str>) -> Result<Arc<ModelInfo>, ModelError> {
        let loaded = self.house.registry.find(name)?.model()?;
        Ok(Arc::clone(loaded.info()))
    }

    fn score(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let reply = self.house.score(request).await;
            if let Err(error) = &reply {
                metrics::refused(error.code());
            }
            reply
        })
    }

    fn load(
        &self,
        name: String,
        load: ModelLoad,
    ) -> BoxFuture<'_, Result<Arc<ModelInfo>, ModelError>> {
        Box::pin(loading::load(Arc::clone(&self.house), name, load))
    }

    fn unload(&self, name: &str) -> Result<(), ModelError> {
        self.house.registry.remove(name)
    }

    fn stop(&self, timeout: Duration) -> BoxFuture<'_, ()> {
        Box::pin(Self::stop(self, timeout))
    }
}

impl House {
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
        self.queue.knock()?;
        let deadline = timeout.map(|timeout| self.clock.monotonic().saturating_add(timeout));
        let loaded = slot.model_by(deadline, self.clock.as_ref()).await?;
        let info = loaded.info();
        if let Some(expected) =
            expected_version.filter(|expected| !info.version.starts_with(expected.as_str()))
        {
            let (name, version) = (info.name.clone(), info.version.clone());
            return Err(ModelError::OtherVersion {
                name,
                version,
                expected,
            });
        }
        let started = self.clock.monotonic();
        let read = self.readers.read(&loaded, inputs, truncate).await?;
        metrics::read(&info.name, self.clock.monotonic().saturating_sub(started));
        let (mut plan, sequences) = Plan::new(read, &self.cache);
        metrics::cache(&info.name, plan.hits, plan.duplicates, sequences.len());
        if !sequences.is_empty() {
            let order = Order {
                caller,
                model: Arc::clone(&loaded),
                deadline,
                sequences,
            };
            self.run(order, &mut plan).await?;
        }
        let lost = || ModelError::Device("the device did not answer a sequence".to_owned());
        let scores = plan.scores(loaded.model.as_ref()).ok_or_else(lost)?;
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
    async fn run(&self, order: Order, plan: &mut Plan) -> Result<(), ModelError> {
        let mut deadline = order.deadline;
        let mut ticket = self.queue.admit(order)?;
        loop {
            let next = match deadline {
                None => ticket.next().await?,
                Some(at) => {
                    match tokio::time::timeout(
                        at.saturating_sub(self.clock.monotonic()),
                        ticket.next(),
                    )
                    .await
                    {
                        Ok(next) => next?,
                        Err(_) if ticket.give_up() => return Err(ModelError::Expired),
                        // All sequences are on the device or finished.
                        Err(_) => {
                            deadline = None;
                            continue;
                        }
                    }
                }
            };
            let Some((place, readout)) = next else {
                return Ok(());
            };
            plan.put(place, readout, &self.cache);
        }
    }
}
