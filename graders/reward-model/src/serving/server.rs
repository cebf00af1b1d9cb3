//! State shared by requests and loads, and the path of a request.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use assay_core::Clock;
use assay_core::reward_model::{ModelError, ModelReply, ModelRequest};

use super::cache::ReadoutCache;
use super::contract::Loader;
use super::metrics;
use super::plan::Plan;
use super::queue::{DeviceRequest, Queue};
use super::registry::Registry;
use super::tokeniser_pool::TokeniserPool;

/// State shared by requests and loads.
pub(super) struct ModelServer {
    pub(super) registry: Registry,
    pub(super) loader: Arc<dyn Loader>,
    pub(super) queue: Arc<Queue>,
    pub(super) batch_tokens: usize,
    pub(super) cache: ReadoutCache,
    pub(super) tokenisers: TokeniserPool,
    pub(super) clock: Arc<dyn Clock>,
}

impl ModelServer {
    pub(super) async fn score(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let ModelRequest {
            model,
            caller,
            use_cache,
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
        let read = self
            .tokenisers
            .tokenise(&caller, &loaded, inputs, truncate)
            .await?;
        metrics::record_tokenise_time(&info.name, self.clock.monotonic().saturating_sub(started));
        let cache = use_cache.then_some(&self.cache);
        let (mut plan, sequences) = Plan::new(read, cache);
        metrics::record_cache_lookups(&info.name, plan.hits, plan.duplicates, sequences.len());
        if !sequences.is_empty() {
            let request = DeviceRequest {
                caller,
                model: Arc::clone(&loaded),
                deadline,
                sequences,
            };
            self.run(request, &mut plan, cache).await?;
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
    async fn run(
        &self,
        request: DeviceRequest,
        plan: &mut Plan,
        cache: Option<&ReadoutCache>,
    ) -> Result<(), ModelError> {
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
            plan.store(index, readout, cache);
        }
    }
}
